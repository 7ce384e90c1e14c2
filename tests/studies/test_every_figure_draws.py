"""Every figure's module draws from cells of the right shape, and the real ones verify."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from jinja2 import UndefinedError
from matplotlib.figure import Figure

from onegrad.cli import main
from onegrad.experiments import Results, Store, cells_of, run_cells
from onegrad.experiments.cell import Cell
from onegrad.experiments.executors import with_processes
from onegrad.studies import gallery
from onegrad.studies.measures import MEASURES
from onegrad.studies.measures.giant_step import ONCE, PROTOCOLS
from onegrad.studies.measures.three_layers import STEP_KINDS
from onegrad.studies.measures.training import METHODS
from onegrad.studies.reproduce import filled, number_table, texts

THEORY = re.compile(r"theory|Theorem|staircase")
LEVELS = ("train", "test", "risk", "linear", "kernel_bound")


def _invented(cell: Cell, device: str) -> dict[str, np.ndarray]:
    """Numbers of the shapes that a cell's measure gives, at no cost; noisy where seeded."""
    rng = np.random.default_rng(int(cell.key[:8], 16))
    steps, ridges, p = len(cell.etas), len(cell.ridges), cell.problem
    seeds = (cell.seeds,) if cell.seeds else ()

    def values(*shape: int) -> np.ndarray:
        noise = 0.01 if seeds else 0.0
        return 1 + noise * rng.standard_normal((*seeds, *shape))

    data_sets = int(dict(cell.options).get("data_sets", 1))
    features, weights = min(p.n, p.N), min(p.N, p.d)
    shapes = {
        "errors": dict.fromkeys(("train", "test", "risk", "overlap"), (steps, ridges)),
        "theory": dict.fromkeys(LEVELS, (steps, ridges)),
        "spectrum": {
            "F": (steps, 1, features), "W": (steps, 1, weights), "alignments": (steps, 1, 8, 6),
        },
        "spectrum-theory": {
            "edge": (steps, 1), "x": (steps, 1, 9), "rho": (steps, 1, 9), "spikes": (steps, 1, 6),
            "alignments": (steps, 1, 6, 6),
        },
        "gradient": {"cosine": (), "top": (), "second": ()},
        "step-shape": {"norm": (), "frobenius": (), "cosine": ()},
        "gradient-norms": dict.fromkeys(
            ("rest", "gradient", "gradient_frobenius", "weights", "weights_frobenius"), ()
        ),
        "spiked-distance": {
            "distance": (steps, 1), "printed": (steps, 1), "spikes": (steps, 1, 4),
        },
        "adversarial": {
            **dict.fromkeys(("risk", "slope", "gradient", "along", "readout"), (steps, ridges)),
            "attacked": (steps, ridges, 5),
        },
        "gradient-theory": {"gradient": (steps, ridges)},
        "trajectories": {"paths": (1, 1, 5, 7, 2), "distance": (), "steps": (), "loss": ()},
        "real-inputs": dict.fromkeys(("train", "test", "risk", "overlap"), (steps, ridges)),
        "weights": {"after": (steps, 1, 12), "before": (steps, 1), "aligned": (steps, 1, 12)},
        "learned": {"risk": (steps, 1), "share": (steps, 1, 6)},
        "reused-batch": {"error": (1, 1, 7), "overlap": (1, 1, 7)},
        "giant-step": {
            **dict.fromkeys(PROTOCOLS, (1, 1, data_sets)),
            **dict.fromkeys(ONCE, (1, 1)),
        },
        "three-layer-errors": {
            f"test_{kind}": (1 if kind == "none" else steps, ridges) for kind in STEP_KINDS
        },
        "three-layer-spectrum": dict.fromkeys(("two", "first", "linear"), (steps, 1, 6, 4)),
        "training-methods": {
            f"{name}_{method}": () for name in ("test", "rate", "penalty")
            for method in METHODS
        },
        "rounds": {"overlap": (), "spectral": (), "risk": ()},
        "unit-index": {"test": (steps, ridges)},
        "index-correlation": {"correlation": (), "cosine": ()},
    }  # fmt: skip
    found = {name: values(*shape) for name, shape in shapes[cell.measure].items()}  # type: ignore[attr-defined]
    if cell.measure in ("errors", "theory", "real-inputs"):  # errors fall with the step
        fall = 1 / (1 + 0.1 * np.arange(steps))[:, None]
        found = {name: value * fall for name, value in found.items()}
    if "x" in found:
        found["spikes"] = 2 * found["spikes"]  # beyond the edge
        found["x"] = np.broadcast_to(np.linspace(0.1, 2.0, 9), found["x"].shape)
    return found


def legends(figure: Figure) -> list[str]:
    """The words of every legend."""
    found = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    return [text.get_text() for legend in found if legend for text in legend.get_texts()]


def off_frame(figure: Figure) -> list[str]:
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
    ax = Figure().subplots()
    ax.plot([0, 1], [5.0, 6.0], label="far")
    ax.set_ylim(0, 1)
    assert off_frame(ax.figure) == ["far: 5 outside 0 to 1"]


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, measure in MEASURES.items():
        monkeypatch.setitem(MEASURES, name, dataclasses.replace(measure, function=_invented))


@pytest.mark.parametrize("name", gallery.select(gallery.groups()))
def test_a_study_draws_compares_and_speaks(name: str, invented: None, tmp_path: Path) -> None:
    study = gallery.select([name], quick=True)[name]
    spec = study.spec
    with Store(tmp_path) as store:
        done = run_cells(
            [c for grid in spec.grids for c in cells_of(grid)], store, MEASURES, with_processes(1)
        )
        assert done.failed == 0
        results = Results(spec, store)
        assert results.missing == 0
        figure, checks, facts = (f(results) for f in (study.draw, study.checks, study.facts))
    assert figure.axes
    for ax in figure.axes:
        assert ax.get_xlabel(), "every axis says what it is"
    if study.group == "papers":
        assert THEORY.search(" ".join(legends(figure)))
        assert not off_frame(figure)
    assert all(np.isfinite([c.theory, c.simulated, c.se, c.z]).all() for c in checks)
    text, notes = texts(study, facts)
    _, rows = number_table(study, facts)
    shown = " ".join([*text.values(), *notes, *(cell for row in rows for cell in row)])
    assert not re.search(r"[{}]", shown.replace("P_{>1}", "")), "every field is filled"
    if study.group == "open":
        assert re.search(r"\d", text["finding"]) and text["finding"].endswith((".", ")."))
    else:
        assert len(checks) >= (1 if name == "ba-figure2" else 4)


def test_a_text_that_names_no_fact_is_refused() -> None:
    with pytest.raises(UndefinedError, match="'gian' is undefined"):
        filled("{{ gian }}", {"gain": 0.25})


@pytest.mark.parametrize("measure", [
    "spectrum", "spectrum-theory", "gradient", "gradient-norms", "spiked-distance", "adversarial",
    "gradient-theory", "trajectories", "weights", "learned", "reused-batch",
    "step-shape", "three-layer-errors", "three-layer-spectrum", "giant-step", "training-methods",
    "rounds", "unit-index", "index-correlation",
])  # fmt: skip
def test_the_invented_shapes_are_the_real_ones(measure: str) -> None:
    for study in gallery.select(gallery.groups(), quick=True).values():
        for grid in study.spec.grids:
            if grid.measure == measure:
                cell = cells_of(grid)[0]
                small = cell.problem.replace(n=60, d=30, N=40)
                cell = dataclasses.replace(cell, problem=small, seeds=min(cell.seeds, 1))
                real = MEASURES[measure].function(cell, "cpu")
                fake = _invented(cell, "cpu")
                assert set(real) == set(fake)
                fixed = {"paths", "x", "rho"}  # their length is up to the measure
                for key in set(real) - fixed:
                    assert np.shape(real[key]) == np.shape(fake[key]), key
                return
    raise AssertionError(f"no figure uses {measure}")


@pytest.mark.slow
def test_the_quick_reproduction_verifies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "--quick", "--out", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["figures"] == list(gallery.select()) and said["missing"] == 0
    assert said["points"] > 200 and said["holding"] >= 0.95 * said["points"]
