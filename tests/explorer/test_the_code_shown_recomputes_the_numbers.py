"""The command and the Python lines of every view give the view's own numbers."""

import contextlib
import io
import re
import shlex
from typing import Any

import numpy as np
import pytest

import onegrad as og
from onegrad.explorer import api, recompute
from onegrad.explorer.controls import read_problem
from onegrad.theory import learned_coefficients
from programs import json_of

QUERIES = (
    {"n": "300", "d": "100", "N": "150", "activation": "tanh", "teacher": "H1 + H3/6"},
    {"n": "200", "phi": "0.5", "psi": "0.7", "eta": "0", "noise": "0.5", "weights": "sphere"},
    {"n": "300", "d": "100", "N": "90", "n_step": "150", "readout": "constant", "eta": "9.5"},
)
pytestmark = pytest.mark.filterwarnings("ignore::onegrad.exceptions.AssumptionWarning")


@pytest.mark.full
@pytest.mark.parametrize("query", QUERIES[1:], ids=range(2))
def test_commands(query, capsys) -> None:
    problem = read_problem(query)

    def printed_by_command(view: str, axis: str = "n") -> Any:
        program, *words = shlex.split(recompute.command(problem, view, axis))
        assert program == "onegrad"
        return json_of(capsys, *words)

    errors = printed_by_command("errors")["results"]
    assert [r["alpha"] for r in errors] == pytest.approx(list(api.CURVE_ALPHAS))
    expected = og.predict(problem, alpha=list(api.CURVE_ALPHAS))
    assert [r["test"] for r in errors] == pytest.approx(list(expected.test), rel=1e-9)
    sizes = printed_by_command("sizes", "N")["results"]
    assert [r["N"] for r in sizes] == [api.problem_at(problem, "N", r).N for r in api.CURVE_RATIOS]
    spectrum = printed_by_command("spectrum")
    assert spectrum["edge"] == pytest.approx(api.spectrum_answer(problem)["edge"])


def test_python_lines() -> None:
    for problem in map(read_problem, QUERIES):
        out, names = io.StringIO(), {}
        with contextlib.redirect_stdout(out):
            exec(recompute.python_script(problem, "learned"), {})
        numbers = [float(x) for x in re.findall(r"-?\d+\.\d*(?:e[+-]\d+)?", out.getvalue())]
        found = learned_coefficients(problem)
        assert numbers == pytest.approx([*found.target, *found.learned], abs=1e-6)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(recompute.python_script(problem, "spectrum"), names)
        assert names["problem"] == problem
        assert np.shape(names["spectrum"].x) == np.shape(og.spectrum(problem).x)
