"""Files, functions and parameter lists stay small; a word has one meaning; imports can be seen.

Each rule is read off the source, and each is shown a line that breaks it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "onegrad"
LINES, FUNCTION_LINES, PARAMETERS = 300, 60, 7

# more parameters than that, and why
EXCEPTIONS: dict[str, str] = {
    "networks.simulation.simulate": "public: keywords that people type, each with a default",
    "networks.cost.cost": "public: those of simulate",
    "problem.conventions.Conventions.moniri": "public: the paper's own parameters",
    "problem.conventions.Conventions.cui": "public: the paper's own parameters",
}
# modules that load others by name: that is their purpose
LOADERS = {"__init__", "cli.__init__", "studies.gallery"}


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package, named without its first word."""
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts): ast.parse(path.read_text())
        for path in sorted(SOURCE.rglob("*.py"))
    }


def functions(tree: ast.AST, inside: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods, however deep, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}.{node.name}"
            if not isinstance(node, ast.ClassDef):
                yield name, node
            yield from functions(node, name)
        else:
            yield from functions(node, inside)


def long_functions(name: str, tree: ast.Module) -> Iterator[str]:
    for function, node in functions(tree, name):
        lines = node.end_lineno - node.lineno + 1
        if lines > FUNCTION_LINES:
            yield f"{function}: {lines} lines"


def parameters(node: ast.FunctionDef) -> list[str]:
    a = node.args
    given = (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg)
    return [p.arg for p in given if p and p.arg not in ("self", "cls")]


def long_parameter_lists(name: str, tree: ast.Module) -> Iterator[str]:
    for function, node in functions(tree, name):
        count = len(parameters(node))
        if count > PARAMETERS and function not in EXCEPTIONS:
            yield f"{function}: {count} parameters"


def counted_stack_levels(name: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg="stacklevel", value=ast.Constant(value=level)):
                yield f"{name}, line {node.lineno}: stacklevel={level}"


def hidden_imports(name: str, tree: ast.Module) -> Iterator[str]:
    """Modules of our own that are loaded by a string, unseen by the import contract."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            ours = any(word in ast.unparse(node.args[0]) for word in ("onegrad", "__name__"))
            if ours and name not in LOADERS:
                yield f"{name}, line {node.lineno}: {ast.unparse(node)}"


def torch_imports(name: str, tree: ast.Module) -> Iterator[str]:
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
            yield f"{name}, line {node.lineno}: {ast.unparse(node)}"


BREAKS = {
    long_functions: "class A:\n    def f(self):\n" + "        x = 1\n" * 60,
    long_parameter_lists: "def f(a, b, c, d, *e, g, h, **i): ...",
    counted_stack_levels: "warn('x', stacklevel=2)",
    hidden_imports: "importlib.import_module('onegrad.theory')",
    torch_imports: "def f():\n    from torch.cuda import synchronize",
}


@pytest.mark.parametrize("rule", BREAKS, ids=lambda rule: rule.__name__)
def test_every_module_keeps(rule):
    assert list(rule("room.module", ast.parse(BREAKS[rule]))), "the rule sees nothing"
    broken = [place for name, tree in modules().items() for place in rule(name, tree)]
    assert not broken, "\n".join(broken)


def test_every_exception_is_needed():
    long = {
        name
        for module, tree in modules().items()
        for name, node in functions(tree, module)
        if len(parameters(node)) > PARAMETERS
    }
    assert not set(EXCEPTIONS) - long


def test_no_file_is_long():
    counts = {
        path.relative_to(ROOT): len(path.read_text().splitlines())
        for folder in ("src", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".js", ".css", ".html")
    }
    long = [f"{path}: {lines} lines" for path, lines in counts.items() if lines > LINES]
    assert not long, "\n".join(long)


def test_no_class_name_means_two_things():
    homes = defaultdict(set)
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(module)
    doubled = [
        f"{name}: {', '.join(sorted(where))}" for name, where in homes.items() if len(where) > 1
    ]
    assert not doubled, "\n".join(doubled)
