"""Pages, examples and the explorer's code use `og.X`, or names that a package exports."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import onegrad as og
from onegrad.explorer import recompute

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PROBLEM = og.Problem(n=40, d=20, N=30, alpha=0.2)
VIEWS = ("spectrum", "learned", "neurons", "errors", "stairs", "sizes")

# pages on extending the package, and the modules that they document
EXTENDING: dict[str, set[str]] = {
    "docs/add_a_figure.md": {
        "onegrad.experiments.checks",
        "onegrad.experiments.results",
        "onegrad.studies.findings",
    },
}


def scripts() -> dict[str, str]:
    """Python code that a user may copy, by where it stands."""
    blocks = {
        f"{path.relative_to(ROOT)} {number}": code
        for path in PAGES
        for number, code in enumerate(
            re.findall(r"^```python.*?\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)
        )
    }
    files = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in EXAMPLES}
    return blocks | files | {f"explorer {v}": recompute.python_script(PROBLEM, v) for v in VIEWS}


def private_names(code: str, modules: set[str] = frozenset()) -> Iterator[str]:
    """Names of onegrad that are not promised; `modules` are documented beside the packages."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Attribute(value=ast.Name(id="og"), attr=name):
                if name not in (*og.__all__, "__version__"):
                    yield f"og.{name}"
            case ast.Import(names=names):
                loaded = {alias.name for alias in names if alias.name.startswith("onegrad")}
                yield from loaded - {"onegrad"}
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("onegrad"):
                package = importlib.import_module(module)
                own = re.findall(r" as (\w+)$", Path(package.__file__).read_text("utf-8"), re.M)
                public = getattr(package, "__all__", own)
                is_room = module.count(".") == 1
                for alias in names:
                    if module not in modules and not (is_room and alias.name in public):
                        yield f"{module}.{alias.name}"


def test_the_check_sees_private_names():
    code = "import onegrad.ridge\nfrom onegrad.theory.uniform import x\nog.nothing\nog.predict"
    assert set(private_names(code)) == {"onegrad.ridge", "onegrad.theory.uniform.x", "og.nothing"}
    assert list(private_names("from onegrad.theory import predict, _private")) == [
        "onegrad.theory._private"
    ]


def test_every_name_is_public():
    for place, code in scripts().items():
        assert not list(private_names(code, EXTENDING.get(place.split()[0], set()))), place


def test_every_exception_is_needed():
    for page, modules in EXTENDING.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        assert all(f"from {module} import" in text for module in modules), page


def test_every_room_exports_what_it_has():
    for path in (ROOT / "src/onegrad").glob("*/__init__.py"):
        package = importlib.import_module(f"onegrad.{path.parent.name}")
        for name in getattr(package, "__all__", ()):
            assert hasattr(package, name), f"onegrad.{path.parent.name}.{name}"
