"""Draw the house: its rooms in the order of the import contract. Writes images/architecture.svg.

    python docs/make_architecture.py

A room is a package or a module directly below src/onegrad. Its box has the first sentence of its
docstring and, read from the imports, the rooms that it uses; those that others of them use are left
out. Every room uses rooms below it only.
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
    """Return the rooms from top to bottom, as the import contract lists them."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = config["tool"]["importlinter"]["contracts"]
    return [[name.strip() for name in row.split("|")] for row in contract["layers"]]


def imports() -> Graph:
    """Return the rooms that each room imports."""
    graph: Graph = {room: set() for row in layers() for room in row}
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room not in graph:
            continue  # __init__.py of the package itself
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for name in imported_names(node):
                parts = name.split(".")
                if parts[0] == "onegrad" and len(parts) > 1 and parts[1] in graph:
                    graph[room].add(parts[1])
        graph[room].discard(room)
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

    def reach(room: str) -> set[str]:
        return {room}.union(*(reach(other) for other in graph[room]))

    return {
        room: {a for a in used if not any(a in reach(b) for b in used - {a})}
        for room, used in graph.items()
    }


def sentence(room: str) -> str:
    """Return the first sentence of a room's docstring."""
    package = SOURCE / room / "__init__.py"
    path = package if package.exists() else SOURCE / f"{room}.py"
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return text.split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip(".")


def box(room: str, used: list[str], x: float, y: float) -> str:
    """Return the box of a room with its upper left corner at x and y."""
    lines = [
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#eef4f9" '
        'stroke="#0072B2"/>',
        f'<text x="{x + 12:g}" y="{y + 21:g}" font-size="16" font-weight="bold">{room}</text>',
    ]
    for i, line in enumerate(textwrap.wrap(escape(sentence(room), quote=False), LETTERS)):
        lines.append(f'<text x="{x + 12:g}" y="{y + 39 + 14 * i:g}" font-size="11">{line}</text>')
    if used:
        lines.append(f'<text x="{x + 12:g}" y="{y + HEIGHT - 8:g}" font-size="11" fill="#555">'
                     f"uses {', '.join(used)}</text>")  # fmt: skip
    return "\n".join(lines)


def draw() -> str:
    """Return the picture as SVG."""
    rows, uses = layers(), reduced(imports())
    order = [room for row in rows for room in row]
    boxes = [
        box(room, sorted(uses[room], key=order.index), (j - len(row) / 2) * (WIDTH + GAP),
            i * (HEIGHT + GAP))
        for i, row in enumerate(rows) for j, room in enumerate(row)
    ]  # fmt: skip
    width, height = max(map(len, rows)) * (WIDTH + GAP) + GAP, len(rows) * (HEIGHT + GAP) + GAP
    left = -(width + GAP) / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:g} {-GAP} {width} {height}" '
        'font-family="sans-serif">\n<title>The rooms of onegrad and who uses whom</title>\n'
        f'<rect x="{left:g}" y="{-GAP}" width="{width}" height="{height}" fill="white"/>\n'
        + "\n".join(boxes)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), "utf-8")
    print(f"{PICTURE.relative_to(ROOT)} written")
