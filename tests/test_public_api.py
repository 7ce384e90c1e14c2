"""The public names are exactly these; each can be loaded and is typed."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onegrad as og

pytestmark = pytest.mark.compat

NAMES = {
    "AlternatingClassifier", "AlternatingRegressor", "AssumptionWarning", "Comparison", "Function",
    "InvalidInput", "NotConverged", "OneStepClassifier", "OneStepFeatures", "OneStepRegressor",
    "Optimum", "OutOfScope", "Prediction", "Problem", "Simulation", "Spectrum", "compare", "cost",
    "exponents", "optimum", "predict", "register", "simulate", "spectrum", "spike_count",
    "thresholds", "two_step_outliers",
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
reveal_type(og.two_step_outliers(problem).positions)
reveal_type(og.OneStepRegressor())
reveal_type(og.OneStepClassifier())
reveal_type(og.OneStepFeatures())
reveal_type(og.AlternatingRegressor())
reveal_type(og.AlternatingClassifier())
"""


FUNCTIONS = {
    "cost", "optimum", "predict", "simulate", "spectrum", "spike_count", "thresholds",
    "two_step_outliers",
}  # fmt: skip


def test_the_public_names_are_these_and_load():
    assert set(og.__all__) == NAMES == set(dir(og))
    for name in og.__all__:
        assert getattr(og, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        getattr(og, "nothing")  # noqa: B009 -- mypy knows that it is not there


def test_packages_loaded_later_do_not_shadow_functions():
    import onegrad.networks
    import onegrad.theory

    assert all(inspect.isfunction(getattr(og, name)) for name in FUNCTIONS)
    assert callable(onegrad.theory.spectrum) and callable(onegrad.networks.spectrum)


def types_of(script: str, folder: Path) -> tuple[list[str], list[str]]:
    """What mypy reveals in a user's script, and its complaints."""
    (folder / "script.py").write_text(script, "utf-8")
    cache = Path(__file__).parents[1] / ".mypy_cache" / "scripts"
    command = ["mypy", "--config-file=", f"--cache-dir={cache}", "--ignore-missing-imports"]
    run = subprocess.run(
        [sys.executable, "-m", *command, "script.py"], cwd=folder, capture_output=True, text=True
    )
    revealed = re.findall(r'Revealed type is "(.*)"', run.stdout)
    return revealed, re.findall(r"script.py.* error: (.*)", run.stdout)


@pytest.mark.full
def test_users_get_types(tmp_path):
    script = SCRIPT + "og.predikt\nog.predict(theory=3)\n"
    revealed, complaints = types_of(script, tmp_path)
    assert len(revealed) == SCRIPT.count("reveal_type")
    assert not [text for text in revealed if text in ("Any", "types.ModuleType")]
    assert revealed[2].startswith("def (problem: ") and revealed[2].endswith("Prediction")
    assert 'no attribute "predikt"' in complaints[0] and '"theory"' in complaints[1]
