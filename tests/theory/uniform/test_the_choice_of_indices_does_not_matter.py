"""The same teacher in other orthonormal indices gives the same prediction; unused ones nothing."""

import pytest

from onegrad import OutOfScope, Problem
from onegrad.theory import learned_coefficients
from onegrad.theory.uniform import uniform_spectrum
from uniform_point import uniform_point

BASE = Problem(n=800, d=300, N=400, activation="relu", noise=0.3, ridge=0.02, alpha=0.4)
OTHER = {"residual": "full", "corrupted": 0.2, "alpha": 0.1}
SAME_ROWS = {"activation": "tanh", "ridge_rows": "same", "readout": "rademacher"}
SAME = [
    ("H1", "0.6*H1@1 + 0.8*H1@2"),
    ("H1 + H2/2", "H1@2 + H2@2/2"),
    ("H1@1*H1@2", "H2@1/2 - H2@2/2"),  # turned by 45 degrees
    ("H1@1 + H1@2 + H1@1*H1@2", "sqrt(2)*H1@1 + H2@1/2 - H2@2/2"),
]


@pytest.mark.filterwarnings("ignore::onegrad.AssumptionWarning")
@pytest.mark.parametrize(("one", "other"), SAME)
@pytest.mark.parametrize(
    ("changes", "tolerance"),
    [({}, 1e-3), (OTHER, 1e-3), (SAME_ROWS, 3e-3)],
    ids=["labels", "full", "same"],
)
def test_the_choice_of_indices_does_not_matter(one, other, changes, tolerance):
    a, b = (uniform_point(BASE.replace(teacher=teacher, **changes)) for teacher in (one, other))
    # one index is integrated with more nodes than several
    assert (a.train, a.test) == pytest.approx(
        (b.train, b.test), rel=1e-3 if changes != SAME_ROWS else 3e-3
    )


def test_an_index_that_is_coupled_to_the_first_one_is_learned_and_another_is_not():
    """Both have the same energy beyond the linear part."""
    coupled, apart = (
        uniform_point(BASE.replace(teacher=teacher, n_step=4000)).test
        for teacher in ("H1@1 + H1@1*H1@2", "H1@1 + H1@2*H1@3")
    )
    assert coupled < 0.95 * apart


@pytest.mark.full
def test_what_needs_one_index_says_so():
    several = BASE.replace(teacher="H1@1 + H1@1*H1@2")
    with pytest.raises(OutOfScope, match=r"teacher: .* teachers of one index"):
        learned_coefficients(several)
    one = BASE.replace(teacher="H1")
    small = {"n": 300, "d": 120, "N": 150}
    assert uniform_spectrum(several.replace(**small)).spikes[0].eigenvalue > 0
    assert uniform_spectrum(one.replace(**small)).edge == pytest.approx(
        uniform_spectrum(one.replace(**small, teacher="0.6*H1@1 + 0.8*H1@2")).edge, rel=1e-3
    )
