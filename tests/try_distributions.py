"""Install each file of a folder into an environment of its own and use every command from there.

    python tests/try_distributions.py dist

Nothing of the checkout is visible there: the commands run in an empty folder.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path

PROBLEM = "--n 200 --d 100 --N 150 --activation softplus --alpha 0.3"
COMMANDS = (
    "--version",
    "predict",
    f"predict {PROBLEM},0.4 --plot curve.svg",
    f"predict {PROBLEM} --theory staircase --json",
    f"simulate {PROBLEM} --seeds 2",
    f"simulate {PROBLEM} --dry-run",
    f"compare {PROBLEM} --seeds 2",
    f"optimum {PROBLEM} --over ridge",
    f"spectrum {PROBLEM} --simulate --seeds 1 --plot spectrum.svg",
    "exponents H3",
    "fit rows.csv --target y --budget fast --out y.model",
    "show y.model",
    "apply y.model rows.csv --out predicted.csv --std",
    "apply y.model rows.csv --out -",
    "reproduce --list",
    "reproduce ba-alignment --quick --out report",
    "sweep run tiny.toml",
    "sweep status tiny.toml",
    "sweep export tiny.toml --format csv",
    "cite",
    "doctor",
    "completion bash",
)
MADE = ("curve.svg", "spectrum.svg", "y.model", "predicted.csv", "report/report.html")
# what a package has beside its commands: types, one version, and these commands and no others
WHOLE = """
import importlib.metadata, importlib.resources, sys
import onegrad, onegrad.cli
assert importlib.resources.files("onegrad").joinpath("py.typed").is_file()
about = importlib.metadata.metadata("onegrad")
assert about["Version"] == onegrad.__version__, about["Version"]
assert about["License-Expression"] == "BSD-3-Clause"
assert "Typing :: Typed" in about.get_all("Classifier")
used = {word.split()[0] for word in sys.argv[1:]} | {"explore"}
assert set(onegrad.cli.COMMANDS) <= used, set(onegrad.cli.COMMANDS) - used
"""
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
        subprocess.run([*install, str(archive.resolve())], check=True)
        work = place / "work"
        work.mkdir()
        (work / "tiny.toml").write_text(SPEC, "utf-8")
        (work / "rows.csv").write_text(ROWS, "utf-8")
        settings = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        for command in COMMANDS:
            _use([programs / "onegrad", *command.split()], work, settings)
        for name in MADE:
            if not (work / name).stat().st_size:
                sys.exit(f"{archive.name}: {name} is empty")
        _use([programs / "python", "-c", WHOLE, *COMMANDS], work, settings)
        _open(programs / "onegrad", work, settings)


def _use(command: list[object], work: Path, settings: dict[str, str]) -> None:
    done = subprocess.run(
        [str(word) for word in command], cwd=work, env=settings, capture_output=True, text=True
    )
    if done.returncode:
        words = " ".join(str(word) for word in command[1:])
        sys.exit(f"onegrad {words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def _open(program: Path, work: Path, settings: dict[str, str]) -> None:
    """Serve the explorer, look at its page and at what it draws with, and stop it."""
    command = [program, "explore", "--no-open", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=work, env=settings, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            url = json.loads(server.stdout.readline())["url"]
            with urllib.request.urlopen(url, timeout=120) as page:
                if b"What one gradient step learns" not in page.read():
                    sys.exit("onegrad explore: the page is not there")
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also as a job in the background
    archives = sorted(Path(sys.argv[1]).iterdir())
    if {path.suffix for path in archives} != {".whl", ".gz"}:
        sys.exit(f"{sys.argv[1]}: one wheel and one sdist are expected")
    for path in archives:
        try_out(path)
        print(f"{path.name}: installed, {len(COMMANDS) + 1} commands used", flush=True)
