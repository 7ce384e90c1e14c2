"""Count what a reader has to read: lines, files, classes, functions and constants of each room.

    python docs/count_rooms.py [FOLDER]     # default: this checkout's src/onegrad

Beside them, the public names (no leading underscore, at the top of a module) that more than one
module defines: a word with two homes has two meanings.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "onegrad"
COLUMNS = ("lines", "files", "classes", "functions", "constants")


def count(text: str) -> Counter[str]:
    """Return the counts of one module."""
    tree = ast.parse(text)
    counts = Counter(lines=len(text.splitlines()), files=1)
    for node in ast.walk(tree):
        counts["classes"] += isinstance(node, ast.ClassDef)
        counts["functions"] += isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    counts["constants"] = sum(name.isupper() for name in assigned(tree))
    return counts


def assigned(tree: ast.Module) -> Iterator[str]:
    """Yield the names that are assigned at the top of a module."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    yield name.id


def defined(tree: ast.Module) -> set[str]:
    """Return the public names that a module defines: functions, classes, constants."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    names = {node.name for node in tree.body if isinstance(node, kinds)} | set(assigned(tree))
    return {name for name in names if not name.startswith("_")}


def repeated_names(source: Path = SOURCE) -> dict[str, list[str]]:
    """Return the public names that more than one module defines, with these modules."""
    homes = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        for name in defined(ast.parse(path.read_text(encoding="utf-8"))):
            homes[name].append(module)
    return {name: where for name, where in sorted(homes.items()) if len(where) > 1}


def rooms(source: Path = SOURCE) -> dict[str, Counter[str]]:
    """Return the counts of every room, and of all of them together."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(source.rglob("*.py")):
        room = path.relative_to(source).parts[0].removesuffix(".py")
        counts[room] += count(path.read_text(encoding="utf-8"))
    return dict(counts) | {"together": sum(counts.values(), Counter())}


def main() -> None:
    """Print the table and the names."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE
    print(f"{'room':<14}" + "".join(f"{column:>11}" for column in COLUMNS))
    for room, counts in rooms(source).items():
        print(f"{room:<14}" + "".join(f"{counts[column]:>11,}" for column in COLUMNS))
    repeated = repeated_names(source)
    print(f"\n{len(repeated)} public names with more than one home:")
    for name, homes in repeated.items():
        print(f"  {name}: {', '.join(homes)}")


if __name__ == "__main__":
    main()
