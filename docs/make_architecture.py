"""Draw the packages in the order of the import contract. Writes images/architecture.svg.

    python docs/make_architecture.py

A package here is a folder or a module directly below src/onegrad. Its box has the first sentence of
its docstring and, read from the imports, the packages that it uses; those that others of them use
are left out. Every package uses packages below it only.
"""

import ast
import textwrap
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "onegrad"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

WIDTH, HEIGHT, GAP = 300, 82, 12  # of a box, and between boxes
LETTERS = 52  # that fit into a line of a box

Graph = dict[str, set[str]]


def layers() -> list[list[str]]:
    """Return the packages from top to bottom, as the import contract lists them."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = config["tool"]["importlinter"]["contracts"][0]
    return [[name.strip() for name in row.split("|")] for row in contract["layers"]]


def imports() -> Graph:
    """Return the packages that each package imports."""
    graph: Graph = {package: set() for row in layers() for package in row}
    for path in sorted(SOURCE.rglob("*.py")):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if package not in graph:
            continue  # __init__.py of the package itself
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for name in imported_names(node):
                parts = name.split(".")
                if parts[0] == "onegrad" and len(parts) > 1 and parts[1] in graph:
                    graph[package].add(parts[1])
        graph[package].discard(package)
    return graph


def imported_names(node: ast.AST) -> list[str]:
    """Return the dotted names that an import statement binds."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def reduced(graph: Graph) -> Graph:
    """Return the graph without the imports that follow from others."""

    def reach(package: str) -> set[str]:
        return {package}.union(*(reach(other) for other in graph[package]))

    return {
        package: {a for a in used if not any(a in reach(b) for b in used - {a})}
        for package, used in graph.items()
    }


def sentence(package: str) -> str:
    """Return the first sentence of a package's docstring."""
    init = SOURCE / package / "__init__.py"
    path = init if init.exists() else SOURCE / f"{package}.py"
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip(".")


def box(package: str, used: list[str], x: float, y: float) -> str:
    """Return the box of a package with its upper left corner at x and y."""
    lines = [
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#eef4f9" '
        'stroke="#0072B2"/>',
        f'<text x="{x + 12:g}" y="{y + 21:g}" font-size="16" font-weight="bold">{package}</text>',
    ]
    for i, line in enumerate(textwrap.wrap(escape(sentence(package), quote=False), LETTERS)):
        lines.append(f'<text x="{x + 12:g}" y="{y + 39 + 14 * i:g}" font-size="11">{line}</text>')
    if used:
        lines.append(f'<text x="{x + 12:g}" y="{y + HEIGHT - 8:g}" font-size="11" fill="#555">'
                     f"uses {', '.join(used)}</text>")  # fmt: skip
    return "\n".join(lines)


def draw() -> str:
    """Return the picture as SVG."""
    rows, uses = layers(), reduced(imports())
    order = [package for row in rows for package in row]
    boxes = [
        box(package, sorted(uses[package], key=order.index), (j - len(row) / 2) * (WIDTH + GAP),
            i * (HEIGHT + GAP))
        for i, row in enumerate(rows) for j, package in enumerate(row)
    ]  # fmt: skip
    width, height = max(map(len, rows)) * (WIDTH + GAP) + GAP, len(rows) * (HEIGHT + GAP) + GAP
    left = -(width + GAP) / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:g} {-GAP} {width} {height}" '
        'font-family="sans-serif">\n<title>The packages of onegrad and who uses whom</title>\n'
        f'<rect x="{left:g}" y="{-GAP}" width="{width}" height="{height}" fill="white"/>\n'
        + "\n".join(boxes)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), "utf-8")
    print(f"{PICTURE.relative_to(ROOT)} written")
