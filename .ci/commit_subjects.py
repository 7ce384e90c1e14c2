"""Check the subjects of the commits after the one that added this file: `area: verb object`.

A merge may also be `Merge` and what it brings, which is not the name of a branch.

    python .ci/commit_subjects.py

CONTRIBUTING.md has examples. Without git, or without the history, there is nothing to check.
"""

import re
import subprocess
from pathlib import Path

MAX_LENGTH = 72  # what `git log --oneline` shows on a terminal of 80 columns
SUBJECT = re.compile(r"[a-z][a-z0-9_/., -]*: [a-z-]+ \S.*[^.\s]|Merge (?!branch |remote).*\S")


def is_clear(subject: str) -> bool:
    """Return whether a subject has one of the two forms and is short enough."""
    return len(subject) <= MAX_LENGTH and bool(SUBJECT.fullmatch(subject))


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints in this checkout, none if it fails or is not there."""
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", check=False
        ).stdout.splitlines()
    except OSError:
        return []


def main() -> int:
    """Print the subjects that a stranger could not read; return 1 if there are any."""
    added = git("log", "--diff-filter=A", "--format=%H", "--", Path(__file__).name)
    subjects = git("log", "--format=%s", f"{added[-1]}..HEAD") if added else []
    unclear = [subject for subject in subjects if not is_clear(subject)]
    for subject in unclear:
        print(f"commit subject: {subject!r} is not 'area: verb object' of {MAX_LENGTH} characters")
    return int(bool(unclear))


if __name__ == "__main__":
    raise SystemExit(main())
