"""A theory lists the fields of Problem that it reads, and refuses every other one."""

import json
from pathlib import Path

import numpy as np
import pytest

import onegrad as og
from onegrad.problem import FIELDS
from onegrad.theory import THEORIES, Errors, Theory, register_theory
from onegrad.theory.theories import SPECTRUM_METHODS
from programs import run_with_field

ROOT = Path(__file__).parents[2]
SIZES = {"n": 60, "d": 30, "N": 40}
NEW = """    momentum: float = field(default=0.0, metadata=description(
        label="Momentum", symbol="mu", help="share of the last step", low=0.0, high=1.0))
    # fmt: on
"""
SCRIPT = """
import json
import onegrad as og
from onegrad.theory import THEORIES
from onegrad.theory.theories import SPECTRUM_METHODS

plain, heavy = (og.Problem(n=60, d=30, N=40, eta=0.5, momentum=m) for m in (0.0, 0.9))
calls = {name: lambda p, name=name: og.predict(p, theory=name) for name in THEORIES}
calls |= {"spectrum " + m: lambda p, m=m: og.spectrum(p, method=m) for m in SPECTRUM_METHODS}
refused = {}
for name, call in calls.items():
    call(plain)
    try:
        call(heavy)
        refused[name] = None
    except og.OutOfScope as error:
        refused[name] = [error.field, error.value, error.covered]
print(json.dumps(refused))
"""


@pytest.mark.full
def test_a_field_that_no_theory_knows_is_refused_by_all(tmp_path):
    """The package with one more field, in a process of its own."""
    refused = json.loads(run_with_field(tmp_path, NEW, SCRIPT))
    assert set(refused) == {*THEORIES, *(f"spectrum {m}" for m in SPECTRUM_METHODS)}
    assert all(facts == ["momentum", 0.9, "momentum=0.0"] for facts in refused.values())


def test_the_fields_of_a_theory_are_fields_of_problem():
    tables = [fields for _, fields in SPECTRUM_METHODS.values()]
    for fields in [t.fields for t in THEORIES.values()] + tables:
        assert set(fields) <= set(FIELDS)
        assert len(set(fields)) == len(fields), fields


@pytest.fixture
def constant_theory():
    def constant_errors(problems):
        one = np.ones(len(problems))
        return Errors(train=one, test=one, squared_loss=one, residual=one, iterations=one)

    yield register_theory(Theory("constant", constant_errors, ("noise",), label="one", dash=":"))
    del THEORIES["constant"]


def test_a_registered_theory_predicts_plots_and_refuses(constant_theory):
    problem = og.Problem(**SIZES)
    curve = og.predict(problem, theory="constant", noise=[0.0, 0.5, 1.0])
    assert list(curve.test) == [1.0, 1.0, 1.0]
    (line,) = [line for line in curve.plot(quantities="test").lines if line.get_gid() == "error"]
    assert line.get_linestyle() == ":" and "one theory" in line.get_label()
    assert og.predict(problem, theory="constant").plot() is not None
    for field, value in {"ridge": 1.0, "alpha": 0.3, "n_step": 50, "weights": "sphere"}.items():
        with pytest.raises(og.OutOfScope) as error:
            og.predict(problem, theory="constant", **{field: value})
        assert (error.value.theory, error.value.field) == ("constant", field)


def test_a_name_is_registered_once_and_fields_must_exist(constant_theory):
    assert register_theory(constant_theory) is constant_theory
    with pytest.raises(og.InvalidInput, match="another theory has this name"):
        register_theory(Theory("uniform", constant_theory.function, ()))
    with pytest.raises(og.InvalidInput, match="fields must be among"):
        register_theory(Theory("other", constant_theory.function, ("momentum",)))
