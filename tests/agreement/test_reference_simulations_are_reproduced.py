"""Ten points of reference simulations: 240 to 1,000 seeds on a GPU, float64, 20,000 test rows.

Ours must lie within three combined standard errors.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.networks.simulation import simulate

FIELDS = ("activation", "teacher", "noise", "n", "d", "N", "ridge", "residual", "alpha")
POINTS = [  # then the train error with its standard error, and the test error
    (("tanh", "H1", 1.0, 1000, 500, 667, 0.01, "labels", 0.2),
     (0.50452721, 0.00096660157, 2.0440056, 0.0023294612)),
    (("relu", "H1 + H2/sqrt(2)", 0.0, 1000, 500, 667, 0.01, "labels", 0.4),
     (0.40837451, 0.0012725183, 2.1669829, 0.0042252797)),
    (("H1 + H2/2 + H3/6", "H1 + H2/2 + H3/6", 0.3, 1000, 500, 667, 0.01, "labels", 0.3),
     (0.26209094, 0.0012160411, 2.3953975, 0.0079060597)),
    (("erf", "erf", 0.1, 1000, 500, 667, 0.01, "labels", 0.4),
     (0.033806498, 7.2935044e-05, 0.14116204, 0.00023992773)),
    (("tanh", "tanh", 0.1, 2000, 500, 333, 0.1, "labels", 0.4),
     (0.070898577, 0.00025936829, 0.076413779, 0.00026798955)),
    (("softplus", "H1 + H2/sqrt(2)", 0.2, 2000, 500, 333, 0.1, "labels", 0.2),
     (1.1833188, 0.0049513404, 1.3303729, 0.0027931187)),
    (("tanh", "tanh", 0.1, 2000, 200, 400, 0.001, "labels", 0.3),
     (0.031032249, 9.4051868e-05, 0.047583357, 9.2878068e-05)),
    (("softplus", "H1 + H2/sqrt(2)", 0.2, 2000, 200, 400, 0.001, "labels", 0.45),
     (0.34755245, 0.0015754832, 0.54539854, 0.0020712419)),
    (("tanh", "H1", 0.5, 2000, 1000, 1333, 0.01, "full", 0.2),
     (0.15858209, 0.00042296193, 0.60745985, 0.0011455146)),
    (("softplus", "H1 + H2/sqrt(2)", 0.0, 2000, 1000, 1333, 0.01, "full", 0.4),
     (0.44408387, 0.0020942794, 1.6939824, 0.0043622145)),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("values", "reference"), POINTS, ids=str)
def test_train_and_test_error_within_three_standard_errors(values, reference):
    measured = simulate(og.Problem(**dict(zip(FIELDS, values, strict=True))), 24, n_test=4096)
    for ours, mean, se in zip(
        (measured.train, measured.test), reference[::2], reference[1::2], strict=True
    ):
        assert abs(ours.mean - mean) < 3 * np.hypot(ours.se, se)
