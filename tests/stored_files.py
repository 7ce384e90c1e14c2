"""What a release writes, and what it said then: `python tests/stored_files.py` records this one's.

tests/files/VERSION has two models (of a matrix, frozen; of a table, with every kind of part), the
store of small.toml with an array in a file of its own, and in expected.json what they said.
"""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

import onegrad as og
from onegrad.experiments import Store
from onegrad.experiments.grid import all_cells
from onegrad.experiments.spec import read_spec
from onegrad.experiments.store import Provenance
from onegrad.studies.measures import MEASURES
from onegrad.tables.fitting import learned_member
from onegrad.tables.parts.learner import Learner
from onegrad.tables.parts.neighbours import NeighbourSearch
from onegrad.tables.parts.networks import CodedTraining
from onegrad.tables.parts.table import PART_KINDS, PartKind
from onegrad.tables.parts.trees import Boosting

FILES = Path(__file__).parent / "files"
RELEASES = sorted(path.name for path in FILES.iterdir())
ROWS, HELD_BACK = 50, 5
X = np.random.default_rng(0).standard_normal((ROWS + HELD_BACK, 3)).round(3)
TABLE = pa.table(
    {
        "size": X[:, 0],
        "city": [("Bern", "Oslo", None)[i % 3] for i in range(len(X))],
        "gap": [None if i % 7 == 0 else x for i, x in enumerate(X[:, 1].tolist())],
        "day": pa.array(19_000 + np.arange(len(X)) // 2, pa.int32()).cast(pa.date32()),
    }
)
SMALL = """name = "small"

[problem]
n = 30
d = 10
N = 15
ridge = 0.01

[[grid]]
measure = "errors"
seeds = 2
problem.eta = 1.0
problem.inputs = "spiked(2)"

[[grid]]
measure = "rehearsal"
seeds = 2
options.numbers = 501
"""


def rows_of(model):
    """Rows that were not in the fit."""
    return (X if model.fitted_.encoding is None else TABLE)[ROWS:]


def model_answers(model):
    """What a model says of these rows, as lists."""
    rows = rows_of(model)
    names = ("predict", "predict_proba", "predict_interval")
    said = {name: getattr(model, name)(rows) for name in names if hasattr(model, name)}
    said["importances"] = model.feature_importances_
    return {name: np.asarray(value).tolist() for name, value in said.items()}


def store_answers(store):
    """The numbers of every cell of a store, by key, without arrays that are large."""
    return {
        record.cell.key: {k: v.ravel()[:8].tolist() for k, v in record.values.items()}
        for record in store.records()
    }


def small_fits():
    """Two models with few numbers, which have every part, whatever held-out rows say."""
    learned_member.MIN_HELD_OUT_LABELS = 0
    learned_member.best_weights = lambda _, scores: dict.fromkeys(scores, 1.0)
    for learner in (Learner, NeighbourSearch):
        learner.min_errors = -1e9
    few = {"networks": CodedTraining(1, (2,), 2), "trees": Boosting(10, depth=2)}
    for name, plan in few.items():
        PART_KINDS[name] = PartKind(PART_KINDS[name].part, lambda _, plan=plan: plan)
    y, label = np.abs(X[:ROWS]) @ [1, 1, 0], np.where(X[:ROWS, 0] > 0.2, "up", "down")
    settings = {"random_state": 0, "hold_out": 0.4}
    yield "matrix", og.OneStepRegressor(4, **settings).fit(X[:ROWS], np.stack([y, -y], 1))
    alternating = og.AlternatingClassifier(4, rounds=1, corrections="auto", **settings)
    yield "table", alternating.fit(TABLE[:ROWS], label)


def record(folder):
    """Write a folder for this version."""
    folder.mkdir()
    expected = {"models": {}}
    for name, model in small_fits():
        model.save(folder / f"{name}.model", rows="frozen" if name == "matrix" else "sums")
        expected["models"][name] = model_answers(model)
    (folder / "small.toml").write_text(SMALL, "utf-8")
    cells = all_cells(read_spec(folder / "small.toml", MEASURES))
    when = ("float64", "cpu", 0.01, "example", "2026-01-01T12:00:00+00:00")
    with Store(folder / "store") as store:
        for cell in chain(*cells.values()):
            values = MEASURES[cell.measure].function(cell, "cpu")
            store.add(cell, values, Provenance(og.__version__, None, *when))
        expected["store"] = store_answers(store)
    (folder / "expected.json").write_text(json.dumps(expected) + "\n", "utf-8")


if __name__ == "__main__":
    record(FILES / og.__version__.removesuffix(".dev0"))
