"""Outliers of the weights after two steps: networks have them where theory puts them."""

import dataclasses

import numpy as np
import pytest

import onegrad as og
from onegrad import OutOfScope, Problem
from onegrad.networks.one_network import network_of
from onegrad.theory.asymptotic import two_step_outliers as module

BOTH = Problem(
    n=800, d=400, N=400, teacher="H1 + H2/sqrt(2)", activation="elu", alpha=0.4, steps=2
).replace(later_alpha="0.3")
ORDER = 2.0  # accuracy in units of 1/sqrt(n), the order of what the limit leaves out
CASES = {
    "equal sizes": BOTH.replace(readout="rademacher"),
    "the same batch": BOTH.replace(readout="rademacher", batches="same", noise=0.5),
    "a larger second step": BOTH.replace(alpha=0.3, later_alpha="0.45", readout="rademacher"),
    "ReLU, normal readouts": BOTH.replace(activation="relu", alpha=0.45, later_alpha="0.4"),
}


def squares_of(problem: Problem, seeds: int, count: int) -> np.ndarray:
    """The largest squared singular values of networks, (seeds, count)."""
    weights = (network_of(problem, seed).trained_weights(problem.step)[0] for seed in range(seeds))
    return np.array([np.linalg.svd(W, compute_uv=False)[:count] ** 2 for W in weights])


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_networks_have_their_outliers_where_theory_puts_them(name: str) -> None:
    problem = CASES[name]
    positions = og.two_step_outliers(problem).positions
    assert len(positions) == 2
    seeds = 24 if problem.readout == "gaussian" else 8
    measured = squares_of(problem, seeds, 2)
    se = measured.std(0, ddof=1) / np.sqrt(seeds)
    off = abs(measured.mean(0) - positions) - ORDER / np.sqrt(problem.n) * positions
    assert np.all(off < 3 * se), (measured.mean(0), se, positions)


@pytest.mark.full
@pytest.mark.parametrize("wrong", [0.8, 1.25])
def test_a_wrong_factor_of_the_second_term_would_be_seen(
    wrong: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = CASES["the same batch"]
    measured = squares_of(problem, 8, 2)
    right = module.gaussian_averages

    def tilted(f, mean, deviation):
        averages = right(f, mean, deviation)
        at_zero = right(f, np.zeros(1), deviation).slope
        return averages._replace(slope=at_zero + wrong * (averages.slope - at_zero))

    monkeypatch.setattr(module, "gaussian_averages", tilted)
    position = og.two_step_outliers(problem).positions[1]
    se = measured[:, 1].std(ddof=1) / np.sqrt(8)
    off = abs(measured[:, 1].mean() - position) - ORDER / np.sqrt(problem.n) * position
    assert off > 3 * se


def test_coefficients_and_exponents_are_the_formulas() -> None:
    found = og.two_step_outliers(BOTH)
    c = BOTH.sigma.c
    assert found.coefficients[:4] == pytest.approx([c[1], 2 * c[2], 6 * c[3], 24 * c[4]])
    assert found.exponents[:4] == pytest.approx([0.4, 0.2, 0.1, 0.0], abs=1e-12)
    assert found.number == 3, "the joint one, k = 1 and k = 2; an exponent of zero does not grow"
    relu = og.two_step_outliers(BOTH.replace(activation="relu"))
    assert relu.number == 2 and relu.coefficients[2] == pytest.approx(0, abs=1e-12)


def test_equal_readouts_have_few_left_vectors() -> None:
    numbers = {
        readout: og.two_step_outliers(BOTH.replace(readout=readout, later_alpha="0.45")).number
        for readout in ("gaussian", "uniform", "rademacher", "constant")
    }
    assert numbers == {"gaussian": 5, "uniform": 5, "rademacher": 2, "constant": 1}
    one = og.two_step_outliers(BOTH.replace(readout="constant", alpha=0.45, later_alpha="0.45"))
    assert len(one.positions) == 1


def test_a_second_step_of_size_zero_leaves_the_outlier_of_the_first() -> None:
    # by hand: theta = eta c_1 b with b^2 = c_star_1^2 + phi E y^2
    found = og.two_step_outliers(BOTH.replace(later_alpha="-9"))
    theta2 = (BOTH.step * BOTH.sigma.c[1]) ** 2 * (1 + 0.5 * 2)
    assert found.positions == pytest.approx([(1 + theta2) ** 2 / theta2], rel=1e-6)


@pytest.mark.parametrize(
    "change", [{"residual": "full"}, {"steps": 3}, {"inputs": "rademacher"}, {"activation": "H2"}]
)
def test_what_the_theory_does_not_cover_is_refused(change: dict) -> None:
    with pytest.raises(OutOfScope, match="two-step outliers"):
        og.two_step_outliers(BOTH.replace(**change))
    assert dataclasses.is_dataclass(og.two_step_outliers(BOTH))
