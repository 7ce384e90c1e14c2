"""The public names are exactly these; each can be loaded, is typed, and is shown by `help`."""

import ast
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onegrad as og

NAMES = {
    "AlternatingClassifier", "AlternatingRegressor", "AssumptionWarning", "Comparison", "Function",
    "InvalidInput", "NotConverged", "OneStepClassifier", "OneStepFeatures", "OneStepRegressor",
    "Optimum", "OutOfScope", "Prediction", "Problem", "Simulation", "Spectrum", "compare", "cost",
    "exponents", "optimum", "predict", "register", "simulate", "spectrum", "spike_count",
    "thresholds",
}  # fmt: skip

SCRIPT = """
import onegrad as og

problem = og.Problem(n=100, d=50, N=60, alpha=0.2)
reveal_type(problem)
reveal_type(problem.replace(alpha=0.3))
reveal_type(og.predict)
reveal_type(og.predict(problem))
reveal_type(og.simulate)
reveal_type(og.simulate(problem, seeds=2).test)
reveal_type(og.spectrum)
reveal_type(og.spectrum(problem).edge)
reveal_type(og.cost)
reveal_type(og.exponents("H3"))
reveal_type(og.spike_count)
reveal_type(og.thresholds)
reveal_type(og.OneStepRegressor())
reveal_type(og.OneStepClassifier())
reveal_type(og.OneStepFeatures())
reveal_type(og.AlternatingRegressor())
reveal_type(og.AlternatingClassifier())
"""


def test_public_names():
    assert set(og.__all__) == NAMES


def test_every_public_name_loads():
    for name in og.__all__:
        assert getattr(og, name) is not None


def test_rooms_loaded_later_do_not_shadow_functions():
    import onegrad.networks
    import onegrad.theory

    assert callable(og.spectrum) and callable(og.simulate) and callable(og.predict)
    assert callable(onegrad.theory.spectrum) and callable(onegrad.networks.spectrum)


@pytest.mark.parametrize(
    "name", ["cost", "optimum", "predict", "simulate", "spectrum", "spike_count", "thresholds"]
)
def test_help_shows_the_function(name):
    import onegrad.networks
    import onegrad.theory  # noqa: F401 -- no room that is loaded later takes a function's name

    function = getattr(og, name)
    assert inspect.isfunction(function)
    shown = pydoc.plain(pydoc.render_doc(function))
    assert shown.startswith(f"Python Library Documentation: function {name} in module onegrad.")
    first = inspect.getdoc(function).splitlines()[0]
    assert len(first) > 20 and first in shown
    assert all(word in shown for word in inspect.signature(function).parameters)


def test_type_checkers_see_what_is_loaded_later():
    tree = ast.parse(Path(og.__file__).read_text(encoding="utf-8"))
    (block,) = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    seen = {alias.name: node.module for node in block.body for alias in node.names}  # type: ignore[attr-defined]
    assert all(alias.asname == alias.name for node in block.body for alias in node.names)  # type: ignore[attr-defined]
    assert set(seen) == set(og._LAZY) <= set(og.__all__)
    for name, room in og._LAZY.items():
        assert f"{seen[name]}.".startswith(f"{room}.")


def types_of(script: str, folder: Path) -> tuple[list[str], list[str]]:
    """What mypy reveals in a user's script, and its complaints."""
    (folder / "script.py").write_text(script)
    cache = Path(__file__).parents[1] / ".mypy_cache" / "scripts"
    command = ["mypy", "--config-file=", f"--cache-dir={cache}", "--ignore-missing-imports"]
    run = subprocess.run(
        [sys.executable, "-m", *command, "script.py"], cwd=folder, capture_output=True, text=True
    )
    revealed = re.findall(r'Revealed type is "(.*)"', run.stdout)
    return revealed, re.findall(r"script.py.* error: (.*)", run.stdout)


def test_users_get_types(tmp_path):
    script = SCRIPT + "og.predikt\nog.predict(theory=3)\n"
    revealed, complaints = types_of(script, tmp_path)
    assert len(revealed) == SCRIPT.count("reveal_type")
    assert not [text for text in revealed if text in ("Any", "types.ModuleType")]
    assert revealed[2].startswith("def (problem: ") and revealed[2].endswith("Prediction")
    assert 'no attribute "predikt"' in complaints[0] and "problem" in complaints[1]
