"""`.plot()` of predictions, simulations and spectra: artists hold the numbers, and are named."""

import warnings

import numpy as np
import pytest
import scipy.integrate

import onegrad as og
from onegrad.networks import spectrum as measure

pytestmark = pytest.mark.compat
PROBLEM = og.Problem(n=200, d=100, N=133, activation="softplus", teacher="H1 + H2/sqrt(2)")
ALPHAS = [0.0, 0.1, 0.3, 0.45]


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure(figsize=(6.4, 4.2)).subplots()


def lines(ax, gid: str = "error"):
    """The lines of this kind, without the caps of error bars."""
    caps = {cap for c in ax.containers for cap in c.lines[1]}
    return [line for line in ax.get_lines() if line.get_gid() == gid and line not in caps]


def words(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_lines_are_the_predictions_and_bands_their_accuracy(ax):
    from matplotlib.collections import PolyCollection

    p = og.predict(PROBLEM, alpha=ALPHAS)
    assert p.plot(ax) is ax
    for line, quantity in zip(lines(ax), ("test", "train"), strict=True):
        assert line.get_xdata() == pytest.approx(ALPHAS)
        assert line.get_ydata() == pytest.approx(getattr(p, quantity))
    bands = [c for c in ax.collections if isinstance(c, PolyCollection)]
    for drawn, quantity in zip(bands, ("test", "train"), strict=True):
        value, off = getattr(p, quantity), getattr(p.accuracy, quantity)
        ys = drawn.get_paths()[0].vertices[:, 1]
        assert ys.min() == pytest.approx((value * (1 - off)).min())
        assert ys.max() == pytest.approx((value * (1 + off)).max())
    assert "test error, uniform theory" in words(ax) and "accuracy, 95 %" in words(ax)
    (level,) = lines(ax, "kernel bound")
    assert level.get_ydata()[0] == pytest.approx(p.kernel_bound[0])


def test_thresholds_between_the_ends_are_drawn_and_named_once(ax):
    for _ in range(2):
        og.predict(PROBLEM, "small-step", alpha=[-0.1, 0.3, 0.35]).plot(ax)
    found = [line for line in ax.get_lines() if str(line.get_gid()).startswith("threshold")]
    assert [line.get_xdata()[0] for line in found] == pytest.approx([0, 1 / 4, 1 / 3])
    assert [text.get_text() for text in ax.texts] == ["0", "1/4", "1/3"]
    wide = og.predict(PROBLEM, "small-step", alpha=[-0.5, 1.0]).plot()
    assert [text.get_text() for text in wide.texts] == ["0", "1/4", "1/3"]  # 3/8 stands too close
    assert len(lines(wide, "threshold-4")) == 1
    assert len(words(ax)) == len(set(words(ax)))


def test_a_grid_has_a_line_and_a_name_for_every_series(ax):
    ridges = [1e-4, 1e-2, 1.0]
    p = og.predict(PROBLEM, "random-features", activation=["tanh", "relu"], ridge=ridges)
    p.plot(ax)
    drawn = lines(ax)
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "Ridge λ"
    expected = [*p.test, *p.train]
    for line, values in zip(drawn, expected, strict=True):
        assert line.get_ydata() == pytest.approx(values)
    assert drawn[0].get_color() == drawn[2].get_color() != drawn[1].get_color()
    named = {"σ = tanh", "σ = relu", "test error, random-features theory"}
    assert named <= set(words(ax))


def test_stairs_are_not_joined_across_a_threshold(ax):
    with warnings.catch_warnings(action="ignore", category=og.AssumptionWarning):
        p = og.predict(PROBLEM, "staircase", alpha=[0.0, 0.1, 0.2, 0.3])
    p.plot(ax, "test")
    (line,) = lines(ax)
    assert np.isnan(line.get_ydata()).tolist() == [False, True, False, False, True, False]
    assert words(ax)[0] == "test error, staircase theory"


def test_axes_read_in_factors_where_errors_span_them(ax):
    p = og.predict(PROBLEM, "random-features", eta=[0.0, 0.1, 10.0], N=2000, ridge=1e-6)
    p.plot(ax)
    assert p.test.max() > 20 * p.train.min()
    assert ax.get_yscale() == "log" and ax.get_xscale() == "symlog"


def test_markers_are_the_means_and_strands_single_networks(ax):
    found = og.simulate(PROBLEM, seeds=4, alpha=ALPHAS)
    found.plot(ax, "test")
    (container,) = ax.containers
    points, _, (bars,) = container.lines
    assert points.get_ydata() == pytest.approx(found.test.mean)
    heights = [np.ptp(segment[:, 1]) for segment in bars.get_segments()]
    assert heights == pytest.approx(4 * found.test.se)
    strands = [line for line in ax.get_lines() if line.get_alpha() == 0.25]
    assert np.array([s.get_ydata() for s in strands]) == pytest.approx(found.test.values)
    assert words(ax) == ["test error, 4 networks"]


def test_one_problem_is_drawn_with_its_bars_beside_its_networks(ax):
    p, found = og.predict(PROBLEM, alpha=0.3), og.simulate(PROBLEM, seeds=3, alpha=0.3)
    p.plot(ax)
    found.plot(ax)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["test error", "train objective"]
    drawn = [float(line.get_ydata()[0]) for line in lines(ax)]
    expected = [p.test, p.train, found.test.mean, found.train.mean]
    assert drawn == pytest.approx(expected)
    spans = [np.ptp(bar.get_segments()[0][:, 1]) for c in ax.containers for bar in c.lines[2]]
    assert spans[:2] == pytest.approx([2 * p.accuracy.test * p.test, 4 * p.spread.test])


def test_a_spectrum_is_drawn_over_singular_values(ax):
    problem = PROBLEM.replace(eta=30.0)
    theory = og.spectrum(problem)
    networks = measure(problem, seeds=3, edge=theory.edge, distances=False)
    theory.plot(ax)
    networks.plot(ax)
    (bulk,) = lines(ax, "bulk")
    assert bulk.get_xdata() ** 2 == pytest.approx(theory.x)
    mass = scipy.integrate.trapezoid(bulk.get_ydata(), np.log(bulk.get_xdata()))
    assert mass == pytest.approx(1 - theory.atom, rel=0.02)  # the area is what is not at zero
    places = [line.get_xdata()[0] ** 2 for line in lines(ax, "spike")]
    assert places == pytest.approx([s.eigenvalue for s in theory.spikes])
    assert [t.get_text().split()[0] for t in ax.texts[:2]] == ["edge", "linear"]
    (ticks,) = [c for c in ax.collections if c.get_label() == "beyond the edge, 3 networks"]
    seen = sorted(segment[0, 0] for segment in ticks.get_segments())
    s = networks.F.ravel() / np.sqrt(problem.n)
    assert seen == pytest.approx(np.sort(s[s > 1.02 * np.sqrt(theory.edge)]))  # not at the edge
    assert len(seen) >= 3
    (bars,) = [patch for patch in ax.patches if patch.get_label() == "3 networks"]
    share = bars.get_data().values @ np.diff(np.log(bars.get_data().edges))
    assert share == pytest.approx(133 / 200)  # the others are at zero
    assert ax.get_xlim()[0] < bulk.get_xdata()[0] and ax.get_xlim()[1] > seen[-1]
    assert ax.get_ylim()[1] >= bars.get_data().values.max()


def test_an_unknown_quantity_is_one_line():
    p = og.predict(PROBLEM, "random-features", ridge=[0.1, 1.0])
    with pytest.raises(og.InvalidInput, match=r"quantities 'tset': did you mean test\?"):
        p.plot(quantities="tset")


def test_a_plot_leaves_the_users_figure_alone():
    from matplotlib import pyplot as plt

    plt.close("all")
    mine = plt.figure()
    plt.plot([1, 2, 3])
    ax = og.predict(og.Problem(n=200, d=60, N=80), alpha=[0, 0.2]).plot()
    assert ax.figure is not mine
    assert len(mine.axes) == 1 and len(mine.axes[0].lines) == 1
    plt.close("all")
