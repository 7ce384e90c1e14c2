"""Exceptions hold facts, docstrings are sentences, imports can be seen, files have an encoding.

Each rule is read off the source, and each is shown a line that breaks it.
"""

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "onegrad"

# modules that load others by name: that is their purpose
LOADERS = {"__init__", "cli.__init__", "studies.gallery"}

EMPTY_NAMES = {
    "found", "given", "known", "kept", "wanted", "said", "told", "made", "some", "asked", "there",
    "alone", "be", "on", "how", "taken", "left", "whole",
}  # fmt: skip
BARE_CONSTANTS = {"LARGEST", "FEW", "TOP", "LONGEST", "MOST", "DEGREE", "ROUNDING"}
FRAGMENTS = ("Of ", "What ", "How ", "As ", "Whether ")


@cache
def modules(folder: Path) -> dict[str, ast.Module]:
    """Every module of a folder, by its dotted name below it."""
    return {
        ".".join(path.relative_to(folder).with_suffix("").parts): ast.parse(path.read_text("utf-8"))
        for path in sorted(folder.rglob("*.py"))
    }


def counted_stack_levels(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg="stacklevel", value=ast.Constant(value=level)):
                yield node.lineno, f"stacklevel={level}"  # type: ignore[str-bytes-safe]


def hidden_imports(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    """Modules of our own that are loaded by a string, unseen by the import contract."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            ours = any(word in ast.unparse(node.args[0]) for word in ("onegrad", "__name__"))
            if ours and name not in LOADERS:
                yield node.lineno, ast.unparse(node)


def torch_imports(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            loaded = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            loaded = [node.module or ""]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            loaded = [ast.unparse(node.args[0]).strip("'")]
        else:
            continue
        if not name.startswith("arrays.") and any(m.split(".")[0] == "torch" for m in loaded):
            yield node.lineno, ast.unparse(node)


def exceptions_without_facts(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    """Exceptions and warnings made of one sentence, which somebody would have to parse."""
    least = {"InvalidInput": 2, "OutOfScope": 3, "AssumptionWarning": 3}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            kind = ast.unparse(node.func).removeprefix("og.")
            texts = [a for a in node.args if isinstance(a, ast.JoinedStr | ast.Constant)]
            few = len(node.args) + len(node.keywords) < least.get(kind, 0)
            if few or (kind == "warn" and texts):
                yield node.lineno, ast.unparse(node)


def docstrings_that_are_fragments(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            text = ast.get_docstring(node) or ""
            if text.startswith(FRAGMENTS):
                yield getattr(node, "lineno", 1), text.splitlines()[0]


def names_that_say_nothing(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    """Values called `found` or `given`; `left` is fine beside `right`."""
    bound = {
        node.id if isinstance(node, ast.Name) else node.arg: node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }
    for word in (EMPTY_NAMES | BARE_CONSTANTS) & bound.keys():
        if word != "left" or "right" not in bound:
            yield bound[word], word


def files_without_an_encoding(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    """Texts read in the encoding of the user's locale."""
    places = {"read_text": 1, "write_text": 2}  # arguments from which on one is the encoding
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            few = len(node.args) < places.get(node.func.attr, 0)
            if few and not any(keyword.arg == "encoding" for keyword in node.keywords):
                yield node.lineno, ast.unparse(node)


BREAKS: dict[Callable[..., Iterator[tuple[int, str]]], str] = {
    counted_stack_levels: "warn('x', stacklevel=2)",
    hidden_imports: "importlib.import_module('onegrad.theory')",
    torch_imports: "def f():\n    from torch.cuda import synchronize",
    exceptions_without_facts: "raise InvalidInput(f'ridge must be positive; got {ridge}')",
    docstrings_that_are_fragments: "def f():\n    '''Of the bulk in the bulk.'''",
    files_without_an_encoding: "path.write_text('text')",
    names_that_say_nothing: "def f(x):\n    found = x\n    return found",
}


def violations(rule: Callable[..., Iterator[tuple[int, str]]], folder: Path) -> list[str]:
    """Every place of a folder that breaks a rule."""
    return [
        f"{name}, line {line}: {text}"
        for name, tree in modules(folder).items()
        for line, text in rule(tree, name)
    ]


@pytest.mark.parametrize("rule", BREAKS)
def test_every_module_keeps_the_rules(rule):
    assert list(rule(ast.parse(BREAKS[rule]), "package.module")), "the rule sees nothing"
    assert violations(rule, SOURCE) == []


@pytest.mark.parametrize("folder", ["tests", "soak", "benchmarks", "docs", "examples"])
def test_every_script_names_the_encoding_of_its_files(folder):
    assert violations(files_without_an_encoding, ROOT / folder) == []
