"""Draw the pictures of the README, the concept page and the handbook into docs/images/.

    python docs/make_pictures.py [NAME...]

Everything drawn is computed here, theory as lines, real networks as points and bars; but for the
speed of a GPU, whose numbers are in benchmarks/measured.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt

import onegrad as og
from onegrad.networks import spectrum as measure
from onegrad.theory import bounds
from onegrad.theory.direction import direction as learned

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "0.75"
MEASURED = Path(__file__).parents[1] / "benchmarks" / "measured" / "h200.json"
CASES_OF_A_GPU = {
    "one large": "one large network\nn = N = 16384\nd = 8192",
    "stacked": "many networks\nn = 5120, d = 512\nN = 1024",
    "8 eta x 10 ridges": "the same\n8 steps\n× 10 ridges",
}
SETTING = og.Problem(n=4000, d=500, N=1000, activation="softplus", teacher="H1 + H2/sqrt(2)")


def eigenvalues_along(ax: Any, problem: og.Problem, alpha: np.ndarray) -> None:
    """Draw one network per column: its bulk as shades, what has left the bulk as dots."""
    bins = np.geomspace(0.03, 300, 90)
    shades, edge = np.zeros((len(bins) - 1, len(alpha))), og.spectrum(problem).edge
    for i, a in enumerate(alpha):
        F = measure(problem.replace(alpha=a), seeds=1, distances=False).F[0]
        values = F**2 / problem.n
        shades[:, i] = np.histogram(values[values < 1.1 * edge], bins)[0]
        out = values[values >= 1.1 * edge]
        ax.plot([a] * len(out), out, "o", color="k", ms=4, zorder=3)
    shown = np.where(shades > 0, shades, np.nan)
    ax.pcolormesh(alpha, (bins[1:] * bins[:-1]) ** 0.5, shown, cmap="Blues", shading="nearest",
                  vmin=0, vmax=1.6 * shades.max(), rasterized=True)  # fmt: skip


def spike_lines(ax: Any, problem: og.Problem, alpha: np.ndarray) -> None:
    """Draw where theory puts the spikes, each named by its degree and by where it starts."""
    theory = [og.spectrum(problem.replace(alpha=a)) for a in alpha]
    places = (("linear spike", ORANGE, 0.40, (-9, 6), "right"),
              ("quadratic\nspike", GREEN, 0.46, (9, -22), "left"))  # fmt: skip
    for k, (name, colour, at, aside, side) in enumerate(places):
        value = np.array([s.spikes[k].eigenvalue if len(s.spikes) > k else np.nan for s in theory])
        ax.plot(alpha, value, color=colour, lw=2.5)
        spot = at, np.interp(at, alpha, value)
        ax.annotate(name, spot, aside, textcoords="offset points", ha=side, color=colour,
                    weight="bold")  # fmt: skip
        first = alpha[np.isfinite(value)][0]
        ax.annotate(f"at this n:\n{first:.2f}", (first, np.nanmin(value)), (0, 6), ha="right",
                    textcoords="offset points", color=colour, fontsize=11)  # fmt: skip


def hero() -> plt.Figure:
    """Draw eigenvalues of networks along the step, above the error that falls with them.

    Text is large for the width of the figure: on a phone it is scaled to 360 pixels.
    """
    columns, alpha = np.linspace(-0.1, 0.55, 40), np.linspace(-0.11, 0.56, 45)
    with plt.rc_context({"font.size": 12.5}):
        figure, (top, ax) = plt.subplots(2, 1, figsize=(7, 6.8), dpi=150, layout="constrained",
                                         sharex=True, height_ratios=(1.2, 1))  # fmt: skip
        eigenvalues_along(top, SETTING, columns)
        spike_lines(top, SETTING, alpha)
        top.set(yscale="log", ylim=(0.05, 500), ylabel="eigenvalues of the features")
        top.text(-0.1, 0.3, "bulk", color="0.15", weight="bold")
        top.text(0.555, 3.2, "bulk widens", color="0.35", fontsize=11, ha="right")
        top.set_title("n = 4000 rows, d = 500 inputs, N = 1000 neurons\n"
                      "lines: theory; dots and shades: networks", fontsize=12.5)  # fmt: skip
        few = np.linspace(-0.1, 0.5, 7)
        measured = og.simulate(SETTING, seeds=5, alpha=few).test
        theory = og.predict(SETTING, alpha=alpha)
        bound = theory.kernel_bound[0]
        ax.axhspan(0, bound, color=GREEN, alpha=0.08, lw=0)
        ax.plot(alpha, theory.test, color=BLUE, lw=2.5)
        ax.errorbar(few, measured.mean, measured.se, fmt="o", color="k", ms=6)
        ax.text(-0.1, bound - 0.03, "no kernel gets\nbelow this line", va="top", color=GREEN)
        ax.set(xlabel=r"size of the one gradient step: $\alpha$, with $\eta = n^\alpha$",
               ylabel="test error", xlim=(-0.11, 0.56), ylim=(0.25, 1.4))  # fmt: skip
        for x, name in zip(og.thresholds(2), ("n → ∞: 0", "n → ∞: ¼"), strict=True):
            top.text(x + 0.008, 400, name, va="top", color="0.35", fontsize=11)
            for axis in (top, ax):
                axis.axvline(x, color="0.5", lw=1, ls=":", zorder=1)
        for axis in (top, ax):
            axis.spines[["top", "right"]].set_visible(False)
    return figure


def comparison() -> plt.Figure:
    """The picture of README's first example."""
    return og.compare(SETTING.replace(alpha=0.4), seeds=5).plot()[0].figure


def setting() -> plt.Figure:
    """What one step does to single neurons: overlap with the teacher, before and after."""
    rng = np.random.default_rng(0)
    n, d, N = 2000, 200, 400
    W, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.standard_normal(N) / np.sqrt(N)
    X = rng.standard_normal((n, d))
    y = X[:, 0] + (X[:, 0] ** 2 - 1) / np.sqrt(2)
    slope = 1 / (1 + np.exp(-X @ W.T))  # of softplus
    G = (slope * np.outer(y, a)).T @ X / n
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for ax, eta in zip(axes, (0.0, n**0.4), strict=True):
        moved = W + eta * G
        overlap = moved[:, 0] / np.linalg.norm(moved, axis=1)
        ax.plot(np.sqrt(N) * a, overlap, ".", color=BLUE, alpha=0.6)
        ax.axhline(0, color="0.8", lw=0.8, zorder=0)
        ax.set(xlabel=r"readout $\sqrt{N}\,a_i$", title="before" if eta == 0 else "after one step")
    axes[0].set_ylabel("cosine of a neuron with the teacher")
    return figure


def random_features() -> plt.Figure:
    """Untrained features against the ridge."""
    problem = og.Problem(n=800, d=400, N=600, activation="relu", teacher="H1", noise=0.5)
    ridge, few = np.geomspace(1e-4, 10, 40), np.geomspace(1e-4, 10, 9)
    theory = og.predict(problem, "random-features", ridge=ridge)
    simulation = og.simulate(problem, seeds=10, ridge=few)
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for name, colour in (("test", ORANGE), ("train", BLUE)):
        ax.plot(ridge, getattr(theory, name), color=colour, label=f"{name}, theory")
        m = getattr(simulation, name)
        ax.errorbar(few, m.mean, m.se, fmt="o", color=colour, ms=4, label="10 networks")
    ax.set(xscale="log", xlabel=r"ridge $\lambda$", ylabel="error", ylim=(0, 3))
    ax.legend(frameon=False)
    return figure


def small_step() -> plt.Figure:
    """What a step of order one gains."""
    problem = og.Problem(n=2000, d=1000, N=1500, activation="tanh", teacher="H1", noise=0.3)
    eta, few = np.linspace(0.05, 4, 40), np.array([0.5, 1.0, 2.0, 4.0])
    at_zero = og.predict(problem, "random-features").test
    gain = at_zero - og.predict(problem, "small-step", eta=eta).test
    errors = og.simulate(problem, seeds=6, eta=[0.0, *few]).test.values
    drops = errors[:, :1] - errors[:, 1:]
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    ax.plot(eta, gain, color=BLUE, label=r"$\delta$, theory")
    se = drops.std(0, ddof=1) / np.sqrt(len(drops))
    ax.errorbar(few, drops.mean(0), se, fmt="ko", ms=4, label="6 networks, paired")
    ax.set(xlabel=r"step $\eta$", ylabel="test error gained")
    ax.legend(frameon=False)
    return figure


def staircase() -> plt.Figure:
    """The stairs of the limit, and theory at two sizes."""
    alpha, few = np.linspace(0.01, 0.49, 49), np.array([0.1, 0.2, 0.3, 0.4])
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for n, colour in ((1000, GREY), (100_000, BLUE)):
        problem = og.Problem(
            n=n, d=n // 4, N=n // 2, activation="softplus", teacher=SETTING.teacher
        )
        ax.plot(alpha, og.predict(problem, alpha=alpha).test, color=colour, label=f"n = {n:,}")
        if n == 1000:
            test = og.simulate(problem, seeds=10, alpha=few).test
            ax.errorbar(few, test.mean, test.se, fmt="ko", ms=4, label="10 networks, n = 1,000")
    edges = [*og.thresholds(4), 0.4]
    for i in range(4):
        inside = np.linspace(edges[i] + 1e-3, edges[i + 1] - 1e-3, 9)
        limit = og.predict(problem, "staircase", alpha=inside).test
        ax.plot(inside, limit, "--", color=ORANGE, label="limit" if i == 0 else None)
    ax.set(xlabel=r"step exponent $\alpha$", ylabel="test error")
    ax.legend(frameon=False)
    return figure


def spikes() -> plt.Figure:
    """Positions of the outliers along the step."""
    alpha, few = np.linspace(0.0, 0.5, 41), np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    problem = SETTING.replace(n=800, d=300, N=600)
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    theory = [og.spectrum(problem.replace(alpha=a)) for a in alpha]
    for k, colour in ((0, BLUE), (1, ORANGE)):
        values = [s.spikes[k].eigenvalue if len(s.spikes) > k else np.nan for s in theory]
        ax.plot(alpha, values, color=colour, label=("linear", "quadratic")[k])
    ax.axhline(theory[0].edge, color="0.6", label="edge of the bulk")
    for a in few:
        top = measure(problem.replace(alpha=a), 3, distances=False).eigenvalues[:, :2]
        ax.plot([a] * top.size, top.ravel(), "k.", ms=4)
    ax.set(yscale="log", xlabel=r"step exponent $\alpha$", ylabel="eigenvalue")
    ax.legend(frameon=False)
    return figure


def counts() -> plt.Figure:
    """How many outliers there are: the limit, theory at three sizes, networks."""
    alpha, few = np.linspace(0.01, 0.39, 77), np.linspace(0.03, 0.38, 8)
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    limit = [og.spike_count(a) for a in alpha]
    ax.step(alpha, limit, where="mid", color=ORANGE, ls="--", label=r"$n\to\infty$")
    for n, colour in ((1000, "0.6"), (100_000, BLUE), (10**8, "k")):
        problem = SETTING.replace(n=n, d=n // 8, N=n // 4, activation="elu")
        at_rest = len(og.spectrum(problem.replace(eta=0.0)).spikes)
        added = [len(og.spectrum(problem.replace(alpha=a)).spikes) - at_rest for a in alpha]
        ax.step(alpha, added, where="mid", color=colour, lw=1.5, label=f"n = {n:,}")
        if n == 1000:
            edge = og.spectrum(problem).edge
            out = [measure(problem.replace(alpha=a), 5, edge=edge, distances=False).outliers
                   for a in few]  # fmt: skip
            ax.plot(few, np.mean(out, axis=1), "ko", ms=4, label="5 networks, n = 1,000")
    ax.set(xlabel=r"step exponent $\alpha$", ylabel="spikes", yticks=range(5))
    ax.legend(frameon=False, fontsize=9)
    return figure


def direction() -> plt.Figure:
    """Cosine of the leading direction of the first gradient with the teacher."""
    rng, d, N = np.random.default_rng(0), 300, 300
    ratios, few = np.geomspace(0.3, 12, 40), (0.5, 1, 2, 4, 8)
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    for full, colour in ((False, BLUE), (True, ORANGE)):
        name = "full" if full else "labels"
        problems = [og.Problem(n=int(k * d), d=d, N=N, activation="tanh", teacher="H1", noise=0.5,
                               residual=name) for k in ratios]  # fmt: skip
        ax.plot(ratios, [learned(p).rho for p in problems], color=colour, label=f"ρ, {name}")
        cosines = [[_gradient_cosine(rng, int(k * d), d, N, full) for _ in range(5)] for k in few]
        ax.plot(np.repeat(few, 5), np.ravel(cosines), ".", color=colour, alpha=0.7)
    ax.set(xscale="log", xlabel="rows of the step, n/d", ylabel=r"cosine with $\beta_\star$")
    ax.plot([], [], ".", color="0.4", label="one network each")
    ax.legend(frameon=False)
    return figure


def _gradient_cosine(rng: np.random.Generator, n: int, d: int, N: int, full: bool) -> float:
    """One network with tanh: the first right singular vector of its first gradient."""
    W, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.standard_normal(N) / np.sqrt(N)
    X = rng.standard_normal((n, d))
    hidden = np.tanh(X @ W.T)
    residual = X[:, 0] + 0.5 * rng.standard_normal(n) - full * hidden @ a
    G = ((1 - hidden**2) * np.outer(residual, a)).T @ X / n
    return float(abs(np.linalg.svd(G)[2][0, 0]))


def kernels() -> plt.Figure:
    """Kernel ridge, each with its best setting, against one large step."""
    rng, d = np.random.default_rng(1), 300
    ratios, few = np.geomspace(1, 6, 20), (1, 2, 3, 4, 6)
    problem = og.Problem(n=d, d=d, N=4 * d, activation="softplus", teacher=SETTING.teacher)
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")

    def stepped(k: float) -> og.Problem:
        return problem.replace(n=int(k * d), eta=2 * np.sqrt(problem.N))

    theory = [og.predict(stepped(k)).test for k in ratios]
    ax.plot(ratios, theory, color=BLUE, label=r"one step, $\eta=2\sqrt{N}$, theory")
    networks = [og.simulate(stepped(k), seeds=5).test for k in few]
    ax.errorbar(few, [m.mean for m in networks], [m.se for m in networks], fmt="o", color=BLUE,
                ms=4, label="5 networks")  # fmt: skip
    for kernel, mark in (("rbf", "s"), ("laplacian", "^"), ("arc-cosine", "v")):
        best = [_kernel_error(rng, k * d, d, kernel) for k in few]
        ax.plot(few, best, mark, color="0.5", ms=5, label=f"{kernel} kernel, best ridge")
    ax.axhline(1.0, color=ORANGE, ls="--", lw=1, label="bound for kernels")
    ax.set(xlabel="rows, n/d", ylabel="test error", ylim=(0, 2.6))
    ax.legend(frameon=False, fontsize=8, ncols=2)
    return figure


def _kernel_error(rng: np.random.Generator, n: int, d: int, kernel: str) -> float:
    """Test error of kernel ridge on the pictures' teacher, the ridge chosen on the test rows."""
    X = rng.standard_normal((n + 2000, d))
    y = X[:, 0] + (X[:, 0] ** 2 - 1) / np.sqrt(2)
    product, length = X @ X[:n].T, np.linalg.norm(X, axis=1)
    if kernel == "rbf":
        K = np.exp(-(length[:, None] ** 2 + length[:n] ** 2 - 2 * product) / (2 * d))
    elif kernel == "laplacian":
        square = np.maximum(length[:, None] ** 2 + length[:n] ** 2 - 2 * product, 0)
        K = np.exp(-np.sqrt(square / d))
    else:  # the kernel of infinitely many ReLU neurons
        size = length[:, None] * length[:n]
        angle = np.arccos(np.clip(product / size, -1, 1))
        K = size / d * (np.sin(angle) + (np.pi - angle) * np.cos(angle))
    values, U = np.linalg.eigh(K[:n])
    errors = [np.mean((y[n:] - K[n:] @ (U @ ((U.T @ y[:n]) / (values + lam)))) ** 2)
              for lam in np.geomspace(1e-3, 100, 16)]  # fmt: skip
    return float(min(errors))


def maximal_step() -> plt.Figure:
    """A step of size 2 sqrt(N) against the bounds of Ba et al."""
    d, N, ratios, few = 200, 1000, np.geomspace(1, 50, 25), (2, 6, 16, 40)

    def stepped(k: float) -> og.Problem:
        return og.Problem(n=int(k * d), d=d, N=N, activation="tanh", teacher="tanh",
                          eta=2 * np.sqrt(N))  # fmt: skip

    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    ax.plot(
        ratios,
        [og.predict(stepped(k)).risk for k in ratios],
        color=BLUE,
        label=r"$\eta=2\sqrt{N}$, theory",
    )
    networks = [og.simulate(stepped(k), seeds=5).risk for k in few]
    ax.errorbar(few, [m.mean for m in networks], [m.se for m in networks], fmt="o", color=BLUE,
                ms=4, label="5 networks")  # fmt: skip
    untrained = [og.predict(stepped(k).replace(eta=0.0)).risk for k in ratios]
    ax.plot(ratios, untrained, color="0.6", label="untrained, theory")
    ax.axhline(bounds.kernel_lower_bound("tanh"), color=ORANGE, ls="--", lw=1, label="kernels")
    tau = bounds.tau_star("tanh", "tanh").tau
    ax.axhline(10 * tau, color=GREEN, ls=":", label=r"$10\,\tau^*$")
    ax.set(xscale="log", yscale="log", xlabel="rows, n/d", ylabel="risk", ylim=(2e-5, 0.3))
    ax.legend(frameon=False, fontsize=9, loc="lower left")
    return figure


def visible() -> plt.Figure:
    """Draw errors of teachers whose first degree is one, two and three; ELU has all of these."""
    alpha, few = np.linspace(0, 0.5, 21), np.array([0.0, 0.25, 0.5])
    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    colours = (BLUE, ORANGE, GREEN)
    for i, teacher in enumerate(("H1 + H2/sqrt(2)", "H2/sqrt(2)", "H3/sqrt(6)")):
        problem = og.Problem(n=1000, d=250, N=500, activation="elu", teacher=teacher)
        level = problem.teacher_function.variance
        theory = og.predict(problem, alpha=alpha).test / level
        ax.plot(alpha, theory, color=colours[i], label=teacher)
        test, at = og.simulate(problem, seeds=10, alpha=few).test, few + 0.006 * i
        ax.errorbar(at, test.mean / level, test.se / level, fmt="o", color=colours[i], ms=4)
    ax.axhline(1, color="0.8", lw=0.8, zorder=0)
    ax.set(
        xlabel=r"step exponent $\alpha$", ylabel="test error over label variance", ylim=(0, None)
    )
    ax.legend(frameon=False)
    return figure


def optima() -> plt.Figure:
    """Best step and penalty by theory: width, a budget of rows, a budget of features."""
    sizes = {"n": 2000, "d": 300, "N": 600}
    problem = og.Problem(**sizes, activation="softplus", teacher="H1 + H2/sqrt(2)", noise=0.3)
    figure, (wide, split, cost) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    widths = [100, 300, 900, 2700]
    best = og.optimum(problem, N=widths)
    plain = og.optimum(problem.replace(eta=0.0), over="ridge", N=widths)
    wide.semilogx(widths, plain.test, "o-", color="0.5", label="no step, best penalty")
    wide.semilogx(widths, best.test, "o-", color=BLUE, label="best step and penalty")
    wide.set(xlabel="width N at n = 2000", ylabel="test error")
    total, shares = 3000, np.linspace(0.1, 0.9, 5)
    rows = [round(share * total) for share in shares]
    tests = [og.optimum(problem.replace(n_step=k, n=total - k)).test for k in rows]
    split.plot(shares, tests, "o-", color=BLUE, label=f"{total} rows in all")
    split.set(xlabel="share of the rows for the step, N = 600")
    for budget, colour in ((1.2e6, ORANGE), (4.8e6, BLUE)):
        ratios = 2.0 ** np.arange(-11, 3, 2)  # N/n
        pairs = [(round(np.sqrt(budget / r)), round(np.sqrt(budget * r))) for r in ratios]
        tests = [og.optimum(problem.replace(n=n, n_step=n, N=N)).test for n, N in pairs]
        cost.plot(ratios, tests, "o-", color=colour, label=f"n·N = {budget / 1e6:.1f} million")
    cost.set_xscale("log", base=2)
    cost.set(xlabel="width over rows, N/n")
    for ax in (wide, split, cost):
        ax.legend(frameon=False, fontsize=8)
        ax.set_ylim(0, None)
    return figure


def performance() -> plt.Figure:
    """Speed and error of the precisions on a GPU; the file of numbers names its commands."""
    colours = {"exact": "0.6", "fast": ORANGE}
    numbers = json.loads(MEASURED.read_text("utf-8"))
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, (speed, error) = plt.subplots(1, 2, figsize=(9.5, 3.4), width_ratios=(1.5, 1))
        cases = list(CASES_OF_A_GPU)
        for row in numbers["runs"]:
            offset = (list(colours).index(row["precision"]) - 0.5) * 0.37
            x, rate = cases.index(row["case"]) + offset, row["rate"] / 1e12
            label = row["precision"] if row["case"] == cases[0] else None
            speed.bar(x, rate, 0.35, color=colours[row["precision"]], label=label)
            speed.text(x, rate, f"{rate:.0f}", ha="center", va="bottom")
        speed.set_xticks(range(len(cases)), CASES_OF_A_GPU.values())
        speed.set_ylabel("useful TFLOP/s, everything included")
        speed.legend(frameon=False, title="precision")
        rows = numbers["errors"]
        off, errors_of_means = (
            np.sort([abs(row[name]) for row in rows]) for name in ("test_measured", "test_se")
        )
        problems = np.arange(1, len(rows) + 1)
        error.plot(off, problems, "o-", ms=3, color=colours["fast"], label="fast")
        error.plot(errors_of_means, problems, ":", color="k",
                   label="standard error of\nthe mean, 32 networks")  # fmt: skip
        error.set(xscale="log", xlabel="relative error of the mean test error",
                  ylabel="of 20 random problems", ylim=(0, 28))  # fmt: skip
        error.set_yticks(range(0, 21, 5))
        error.legend(frameon=False, loc="upper left", bbox_to_anchor=(-0.02, 1.02), fontsize=8)
        figure.tight_layout()
    return figure


PICTURES = {
    "hero": hero,
    "compare": comparison,
    "neurons": setting,
    "handbook-direction": direction,
    "handbook-counts": counts,
    "handbook-spikes": spikes,
    "handbook-random-features": random_features,
    "handbook-small-step": small_step,
    "handbook-staircase": staircase,
    "handbook-kernels": kernels,
    "handbook-maximal-step": maximal_step,
    "handbook-visible": visible,
    "optimum": optima,
    "performance": performance,
}

if __name__ == "__main__":
    import sys
    import warnings

    warnings.simplefilter("ignore", og.AssumptionWarning)  # steps on thresholds
    for name in sys.argv[1:] or PICTURES:
        figure = PICTURES[name]()
        figure.savefig(IMAGES / f"{name}.png", dpi=max(110, figure.dpi))
        print(f"docs/images/{name}.png")
