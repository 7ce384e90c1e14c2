"""Values that could mean two things: words beside gaps, dates as labels, numbers of any size."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import onegrad as og
from onegrad.tables import load
from soak.ledger import AttackCounts, attempt

WORDS = ("None", "none", "Missing", "(missing)", "-", "?", "b", "0", "x=y", " ", "é", "None ")
MAX_ERROR = 0.2  # of predictions, in standard deviations of targets that a category explains
MAX_DIFFERENCE = 0.25  # of widths of intervals, relative: rounding may choose another row
UNITS = ("D", "s", "ms", "us", "ns")


def keep_meanings(rng: np.random.Generator, count: int, where: str) -> AttackCounts:
    """Fit columns of words and gaps, labels that are dates or large, and weights of every size."""
    counts = AttackCounts()
    kinds = _words_and_gaps, _dates_as_labels, _whole_numbers_as_labels, _tiny_weights
    for i in range(count):
        kind = kinds[int(rng.integers(len(kinds)))]
        name = f"{where}.{i} {kind.__name__}"
        with attempt(counts, name, (og.InvalidInput,)), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # of NumPy, which no user understands
            warnings.simplefilter("ignore", UserWarning)
            if problem := kind(rng):
                counts.fault("wrong", name, problem)
            counts.ends["the same meaning"] += 1
    return counts


def _words_and_gaps(rng: np.random.Generator) -> str:
    """Return what is wrong with a fit of a column whose category explains everything."""
    words = rng.choice(WORDS, int(rng.integers(2, 5)), replace=False).astype(object)
    codes = rng.integers(0, len(words) + 1, 300)
    column = np.array([*words, None], dtype=object)[codes]
    target = rng.permutation(len(words) + 1).astype(float)[codes]
    frame = pd.DataFrame({"word": column, "x": rng.standard_normal(300)})
    model = og.AlternatingRegressor(width=60, members=1, rounds=2, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = np.std(model.fit(frame, target).predict(frame) - target) / target.std()
    told = any("missing" in str(w.message) for w in caught)  # a word that is taken for a gap
    return "" if error < MAX_ERROR or told else f"{list(words)} and gaps: error {error:.2f}"


def _dates_as_labels(rng: np.random.Generator) -> str:
    unit = str(rng.choice(UNITS))
    days = np.array(["2020-01-01", "2021-05-03", "1969-12-31"], f"M8[{unit}]")
    X = rng.standard_normal((200, 3))
    labels = days[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = og.OneStepClassifier(width=20, random_state=0).fit(X, labels)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m")
        again = load(Path(folder) / "m")
    first, second = model.predict(X), again.predict(X)
    if first.dtype != second.dtype or not np.array_equal(first, second):
        return f"{unit}: {first[:1]!r} and after saving {second[:1]!r}"
    return "" if set(first.tolist()) <= set(labels.tolist()) else f"{unit}: {first[:1]!r}"


def _whole_numbers_as_labels(rng: np.random.Generator) -> str:
    low, dtype = int(rng.integers(2**62)), str(rng.choice(["int64", "uint64", "Int64", "UInt64"]))
    values = np.array([3, low, low + 1, 2**63 - 1], "int64")
    X = rng.standard_normal((200, 3))
    labels = pd.Series(values[np.digitize(X[:, 0], [-1, 0, 1])], dtype=dtype)
    classes = og.OneStepClassifier(width=20, random_state=0).fit(X, labels).classes_.tolist()
    return "" if classes == sorted(set(labels.tolist())) else f"{dtype}: {values} became {classes}"


def _tiny_weights(rng: np.random.Generator) -> str:
    X = rng.standard_normal((200, 3))
    y, w = X[:, 0] + 0.1 * rng.standard_normal(200), rng.uniform(0.5, 2.0, 200)
    unit = 10.0 ** rng.uniform(-300, 97)  # more is refused
    widths = []
    for weights in (w, unit * w):
        model = og.OneStepRegressor(width=20, random_state=0).fit(X, y, sample_weight=weights)
        low, high = model.predict_interval(X[:20], 0.9)
        widths.append(high - low)
        if (rows := model.remove(X[:3], y[:3], weights[:3]).n_rows_) != len(y) - 3:
            return f"weights of {unit:.1e}: {rows} rows are left of {len(y)} less 3"
    near = np.allclose(*widths, rtol=MAX_DIFFERENCE)
    return "" if near else f"weights of {unit:.1e}: intervals {widths[1][0]} and {widths[0][0]}"
