"""Every example that a --help shows is run, on files of the names that it gives.

What takes minutes is made small by further options, which win over those before them; a server, an
exported page and the figures of the papers have tests of their own, so here their work is left out.
"""

import re
import shlex
from contextlib import nullcontext
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from onegrad.cli import build_parser, main
from onegrad.cli.parser import subcommands
from onegrad.experiments.runner import Summary
from onegrad.theory.uniform import uniform_errors

SIZES = "--n 120 --d 60 --N 80"
SMALLER = {
    "compare": f"{SIZES} --seeds 2",
    "simulate": "--n 120 --seeds 2",
    "spectrum": f"{SIZES} --seeds 1",
    "optimum": "--n 120 --d 60 --N 80",
    "fit": "--width 60",
    "explore": "--port 0 --no-open",
}
SPEC = """
problem = { n = 60, d = 30, N = 40, alpha = [0.0, 0.2] }

[[grid]]
measure = "theory"
options.theory = "random-features"
"""
SHELL = re.compile(r"\s+[|>] .*|^source <\((.*)\)$|^eval \"\$\((.*)\)\"$")


def examples() -> list[str]:
    """Every line below `examples:` in the help of every command, as a shell would run it."""
    parser = build_parser()
    lines = [str(parser.epilog).removeprefix("example: ")]
    for command in subcommands(parser).values():
        for shown in (command, *subcommands(command).values()):
            lines += shown.format_help().split("examples:")[1].split("\n  ")
    commands = (line.partition("  #")[0].strip() for line in lines)
    return list(dict.fromkeys(SHELL.sub(r"\1\2", line) for line in commands if line))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the examples read."""
    here = tmp_path_factory.mktemp("examples")
    rng = np.random.default_rng(0)
    size, town = rng.uniform(30, 200, 300).round(1), rng.choice(["Aachen", "Bonn"], 300)
    clicked = (size + rng.normal(0, 20, 300) < 100).astype(int)
    columns = {"id": np.arange(300), "size": size, "town": town, "price": 3 * size + clicked}
    clicks = columns | {"clicked": clicked}
    pd.DataFrame(columns).to_parquet(here / "sales.parquet")
    pd.DataFrame(columns).to_parquet(here / "new.parquet")
    pd.DataFrame(clicks).to_csv(here / "new.csv", index=False)
    (here / "logs").mkdir()
    pd.DataFrame(clicks).to_csv(here / "logs" / "one.csv", index=False)
    np.savez(here / "data.npz", X=size[:, None], y=size)
    (here / "sweeps").mkdir()
    (here / "sweeps" / "staircase.toml").write_text(SPEC, "utf-8")
    return here


@pytest.fixture
def without_heavy_work(monkeypatch):
    """Neither serve nor compute the exported page or the cells of the papers' figures.

    Other cells are computed in this process, and the optimum is searched among untrained networks,
    whose errors are quick.
    """

    def untrained(problems):
        return uniform_errors([p.replace(eta=0.0, ridge=0.1) for p in problems])

    monkeypatch.setattr("onegrad.theory.optimisation.uniform_errors", untrained)
    monkeypatch.setattr("onegrad.theory.optimisation.CURVE_POINTS", 2)
    monkeypatch.setattr("uvicorn.Server.run", lambda _, sockets: sockets[0].close())
    monkeypatch.setattr("onegrad.explorer.export.write_page", lambda *_: 0)
    for module in ("onegrad.studies.reproduce", "onegrad.cli.sweep"):
        monkeypatch.setattr(f"{module}.executor", lambda _: nullcontext(map))
    nothing_done = Summary(*[0] * len(fields(Summary)))
    monkeypatch.setattr("onegrad.studies.reproduce.run_cells", lambda *_, **__: nothing_done)


@pytest.mark.full
@pytest.mark.usefixtures("without_heavy_work")
def test_every_example_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    for line in examples():
        _, command, *rest = shlex.split(line)
        smaller = [] if "--dry-run" in rest else SMALLER.get(command, "").split()
        code = main([command, *rest, *smaller])
        out, err = capsys.readouterr()
        # figures whose cells were left out are missing
        assert code == 0 or (command, code) == ("reproduce", 1), f"{line}: {err}"
        assert out.strip() or err.strip(), line
