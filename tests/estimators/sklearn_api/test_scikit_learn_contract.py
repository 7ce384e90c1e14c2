"""scikit-learn's own checks hold for every estimator of every family, none expected to fail."""

import inspect

from sklearn.utils.estimator_checks import parametrize_with_checks

from onegrad.estimators import FAMILIES

SMALL = {"width": 20, "rounds": 2, "members": 1}
COMMITTEE = {"width": 10, "rounds": 1, "members": 2}


def small_estimators():
    for family in FAMILIES.values():
        for kind in family.estimators:
            names = inspect.signature(kind).parameters
            for parameters in [SMALL, COMMITTEE] if "members" in names else [SMALL]:
                yield kind(**{name: parameters[name] for name in parameters if name in names})


@parametrize_with_checks(list(small_estimators()))
def test_scikit_learn_contract(estimator, check):
    check(estimator)
