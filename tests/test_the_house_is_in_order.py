"""A name has one meaning, exceptions hold facts, docstrings are sentences, imports can be seen.

Each rule is read off the source, and each is shown a line that breaks it.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

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
def modules() -> dict[str, ast.Module]:
    """Every module of the package, named without its first word."""
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts): ast.parse(path.read_text())
        for path in sorted(SOURCE.rglob("*.py"))
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


BREAKS: dict[Callable[..., Iterator[tuple[int, str]]], str] = {
    counted_stack_levels: "warn('x', stacklevel=2)",
    hidden_imports: "importlib.import_module('onegrad.theory')",
    torch_imports: "def f():\n    from torch.cuda import synchronize",
    exceptions_without_facts: "raise InvalidInput(f'ridge must be positive; got {ridge}')",
    docstrings_that_are_fragments: "def f():\n    '''Of the bulk in the bulk.'''",
    names_that_say_nothing: "def f(x):\n    found = x\n    return found",
}


def test_every_module_keeps_the_rules():
    for rule, bad_line in BREAKS.items():
        assert list(rule(ast.parse(bad_line), "room.module")), f"{rule.__name__} sees nothing"
        broken = [
            f"{rule.__name__}: {name}, line {line}: {what}"
            for name, tree in modules().items()
            for line, what in rule(tree, name)
        ]
        assert not broken, "\n".join(broken)


def classes_and_constants(tree: ast.Module) -> Iterator[str]:
    """Every class, also private ones, and the public constants of a module.

    Functions may share a name: a role that several modules play has one.
    """
    yield from (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        for target in targets:
            names = (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
            yield from (name for name in names if name[0].isupper())


def names_with_two_homes(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    homes: dict[str, set[str]] = defaultdict(set)
    for module, tree in trees.items():
        for name in classes_and_constants(tree):
            homes[name].add(module)
    return {name: sorted(where) for name, where in homes.items() if len(where) > 1}


def test_no_class_or_public_constant_means_two_things():
    a, b = ast.parse("def f(): ...\nTOP = 1"), ast.parse("X: int = 2\ndef f(): ...\nclass TOP: ...")
    assert names_with_two_homes({"a": a, "b": b}) == {"TOP": ["a", "b"]}
    assert not names_with_two_homes(modules())
