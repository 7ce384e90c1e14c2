"""A figure is a TOML and a module: both there, both saying what they must."""

import math
import re
from pathlib import Path

import pytest

from onegrad.cli import main
from onegrad.experiments import cells_of
from onegrad.experiments.report.page import typeset
from onegrad.studies import gallery
from onegrad.studies.measures import MEASURES

STUDIES = Path(gallery.__file__).parent


def test_all_studies_are_in_the_gallery_in_a_definite_order() -> None:
    assert gallery.groups() == ["papers", "open"]
    for group in gallery.groups():
        studies = gallery.select([group])
        names = {path.stem.replace("_", "-") for path in (STUDIES / group).glob("*.toml")}
        assert set(studies) == names and len(names) > 10
        orders = [study.spec.order for study in studies.values()]
        assert orders == sorted(set(orders)), "orders must differ"
        modules = {path.stem for path in (STUDIES / group).glob("*.py")} - {"__init__"}
        assert modules == {study.module.__name__.rpartition(".")[2] for study in studies.values()}


def test_a_study_says_what_it_shows_and_computes() -> None:
    full, quick = (gallery.select(gallery.groups(), quick=quick) for quick in (False, True))
    for name, study in full.items():
        assert callable(study.module.draw)
        assert all(len(study.spec.text[key]) > 10 for key in ("title", "caption", "parameters"))
        for small, large in zip(quick[name].spec.grids, study.spec.grids, strict=True):
            a, b = cells_of(small), cells_of(large)
            assert a and b and small.seeds <= large.seeds and _work(a) <= _work(b), name


def test_fewer_seeds_are_a_part_of_all() -> None:
    few, full = (
        gallery.select(["intercept", "cui-maximal-step"], seeds=seeds) for seeds in (5, None)
    )
    for name, study in full.items():
        pairs = list(zip(few[name].spec.grids, study.spec.grids, strict=True))
        for small, large in pairs:
            some, every = ({c.key for c in cells_of(g)} for g in (small, large))
            assert some <= every, "a run with all seeds takes these up"
            assert min(5, large.seeds) <= small.seeds < 5 + large.seeds_per_cell
        assert sum(small.seeds for small, _ in pairs) < sum(large.seeds for _, large in pairs)


def _work(cells: list) -> float:
    """A measure of cost: rows times width times seeds."""
    return math.fsum(c.problem.n * c.problem.N * max(c.seeds, 1) * len(c.etas) for c in cells)


def test_figure_3_has_the_papers_parameters() -> None:
    for letter, size, ratio, ridge, noise in (("a", "N", 2, 1e-4, 0.25), ("b", "n", 5, 1e-2, 0.1)):
        (study,) = gallery.select([f"ba-figure3{letter}"]).values()
        (grid,) = (grid for grid in study.spec.grids if grid.name == "simulation")
        for cell in cells_of(grid):
            p = cell.problem
            assert (p.d, getattr(p, size), p.ridge, p.noise) == (512, 512 * ratio, ridge, noise)
        assert grid.seeds == 50


def test_list_order_and_bad_names(capsys: pytest.CaptureFixture[str]) -> None:
    in_order = ["moniri-spectrum", "ba-figure1"]
    assert list(gallery.select(in_order[::-1])) == in_order
    assert main(["reproduce", "--list"]) == 0
    assert "ba-figure3a" in capsys.readouterr().out
    assert main(["reproduce", "ba-figur3a"]) == 2
    assert "FIGURE 'ba-figur3a': did you mean ba-figure3a" in capsys.readouterr().err


def test_the_stored_report_has_every_figure_and_sentence_of_the_papers() -> None:
    docs = Path(__file__).parents[2] / "docs"
    report, page = (
        (docs / name).read_text(encoding="utf-8")
        for name in ("report/report.html", "experiments.md")
    )
    assert report.index('class="verdict pass"') < report.index("<nav>") < report.index("<figure>")
    for name, study in gallery.select().items():
        remedy = f"{name}: run python docs/make_report.py OUT"
        assert f'<section id="{name}">\n<h2>{typeset(study.title)}</h2>' in report, remedy
        for headline in study.spec.headlines:
            sentence = headline.get("says", study.title)
            if "{{" not in sentence:
                assert f"<td>{typeset(sentence)}</td>" in report, remedy
                assert f"| `{name}` | {sentence} |" in page, remedy


def test_the_page_about_experiments_has_every_measure_with_its_options() -> None:
    text = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| ((?:`\w+`(?:, )?)*) ?\| [^|]*\|$", text, re.MULTILINE)
    listed = {name: set(re.findall(r"`(\w+)`", options)) for name, options in rows}
    measured = {name: set(measure.options) for name, measure in MEASURES.items()}
    assert {name: listed.get(name) for name in measured} == measured
