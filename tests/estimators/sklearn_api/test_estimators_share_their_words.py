"""Docstrings stand on the classes; where estimators share a parameter they share its words."""

import inspect
import re

import pytest

from onegrad.estimators import FAMILIES
from onegrad.estimators.sklearn_api.base import FeatureLearner

EQUIVALENTS = {
    "members": "n_estimators",
    "rounds": "max_iter",
    "hold_out": "validation_fraction",
    "sample_rows": "max_samples",
    "ridge": "alpha",
    "width": "hidden_layer_sizes",
}
CLASSES = [kind for family in FAMILIES.values() for kind in family.estimators]


def entries(kind):
    """Return the entries of the sections Parameters and Attributes by the names they explain."""
    doc = inspect.cleandoc(kind.__doc__)
    described = {}
    for section in ("Parameters", "Attributes"):
        body = doc.split(f"{section}\n{'-' * len(section)}\n")[1].split("\n\n")[0]
        for entry in re.split(r"\n(?=\S)", body):
            names, _, text = entry.partition(" : ")
            described |= {name: " ".join(text.split()) for name in names.split(", ")}
    return described


@pytest.mark.parametrize("kind", CLASSES)
def test_every_parameter_is_explained(kind):
    assert set(inspect.signature(kind).parameters) <= set(entries(kind))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_explains_its_parameters_alike(family):
    first, *others = (entries(kind) for kind in FAMILIES[family].estimators)
    for other in others:
        differing = {name for name in first.keys() & other.keys() if first[name] != other[name]}
        assert differing <= {"width"}  # n_components where the features are the result


def test_families_share_the_words_of_common_parameters():
    ours = [entries(family.regressor) for family in FAMILIES.values()]
    common = set(inspect.signature(FeatureLearner).parameters) - {"hold_out", "sample_rows"}
    for name in common:
        assert len({described[name] for described in ours}) == 1, name


@pytest.mark.parametrize("kind", CLASSES)
def test_the_name_that_scikit_learn_users_look_for_is_there(kind):
    described = entries(kind)
    for name in EQUIVALENTS.keys() & inspect.signature(kind).parameters.keys():
        assert f"`{EQUIVALENTS[name]}`" in described[name] or (
            name == "width" and "`n_components`" in described[name]
        )


@pytest.mark.parametrize("kind", CLASSES)
def test_three_classes_of_ours_lie_between_an_estimator_and_scikit_learn(kind):
    def depth(cls):
        ours = [base for base in cls.__bases__ if base.__module__.startswith("onegrad.")]
        return 1 + max(map(depth, ours), default=0)

    assert depth(kind) <= 3
