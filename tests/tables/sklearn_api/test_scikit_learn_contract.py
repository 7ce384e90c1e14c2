"""scikit-learn's own checks hold for every estimator of every family, none expected to fail."""

import inspect
import warnings

import pytest

from onegrad.tables import FAMILIES

pytestmark = pytest.mark.compat

CLASSES = [kind for family in FAMILIES.values() for kind in family.estimators]
SMALL = {"width": 10, "rounds": 1, "members": 1}


def check(kind, **parameters):
    from sklearn.exceptions import SkipTestWarning
    from sklearn.utils.estimator_checks import check_estimator

    accepted = inspect.signature(kind).parameters
    small = {name: value for name, value in SMALL.items() if name in accepted}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)  # a check without its optional library
        check_estimator(kind(**(small | parameters)))


def test_a_regressor_and_a_classifier():
    check(FAMILIES["one-step"].regressor)
    check(FAMILIES["alternating"].classifier)


@pytest.mark.full
@pytest.mark.parametrize("kind", CLASSES)
def test_every_estimator(kind):
    check(kind, **({"members": 2} if "members" in inspect.signature(kind).parameters else {}))
