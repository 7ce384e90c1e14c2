"""The uniform theory against the simulations that tests/numbers holds, or these simulated again.

    python benchmarks/stored_simulations.py [FILE...] [--settings] [--figure PATH]
    python benchmarks/stored_simulations.py FILE --again --seeds 400 [--device cuda]

FILE is a path or a name in tests/numbers; all of FILES by default. Prints a line for each group of
settings: deviations of (train, test) from the means over networks, in percent and in standard
errors, and the share of values within the stated accuracy and two standard errors. --settings
prints a line for each setting instead, by step exponent, with a star where a value exceeds both the
tolerance (1 % for odd activations, else 2 %) and three standard errors. --again puts the means and
standard errors of other networks into the file.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import onegrad as og

NUMBERS = Path(__file__).parents[1] / "tests" / "numbers"
FILES = ("uniform_simulations", "uniform_variants", "uniform_outside", "uniform_raw",
         "uniform_extensions", "uniform_refused")  # fmt: skip
KINDS = {"tanh": "tanh, erf", "erf": "tanh, erf", "relu": "relu, softplus",
         "softplus": "relu, softplus", "H1 + H2/2 + H3/6": "cubic"}  # fmt: skip
ODD = ("tanh", "erf")
SUMMED_BY_ACTIVATION = "uniform_simulations"
IN_FIGURE = (0, 1, 7, 16)  # settings of that file
TEST_ROWS = 8192
ABOUT = "{networks} seeds, float64; benchmarks/stored_simulations.py --again repeats them"


@dataclass(frozen=True)
class Run:
    """One simulated setting: mean and se of (train, test) at every step, (steps, 2)."""

    problem: og.Problem
    axis: str  # of the steps: eta or alpha
    steps: list[float]
    mean: np.ndarray
    se: np.ndarray
    networks: int | None

    @classmethod
    def of(cls, row: dict[str, Any]) -> Run:
        """Return the run of a row of a file, which holds one step in its problem or a list."""
        axis = "alpha" if "alpha" in row else "eta"
        steps = row[axis] if axis in row else [row["problem"]["eta"]]
        mean, se = (np.array(row[name]).reshape(-1, 2) for name in ("mean", "se"))
        return cls(og.Problem(**row["problem"]), axis, steps, mean, se, row.get("seeds"))

    def compare(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return relative deviations, deviations in standard errors, and which are in the bar."""
        prediction = og.predict(self.problem, **{self.axis: self.steps})
        values = np.stack([prediction.train, prediction.test], 1)
        bars = values * np.stack([prediction.accuracy.train, prediction.accuracy.test], 1)
        miss = values - self.mean
        return miss / self.mean, miss / self.se, np.abs(miss) <= bars + 2 * self.se

    def exponents(self) -> np.ndarray:
        """Return alpha of every step, with minus infinity for none."""
        with np.errstate(divide="ignore"):
            etas = np.log(self.steps) / np.log(self.problem.n)
        return np.array(self.steps) if self.axis == "alpha" else etas

    def title(self) -> str:
        """Return the setting in one line, with the fields that are not at their defaults."""
        p = self.problem
        default = og.Problem(n=p.n, d=p.d, N=p.N)
        parts = [f"{p.activation} / {p.teacher}", f"noise {p.noise:g}", f"n={p.n}", f"d={p.d}",
                 f"N={p.N}", f"ridge {p.ridge:g}"]  # fmt: skip
        names = ("n_step", "readout", "residual", "weights", "intercept", "noise_law", "corrupted",
                 "inputs", "ridge_rows")  # fmt: skip
        parts += [f"{k} {getattr(p, k)}" for k in names if getattr(p, k) != getattr(default, k)]
        return ", ".join(parts) + (f"; {self.networks} seeds" if self.networks else "")


def groups_of(path: Path) -> Iterator[tuple[str, list[Run]]]:
    """Yield the groups of a file with their runs."""
    content = json.loads(path.read_text("utf-8"))
    groups = content.get("groups") or {path.stem.removeprefix("uniform_"): content["settings"]}
    if path.stem == SUMMED_BY_ACTIVATION:
        kinds = defaultdict(list)
        for row in content["settings"]:
            kinds[KINDS[row["problem"]["activation"]]].append(row)
        groups = kinds
    for name, rows in groups.items():
        yield name, [Run.of(row) for row in rows]


def print_groups(path: Path) -> None:
    """Print one line per group."""
    for name, runs in groups_of(path):
        compared = zip(*(run.compare() for run in runs), strict=True)
        off, z, within = (np.concatenate(values) for values in compared)
        print(
            f"| {name} | {len(runs)} | {off.size} | {100 * np.abs(off).mean():.2f} % "
            f"| {100 * np.abs(off).max():.1f} % | {np.abs(z).mean():.2f} "
            f"| {100 * within.mean():.0f} % |"
        )


def print_settings(path: Path) -> None:
    """Print a table of training errors and one of test errors: percent off by step."""
    runs = [run for _, group in groups_of(path) for run in group]
    compared = [run.compare() for run in runs]
    steps = [f"{alpha:.2g}" if np.isfinite(alpha) else "none" for alpha in runs[0].exponents()]
    for j, error in enumerate(("training objective", "test error")):
        print(f"\n| {error} | {' | '.join(steps)} |\n|---|{'--:|' * len(steps)}")
        for run, (off, z, _) in zip(runs, compared, strict=True):
            tolerance = 0.01 if run.problem.activation in ODD else 0.02
            stars = np.where((np.abs(off) > tolerance) & (np.abs(z) > 3), "*", "")
            cells = (f"{100 * off[i, j]:+.1f}{stars[i, j]}" for i in range(len(off)))
            print(f"| {run.title()} | {' | '.join(cells)} |")


def simulate_again(path: Path, networks: int, device: str) -> None:
    """Replace the means and standard errors of a file by those of other networks."""
    content = json.loads(path.read_text("utf-8"))
    rows = [row for group in content.get("groups", {"": content.get("settings")}).values()
            for row in group]  # fmt: skip
    for row in rows:
        run = Run.of(row)
        # Student-t noise is drawn on the host alone
        on_device = device != "cpu" and run.problem.noise_distribution.name != "student-t"
        s = og.simulate(
            run.problem,
            networks,
            device=device,
            random="device" if on_device else "host",
            n_test=TEST_ROWS,
            **{run.axis: run.steps},
        )
        for name in ("mean", "se"):
            pairs = np.stack([getattr(s.train, name), getattr(s.test, name)], 1).round(7)
            row[name] = pairs.reshape(np.shape(row[name])).tolist()
    content["about"] = ABOUT.format(networks=networks)
    one_setting_per_line = json.dumps(content).replace('{"problem"', '\n {"problem"')
    path.write_text(one_setting_per_line + "\n", "utf-8")


def draw(path: Path) -> None:
    """Draw test errors of four settings: the theory, its limit and the networks."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = json.loads((NUMBERS / f"{SUMMED_BY_ACTIVATION}.json").read_text("utf-8"))["settings"]
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), constrained_layout=True)
    alpha = np.linspace(-0.1, 0.5, 61)
    for ax, i in zip(axes.flat, IN_FIGURE, strict=True):
        run = Run.of(rows[i])
        ax.plot(alpha, og.predict(run.problem, alpha=alpha).test, label="uniform theory")
        limit = og.predict(run.problem, "staircase", alpha=alpha[alpha > 0.005])
        ax.plot(limit.alpha, limit.test, color="0.6", lw=1, label="staircase, n to infinity")
        trained = run.exponents() >= 0
        mean, se = run.mean[trained, 1], run.se[trained, 1]
        ax.errorbar(run.exponents()[trained], mean, yerr=2 * se, fmt="o", ms=4, color="C3",
                    label="simulation, ± 2 s.e.")  # fmt: skip
        full = ", full residual" if run.problem.residual == "full" else ""
        ax.set_title(run.title().split(", d=")[0] + full, fontsize=9)
        ax.set(xlabel="step exponent alpha", ylabel="test error")
        spread = mean.max() - mean.min()
        ax.set_ylim(mean.min() - 0.6 * spread, mean.max() + 0.4 * spread)
    axes[0, 0].legend(fontsize=8)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*", default=[Path(name) for name in FILES])
    parser.add_argument("--settings", action="store_true", help="a line per setting")
    parser.add_argument("--figure", type=Path, help="draw four settings to this file")
    parser.add_argument("--again", action="store_true", help="simulate these files once more")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    warnings.simplefilter("ignore", og.AssumptionWarning)
    paths = [path if path.exists() else NUMBERS / f"{path.name}.json" for path in options.files]
    if options.again:
        for path in paths:
            simulate_again(path, options.seeds, options.device)
    elif options.figure:
        draw(options.figure)
    elif options.settings:
        for path in paths:
            print_settings(path)
    else:
        print(
            "| group | settings | values | mean abs | largest abs | mean abs z | within accuracy |"
        )
        print("|---|--:|--:|--:|--:|--:|--:|")
        for path in paths:
            print_groups(path)


if __name__ == "__main__":
    main()
