"""The network beside the theory: its eigenvalues and neurons are those of a simulated one."""

import numpy as np
import pytest
from browsing import finished, wait

import onegrad as og
from exploring import series, visit
from onegrad.explorer.api import MAX_NEURONS, NO_NUMBER, network_answer, reader_message
from onegrad.networks import neurons, spectrum

PROBLEM = og.Problem(n=300, d=100, N=150, teacher="tanh", noise=0.1, ridge=0.05, alpha=0.3)


@pytest.mark.parametrize("change", [{}, {"N": 450}, {"eta": 0.0}, {"readout": "constant"}])
def test_eigenvalues_are_those_of_the_simulated_network(change) -> None:
    problem = PROBLEM.replace(**change)
    found = np.array(network_answer(problem, seed=3)["eigenvalues"])
    values = spectrum(problem, seeds=[3], distances=False).F[0] ** 2 / problem.n
    assert found == pytest.approx(np.sort(values)[::-1], rel=1e-4, abs=1e-9)


def test_neurons_turn_as_their_readouts_say() -> None:
    found = neurons(PROBLEM, seed=3)
    chance = 1 / np.sqrt(PROBLEM.d)
    assert np.sqrt(np.mean(found.before**2)) == pytest.approx(chance, rel=0.2)
    assert np.std(found.readout) == pytest.approx(1.0, rel=0.2)
    assert np.corrcoef(found.readout, found.after)[0, 1] > 0.8
    assert abs(np.corrcoef(found.readout, found.before)[0, 1]) < 4 / np.sqrt(PROBLEM.N)
    still = neurons(PROBLEM.replace(eta=0.0), seed=3)
    assert np.array_equal(still.before, still.after)
    assert np.array_equal(still.before, found.before)


def test_the_answer_says_what_the_neurons_do() -> None:
    answer, found = network_answer(PROBLEM, seed=3), neurons(PROBLEM, seed=3)
    for name in ("readout", "before", "after"):
        assert answer["neurons"][name] == pytest.approx(
            getattr(found, name)[:MAX_NEURONS], rel=1e-4
        )
    assert answer["overlap"] == pytest.approx(np.sqrt(np.mean(found.after**2)))
    assert answer["correlation"] == pytest.approx(np.corrcoef(found.readout, found.after)[0, 1])
    assert network_answer(PROBLEM.replace(readout="constant"))["correlation"] is None


def test_what_would_take_long_is_refused_before_it_starts() -> None:
    huge = PROBLEM.replace(n=100_000, d=20_000, N=50_000)
    assert list(network_answer(huge)) == ["refused"]
    assert "takes too long" in network_answer(huge)["refused"]


def test_readers_are_not_told_of_solvers() -> None:
    assert reader_message(og.NotConverged("Newton step 1e-3 after 60 iterations")) == NO_NUMBER
    assert reader_message("readout: a Gaussian readout is assumed").startswith("readout")


def test_the_page_shows_this_network_and_another(page, url) -> None:
    visit(page, url)
    finished(page)
    wait(page, "onegrad.model().network?.seed === 0 && !onegrad.model().stale.network")
    marked = [x**2 for x in series(page, "spectrum", "its values beyond the edge")["x"][::3]]
    direct = network_answer(PROBLEM)["eigenvalues"]
    assert marked and marked == pytest.approx(direct[: len(marked)], rel=1e-4)
    after = series(page, "neurons", "after the step")
    assert after["x"] == pytest.approx(neurons(PROBLEM).after, rel=1e-4)
    assert after["y"] == pytest.approx(neurons(PROBLEM).readout, rel=1e-4)
    assert page.locator("#plot-neurons .trace").count() == 2
    page.focus("#alpha-slider")
    page.keyboard.press("ArrowRight")
    wait(page, "onegrad.model().alpha === 0.305 && !onegrad.model().stale.network")
    wait(page, "!onegrad.painting")
    moved = neurons(PROBLEM.replace(alpha=0.305))
    assert series(page, "neurons", "after the step")["x"] == pytest.approx(moved.after, rel=1e-4)
    page.click("#another")
    wait(page, "onegrad.model().network.seed === 1 && !onegrad.painting")
    other = neurons(PROBLEM.replace(alpha=0.305), seed=1)
    assert series(page, "neurons", "after the step")["x"] == pytest.approx(other.after, rel=1e-4)
