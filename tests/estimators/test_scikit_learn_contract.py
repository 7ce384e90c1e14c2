"""scikit-learn's own checks hold for every estimator, none expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import onegrad as og


@parametrize_with_checks(
    [
        og.OneStepRegressor(20),
        og.OneStepClassifier(20),
        og.OneStepFeatures(20),
        og.AlternatingRegressor(20, rounds=2, members=1),
        og.AlternatingRegressor(10, rounds=1, members=2),
        og.AlternatingClassifier(20, rounds=2, members=1),
        og.AlternatingClassifier(10, rounds=1, members=2),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
