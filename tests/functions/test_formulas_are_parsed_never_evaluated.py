"""Hermite combinations: right meaning, and a clear line at once for anything else."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import onegrad as og
from onegrad.functions import resolve
from onegrad.functions.formula import MAX_FORMULA_LENGTH, parse_formula


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
    ],
)
def test_meaning(text, expected):
    ours = {(m[0][1] if m else 0): c for m, c in parse_formula(text).items()}
    assert ours == pytest.approx(expected)


def test_several_indices():
    assert parse_formula("H1@1*H2@2 - H1@3/2") == {((1, 1), (2, 2)): 1.0, ((3, 1),): -0.5}


HOSTILE = [
    "__import__('os').system('true')", "H1; import os", "H1.__class__", "lambda: H1", "eval(H1)",
    "H1**9**9**9", "H1 if H1 else H2", "(" * 200 + "H1" + ")" * 200, "H1+" * 120 + "H1" + "+" * 30,
    "1e999*H1", "1e100*H1", "H1/1e999", "1e308*1e308*H1",
    "H999999999", "H41", "H1@9", "H1@0", "H1/0", "H1/H2",
    "sqrt(-1)*H1", "sqrt(H1)", "H1*H1", "H", "H1 H2", "H1 +", "* H1", "()", "sqrt 2*H1", "H1..2",
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
        parse_formula(text)


def test_many_terms_are_refused():
    product = "*".join(f"(H1@{i}+H2@{i}+H3@{i}+1)" for i in range(1, 7))
    with pytest.raises(og.InvalidInput, match="more than 64 terms"):
        parse_formula(product)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.text("H0123456789+-*/()@.e sqrt", max_size=60)))
@example("H1" + "0" * 300)
def test_anything_parses_or_complains(text):
    for read in (parse_formula, lambda t: resolve(t, "activation")):
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
        assert parse_formula(text) == pytest.approx(expected)


def test_unknown_names_get_a_suggestion():
    with pytest.raises(og.InvalidInput, match=r"did you mean tanh\?"):
        resolve("tahn")
    with pytest.raises(og.InvalidInput, match="after ':' comes raw, unit or centred"):
        resolve("tanh:loud")
