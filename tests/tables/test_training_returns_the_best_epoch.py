"""The one loop of gradient steps: Adam, the rate's cosine, patience, repeats, the best epoch.

Held-out losses are given, epoch by epoch; the parameter counts the epochs that were made.
"""

import math

import numpy as np
import pytest

from onegrad.tables.training import AdamSteps, Schedule, minibatches, train


def made(losses, epochs=4, patience=math.inf, repeats=1, **options):
    """The result of a training, and how many epochs it made."""
    count, remaining = np.zeros(1), iter(losses)

    def gradients(_):
        count[:] += 1
        return [np.zeros(1)]

    schedule = Schedule(0.1, epochs, 0.0, patience, repeats)
    loss = (lambda: next(remaining)) if losses else None
    best = train([count], gradients, lambda: [(None, 0.0)], schedule, loss, **options)
    return best.epoch, best.parameters[0][0], count[0]


@pytest.mark.parametrize(
    ("losses", "options", "expected"),
    [
        ([4, 2, 3, 3], {}, (2, 2, 4)),  # (best epoch, its parameter, epochs made)
        ([4, 2, 3, 3], {"patience": 1}, (2, 2, 3)),
        ([8, 4, 3.9, 3.9], {"repeats": 3}, (3, 3, 4)),  # the second half gained too little
        ([8, 4, 3, 2, 5, 4, 3, 2.9], {"repeats": 2}, (4, 4, 8)),
        ([8, 4, 3, 2, 5, 4, 3, 1], {"repeats": 2, "patience": 4}, (8, 8, 8)),
        ([4, 3, 2, 1], {"stopped": lambda: True}, (1, 1, 1)),
        ([], {"last_epoch": 3}, (3, 3, 3)),
        ([], {}, (4, 4, 4)),
    ],
)
def test_the_epoch_of_lowest_loss_counts(losses, options, expected):
    assert made(losses, **options) == expected


def test_the_rate_falls_as_a_cosine_and_rises_again():
    rates, step = [], AdamSteps.step
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AdamSteps, "step", lambda self, g, rate, *rest: rates.append(rate))
        batches = [(None, 0.0), (None, 0.5)]
        train([np.zeros(1)], lambda _: [], lambda: batches, Schedule(0.8, 2, repeats=2))
    once = [0.4 * (1 + math.cos(math.pi * x)) for x in (0, 0.25, 0.5, 0.75)]
    np.testing.assert_allclose(rates, 2 * once)
    assert step is AdamSteps.step


def test_minibatches_have_every_row_once():
    rows, shares = zip(*minibatches(10, np.random.default_rng(0), 4), strict=True)
    assert sorted(np.concatenate(rows)) == list(range(10))
    assert shares == (0.0, 0.4, 0.8)


def test_the_first_step_has_the_length_of_the_rate_whatever_the_gradient():
    parameters = [np.zeros(3, np.float32)]
    AdamSteps(parameters).step([np.array([2.0, -0.5, 1e-3], np.float32)], np.float64(0.1))
    assert parameters[0].dtype == np.float32
    np.testing.assert_allclose(parameters[0], [-0.1, 0.1, -0.1], rtol=1e-4)


def test_matrices_decay_by_their_networks_own_rate():
    W, b = np.ones((2, 3, 4)), np.ones((2, 4))
    AdamSteps([W, b]).step([0 * W, 0 * b], np.array([0.1, 0.5]), 0.4)
    assert (b == 1).all()
    np.testing.assert_allclose(W[:, 0, 0], [0.96, 0.8])
