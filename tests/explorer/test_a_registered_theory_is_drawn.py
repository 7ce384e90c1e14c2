"""The page draws every theory of the table beside the uniform one."""

from __future__ import annotations

import json

from onegrad.explorer.api import instant_answer
from onegrad.explorer.controls import control_table, read_problem
from onegrad.theory import THEORIES, Theory

QUERY = {"n": "300", "d": "100", "N": "150"}


def test_limit_theories_are_those_of_the_table() -> None:
    table = {theory["key"]: theory for theory in control_table()["theories"]}
    assert list(table) == ["staircase", "small_step"]
    assert (table["staircase"]["dash"], table["small_step"]["dash"]) == ("dash", "dashdot")
    assert all(theory["about"] for theory in table.values())


def test_another_theory_needs_nothing_but_its_entry(monkeypatch) -> None:
    standard = THEORIES["small-step"]
    mine = Theory("my-theory", standard.function, standard.fields, label="mine")
    monkeypatch.setitem(THEORIES, "my-theory", mine)  # as `register` does, for this test only
    answer = json.loads(json.dumps(instant_answer(read_problem(QUERY))))
    assert control_table()["theories"][-1]["label"] == "mine"
    low, high = answer["alphas"]
    assert (answer["my_theory"]["alpha"][0], answer["my_theory"]["alpha"][-1]) == (low, high)
    assert len(answer["my_theory"]["test"]) == len(answer["my_theory"]["alpha"])
    assert answer["my_theory"]["test"][0] == answer["small_step"]["test"][0]
