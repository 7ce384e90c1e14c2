"""What is said of a field of Problem is said in its metadata; every other place follows."""

import argparse
import importlib.util
from pathlib import Path

import onegrad as og
from onegrad.cli.options import add_problem_command, read_problem_options
from onegrad.experiments import cells_of
from onegrad.experiments.spec import parse_spec
from onegrad.explorer import controls, recompute
from onegrad.problem import FIELDS, RATIO_FIELDS
from onegrad.studies.measures import MEASURES

ROOT = Path(__file__).parents[2]
OTHER = {"whole": 70, "number": 0.25, "text": "erf", "flag": True, "law": "student-t(4)"}
OTHER["numbers"] = "0.2,0.1"
REST = {"n": 40, "d": 20, "N": 30}


def other_value(name: str):
    """A value that is not the default."""
    field = FIELDS[name]
    return field.choices[-1] if field.kind == "choice" else OTHER[field.kind]


def test_every_field_is_described():
    for name, field in FIELDS.items():
        assert field.name == name and field.label and field.help, name
        if field.slider:
            (low, high), (left, right) = field.limits, field.slider
            assert field.low <= low <= left < right <= high, name


def test_every_field_is_an_option():
    parser = add_problem_command(argparse.ArgumentParser().add_subparsers(), "test", "", "")
    actions = {action.dest: action for action in parser._actions}
    for name, field in FIELDS.items():
        assert actions[name].option_strings == [f"--{name.replace('_', '-')}"]
        assert field.help in actions[name].help, name
        value = other_value(name)
        texts = [field.option] if field.kind == "flag" else [field.option, str(value)]
        args = parser.parse_args(["--n", "40", "--d", "20", "--N", "30", *texts])
        expected = getattr(og.Problem(**REST | {name: value}), name)
        assert getattr(read_problem_options(args).problem, name) == expected, name


def test_every_field_is_a_key_of_a_sweep_and_of_its_cells():
    def key(**fields):
        grid = {"measure": "errors", "problem": REST | fields}
        return cells_of(parse_spec({"grid": grid}, "test", MEASURES).grids[0])[0].key

    for name, field in FIELDS.items():
        assert key(**{name: other_value(name)}) != key(), name
        if field.default is not None and not field.required:  # spelled out
            assert key(**{name: field.default}) == key(), name


def test_every_field_of_the_page_has_its_control():
    shown = {control["name"]: control for control in controls.control_table()["controls"]}
    for name, field in FIELDS.items():
        if field.group:
            assert shown[name]["help"].lower().startswith(field.help.lower()), name
            assert tuple(shown[name]["papers"].values()) == field.papers, name
            assert shown[name]["kind"] not in ("law", "flag")  # the page draws no such control yet
            assert field.limits or field.is_text, name
            value = other_value(name)
            assert getattr(controls.read_problem({name: str(value)}), name) == value, name


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
