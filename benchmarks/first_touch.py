"""What a newcomer waits for: a clone, then what README.md says, with the seconds of each step.

    python benchmarks/first_touch.py [--skip-export]

Clones the repository that this file is in (what is committed) into an empty folder and runs the
README's own commands there, in its order; nothing but Python, make and git is used. Wall-clock
seconds depend on what else the machine does, so processor seconds and the load are shown too.
"""

import argparse
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(python|console)(?: no-run)?\n(.*?)^```", re.S | re.M)


def readme_commands(readme: str, start: str) -> list[str]:
    """The README's commands that start so."""
    lines = [line for kind, code in BLOCK.findall(readme) if kind == "console"
             for line in code.replace("\\\n", "").splitlines()]  # fmt: skip
    commands = [line[2:].partition("  #")[0] for line in lines if line.startswith(f"$ {start}")]
    if not commands:
        sys.exit(f"first_touch: README.md has no command that starts with {start!r}")
    return commands


def run(commands: list[str], folder: Path) -> None:
    """Commands as a shell with .venv activated would run them."""
    paths = f"{folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    for command in commands:
        done = subprocess.run(
            shlex.split(command), cwd=folder, env={**environment, "PATH": paths},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"first_touch: {command}\n{done.stderr}")


def open_explorer(folder: Path) -> None:
    """Start the server and get its page, everything on it, and the first curve."""
    command = [str(folder / ".venv/bin/onegrad"), "explore", "--no-open", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = json.loads(server.stdout.readline())["url"]
            page = _fetched(url)
            for part in re.findall(r'(?:src|href)="(?!https?:|#|data:)([^"]+\.(?:js|css))"', page):
                _fetched(urllib.parse.urljoin(url, part))
        finally:
            server.terminate()


def _fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return str(answer.read().decode())


def timed(step: Callable[[], None]) -> tuple[float, float]:
    """Seconds by the clock, and of processors."""
    used, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    step()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return time.monotonic() - start, cpu


def steps(folder: Path, export: bool) -> dict[str, Callable[[], None]]:
    """Everything a newcomer does, by name."""
    readme = (folder / "README.md").read_text(encoding="utf-8")
    table = [
        code for kind, code in BLOCK.findall(readme) if "sales.csv" in code and kind != "console"
    ]
    (folder / "table.py").write_text(table[0], encoding="utf-8")
    commands_by_step = {
        "`make demo`: installed, and the papers' report": ["make demo"],
        "theory beside networks": readme_commands(readme, "onegrad compare"),
        "a predicted curve": readme_commands(readme, "onegrad predict"),
        "a model of a CSV with text and gaps": [
            "python table.py",
            *readme_commands(readme, "onegrad fit"),
            *readme_commands(readme, "onegrad apply"),
        ],
    }
    steps: dict[str, Callable[[], None]] = {
        name: (lambda commands=commands: run(commands, folder))  # type: ignore[misc]
        for name, commands in commands_by_step.items()
    }
    steps["the explorer, its page fetched"] = lambda: open_explorer(folder)
    if export:
        steps["the explorer as one file"] = lambda: run(
            ["onegrad explore --export page.html"], folder
        )
    return steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skip-export", action="store_true", help="leave out the last step")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "onegrad"
        subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores before\n", flush=True)
        print("| step | minutes | processor seconds |\n|---|--:|--:|")
        for name, step in steps(folder, not args.skip_export).items():
            wall, cpu = timed(step)
            print(f"| {name} | {wall / 60:.1f} | {cpu:.0f} |", flush=True)
        print(f"\nload {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
