"""Draw the house: rooms and who uses whom, read from the imports. Writes images/architecture.svg.

    python docs/make_architecture.py

A room is a package or a module directly below src/onegrad; its line of text is the first sentence
of its docstring. An arrow means "imports"; arrows that follow from others are left out.
"""

from __future__ import annotations

import ast
import itertools
import textwrap
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "onegrad"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

WIDTH, HEIGHT, GAP, ROW = 264, 80, 24, 132  # of a box, between boxes, from row to row
LANE = 10  # width that an arrow takes in a row that it passes
LETTERS = 44  # that fit into a line of a box
SWEEPS = 8  # over the rows, to bring them into order

Graph = dict[str, set[str]]


def layers() -> list[list[str]]:
    """The rooms from top to bottom, as the import contract lists them."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = config["tool"]["importlinter"]["contracts"]
    return [[name.strip() for name in row.split("|")] for row in contract["layers"]]


def imports() -> Graph:
    """The rooms that each room imports."""
    rooms = [room for row in layers() for room in row]
    found: Graph = {room: set() for room in rooms}
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room not in found:
            continue  # __init__.py of the package itself
        for node in ast.walk(ast.parse(path.read_text())):
            for name in _names(node):
                parts = name.split(".")
                if parts[0] == "onegrad" and len(parts) > 1 and parts[1] in found:
                    found[room].add(parts[1])
        found[room].discard(room)
    return found


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def reduced(graph: Graph) -> Graph:
    """The graph without the arrows that longer ways imply."""

    def reach(room: str) -> set[str]:
        return {room}.union(*(reach(other) for other in graph[room]))

    return {
        room: {a for a in used if not any(a in reach(b) for b in used - {a})}
        for room, used in graph.items()
    }


def sentence(room: str) -> str:
    """The first sentence of a room's docstring."""
    package = SOURCE / room / "__init__.py"
    path = package if package.exists() else SOURCE / f"{room}.py"
    text = ast.get_docstring(ast.parse(path.read_text()))
    return (text or "").split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip(".")


def rows_of(graph: Graph) -> list[list[str]]:
    """Rooms by the length of the longest way from the top, so that every arrow points down."""
    users: Graph = {room: {a for a, used in graph.items() if room in used} for room in graph}

    def depth(room: str) -> int:
        return 1 + max((depth(user) for user in users[room]), default=-1)

    rows: list[list[str]] = [[] for _ in graph]
    for room in graph:
        rows[depth(room)].append(room)
    return [row for row in rows if row]


def laid_out(graph: Graph) -> tuple[dict[str, tuple[float, float]], list[list[str]]]:
    """The place of every room, and every arrow as the places that it goes through.

    An arrow that passes a row gets a narrow place of its own in it, named "room>room@row"; rows are
    ordered by where their arrows come from.
    """
    rows = rows_of(graph)
    level = {room: i for i, row in enumerate(rows) for room in row}
    ways = []
    for room, used in graph.items():
        for other in sorted(used):
            between = [f"{room}>{other}@{i}" for i in range(level[room] + 1, level[other])]
            for i, name in enumerate(between, level[room] + 1):
                rows[i].append(name)
            ways.append([room, *between, other])
    links = [pair for way in ways for pair in itertools.pairwise(way)]
    place = _spread(rows)
    for _ in range(SWEEPS):
        for i, row in enumerate(rows):
            above = {b: [place[a][0] for a, c in links if c == b] for b in row}
            below = {a: [place[b][0] for c, b in links if c == a] for a in row}
            near = {name: above[name] + below[name] or [place[name][0]] for name in row}
            rows[i] = sorted(row, key=lambda name: sum(near[name]) / len(near[name]))
            place = _spread(rows)
    return place, ways


def _spread(rows: list[list[str]]) -> dict[str, tuple[float, float]]:
    """The middle of the top of every place, rows centred."""
    place = {}
    for i, row in enumerate(rows):
        widths = [LANE if "@" in name else WIDTH for name in row]
        x = -(sum(widths) + GAP * (len(row) - 1)) / 2
        for name, width in zip(row, widths, strict=True):
            place[name] = (x + width / 2, i * ROW)
            x += width + GAP
    return place


def draw() -> str:
    """The picture as SVG."""
    graph = reduced(imports())
    place, ways = laid_out(graph)
    left = min(x for x, _ in place.values()) - WIDTH / 2 - GAP
    right = max(x for x, _ in place.values()) + WIDTH / 2 + GAP
    height = max(y for _, y in place.values()) + HEIGHT + 2 * GAP
    parts = [_arrow([place[name] for name in way]) for way in ways]
    parts += [_box(room, *place[room]) for room in graph]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:g} {-GAP} {right - left:g} '
        f'{height:g}" font-family="sans-serif">\n'
        "<title>The rooms of onegrad and who imports whom</title>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>\n'
        f'<rect x="{left:g}" y="{-GAP}" width="{right - left:g}" height="{height:g}" '
        'fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _box(room: str, x: float, y: float) -> str:
    left = x - WIDTH / 2
    lines = [
        f'<rect x="{left:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="8" '
        'fill="#eef4f9" stroke="#0072B2"/>',
        f'<text x="{left + 12:g}" y="{y + 22:g}" font-size="16" font-weight="bold">{room}</text>',
    ]
    for i, line in enumerate(textwrap.wrap(sentence(room), LETTERS)):
        words, below = escape(line, quote=False), y + 40 + 15 * i
        lines.append(f'<text x="{left + 12:g}" y="{below:g}" font-size="11">{words}</text>')
    return "\n".join(lines)


def _arrow(way: list[tuple[float, float]]) -> str:
    """From the bottom of the first box to the top of the last, straight down past other rows."""
    x, y = way[0][0], way[0][1] + HEIGHT
    path = f"M{x:g} {y:g}"
    for i, (x2, y2) in enumerate(way[1:], 1):
        last = i == len(way) - 1
        end, bend = y2 - last, (y2 - y) / 2
        path += f"C{x:g} {y + bend:g} {x2:g} {y2 - bend:g} {x2:g} {end:g}"
        if not last:
            path += f"V{y2 + HEIGHT:g}"
        x, y = x2, y2 + HEIGHT
    return f'<path d="{path}" fill="none" stroke="#555" stroke-width="1.4" marker-end="url(#tip)"/>'


if __name__ == "__main__":
    PICTURE.write_text(draw())
    print(f"{PICTURE.relative_to(ROOT)} written")
