"""Adam's first step has the length of its rate, whatever the gradient; matrices alone decay."""

import numpy as np

from onegrad.tables.training import AdamSteps


def test_the_first_step_has_the_length_of_the_rate():
    parameters = [np.zeros(3, np.float32)]
    AdamSteps(parameters).step([np.array([2.0, -0.5, 1e-3], np.float32)], np.float64(0.1))
    assert parameters[0].dtype == np.float32
    np.testing.assert_allclose(parameters[0], [-0.1, 0.1, -0.1], rtol=1e-4)


def test_matrices_decay_by_their_networks_own_rate():
    W, b = np.ones((2, 3, 4)), np.ones((2, 4))
    AdamSteps([W, b]).step([0 * W, 0 * b], np.array([0.1, 0.5]), np.array([1.0, 0.4]))
    assert (b == 1).all()
    np.testing.assert_allclose(W[:, 0, 0], [0.9, 0.8])
