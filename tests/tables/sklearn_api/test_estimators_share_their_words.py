"""The page of every estimator, which is put together from shared parts, has all its parameters."""

import inspect
import re

import pytest

from onegrad.tables import FAMILIES

CLASSES = [kind for family in FAMILIES.values() for kind in family.estimators]


@pytest.mark.parametrize("kind", CLASSES)
def test_the_page_of_an_estimator_explains_every_parameter(kind):
    names = re.findall(r"^([\w, ]+) : ", inspect.getdoc(kind), re.M)
    described = {name for line in names for name in line.split(", ")}
    assert set(inspect.signature(kind).parameters) | {"choice_", "readout_"} <= described
