"""A cell's key is a function of what it means, and of nothing else."""

import pickle

import numpy as np
import pytest

from onegrad import InvalidInput, Problem
from onegrad.experiments import Cell, cells_of
from onegrad.experiments.spec import parse_spec
from onegrad.studies.measures import MEASURES


def test_json_round_trip() -> None:
    rng = np.random.default_rng(0)
    for case in range(30):
        n, d, N = rng.integers(1, 10**6, 3).tolist()
        etas, ridges = (tuple(10 ** rng.uniform(-6, 6, rng.integers(1, 4))) for _ in range(2))
        readout, noise = ("gaussian", "constant")[case % 2], 10 ** rng.uniform(-6, 6)
        p = Problem(n=n, d=d, N=N, noise=noise, eta=etas[0], ridge=ridges[0], readout=readout)
        cell = Cell("errors", p, etas, ridges, 3, case, (("model", "trained"),))
        again = Cell.from_json(cell.json)
        assert (again.json, again.key, again) == (cell.json, cell.key, cell)
        pickled = pickle.dumps(cell)
        assert pickle.loads(pickled) == cell and cell.json.encode() in pickled


def test_the_key_is_pinned() -> None:
    """A key that changes between versions would make every old store look empty."""
    cell = Cell("errors", Problem(n=100, d=50, N=75, noise=0.5), (0.0, 2.0), (0.01,), 0, 10)
    assert cell.key == "533f96a003104ee15c22607dace85d9b35a0b2e3d40e5e30c6a0aee44652100a"


def test_steps_and_penalties_share_a_cell_and_sizes_do_not() -> None:
    table = {
        "measure": "rehearsal",
        "seeds": 10,
        "seeds_per_cell": 4,
        "problem": {"n": [100, 200], "d": 50, "N": 50, "alpha": "0:0.5:11", "ridge": [0.1, 1]},
    }
    cells = cells_of(parse_spec({"grid": table}, "test", MEASURES).grids[0])
    assert len(cells) == 2 * 3
    assert {(c.first_seed, c.seeds) for c in cells} == {(0, 4), (4, 4), (8, 2)}
    for cell in cells:
        n = cell.problem.n
        assert cell.etas == tuple(float(n) ** (0.05 * k) for k in range(11))
        assert cell.ridges == (0.1, 1.0)
    assert len({c.key for c in cells}) == 6


CONVENTIONS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "moniri": ({"n": 400, "phi": 0.5, "psi": 0.8}, {"d": 200, "N": 250, "residual": "full"}),
    "ba": ({"d": 100, "psi1": 5, "psi2": 2}, {"n": 500, "N": 200, "residual": "labels"}),
    "cui": ({"d": 9, "p": 16, "n0": 8, "n": 30, "eta": 2}, {"N": 16, "n_step": 8, "eta": 8}),
}


def test_each_papers_own_parameters() -> None:
    for convention, (problem, expected) in CONVENTIONS.items():
        table = {"measure": "rehearsal", "convention": convention, "problem": problem}
        (cell,) = cells_of(parse_spec({"grid": table}, "test", MEASURES).grids[0])
        assert {k: getattr(cell.problem, k) for k in expected} == expected, convention


def test_a_callable_has_no_text_to_hash() -> None:
    with pytest.raises(InvalidInput, match="activation must be written as text"):
        Cell("errors", Problem(n=9, d=9, N=9, activation=(abs, abs)), (0.0,), (0.1,))
