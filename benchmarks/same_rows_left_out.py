"""The leave-one-out error of ridge on the rows of the step: beside the test error, and as a choice.

    OMP_NUM_THREADS=1 python benchmarks/same_rows_left_out.py

Theory alone, n = 1000, d = 400, N = 600. The first layer has seen the row that ridge leaves out:
the table shows how far the left-out error is below the test error, and what the penalty that it
would choose costs. (tests/theory/uniform/test_laws_combine.py compares both errors with
networks.)
"""

import numpy as np

import onegrad as og
from onegrad.theory.uniform import evaluation
from onegrad.theory.uniform.laws.table import laws_of

BASE = og.Problem(n=1000, d=400, N=600, readout="rademacher", ridge_rows="same")
CASES = (
    {"activation": "tanh", "teacher": "H1", "noise": 0.5},
    {"activation": "gelu", "teacher": "H1 + H2/sqrt(2)", "noise": 0.3},
)
ALPHAS = (0.0, 0.3, 0.5)
RIDGES = 10.0 ** np.arange(-3, 1.51, 0.5)


def errors(problem: og.Problem) -> tuple[float, float]:
    """Return the test error and the left-out error of a problem."""
    laws = laws_of(problem)[0]
    return evaluation.errors(laws).test, evaluation.left_out_error(laws)


def main() -> None:
    head = "student / teacher | alpha | best ridge | chosen ridge | test error more by"
    print(f"| {head} | left-out / test at the best |\n|---|--:|--:|--:|--:|--:|")
    for case in CASES:
        for alpha in ALPHAS:
            problem = BASE.replace(**case, alpha=alpha)
            test, left_out = np.array([errors(problem.replace(ridge=r)) for r in RIDGES]).T
            best, chosen = test.argmin(), left_out.argmin()
            print(f"| {case['activation']} / {case['teacher']} | {alpha} | {RIDGES[best]:.2g} | "
                  f"{RIDGES[chosen]:.2g} | {100 * (test[chosen] / test[best] - 1):.1f} % | "
                  f"{left_out[best] / test[best]:.2f} |")  # fmt: skip


if __name__ == "__main__":
    main()
