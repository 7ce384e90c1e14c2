"""Every block of Python and every command in README and docs is run, and prints what it says.

A page is one session: its blocks run in order, in an empty folder. A line `call   # what it prints`
is held to the numbers in its comment. Blocks that cannot be run here say so in their first line
(```python no-run, ```console no-run); how many there are is counted below.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import onegrad as og
from onegrad.cli import main
from onegrad.functions import registry
from onegrad.theory import dispatch

ROOT = Path(__file__).parent.parent
PAGES = {
    page.relative_to(ROOT).as_posix(): page
    for page in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    )
    if not {"gallery", "generated", "open", "report"} & set(page.parts)
}
BLOCK = re.compile(r"^```([a-z]*)( no-run)?\n(.*?)^```", re.S | re.M)
NUMBER = re.compile(r"-?\d+\.\d+")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")

# blocks that are not run, and why
NOT_RUN = {
    "README.md": 1,  # make demo, make test, make docs
    "CONTRIBUTING.md": 1,  # make targets
    "docs/start/install.md": 2,  # pip and make
    "docs/start/simulation.md": 1,  # a server
    "docs/add_a_figure.md": 1,  # a module of the package
    "docs/estimators.md": 4,  # data of the reader
    "docs/experiments.md": 2,  # full runs
    "docs/explorer.md": 1,  # minutes
    "docs/performance.md": 5,  # benchmarks
    "docs/reliability.md": 1,  # soak
}


def blocks(text: str) -> Iterator[tuple[str, bool, str]]:
    """Language, whether it is run, and code of every block."""
    for language, skipped, code in BLOCK.findall(text):
        if language in ("python", "console"):
            yield language, not skipped, code


def numbers(text: str) -> list[float]:
    return [float(x) for x in NUMBER.findall(text)]


def statements(code: str) -> Iterator[tuple[str, str]]:
    """Statements of a block, each with the comment at its end."""
    held = ""
    for line in code.splitlines():
        if held and not held.endswith(":") and line[:1].strip() and not line.startswith(")"):
            yield _parted(held)
            held = ""
        held += ("\n" if held else "") + line
    if held:
        yield _parted(held)


def _parted(statement: str) -> tuple[str, str]:
    code, _, comment = statement.partition("  # ") if "\n" not in statement else (statement, "", "")
    return code, comment


def run_python(code: str, names: dict[str, object]) -> None:
    for statement, said in statements(code):
        expected = numbers(said)
        try:
            expression = compile(statement.strip(), "page", "eval")
        except SyntaxError:
            exec(statement, names)  # the pages are ours
            continue
        value = eval(expression, names)
        with np.printoptions(precision=12):
            found = numbers(repr(value))
        if expected and said[0] in "0123456789aPSEM-":
            # simulations print two digits of their error; one unit of what is shown is allowed
            assert found[: len(expected)] == pytest.approx(expected, rel=2e-4, abs=6e-4), statement


def run_console(code: str) -> None:
    for line in code.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            words = shlex.split(line[2:], comments=True)
            assert words[0] == "onegrad", line
            assert main(words[1:]) in (0, None), line


@pytest.fixture(autouse=True)
def left_as_it_was(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "REGISTRY", dict(registry.REGISTRY))
    monkeypatch.setattr(dispatch, "THEORIES", dict(dispatch.THEORIES))


@pytest.mark.parametrize("name", PAGES)
def test_blocks_run(name):
    names: dict[str, object] = {"og": og}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore", og.AssumptionWarning)
        for language, is_run, code in blocks(PAGES[name].read_text(encoding="utf-8")):
            if is_run:
                run_python(code, names) if language == "python" else run_console(code)


@pytest.mark.parametrize("name", PAGES)
def test_blocks_that_are_not_run_are_known(name):
    text = PAGES[name].read_text(encoding="utf-8")
    assert sum(not is_run for _, is_run, _ in blocks(text)) == NOT_RUN.get(name, 0)


@pytest.mark.parametrize("name", PAGES)
def test_every_block_says_what_it_is(name):
    """A block without a language, or an indented command, would be run by nobody."""
    text = PAGES[name].read_text(encoding="utf-8")
    fences = re.findall(r"^```(.*)$", text, re.M)[::2]
    assert all(fences), "a block without a language"
    outside = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    assert not re.findall(r"^ {4}(?:onegrad|python|make|og\.).*$", outside, re.M)


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    page = PAGES[name]
    made = ("gallery/", "explorer.html")  # when the site is built
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if not any(part in target for part in made):
            assert (page.parent / target).exists(), f"{name}: {target}"
        elif "gallery/plot" in target:
            assert (ROOT / "examples" / Path(target).with_suffix(".py").name).exists(), target


def test_a_wrong_number_is_seen():
    with pytest.raises(AssertionError):
        run_python("1.5 + 1   # 2.6\n", {})
    run_python("1.5 + 1   # 2.5\n", {})


def test_the_readme_has_three_examples_with_their_outputs():
    found = [b for b in blocks(PAGES["README.md"].read_text(encoding="utf-8")) if b[0] == "python"]
    assert len(found) == 3
    assert sum(len(numbers(said)) for b in found for _, said in statements(b[2])) > 5
