"""Every figure's module draws, compares and speaks from cells of the shapes that measures give."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onegrad import Problem
from onegrad.cli import main
from onegrad.experiments import Cell, Check, Point, Results, Store, check, run_cells
from onegrad.experiments.checks import location, place
from onegrad.studies import gallery
from onegrad.studies.measures import MEASURES
from onegrad.studies.reproduce import filled, headlines, number_table, texts

THEORY = re.compile(r"theory|Theorem|staircase")
SAMPLE = ("moniri-setting1", "moniri-spectrum", "same-data")  # curves, histograms, a page
STUDIES = [
    name if name in SAMPLE else pytest.param(name, marks=pytest.mark.full)
    for name in gallery.select(gallery.groups())
]
SHAPES: dict[Any, dict[str, tuple[int, ...]]] = {}
REAL = {name: measure.function for name, measure in MEASURES.items()}


def shapes(cell: Cell) -> dict[str, tuple[int, ...]]:
    """What the measure gives one seed of a small problem at as many steps and penalties."""
    key = cell.measure, len(cell.etas), len(cell.ridges), cell.options
    if key not in SHAPES:
        options = dict(cell.options)
        if "n_test" in options:
            options["n_test"] = 100
        d = cell.problem.d if "data" in options else 30  # data have columns of their own
        etas = tuple(0.1 + 0.01 * i for i in range(len(cell.etas)))
        small = dataclasses.replace(
            cell,
            problem=cell.problem.replace(n=60, d=d, N=40, eta=etas[0]),
            etas=etas,
            options=tuple(options.items()),
            seeds=min(cell.seeds, 1),
        )
        SHAPES[key] = {k: np.shape(v) for k, v in REAL[cell.measure](small, "cpu").items()}
    return SHAPES[key]


def _invented(cell: Cell, device: str) -> dict[str, np.ndarray]:
    """Numbers near 1 of these shapes, noisy where seeded; errors fall with the step."""
    rng = np.random.default_rng(int(cell.key[:8], 16))
    values = {}
    for name, shape in shapes(cell).items():
        size = (cell.seeds, *shape[1:]) if cell.seeds else shape
        values[name] = 1 + (0.01 if cell.seeds else 0.0) * rng.standard_normal(size)
        if cell.measure in ("errors", "theory"):
            values[name] /= 1 + 0.1 * np.arange(len(cell.etas))[:, None]
    if "x" in values:  # a spectrum, and spikes beyond its edge
        values["x"] *= np.linspace(0.1, 2.0, values["x"].shape[-1])
        values["spikes"] *= 2
    return values


def off_frame(figure: Any) -> list[str]:
    """Lines that a legend names and that are nowhere in the picture."""
    gone = []
    for ax in figure.axes:
        low, high = ax.get_ylim()
        for line in ax.get_lines():
            y = np.asarray(line.get_ydata(), dtype=float)
            named = not str(line.get_label()).startswith("_") and len(y)
            if named and not np.any((y >= low) & (y <= high)):
                gone.append(f"{line.get_label()}: {y[0]:.3g} outside {low:.3g} to {high:.3g}")
    return gone


def test_a_line_outside_the_frame_is_seen() -> None:
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    ax.plot([0, 1], [5.0, 6.0], label="far")
    ax.set_ylim(0, 1)
    assert off_frame(ax.figure) == ["far: 5 outside 0 to 1"]


def unchecked(points: list[Point], checks: list[Check]) -> set[str]:
    """Points that both networks and theory have, and at which they are not compared."""
    predicted = {location(p.problem) for p in points if not p.seeded}
    shared = {place(p.problem) for p in points if p.seeded and location(p.problem) in predicted}
    return shared - {check.where for check in checks}


def test_a_point_that_is_not_compared_is_seen() -> None:
    problems = [Problem(n=100, d=50, N=80, ridge=ridge) for ridge in (0.1, 1.0)]
    points = [
        Point(p, {"test": np.ones(seeded * 2)}, seeded)
        for p in problems
        for seeded in (True, False)
    ]
    checks = [check("test", p, np.array([1.0, 1.1]), 1.0, "theory", 0.0) for p in problems]
    assert not unchecked(points, checks)
    assert unchecked(points, checks[1:]) == {checks[0].where}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_draws_compares_and_speaks(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, measure in MEASURES.items():
        monkeypatch.setitem(MEASURES, key, dataclasses.replace(measure, function=_invented))
    study = gallery.select([name], quick=True)[name]
    with Store(tmp_path) as store:
        results = Results(study.spec, store)
        cells = [cell for of_grid in results.cells.values() for cell in of_grid]
        assert run_cells(cells, store, MEASURES, map).failed == 0, store.condition().failed
        figure, checks, facts = (f(results) for f in (study.draw, study.checks, study.facts))
        assert results.missing == 0
    legends = [*figure.legends, *filter(None, (ax.get_legend() for ax in figure.axes))]
    words = " ".join(text.get_text() for legend in legends for text in legend.get_texts())
    assert figure.axes and all(ax.get_xlabel() for ax in figure.axes), "every axis says what it is"
    if study.group == "papers":
        assert THEORY.search(words) and not off_frame(figure)
        assert len(checks) >= (1 if name == "ba-figure2" else 4)
    assert all(np.isfinite([c.theory, c.simulated, c.se, c.z]).all() for c in checks)
    if study.group == "open":
        assert not checks or not unchecked([p for grid in results.values() for p in grid], checks)
    text, notes = texts(study, facts)
    _, rows = number_table(study, facts)
    sentences = [f"{h.sentence} {h.quantity} {h.shown}" for h in headlines(study, facts)]
    shown = " ".join([*text.values(), *notes, *sentences, *(cell for row in rows for cell in row)])
    assert not re.search(r"[{}]", shown.replace("P_{>1}", "")), "every field is filled"
    if study.group == "open":
        assert re.search(r"\d", text["finding"]) and text["finding"].endswith((".", ")."))


def test_a_text_that_names_no_fact_is_refused() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="'gian' is undefined"):
        filled("{{ gian }}", {"gain": 0.25})


@pytest.mark.slow
def test_the_quick_reproduction_verifies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "--quick", "--out", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["figures"] == list(gallery.select()) and said["missing"] == 0
    assert said["points"] > 200 and said["holding"] >= 0.95 * said["points"]
