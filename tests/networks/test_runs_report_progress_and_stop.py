"""Progress counts up to its total; an interrupt or a failure stops every thread at once."""

import threading

import pytest

import onegrad as og
from onegrad.networks.network import Network
from onegrad.networks.simulation import simulate

PROBLEM = og.Problem(n=3000, d=20, N=30, eta=1.0)


@pytest.mark.parametrize("model", ["trained", "linear", "rbf-kernel"])
def test_progress_rises_to_its_total(model):
    p = PROBLEM.replace(n=300) if model == "rbf-kernel" else PROBLEM
    for threads in (1, 2):
        calls = []
        simulate(p, 4, threads=threads, model=model, progress=lambda *c, to=calls: to.append(c))
        done = [d for d, _ in calls]
        assert done == sorted(done) and len({total for _, total in calls}) == 1
        assert calls[-1][0] == calls[-1][1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_the_callback_raises_stops_the_run(threads, error):
    calls = []

    def stop(done, total):
        calls.append(done)
        if done == 3:
            raise error

    before = set(threading.enumerate())  # others may end meanwhile
    with pytest.raises(error):
        simulate(PROBLEM, 50, threads=threads, progress=stop)
    assert calls == [1, 2, 3]  # of some 350
    assert len(set(threading.enumerate()) - before) <= 1


def test_gradients_of_two_replicates_are_made_side_by_side(monkeypatch):
    """Each waits for the other: a lock that both take would never let them meet."""
    barrier, gradient = threading.Barrier(2, timeout=120), Network.gradient

    def meeting(self, W, index):
        barrier.wait()
        return gradient(self, W, index)

    monkeypatch.setattr(Network, "gradient", meeting)
    simulate(PROBLEM, seeds=2, threads=2)
