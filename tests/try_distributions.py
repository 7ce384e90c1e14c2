"""Install each file of a folder into an environment of its own and use every command from there.

    python tests/try_distributions.py dist

Nothing of the checkout is visible there: the commands run in an empty folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROBLEM = "--n 200 --d 100 --N 150 --activation softplus --alpha 0.3"
COMMANDS = (
    "--version",
    f"predict {PROBLEM} --plot curve.svg",
    f"predict {PROBLEM} --theory staircase --json",
    f"simulate {PROBLEM} --seeds 2",
    f"simulate {PROBLEM} --dry-run",
    f"spectrum {PROBLEM} --simulate --seeds 1 --plot spectrum.svg",
    "exponents H3",
    "fit rows.csv --target y --budget fast --out y.model",
    "apply y.model rows.csv --out predicted.csv --std",
    "reproduce --list",
    "reproduce ba-alignment --quick --out report",
    "sweep run tiny.toml",
    "sweep status tiny.toml",
    "sweep export tiny.toml --format csv",
    "cite",
    "doctor",
    "explore --help",
)
TYPED = "from importlib.resources import files; files('onegrad').joinpath('py.typed').read_text()"
SPEC = """[problem]
n = 60
d = 30
N = 40
[[grid]]
name = "theory"
measure = "theory"
problem.alpha = [0.1, 0.2]
"""
ROWS = "x,kind,y\n" + "".join(f"{i},{'ab'[i % 2]},{i + 10 * (i % 2)}\n" for i in range(200))


def try_out(archive: Path) -> None:
    """Install, then every command; the first that fails ends the program."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "env", with_pip=True)
        programs = place / "env" / "bin"
        install = [programs / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*install, f"{archive.resolve()}[explorer]"], check=True)
        work = place / "work"
        work.mkdir()
        (work / "tiny.toml").write_text(SPEC)
        (work / "rows.csv").write_text(ROWS)
        settings = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        for command in COMMANDS:
            _use([programs / "onegrad", *command.split()], work, settings)
        _use([programs / "python", "-c", TYPED], work, settings)


def _use(command: list[object], work: Path, settings: dict[str, str]) -> None:
    done = subprocess.run(
        [str(word) for word in command], cwd=work, env=settings, capture_output=True, text=True
    )
    if done.returncode:
        words = " ".join(str(word) for word in command[1:])
        sys.exit(f"onegrad {words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    for path in sorted(Path(sys.argv[1]).iterdir()):
        try_out(path)
        print(f"{path.name}: installed, {len(COMMANDS)} commands used")
