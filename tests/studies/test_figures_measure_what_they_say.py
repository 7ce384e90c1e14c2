"""Gains, gaps, shares and the constant of a bound: what a figure computes from its points."""

import numpy as np
import pytest

from onegrad import Problem, simulate
from onegrad.exceptions import InvalidInput
from onegrad.experiments import Point
from onegrad.experiments.cell import Cell
from onegrad.experiments.results import Points
from onegrad.networks.one_network import network_of
from onegrad.networks.sampling import RowSet
from onegrad.networks.streams import Purpose
from onegrad.studies.drawing import gains, relative_difference
from onegrad.studies.measures.many_steps import TARGET_LOSS, trajectories
from onegrad.studies.measures.matrices import gradient_norms
from onegrad.studies.measures.standard import theory
from onegrad.studies.measures.steps import UPDATES, step_errors, steps_of
from onegrad.studies.papers import ba_figure3a, ba_theorem7, moniri_sharpening
from onegrad.theory.bounds import theorem7_bound

PROBLEM = Problem(n=100, d=50, N=80, alpha=0.2)
SEEDS = np.random.default_rng(0).uniform(0.5, 2.0, 30)  # how lucky a seed is: large beside a gain


def point(value: float, seeded: bool = True, **fields: float) -> Point:
    values = value * SEEDS if seeded else np.array(value)
    errors = dict.fromkeys(("risk", "test", "train"), values)
    return Point(PROBLEM.replace(**fields), errors, seeded)


def test_a_relative_gain_does_not_see_the_luck_of_a_seed():
    points = Points([point(1.0, eta=0.0), point(0.9, eta=2.0)])
    curve = ba_figure3a.relative_gain(points, 2.0, "n")
    assert curve.y == pytest.approx([10.0]) and curve.se == pytest.approx([0.0], abs=1e-12)
    assert curve.x == pytest.approx([2.0])
    theory = Points([point(1.0, False, eta=0.0), point(0.9, False, eta=2.0)])
    assert ba_figure3a.relative_gain(theory, 2.0, "n").y == pytest.approx([10.0])


def test_a_gap_does_not_see_the_luck_of_a_seed():
    pair = (Points([point(v, steps=s) for s in (1, 4)]) for v in (1.0, 1.5))
    curve = relative_difference(*pair, "steps", "risk")  # type: ignore[call-arg]
    assert curve.x.tolist() == [1, 4] and curve.y == pytest.approx([0.5, 0.5])
    assert curve.se == pytest.approx([0, 0], abs=1e-12)


def test_the_error_of_a_gap_is_that_of_a_ratio_of_means():
    rng = np.random.default_rng(1)
    a = 1 + 0.2 * rng.standard_normal((1000, 25))
    b = 1.3 * a + 0.1 * rng.standard_normal(a.shape)
    curves = []
    for x, y in zip(a, b, strict=True):
        pair = (Points([Point(PROBLEM, {"risk": v}, True)]) for v in (x, y))
        curves.append(relative_difference(*pair, "steps", "risk"))  # type: ignore[call-arg]
    spread = np.std([curve.y[0] for curve in curves], ddof=1)
    assert np.mean([curve.se[0] for curve in curves]) == pytest.approx(spread, rel=0.06)


def test_a_gain_is_before_less_after():
    (found,) = gains(Points([point(1.0, eta=0.0), point(0.8, alpha=0.3)]), "test")
    assert found.values["test"] == pytest.approx(0.2 * SEEDS)


def test_a_share_runs_from_the_first_stair_to_the_second():
    stairs = Points([point(v, False, n=n) for v, n in ((2.0, 100), (1.5, 200), (1.0, 400))])
    assert moniri_sharpening.stair_share(stairs, 2.0, 1.0).y == pytest.approx([0.0, 0.5, 1.0])


def test_the_constant_is_the_smallest_that_covers_the_risk():
    x, risk = np.array([2.0, 8.0]), np.array([0.3, 0.02])
    constants = ba_theorem7.needed_constant("erf", risk, 1 / x)
    bounds = [theorem7_bound("erf", "erf", 1 / r, C) for r, C in zip(x, constants, strict=True)]
    assert bounds == pytest.approx(risk)
    assert ba_theorem7.bound("erf", x, constants[0])[0] == pytest.approx(risk[0])


def test_rank_one_steps_are_as_long_as_the_gradient_and_point_where_they_say():
    problem = Problem(n=80, d=20, N=30, activation="relu", teacher="H1 + H2/sqrt(2)", noise=0.2)
    cell = Cell("step-errors", problem, (0.5, 4.0), (0.01, 1.0), 0, 1, (("n_test", 500),))
    steps = steps_of(cell, 0)
    network, G = steps["gradient"]
    (rows,) = network.sampler.blocks(RowSet(Purpose.STEP, problem.n))
    X, y = rows.X[0], rows.y[0]
    directions = {"rank-one": X.T @ y, "least-squares": np.linalg.solve(X.T @ X, X.T @ y)}
    for name, h in directions.items():
        step = steps[name][1][0]
        assert np.linalg.norm(step) == pytest.approx(np.linalg.norm(G))
        unit = np.outer(network.a[0], h)
        assert step / np.linalg.norm(step) == pytest.approx(unit / np.linalg.norm(unit))
    values = step_errors(cell, "cpu")
    for i, update in enumerate(UPDATES):
        expected = simulate(
            problem.replace(update=update),
            1,
            eta=list(cell.etas),
            ridge=list(cell.ridges),
            n_test=500,
        )
        assert values[f"test_{update}"] == pytest.approx(expected.test.values), i


def test_norms_of_the_gradient_are_those_of_its_matrix():
    problem = Problem(n=80, d=40, N=60, activation="tanh", teacher="softplus", noise=0.2)
    cell = Cell("gradient-norms", problem, (1.0,), (0.01,), 0, 2)
    values = gradient_norms(cell, "cpu")
    network = network_of(problem, 1)
    G, beta, a = network.first.G[0], network.first.beta[0], network.a[0]
    A = float(problem.sigma.c[1]) * np.outer(a, beta)
    norm = np.linalg.norm(G, 2)
    assert values["gradient"][1] == pytest.approx(norm)
    assert values["rest"][1] == pytest.approx(np.linalg.norm(G - A, 2) / norm)
    assert values["weights_frobenius"][1] == pytest.approx(np.linalg.norm(network.W[0]))
    assert 0 < values["rest"][1] < 1, "mostly rank one"


def test_neurons_descend_to_the_target_loss():
    for scaling in ("mean-field", "ntk"):
        problem, options = Problem(n=60, d=6, N=60), (("scaling", scaling),)
        run = trajectories(Cell("trajectories", problem, (1.0,), (0.01,), 0, 1, options), "cpu")
        assert run["loss"][0] < TARGET_LOSS and run["steps"][0] > 10
        paths = run["paths"][0, 0, 0]
        assert paths.shape[1:] == (60, 2)
        moved = np.linalg.norm(paths[-1] - paths[0], axis=1).mean()
        assert run["distance"][0] == pytest.approx(moved)


def test_the_staircase_as_printed_drops_thirty_times_too_far():
    fields = {"phi": 0.5, "psi": 0.625, "lam": 0.1, "sigma_eps": 1.0, "residual": "labels"}
    p = Problem.moniri(n=1000, **fields, activation="tanh", teacher="H1", alpha=0.1)

    def measured(alpha=0.1, **options):
        etas = (float(p.n**alpha),)
        return theory(Cell("theory", p, etas, (0.1,), options=tuple(options.items())), "cpu")

    untrained = measured(theory="random-features")["test"]
    right, printed = (measured(theory="staircase", printed=x) for x in (False, True))
    assert untrained - right["test"] == pytest.approx(0.1332, rel=1e-3)
    assert untrained - printed["test"] == pytest.approx(3.95, rel=1e-3)
    assert printed["risk"] == pytest.approx(printed["test"] - 1.0)
    assert np.isnan(measured(0.35, theory="staircase", printed=True)["test"])  # three spikes
    with pytest.raises(InvalidInput, match="printed must be False unless"):
        measured(theory="small-step", printed=True)
