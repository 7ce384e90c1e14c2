"""Count what a reader has to read: lines, comments, files, classes, functions, constants by room.

    python docs/count_rooms.py [FOLDER...]     # default: src/onegrad, tests, benchmarks, soak, docs

Beside them, the public classes and constants (no leading underscore, at the top of a module) that
more than one module of a folder defines: a word with two homes has two meanings. A function may
have several homes: `learn` of two families is one role.
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src/onegrad", "tests", "benchmarks", "soak", "docs")
COLUMNS = ("lines", "comments", "files", "classes", "functions", "constants")


def count(text: str) -> Counter[str]:
    """Return the counts of one module."""
    tree, lines = ast.parse(text), text.splitlines()
    comments = sum(line.lstrip().startswith("#") for line in lines)
    counts = Counter(lines=len(lines), comments=comments, files=1)
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


def modules(folder: Path) -> list[Path]:
    """Return the modules of a folder; the gallery is made when the site is built."""
    return sorted(set(folder.rglob("*.py")) - set(folder.glob("gallery/*.py")))


def repeated_names(folder: Path) -> dict[str, list[str]]:
    """Return the public classes and constants that several modules define, with these modules."""
    homes = defaultdict(list)
    for path in modules(folder):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
        for name in classes | {name for name in assigned(tree) if name.isupper()}:
            if not name.startswith("_"):
                homes[name].append(".".join(path.relative_to(folder).with_suffix("").parts))
    return {name: where for name, where in sorted(homes.items()) if len(where) > 1}


def rooms(folder: Path) -> dict[str, Counter[str]]:
    """Return the counts of every folder in this one, of its own files, and of all together."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in modules(folder):
        room, *inside = path.relative_to(folder).parts
        counts[room if inside else "own files"] += count(path.read_text(encoding="utf-8"))
    return dict(counts) | {"together": sum(counts.values(), Counter())}


def main() -> None:
    """Print a table for each folder, and the repeated names of the package."""
    folders = [Path(name) for name in sys.argv[1:]] or [ROOT / name for name in FOLDERS]
    for folder in folders:
        print(f"{folder.name:<14}" + "".join(f"{column:>11}" for column in COLUMNS))
        for room, counts in rooms(folder).items():
            print(f"{room:<14}" + "".join(f"{counts[column]:>11,}" for column in COLUMNS))
        print()
    repeated = repeated_names(folders[0])
    print(f"{len(repeated)} public classes and constants with more than one home:")
    for name, homes in repeated.items():
        print(f"  {name}: {', '.join(homes)}")


if __name__ == "__main__":
    main()
