"""Formulas: right meaning, and a clear line at once for anything else."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import onegrad as og
from onegrad.functions import REGISTRY, resolve
from onegrad.functions.formula import MAX_FORMULA_LENGTH, parse_formula


def combination(text):
    return dict(parse_formula(text, REGISTRY).terms)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("H1", {1: 1}),
        ("H1 + H2/sqrt(2)", {1: 1, 2: 1 / math.sqrt(2)}),
        ("H1+0.5*H2-H3/sqrt(6)", {1: 1, 2: 0.5, 3: -1 / math.sqrt(6)}),
        ("-(H1 - 2*(H2 + H0))/4", {0: 0.5, 1: -0.25, 2: 0.5}),
        ("2*3*H4/6", {4: 1}),
        ("sqrt(2 + 2)*H1", {1: 2}),
        (".5*H1 + 1e-3*H2", {1: 0.5, 2: 1e-3}),
        ("H1 - H1", {}),
        ("H2 + H2 + 3", {2: 2, 0: 3}),
        ("x^3 - 3*x", {3: 1}),
        ("x**2 - 1", {2: 1}),
        ("H1*H1", {2: 1, 0: 1}),
        ("He2*H3", {5: 1, 3: 6, 1: 6}),
        ("(x - 1)^2/2", {2: 0.5, 1: -1, 0: 1}),
        ("2*pi*X/pi", {1: 2}),
    ],
)
def test_meaning(text, expected):
    ours = {(m[0][1] if m else 0): c for m, c in combination(text).items()}
    assert ours == pytest.approx(expected)


def test_several_indices():
    assert combination("H1@1*H2@2 - H1@3/2") == {((1, 1), (2, 2)): 1.0, ((3, 1),): -0.5}
    assert combination("x1*x2 + x1") == {((1, 1), (2, 1)): 1.0, ((1, 1),): 1.0}
    product = og.Problem(n=9, d=5, N=9, teacher="(x1 + x2)*(x1 - x2)").teacher_function
    U = np.random.default_rng(0).normal(size=(7, 2))
    np.testing.assert_allclose(product(U), U[:, 0] ** 2 - U[:, 1] ** 2)


FORMULAS = {
    "tanh(2*x)": lambda x: np.tanh(2 * x),
    "relu(x) + 0.1*x^2": lambda x: np.maximum(x, 0) + 0.1 * x**2,
    "abs(x^2 - 1)": lambda x: np.abs(x**2 - 1),
    "0.5*tanh - H2": lambda x: 0.5 * np.tanh(x) - x**2 + 1,
    "relu(x - 1)*sin(3*x)": lambda x: np.maximum(x - 1, 0) * np.sin(3 * x),
    "exp(-x^2/2)/(1 + x^2)": lambda x: np.exp(-(x**2) / 2) / (1 + x**2),
    "relu(tanh(x) - 0.5)^2": lambda x: np.maximum(np.tanh(x) - 0.5, 0) ** 2,
}


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_in_x_is_that_function_with_its_slope_and_kinks(text):
    f, expected = resolve(f"{text}:raw"), FORMULAS[text]
    x = np.linspace(-3.003, 3, 400)
    np.testing.assert_allclose(f(x), expected(x), rtol=1e-12, atol=1e-14)
    h = 1e-6
    np.testing.assert_allclose(
        f.derivative(x), (expected(x + h) - expected(x - h)) / (2 * h), rtol=1e-6, atol=1e-7
    )
    z = np.random.default_rng(1).normal(size=400_000)  # Hermite coefficients, kinks included
    for k, he in enumerate((np.ones_like(z), z, z**2 - 1, z**3 - 3 * z)):
        sample = expected(z) * he / math.factorial(k)
        assert abs(f.c[k] - sample.mean()) < 4 * sample.std() / np.sqrt(len(z))


def test_kinks_are_where_a_function_meets_them():
    assert resolve("abs(x^2 - 1)").kinks == pytest.approx((-1, 1))
    assert resolve("relu(tanh(x) - 0.5)").kinks == pytest.approx((math.atanh(0.5),))
    assert resolve("relu(x + 2) - relu(x)").kinks == pytest.approx((-2, 0))


def test_an_activation_may_not_jump():
    assert resolve("sign(x)", "teacher").c[1] == pytest.approx(math.sqrt(2 / math.pi))
    for text in ("sign", "sign(x - 1) + x", "x*sign(x)"):
        with pytest.raises(og.InvalidInput, match="jumps"):
            resolve(text, "activation")


@pytest.mark.parametrize("text", ["1/x", "x/(x^2 - 2)", "tanh(x2)", "relu(x1 - x2)", "x^0.5", "2x"])
def test_what_has_no_meaning_is_refused(text):
    with pytest.raises(og.InvalidInput):
        resolve(text, "teacher")


HOSTILE = [
    "__import__('os').system('true')", "x.__class__", "open(x)",
    "H1; import os", "H1.__class__", "lambda: H1", "eval(H1)",
    "H1**9**9**9", "H1 if H1 else H2", "(" * 200 + "H1" + ")" * 200, "H1+" * 120 + "H1" + "+" * 30,
    "1e999*H1", "1e100*H1", "H1/1e999", "1e308*1e308*H1",
    "H999999999", "H41", "H1@9", "H1@0", "H1/0", "H1/H2",
    "sqrt(-1)*H1", "sqrt(H1)", "H", "x^99", "x9", "foo(x)", "tanh(", "exp(exp(x))", "x.real",
    "H1 H2", "H1 +", "* H1", "()", "sqrt 2*H1", "H1..2",
    "0x10*H1", "1_0*H1", "H1\x00", "Ｈ1", "H1\n; x", "nan*H1", "inf*H1", "H-1", "H1.5",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda t: ascii(t)[:30])
def test_hostile_input_gets_one_line(text):
    with pytest.raises(og.InvalidInput) as error:
        resolve(text, "teacher")
    message = str(error.value)
    assert message.startswith("teacher")
    assert "\n" not in message
    assert len(message) < 320


@pytest.mark.parametrize("size", [MAX_FORMULA_LENGTH + 1, 10**6])
def test_huge_input_is_refused_by_its_length(size):
    text = "H1+" * (size // 3 + 1)
    with pytest.raises(og.InvalidInput, match="characters long"):
        resolve(text, "teacher")
    with pytest.raises(og.InvalidInput, match="characters long"):
        parse_formula(text, REGISTRY)


def test_many_terms_are_refused():
    product = "*".join(f"(H1@{i}+H2@{i}+H3@{i}+1)" for i in range(1, 7))
    with pytest.raises(og.InvalidInput, match="more than 64 terms"):
        combination(product)


def combination_or_function(text):
    return parse_formula(text, REGISTRY)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.text("Hx0123456789+-*/^()@.e sqrt", max_size=60)))
@example("H1" + "0" * 300)
def test_anything_parses_or_complains(text):
    for read in (combination_or_function, lambda t: resolve(t, "activation")):
        try:
            read(text)
        except og.InvalidInput as error:
            assert "\n" not in str(error)
            assert "\r" not in str(error)


terms = st.dictionaries(st.integers(0, 12), st.floats(-5, 5).filter(lambda c: abs(c) > 1e-3))


@settings(deadline=None)
@given(terms)
def test_what_is_written_is_read(coefficients):
    text = " + ".join(f"{c!r}*H{k}" for k, c in coefficients.items()).replace("+ -", "- ")
    expected = {(((1, k),) if k else ()): c for k, c in coefficients.items()}
    if coefficients:
        assert combination(text) == pytest.approx(expected)


def test_unknown_names_get_a_suggestion():
    with pytest.raises(og.InvalidInput, match=r"did you mean tanh\?"):
        resolve("tahn")
    with pytest.raises(og.InvalidInput, match="after ':' must come raw, unit or centred"):
        resolve("tanh:loud")
