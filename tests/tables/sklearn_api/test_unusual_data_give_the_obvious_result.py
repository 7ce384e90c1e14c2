"""Constant columns, one row, one class, equal targets, mixed types: results or one-line errors."""

import warnings
from collections import OrderedDict
from datetime import UTC, datetime, time

import numpy as np
import pytest

import onegrad as og
from onegrad.cli import main
from onegrad.exceptions import AssumptionWarning, InvalidInput
from onegrad.tables import load, source

pytestmark = [pytest.mark.compat, pytest.mark.filterwarnings("ignore:the model was learned from")]

REGRESSORS = [og.OneStepRegressor, og.AlternatingRegressor]
CLASSIFIERS = [og.OneStepClassifier, og.AlternatingClassifier]
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((40, 3)), RNG.standard_normal(40)
FRAME = dict(zip("abc", X.T, strict=True))


def small(kind=og.OneStepRegressor, **settings):
    return kind(12, random_state=0, **settings)


@pytest.mark.parametrize("kind", [*REGRESSORS, *CLASSIFIERS])
def test_nan_and_infinity_in_arrays_count_as_in_frames(kind):
    """At the fit they are gaps; later, where the fit had none, they are the middle, and said."""
    import pandas as pd

    y = Y if kind in REGRESSORS else Y > 0
    for bad in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = bad
        frame = pd.DataFrame(broken, columns=["x0", "x1", "x2"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if bad == np.inf else "error", AssumptionWarning)
            fitted = small(kind).fit(broken, y)
            of_frame = small(kind).fit(frame, y)
            np.testing.assert_array_equal(fitted.predict(broken), of_frame.predict(frame))
        assert fitted.input_names_ == ["x0", "x1", "x1 missing", "x2"]
        fitted = small(kind).fit(X, y)
        with pytest.warns(AssumptionWarning, match="'x1': 1 rows hold gaps or infinities"):
            predicted = fitted.predict(broken)
        broken[3, 1] = X[:, 1].mean()
        np.testing.assert_array_equal(predicted, fitted.predict(broken))


def test_text_in_arrays_counts_as_in_frames():
    letters = np.array(list("ab" * 20))
    mixed = np.column_stack([letters, X[:, 0]]).astype(object)
    mixed[:, 1] = X[:, 0]
    y = (letters == "a") + X[:, 0]
    frame = {"x0": letters, "x1": X[:, 0]}
    expected = small().fit(frame, y).predict(frame)
    model = small().fit(mixed, y)
    for rows in (mixed, mixed.tolist(), mixed.astype(str)):
        np.testing.assert_array_equal(model.predict(rows), expected)
    with pytest.raises(ValueError, match="2 features"):
        model.predict(mixed[:, :1])


@pytest.mark.parametrize("kind", [og.OneStepRegressor, og.AlternatingClassifier])
def test_sparse_rows_are_rows(kind):
    import scipy.sparse

    sparse = scipy.sparse.random(60, 8, density=0.3, random_state=0, format="coo")
    y = sparse.toarray()[:, 0] > 0.2
    dense = small(kind).fit(sparse.toarray(), y)
    model = small(kind).fit(sparse, y)
    np.testing.assert_array_equal(model.readout_, dense.readout_)
    np.testing.assert_array_equal(model.predict(sparse), dense.predict(sparse.toarray()))
    assert model.remove(sparse.tocsr()[:5], y[:5]).n_rows_ == 55


def test_labels_that_cannot_be_told_apart_are_one_line():
    import pandas as pd

    for labels, message in (
        (np.array(["a", None] * 20, dtype=object), "some labels are missing"),
        (pd.Series(["a", pd.NA] * 20, dtype="string"), "some labels are missing"),
        (np.array([1, 2] * 20, "m8[s]"), "labels that are numbers, text or dates; .*timedelta64"),
        (np.array([2.0**53, 1.0] * 20), "so large that floats merge them"),
        (np.array(["a", 1] * 20, dtype=object), "several types, number and str"),
        (["a\0", "a"] * 20, "ends with a zero character"),
        (np.zeros(40), "at least 2 classes"),
    ):
        for inputs in (X, FRAME):
            with pytest.raises(InvalidInput, match=message):
                small(og.OneStepClassifier).fit(inputs, labels)


@pytest.mark.parametrize("low", [2**53, 2**64 - 2])
def test_large_whole_numbers_are_labels_of_their_own(low, tmp_path):
    """As floats two of them were one class; in a file they are floats, and refused."""
    import pandas as pd

    labels = np.array([5, low, low + 1], np.uint64)[np.digitize(Y, [-0.5, 0.5])]
    for same in (labels, pd.Series(labels, dtype="UInt64"), pd.Series(labels).astype("category")):
        model = small(og.OneStepClassifier).fit(X, same)
        model.save(tmp_path / "m")
        assert load(tmp_path / "m").classes_.tolist() == [5, low, low + 1]
    pd.DataFrame(X).assign(y=labels).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(InvalidInput, match="so large that floats merge them"):
        small(og.OneStepClassifier).fit(source(tmp_path / "rows.csv", target="y"))
    truth = small(og.OneStepClassifier).fit(X, pd.Series(Y > 0, dtype="boolean"))
    assert truth.classes_.dtype == bool


@pytest.mark.parametrize("kind", REGRESSORS)
def test_an_input_that_was_constant_is_not_used_when_it_changes(kind, tmp_path):
    """Nothing was learned of it; a little more of it once moved predictions to their other end."""
    inputs = np.column_stack([X, np.full(len(X), 1e6)])
    model = small(kind).fit(inputs, X[:, 0])
    model.save(tmp_path / "m")
    expected = model.predict(inputs)
    assert np.corrcoef(expected, X[:, 0])[0, 1] > 0.95
    for value in (1e6 + 0.1, 6.0, -1e6):
        inputs[:, -1] = value
        np.testing.assert_array_equal(model.predict(inputs), expected)
        np.testing.assert_array_equal(load(tmp_path / "m").predict(inputs), expected)
    empty = FRAME | {"gap": np.full(40, np.nan)}
    model = small(kind).fit(empty, X[:, 0])
    np.testing.assert_array_equal(model.predict(FRAME | {"gap": Y}), model.predict(empty))


def test_constant_inputs_have_no_importance_and_take_no_neurons():
    """The slope along them is chance; once it had nearly all of the metric and drew the neurons."""
    rng = np.random.default_rng(1)
    inputs = rng.standard_normal((600, 8))
    targets = np.sin(2 * inputs[:, 0]) * inputs[:, 1]
    wide = np.column_stack([inputs, np.full((600, 6), 3.0)])
    model = og.AlternatingRegressor(100, random_state=0).fit(wide[:400], targets[:400])
    assert np.array_equal(model.feature_importances_[8:], np.zeros(6))
    assert np.mean((model.predict(wide[400:]) - targets[400:]) ** 2) < 0.25 * targets.var()


def test_a_row_far_outside_is_predicted_as_one_at_the_edge():
    """A linear trend goes on for a standard deviation beyond the rows, and no further."""
    x = np.linspace(-1, 1, 200)[:, None]
    model = og.AlternatingRegressor(20, rounds=0, random_state=0).fit(x, 3 * x[:, 0])
    scaling = model.fitted_.layers[0].scaling
    edge = (1 + x.std()) * np.array([[-1.0], [1.0]])
    np.testing.assert_allclose(scaling(edge)[:, 0], [scaling.low[0], scaling.high[0]])
    np.testing.assert_array_equal(scaling(100 * edge), scaling(edge))
    np.testing.assert_allclose(model.predict(100 * edge), model.predict(edge), rtol=1e-12)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_few_rows_and_equal_targets(kind):
    assert small(kind).fit(X[:1], [2.5]).predict(X[:2]) == pytest.approx([2.5, 2.5])
    fitted = small(kind).fit(X, np.full(40, 7.0))
    np.testing.assert_allclose(fitted.predict(X), 7.0)
    assert np.all(fitted.feature_importances_ >= 0)
    mean, std = small(kind).fit(X[:5], RNG.standard_normal((5, 9))).predict(X, return_std=True)
    assert mean.shape == std.shape == (40, 9)
    low, high = small(kind).fit(X, np.column_stack([Y, 2 * Y])).predict_interval(X, 0.5)
    assert low.shape == high.shape == (40, 2)


def test_other_columns_at_prediction_are_refused():
    import pandas as pd

    frame = pd.DataFrame(FRAME)
    fitted = small(og.AlternatingRegressor).fit(frame, Y)
    for columns in (list("cba"), list("ab")):
        with pytest.raises(ValueError, match="feature names"):
            fitted.predict(frame[columns])
    with pytest.raises(InvalidInput, match="no rows to predict"):
        fitted.predict(frame.iloc[:0])
    with pytest.raises(ValueError, match="2 features"):
        small(og.AlternatingRegressor).fit(X, Y).predict(X[:, :2])


def test_bad_parameters_are_named():
    for settings, message in (
        ({"width": 0}, "width must be a whole number >= 1"),
        ({"width": 2.5}, "width must be a whole number"),
        ({"ridge": -1}, "ridge must be a number"),
        ({"ridge": "large"}, "ridge must be a number"),
        ({"hold_out": 1.0}, "hold_out must be a number >= 0 and <= 0.9"),
        ({"eta": "big"}, "eta must be a number"),
        ({"eta": 1.0, "alpha": 0.2}, 'eta must be "auto" where alpha is given'),
        ({"inputs": "scaled"}, "inputs must be one of standard, raw"),
        ({"activation": "rulu"}, "did you mean relu"),
        ({"device": "gpu"}, "device must be"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number"),
        ({"n_jobs": 1.5}, "n_jobs must be None or a whole number"),
        ({"budget": "cheap"}, "budget must be one of fast, default, best"),
        ({"members": 0}, "members must be a whole number >= 1"),
        ({"rounds": -1}, "rounds must be a whole number >= 0"),
        ({"sample_rows": 0}, "sample_rows must be a whole number >= 1"),
        ({"patience": 0}, "patience must be a whole number >= 1"),
    ):
        of_rounds = settings.keys() & {"budget", "members", "rounds", "patience"}
        kind = og.AlternatingRegressor if of_rounds else og.OneStepRegressor
        with pytest.raises(InvalidInput, match=message):
            kind(**({"width": 5} | settings)).fit(X, Y)
    with pytest.raises(ValueError, match="weight"):
        small().fit(X, Y, sample_weight=np.zeros(40))


def test_arrays_that_say_more_than_their_numbers_are_refused():
    """A unit, a mask, an imaginary part would be lost without a word."""
    model = og.OneStepRegressor(4, random_state=0).fit(X, Y)
    uses = {
        "fit": lambda X, y: og.OneStepRegressor(4, random_state=0).fit(X, y),
        "predict": lambda X, _: model.predict(X),
        "partial_fit": lambda X, _: model.partial_fit(X, Y),
    }
    for inputs, targets, message in (
        (X.astype("M8[D]"), Y, "X: it holds datetime64"),
        (X.astype("m8[s]"), Y, "X: it holds timedelta64"),
        (X + 1j, Y, "Complex data not supported; it holds complex128"),
        (np.zeros((len(X), 1), [("a", float)]), Y, "X: it holds"),
        (np.ma.masked_greater(X, 0), Y, "X: it is masked"),
        (X, np.ma.masked_greater(Y, 0), "y: it is masked"),
        (X, Y.astype("M8[s]"), "y must be numbers.*datetime64"),
    ):
        for name, use in uses.items() if inputs is not X else [("fit", uses["fit"])]:
            with pytest.raises(InvalidInput, match=message) as raised:
                use(inputs, targets)
            assert "\n" not in str(raised.value), name


def test_dates_as_labels_come_back_as_dates(tmp_path):
    days = np.array(["2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]")[
        np.digitize(Y, [-0.5, 0.5])
    ]
    for labels in (days, days.astype("M8[ns]"), days.tolist()):
        model = og.OneStepClassifier(4, random_state=0).fit(X, labels)
        model.save(tmp_path / "m")
        predicted = load(tmp_path / "m").predict(X)
        assert predicted.dtype.kind == "M"
        assert set(predicted.astype("M8[D]").tolist()) <= set(days.tolist())
        np.testing.assert_array_equal(predicted, model.predict(X))
        assert model.score(X, labels) == np.mean(predicted == days.astype(predicted.dtype))
        model.remove(X[:5], days[:5].astype("M8[s]"))  # the same instants
    zoned = [datetime.combine(day, time(), UTC) for day in days.tolist()]
    for labels, problem in (
        (zoned, "time zone"),
        ([*days[:-1], np.datetime64("NaT", "D")], "missing"),
    ):
        with pytest.raises(InvalidInput, match=problem):
            model.fit(X, labels)
    with pytest.raises(InvalidInput, match="one label per row, all dates"):
        model.partial_fit(X, Y > 0)


def test_tiny_weights_are_weights():
    """Their squares underflow: intervals of 80 rows were those of one."""
    ones, tiny = (small().fit(X, Y, np.full(len(X), w)) for w in (1.0, 1e-300))
    for rows in ((), (X[:3], Y[:3])):
        if rows:
            ones.remove(*rows)
            tiny.remove(*rows, np.full(3, 1e-300))
        np.testing.assert_array_equal(tiny.predict(X), ones.predict(X))
    assert tiny.fitted_.statistics.effective_rows == ones.fitted_.statistics.effective_rows


@pytest.mark.parametrize("kind", [og.AlternatingRegressor, og.AlternatingClassifier])
def test_a_unit_of_weights_changes_nothing(kind):
    """In single precision 1e-60 was 0 and 1e60 infinite; rows of 1e-12 left with one of them."""
    rng = np.random.default_rng(0)
    inputs, weights = rng.standard_normal((300, 4)), rng.uniform(0.1, 0.4, 300)
    y = np.sin(2 * inputs[:, 0]) * inputs[:, 1]
    y = y if kind is og.AlternatingRegressor else y > 0
    fits = []
    for unit in (1.0, 2.0**-40, 2.0**-200, 2.0**200):
        model = small(kind, rounds=2, budget="best").fit(inputs, y, unit * weights)
        with pytest.raises(InvalidInput, match="3 rows that were never added"):
            model.remove(inputs[:3] + 1, y[:3], unit * weights[:3])
        with pytest.raises(InvalidInput, match="1 rows that were never added"):
            model.remove(inputs[:1], y[:1], unit * weights[:1] * 1.01)
        model.remove(inputs[:3], y[:3], unit * weights[:3])
        fits.append((model.n_rows_, model.predict(inputs)))
    for rows, predicted in fits:
        assert rows == 297
        np.testing.assert_array_equal(predicted, fits[0][1])


def test_a_dict_is_no_matrix():
    for columns in (FRAME, OrderedDict(FRAME)):
        with pytest.raises(InvalidInput, match="a dict of columns, and the model was fitted on a"):
            small().fit(X, Y).predict(columns)
        assert small().fit(columns, Y).column_names_ == list("abc")


def test_labels_that_are_bytes_are_refused_in_a_line():
    for labels in (np.where(Y > 0, b"a", b"b"), np.where(Y > 0, b"a", b"b").astype(object)):
        with pytest.raises(InvalidInput, match="y: its labels are bytes; give text"):
            og.OneStepClassifier(width=20).fit(X, labels)


def test_labels_of_a_file_that_are_bytes_are_refused_in_a_line(tmp_path, capsys):
    np.savez(tmp_path / "rows.npz", X=X, y=np.where(Y > 0, b"a", b"b"))
    command = ["fit", str(tmp_path / "rows.npz"), "--target", "y", "--task", "classification"]
    assert main([*command, "--out", str(tmp_path / "m.model")]) == 2
    assert "its labels are bytes; give text" in capsys.readouterr().err
