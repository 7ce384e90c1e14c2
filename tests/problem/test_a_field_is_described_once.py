"""What is said of a field of Problem is said in its metadata; every other place follows."""

import importlib.util
import inspect
import json
import re
from pathlib import Path

import pytest

import onegrad as og
from onegrad.experiments import cells_of
from onegrad.experiments.spec import parse_spec
from onegrad.explorer import controls, recompute
from onegrad.problem import FIELDS, RATIO_FIELDS
from onegrad.studies.measures import MEASURES
from programs import run_with_field

ROOT = Path(__file__).parents[2]
OTHER = {"whole": 7, "number": 0.25, "text": "erf", "flag": True, "law": "student-t(4)"}
OTHER["numbers"] = "0.2,0.1"
REST = {"n": 40, "d": 20, "N": 30}


def other_value(name: str):
    """A value that is not the default."""
    field = FIELDS[name]
    return field.choices[-1] if field.kind == "choice" else OTHER[field.kind]


def test_every_field_is_described():
    about = inspect.getdoc(og.Problem)  # Python 3.13 takes the indentation off, others do not
    for name, field in FIELDS.items():
        assert field.name == name and field.label, name
        assert field.help[0].islower() and not field.help.endswith("."), name
        assert re.search(rf"^([\w ,]+, )?{name}(, [\w ,]+)? : ", about, re.M), name
        if field.slider:
            (low, high), (left, right) = field.limits, field.slider
            assert field.low <= low <= left < right <= high, name


def test_every_field_of_the_page_has_its_control():
    shown = {control["name"]: control for control in controls.control_table()["controls"]}
    for name, field in FIELDS.items():
        if field.group:
            assert shown[name]["help"].lower().startswith(field.help.lower()), name
            assert tuple(shown[name]["papers"].values()) == field.papers, name
            assert shown[name]["kind"] not in ("law", "flag")  # the page draws no such control yet
            assert field.limits or field.is_text, name


def test_every_field_is_in_the_code_that_recomputes():
    for name, field in FIELDS.items():
        problem = og.Problem(**REST | {name: other_value(name)})
        lines = recompute.python_script(problem, "spectrum")
        shown = {}
        exec(lines.split("spectrum =")[0], shown)  # ours
        assert shown["problem"] == problem, name
        assert field.option in recompute.command(problem, "spectrum") or name in ("alpha", "eta")
    assert recompute.problem_arguments(og.Problem(**REST)) == REST | {"eta": 0.0}  # no defaults


def test_the_notation_table_is_what_the_fields_say():
    spec = importlib.util.spec_from_file_location("notation", ROOT / "docs" / "make_notation.py")
    notation = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notation)
    page = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    assert notation.page(page) == page, "run python docs/make_notation.py"
    for name in [*FIELDS, *RATIO_FIELDS]:
        assert f"| `{name}` |" in page


NEW = """    momentum: float = field(default=0.0, metadata=description(
        label="Momentum μ", symbol="μ", help="share of the last step", low=0.0, high=1.0,
        papers=("0", "0", "0"), group="fit", limits=(0, 1), slider=(0, 1)))
    # fmt: on
"""
SCRIPT = """
import argparse, json, sys
sys.path.insert(0, {docs!r})
import make_notation
from onegrad.cli.options import add_problem_command, read_problem_options
from onegrad.experiments import cells_of
from onegrad.experiments.spec import parse_spec
from onegrad.explorer import controls, recompute
from onegrad.explorer.controls import read_problem
from onegrad.problem import FIELDS, Problem
from onegrad.studies.measures import MEASURES

rest = dict(n=40, d=20, N=30)
try:
    Problem(**rest, momentum=2)
except ValueError as error:
    complaint = str(error)
parser = add_problem_command(argparse.ArgumentParser().add_subparsers(), "test", "", "")
args = parser.parse_args("--n 40 --d 20 --N 30 --momentum 0.1,0.2".split())
problem, axes = read_problem_options(args).problem, read_problem_options(args).axes
def cells(**fields):
    table = dict(grid=dict(measure="errors", problem=fields))
    return cells_of(parse_spec(table, "t", MEASURES).grids[0])
print(json.dumps(dict(
    complaint=complaint,
    option=[problem.momentum, axes],
    sweep=[cell.problem.momentum for cell in cells(**rest, momentum=[0.0, 0.5])],
    keys=[cells(**rest)[0].key, cells(**rest, momentum=0.5)[0].key],
    control=[c["label"] for c in controls.control_table()["controls"] if c["name"] == "momentum"],
    asked=read_problem(dict(momentum="0.5")).momentum,
    code=recompute.python_script(Problem(**rest, momentum=0.5), "spectrum"),
    notation=make_notation.table(FIELDS.values()),
)))
"""


@pytest.mark.full
def test_a_field_added_to_the_class_appears_everywhere(tmp_path):
    """The package with one more field, in a process of its own."""
    script = SCRIPT.format(docs=str(ROOT / "docs"))
    found = json.loads(run_with_field(tmp_path, NEW, script))
    assert found["complaint"] == "momentum must be between 0 and 1; got 2"
    assert found["option"] == [0.1, {"momentum": [0.1, 0.2]}]
    assert found["sweep"] == [0.0, 0.5]
    spec = parse_spec({"grid": {"measure": "errors", "problem": REST}}, "t", MEASURES)
    assert found["keys"][0] == cells_of(spec.grids[0])[0].key  # a default changes no key
    assert found["keys"][1] != found["keys"][0]
    assert found["control"] == ["Momentum μ"]
    assert found["asked"] == 0.5
    assert "momentum=0.5" in found["code"]
    assert (
        "| μ | `momentum` | share of the last step (default 0) | 0 | 0 | 0 |" in found["notation"]
    )
