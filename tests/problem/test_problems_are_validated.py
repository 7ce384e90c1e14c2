"""Problem: one line for every bad field, exact conversions, replace and grid."""

import dataclasses
import json
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onegrad as og
from onegrad.networks.network import Network

BASE = {"n": 1000, "d": 500, "N": 667}


BAD_FIELDS = [
    *[(size, bad) for size in ("n", "d", "N", "n_step", "steps")
      for bad in (0, -3, 1.5, math.nan, math.inf, "many", True, 10**13, [5])],
    *[("ridge", bad) for bad in (0.0, -1.0, math.nan, math.inf, "x", None)],
    *[("noise", bad) for bad in (-0.1, math.nan, "x")],
    *[("alpha", bad) for bad in (math.nan, math.inf, "x", 11.0)],
    *[("eta", bad) for bad in (-1.0, math.nan, math.inf)],
    *[("corrupted", bad) for bad in (-0.1, 1.1, math.nan)],
    ("weights", "cube"), ("readout", "x"), ("residual", None), ("batches", 1),
    ("ridge_rows", "old"), ("intercept", "yes"), ("intercept", 1),
    ("inputs", "cauchy"), ("inputs", "student-t(1)"), ("inputs", "gaussian(2)"), ("inputs", 5),
    ("noise_law", "mixture"), ("activation", "tahn"), ("activation", 5),
    ("activation", "H1@2"), ("teacher", "H1@1 +"), ("teacher", None), ("teacher", ("a", "b")),
]  # fmt: skip


def test_bad_fields_get_one_line_that_names_them():
    for field, value in BAD_FIELDS:
        try:
            og.Problem(**BASE | {field: value})
        except og.InvalidInput as error:
            message = str(error)
            assert error.argument == field and message.startswith(field), message
            assert "\n" not in message and len(message) < 320
        else:
            pytest.fail(f"{field} = {value!r} is accepted")


def test_step_as_exponent_or_number():
    assert og.Problem(**BASE, alpha=0.3).eta == pytest.approx(1000**0.3)
    assert og.Problem(**BASE, eta=8.0).alpha == pytest.approx(math.log(8) / math.log(1000))
    untrained = og.Problem(**BASE)
    assert (untrained.alpha, untrained.eta) == (None, 0.0)
    assert og.Problem(**BASE, alpha=0.5, eta=1000**0.5).alpha == 0.5
    with pytest.raises(og.InvalidInput, match="give alpha or eta, not both"):
        og.Problem(**BASE, alpha=0.3, eta=8.0)
    with pytest.raises(og.InvalidInput, match="needs n >= 2"):
        og.Problem(n=1, d=5, N=5, alpha=0.3)


def test_problems_are_frozen_values():
    p = og.Problem(**BASE, alpha=0.3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        p.n = 5
    assert p == og.Problem(**BASE, alpha=0.3)
    assert hash(p) == hash(og.Problem(**BASE, alpha=0.3))
    assert p != og.Problem(**BASE, alpha=0.31)
    assert (p.phi, p.psi, p.phi_step) == (0.5, 500 / 667, 0.5)


def test_replace_keeps_what_is_meant():
    p = og.Problem(**BASE, alpha=0.3)
    assert p.replace(n=2000).alpha == 0.3
    assert p.replace(n=2000).n_step == 2000
    assert p.replace(n_step=50).replace(n=2000).n_step == 50
    assert p.replace(eta=2.0).alpha == pytest.approx(math.log(2) / math.log(1000))
    assert p.replace(alpha=0.1).eta == pytest.approx(1000**0.1)
    assert p.replace(noise=1.0).eta == p.eta
    with pytest.raises(og.InvalidInput, match=r"'rigde': did you mean ridge\?"):
        p.replace(rigde=1.0)


def test_grids_are_in_c_order():
    p = og.Problem(**BASE)
    problems, shape = p.grid(noise=[0.0, 1.0], alpha=np.array([0.1, 0.2, 0.3]), ridge=0.5)
    assert shape == (2, 3)
    assert [(q.noise, q.alpha) for q in problems[2:4]] == [(0.0, 0.3), (1.0, 0.1)]
    assert {q.ridge for q in problems} == {0.5}
    assert p.grid() == ([p], ())
    with pytest.raises(og.InvalidInput, match="alpha must be a list of at least one value"):
        p.grid(alpha=[])


sizes = st.integers(1, 10**6)


@settings(deadline=None)
@given(n=sizes, d=sizes, N=sizes, eta=st.floats(0, 1e6), ridge=st.floats(1e-12, 1e6))
def test_problems_survive_json(n, d, N, eta, ridge):
    p = og.Problem(n=n, d=d, N=N, eta=eta, ridge=ridge, teacher="H1 + H2/sqrt(2)")
    again = og.Problem(**json.loads(json.dumps(p.to_dict())))
    assert again == p


def test_the_papers_parameters_are_validated_under_their_own_names():
    for make, name in (
        (lambda: og.Problem.moniri(n=100, phi=-1.0, psi=1.0), "phi"),
        (lambda: og.Problem.moniri(n=100, phi=1.0, psi=0.0), "psi"),
        (lambda: og.Problem.moniri(n=100, phi=1e308, psi=1.0), "phi"),
        (lambda: og.Problem.moniri(n=0, phi=1.0, psi=1.0), "n"),
        (lambda: og.Problem.moniri(n=100, phi=1.0, psi=1.0, c=-1.0), "c"),
        (lambda: og.Problem.moniri(n=100, phi=1.0, psi=1.0, alpha=1e6), "alpha"),
        (lambda: og.Problem.ba(d=100, psi1=math.nan, psi2=1.0), "psi1"),
        (lambda: og.Problem.ba(d=-1, psi1=1.0, psi2=1.0), "d"),
        (lambda: og.Problem.cui(d=10, p=0, n0=10, n=10), "p"),
        (lambda: og.Problem.cui(d=10, p=10, n0=10, n=10, lam=0.0), "lam"),
    ):
        with pytest.raises(og.InvalidInput, match=rf"^{name}\b") as error:
            make()
        assert "\n" not in str(error.value), name


def test_ten_million_steps_are_a_rule_not_a_list(monkeypatch):
    """A list of their sizes takes 80 MB."""
    p = og.Problem(n=90, d=20, N=30, alpha=[0.3, 0.2, 0.1], steps=10**7)

    first = Network.gradient

    def gradient(self, W, step):
        if step:  # the list would have been made
            raise InterruptedError
        return first(self, W, step)

    monkeypatch.setattr(Network, "gradient", gradient)
    with pytest.raises(InterruptedError):  # and all is imported
        og.simulate(p.replace(steps=2), seeds=1)
    with pytest.raises(og.OutOfScope):
        og.predict(p.replace(steps=3))
    tracemalloc.start()
    try:
        q = pickle.loads(pickle.dumps(p.replace(ridge=1.0))).replace(ridge=p.ridge)
        assert q == p and hash(q) == hash(p) and eval(repr(p), {"Problem": og.Problem}) == p
        assert og.Problem(**json.loads(json.dumps(p.to_dict()))) == p
        assert p.later_sizes == (90**0.2, 90**0.1)
        with pytest.raises(og.OutOfScope, match=r"steps: .* one step or two; got 10000000"):
            og.predict(p)
        with pytest.raises(InterruptedError):
            og.simulate(p, seeds=1)
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()
    ten, one = (og.cost(p.replace(steps=k), seeds=1) for k in (10**7, 10**6))
    assert ten.flops == pytest.approx(10 * one.flops, rel=1e-3)
