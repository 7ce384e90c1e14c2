"""Count what a reader has to read: lines, comments, files, classes, functions, constants, branches.

python docs/count_lines.py [FOLDER...]     # default: src/onegrad, tests, benchmarks, soak, docs
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src/onegrad", "tests", "benchmarks", "soak", "docs")
COLUMNS = ("lines", "comments", "files", "classes", "functions", "constants", "branches")


def count(text: str) -> Counter[str]:
    """Return the counts of one module; a branch is an if, a conditional expression or a filter."""
    tree, lines = ast.parse(text), text.splitlines()
    comments = sum(line.lstrip().startswith("#") for line in lines)
    counts = Counter(lines=len(lines), comments=comments, files=1)
    for node in ast.walk(tree):
        counts["classes"] += isinstance(node, ast.ClassDef)
        counts["functions"] += isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        counts["branches"] += isinstance(node, ast.If | ast.IfExp)
        counts["branches"] += len(node.ifs) if isinstance(node, ast.comprehension) else 0
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


def packages(folder: Path) -> dict[str, Counter[str]]:
    """Return the counts of every folder in this one, of its own files, and of all together.

    The gallery is left out: it is made when the site is built.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(set(folder.rglob("*.py")) - set(folder.glob("gallery/*.py"))):
        package, *inside = path.relative_to(folder).parts
        counts[package if inside else "own files"] += count(path.read_text("utf-8"))
    return dict(counts) | {"together": sum(counts.values(), Counter())}


def main() -> None:
    """Print a table for each folder."""
    for folder in [Path(name) for name in sys.argv[1:]] or [ROOT / name for name in FOLDERS]:
        print(f"{folder.name:<14}" + "".join(f"{column:>11}" for column in COLUMNS))
        for package, counts in packages(folder).items():
            print(f"{package:<14}" + "".join(f"{counts[column]:>11,}" for column in COLUMNS))
        print()


if __name__ == "__main__":
    main()
