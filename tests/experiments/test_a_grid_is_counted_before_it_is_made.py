"""What is too large to finish is refused by counting: no cell and no problem is made for it."""

from typing import Any

import pytest

from onegrad import InvalidInput
from onegrad.experiments import cells_of, grid
from onegrad.experiments.grid import all_cells, count_cells
from onegrad.experiments.spec import parse_spec
from onegrad.io.ranges import parse_numbers
from onegrad.studies.measures import MEASURES

SIZES = {"n": 100, "d": 50, "N": 75}


def spec(measure: str = "rehearsal", problem: dict[str, Any] | None = None, **others: Any) -> Any:
    table = {"measure": measure, "problem": SIZES | (problem or {}), **others}
    return parse_spec({"grid": table}, "test", MEASURES)


@pytest.fixture
def nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("a problem or a cell was made")

    monkeypatch.setattr(grid, "Cell", fail)
    monkeypatch.setattr(grid, "problems_of", fail)


TOO_MANY: list[tuple[dict[str, Any], str]] = [
    ({"seeds": 10**9, "seeds_per_cell": 1}, "1 problems times 1000000000 blocks of seeds"),
    (
        {"problem": {"alpha": "0:1:100000", "ridge": "1e-4:1:100000:log"}},
        "1 problems of 10000000000 steps and penalties each",
    ),
    (
        {"problem": {"n": list(range(2, 10**5)), "d": list(range(1, 10**5))}},
        "9999700002 problems of 1 steps",
    ),
    (
        {"problem": {"n": list(range(2, 2002))}, "seeds": 1000, "seeds_per_cell": 1},
        "2000 problems times 1000 blocks of seeds; at most 1000000 cells",
    ),
]


@pytest.mark.usefixtures("nothing_is_made")
def test_too_many() -> None:
    for changes, message in TOO_MANY:
        with pytest.raises(InvalidInput, match=message) as caught:
            cells_of(spec(**changes).grids[0])
        assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("nothing_is_made")
def test_grids_count_together() -> None:
    table = {"measure": "rehearsal", "problem": SIZES, "seeds": 600_000, "seeds_per_cell": 1}
    both = parse_spec({"grid": [table | {"name": "a"}, table | {"name": "b"}]}, "test", MEASURES)
    with pytest.raises(InvalidInput, match="grid: 1200000 cells together; at most 1000000"):
        all_cells(both)


def test_a_cell_of_too_many_seeds() -> None:
    for changes in ({"seeds": 10**9}, {"seeds": 10**8, "seeds_per_cell": 10**7}):
        with pytest.raises(InvalidInput, match=r"seeds_per_cell must be at most 1000000"):
            spec(**changes)


def test_a_list_of_ranges_stops_at_its_limit() -> None:
    text = ",".join(["0:1:1000"] * 10**5)  # a hundred million numbers, asked for in a megabyte
    with pytest.raises(InvalidInput, match="x: lists more than 1000 values"):
        parse_numbers(text, "x", 1000)


def test_the_count_is_that_of_the_cells() -> None:
    for problem in ({}, {"n": [10, 20], "alpha": "0:1:5"}, {"d": [3], "ridge": [1, 2]}):
        for seeds in ({"seeds": 7, "seeds_per_cell": 2}, {"seeds": 3}):
            for measure in ("rehearsal", "theory"):
                one = spec(measure, problem, **seeds).grids[0]
                assert count_cells(one) == len(cells_of(one))
