"""Code and pages call things what docs/notation.md calls them."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import onegrad as og
from onegrad.problem import FIELDS, RATIO_FIELDS

ROOT = Path(__file__).parents[1]
TABLE = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8").partition("end of fields")[2]
ROWS = [line.split("|")[1:-1] for line in TABLE.splitlines() if line.startswith("| ")][1:]
CODE = {name for row in ROWS for name in re.findall(r"`([^`]+)`", row[1])}
# what others call the same things: never a parameter of ours
OTHERS = {
    "lam", "lambda_", "reg", "l2", "learning_rate", "lr", "step_size", "n_samples", "n_train",
    "n_features", "n_hidden", "sigma_noise", "noise_std", "seed_list", "p", "m",
}  # fmt: skip
CONVENTIONS = {"moniri", "ba", "cui"}  # the papers' own parameters
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
STAR = re.compile(r"(?:σ|β|\\sigma|\\beta)(?:\\\*|\*(?![\*²])|\^\*|\^\\ast|\^\{\*\})")


def identifiers() -> set[str]:
    """Every name, attribute and parameter in the source."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for field in ("id", "attr", "arg", "name"):
                found.add(getattr(node, field, None))
    return {name for name in found if isinstance(name, str)}


def test_every_name_of_the_table_is_used():
    used = identifiers()
    missing = {name for name in CODE if not set(re.findall(r"[A-Za-z_]\w*", name)) <= used}
    assert len(CODE) > 20 and not missing


def test_what_the_table_says_of_functions_is_true():
    sigma = og.Problem(n=4, d=2, N=3, activation="relu:raw").sigma
    assert {"sigma.c[k]", "sigma.nonlinear_energy", "sigma_star.variance"} <= CODE
    c = sigma.c
    assert sigma.nonlinear_energy == pytest.approx(sigma.second_moment - c[0] ** 2 - c[1] ** 2)
    assert sigma.variance == pytest.approx(sigma.second_moment - c[0] ** 2)


def public() -> dict[str, set[str]]:
    """Parameters of every public function, class and public method."""
    found = {}
    for name in og.__all__:
        thing = getattr(og, name)
        parts = {name: thing}
        if inspect.isclass(thing):
            members = inspect.getmembers(thing, callable)
            parts |= {f"{name}.{k}": v for k, v in members if not k.startswith("_")}
        for full, part in parts.items():
            if full.rpartition(".")[2] not in CONVENTIONS:
                try:
                    found[full] = set(inspect.signature(part).parameters)
                except (TypeError, ValueError):
                    continue
    return found


def test_no_parameter_has_another_name():
    wrong = {name: given & OTHERS for name, given in public().items() if given & OTHERS}
    assert not wrong and {"predict", "simulate", "Problem.replace"} <= set(public())
    assert not OTHERS & (set(FIELDS) | set(RATIO_FIELDS))


def test_the_teacher_has_its_star():
    """The papers' asterisks are in their columns of the table and nowhere else."""
    for page in PAGES:
        if page.name != "notation.md":
            assert not STAR.findall(page.read_text(encoding="utf-8")), page


def test_an_asterisk_is_seen():
    assert STAR.findall(r"σ\*, $\sigma^*$ and β*") and not STAR.findall(r"σ⋆, β⋆, $\sigma_\star$")
    assert not STAR.findall("**the step σ**²")
