"""A figure is a TOML and a module: both there, both saying what they must."""

from __future__ import annotations

import importlib
import math

import pytest

from onegrad import InvalidInput
from onegrad.cli import main
from onegrad.experiments import cells_of
from onegrad.studies import gallery

WANTED = {
    "moniri-spectrum", "moniri-alignment", "moniri-setting1", "moniri-setting2", "moniri-degree4",
    "moniri-equivalence", "ba-figure1", "ba-figure2", "ba-figure3a", "ba-figure3b", "ba-figure3c",
    "ba-alignment", "double-descent", "cui-maximal-step", "moniri-gains", "moniri-sharpening",
    "ba-theorem7", "ba-more-steps",
}  # fmt: skip
OPEN = {
    "non-gaussian", "more-steps", "activations", "beyond-half", "robustness", "same-data", "deeper",
    "full-training", "intercept", "multi-index", "other-steps", "input-label",
    "alternating-recovers",
}  # fmt: skip


def test_all_figures_are_registered_in_a_definite_order() -> None:
    assert set(gallery.specs()) == WANTED
    assert set(gallery.specs(["open"])) == OPEN
    for group in gallery.groups():
        orders = [spec.about["order"] for spec in gallery.specs([group]).values()]
        assert orders == sorted(set(orders)), "orders must differ"


@pytest.mark.parametrize("name", sorted(WANTED | OPEN))
def test_a_figure_says_what_it_shows_and_computes(name: str) -> None:
    module = importlib.import_module(
        f"onegrad.studies.{gallery.group_of(name)}.{name.replace('-', '_')}"
    )
    assert callable(module.draw)
    full, quick = (gallery.specs([name], quick=quick)[name] for quick in (False, True))
    for key in ("title", "caption", "parameters"):
        assert len(full.about[key]) > 10
    for small, large in zip(quick.grids, full.grids, strict=True):
        a, b = cells_of(small), cells_of(large)
        assert a and b
        assert small.seeds <= large.seeds
        assert _work(a) <= _work(b)


@pytest.mark.parametrize("name", ["intercept", "multi-index", "cui-maximal-step"])
def test_fewer_seeds_are_a_part_of_all(name: str) -> None:
    few, full = (gallery.specs([name], seeds=seeds)[name] for seeds in (5, None))
    for small, large in zip(few.grids, full.grids, strict=True):
        some, every = ({c.key for c in cells_of(g)} for g in (small, large))
        assert some <= every, "a run with all seeds takes these up"
        assert min(5, large.seeds) <= small.seeds < 5 + large.seeds_per_cell
    assert sum(g.seeds for g in few.grids) < sum(g.seeds for g in full.grids)


def _work(cells: list) -> float:
    """A measure of cost: rows times width times seeds."""
    return math.fsum(c.problem.n * c.problem.N * max(c.seeds, 1) * len(c.etas) for c in cells)


def test_figure_3_has_the_papers_parameters() -> None:
    for letter, size, ridge, noise in (("a", "N", 1e-4, 0.25), ("b", "n", 1e-2, 0.1)):
        name = f"ba-figure3{letter}"
        grids = {grid.name: grid for grid in gallery.specs([name])[name].grids}
        grid = grids["simulation"]
        ratio = {"N": 2, "n": 5}[size]
        for cell in cells_of(grid):
            p = cell.problem
            assert (p.d, getattr(p, size), p.ridge, p.noise) == (512, 512 * ratio, ridge, noise)
        assert grid.seeds == 50


def test_an_unknown_figure_is_refused_with_a_hint() -> None:
    with pytest.raises(InvalidInput, match="did you mean ba-figure3a"):
        gallery.specs(["ba-figur3a"])
    assert list(gallery.specs(["ba-figure1", "moniri-spectrum"])) == [
        "moniri-spectrum",
        "ba-figure1",
    ]


def test_list_and_bad_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    assert "ba-figure3a" in capsys.readouterr().out
    assert main(["reproduce", "figure9"]) == 2
    assert "FIGURE 'figure9': did you mean ba-figure" in capsys.readouterr().err
