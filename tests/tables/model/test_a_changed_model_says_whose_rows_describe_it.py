"""After partial_fit, remove and merge: updated, or refused, or labelled with the rows it is of."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import onegrad as og
from onegrad.exceptions import AssumptionWarning, InvalidInput
from onegrad.tables import load

pytestmark = pytest.mark.filterwarnings("ignore:the model was learned from")


def data(n, seed, factor=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, factor * np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)


@pytest.fixture
def model():
    return og.OneStepRegressor(20, eta=1.0, random_state=0).fit(*data(400, 0))


def drifted(model):
    """Rows of another law in the place of those of the fit."""
    return model.remove(*data(400, 0)).partial_fit(*data(800, 1, factor=-4.0))


CHANGES = {
    "partial_fit": lambda m: m.partial_fit(*data(50, 1)),
    "remove": lambda m: m.remove(*[v[:50] for v in data(400, 0)]),
    "merge": lambda m: m.merge(m.blank().partial_fit(*data(50, 1))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_describes_the_fit_is_refused_or_says_so(model, change, tmp_path):
    X, _ = data(20, 2)
    model.predict_interval(X, 0.8)
    CHANGES[change](model)
    model.save(tmp_path / "m")
    for one in (model, load(tmp_path / "m")):
        with pytest.raises(InvalidInput, match=r"intervals describe the 400 rows.*calibrate"):
            one.predict_interval(X, 0.8)
        with pytest.warns(AssumptionWarning, match="importances describe the 400 rows of the fit"):
            one.feature_importances_  # noqa: B018
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            text = str(one.report())
        assert "(the 400 rows of the fit)" in text
        assert "since" in text


def test_calibrated_intervals_cover_the_rows_of_today(model):
    """Without it 400 rows of another law had a coverage of nothing like 0.9."""
    drifted(model)
    model.calibrate(*data(400, 2, factor=-4.0))
    X, y = data(4000, 3, factor=-4.0)
    low, high = model.predict_interval(X, 0.9)
    # 400 rows to calibrate, 4000 to test: within 5 standard errors
    covered = np.mean((low <= y) & (y <= high))
    assert abs(covered - 0.9) < 5 * np.sqrt(0.09 * (1 / 400 + 1 / 4000))
    assert model.feature_importances_[0] > 0.8  # and no warning
    assert "since" not in str(model.report())
    assert "400 rows, R2 0.9" in str(model.report())


def test_probabilities_say_whose_slope_they_have():
    X, y = data(300, 0)
    model = og.OneStepClassifier(20, eta=1.0, random_state=0).fit(X, y > 0)
    model.partial_fit(X[:100], y[:100] > 0)
    with pytest.warns(AssumptionWarning, match="probabilities describe the 300 rows of the fit"):
        model.predict_proba(X)
    X_new, y_new = data(300, 5)
    model.calibrate(X_new, y_new > 0)
    p = model.predict_proba(X_new)[np.arange(300), (y_new > 0).astype(int)]
    link, targets, scores = (
        model.fitted_.statistics.link, model.fitted_.targets, model._scores(X_new)
    )  # fmt: skip
    for slope in (0.5, 8.0):
        log_q = targets.log_probabilities(scores, replace(link, slope=slope))
        assert np.log(p).mean() > log_q[np.arange(300), (y_new > 0).astype(int)].mean()


def test_rows_that_are_not_there_cannot_be_removed(model, tmp_path):
    X, y = data(400, 0)
    model.save(tmp_path / "m")
    model = load(tmp_path / "m")
    before = model.readout_.copy()

    def refused(model, X, y, w=None):
        with pytest.raises(InvalidInput, match=r"cannot remove .* rows that were never added"):
            model.remove(X, y, sample_weight=w)

    refused(model, *data(3, 9))
    refused(model, X[:1], y[:1], [2.0])
    model.remove(X[:10], y[:10])
    refused(model, X[:10], y[:10])
    np.testing.assert_array_equal(model.partial_fit(X[:10], y[:10]).readout_, before)
    # rows that made the step are not in the readout
    refused(og.OneStepRegressor(20, eta=1.0, rows="fresh", random_state=0).fit(X, y), X, y)


def test_the_report_names_its_scores_and_their_direction():
    higher, lower = r"\(higher is better\)", r"\(lower is better\)"
    X, y = data(400, 0)
    for kind, targets, scores in (
        (og.OneStepRegressor, y, rf"80 rows, R2 0\.\d+ {higher}, RMSE 0\.\d+ {lower}"),
        (og.OneStepRegressor, np.column_stack([y, -y]), rf"80 rows, R2 0\.\d+ {higher}"),
        (og.OneStepClassifier, y > 0, rf"accuracy 0\.\d+ {higher}, log-loss .* {lower}"),
    ):
        fitted = kind(20, random_state=0).fit(X, targets)
        line = dict(fitted.report().lines)["held out"]
        assert re.search(scores, line)
        if "RMSE" in line:
            held = fitted.fitted_.statistics.residuals * y.std()
            shown = float(re.search(r"RMSE ([\d.]+)", line)[1])
            assert shown == pytest.approx(np.sqrt(np.mean(held**2)), rel=1e-3)
