"""The page of every estimator has all its parameters; what several share is written once."""

import inspect
import re

import pytest

from onegrad.tables import FAMILIES

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
    """Return the rendered entries of Parameters and Attributes by the names they explain."""
    about, *rest = re.split(r"\n\n(\w+)\n(-+)\n", inspect.getdoc(kind))
    names, underlines, texts = rest[::3], rest[1::3], rest[2::3]
    assert names == ["Parameters", "Attributes", "Examples"], kind  # the order of numpydoc
    assert [len(name) for name in names] == [len(line) for line in underlines]
    assert about and "\n\n\n" not in about and texts[2].startswith(">>> ")
    described = {}
    for entry in re.split(r"\n(?=\S)", "\n".join(texts[:2])):
        words, _, text = entry.partition(" : ")
        described |= {name: " ".join(text.split()) for name in words.split(", ")}
    return described


@pytest.mark.parametrize("kind", CLASSES)
def test_the_page_of_an_estimator_explains_every_parameter(kind):
    described, parameters = entries(kind), inspect.signature(kind).parameters
    assert all(described[name] for name in parameters)
    assert {"choice_", "readout_", "feature_importances_"} <= described.keys()
    assert described.keys() - parameters == {name for name in described if name.endswith("_")}
    for name in EQUIVALENTS.keys() & parameters.keys():
        equivalent = EQUIVALENTS[name]
        if name == "width" and hasattr(kind, "transform"):
            equivalent = "n_components"
        assert f"`{equivalent}`" in described[name]


def test_a_derived_class_says_what_its_parameter_does():
    alternating, one_step = (entries(family.regressor) for family in FAMILIES.values())
    assert 'are "auto"' in one_step["hold_out"] and "the round" in alternating["hold_out"]
    assert one_step["n_jobs"] == alternating["n_jobs"]


@pytest.mark.parametrize("kind", CLASSES)
def test_three_classes_of_ours_lie_between_an_estimator_and_scikit_learn(kind):
    def depth(cls):
        ours = [base for base in cls.__bases__ if base.__module__.startswith("onegrad.")]
        return 1 + max(map(depth, ours), default=0)

    assert depth(kind) <= 3
