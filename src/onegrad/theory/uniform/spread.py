r"""How far one network is from the mean over networks: standard deviations of train and test.

Labels are most of it. For independent labels of kurtosis K and the resolvent R of the features,
:math:`\mathrm{Var}\,y^\top Ry = 2\,\mathrm{tr}R^2 + (K - 3)\sum_i R_{ii}^2` times their squared
variance. With :math:`\mathrm{tr}R \propto L_{tr}` and :math:`\mathrm{tr}R^2 \propto` squared loss,

.. math::
    \frac{\mathrm{Var}\,L_{tr}}{L_{tr}^2} &= \frac1n\Big[a_1\frac{2\,\mathrm{loss}\,Ey^2}{L_{tr}^2}
        + a_2(K - 1)\Big] \\
    \frac{\mathrm{Var}\,L_{te}}{(L_{te} - \sigma_\varepsilon^2)^2} &=
        \frac1n\Big[\frac{b_1}{\mathrm{gap}} + b_2(K - 1)
        + b_3\frac{1 - \mathrm{gap}}{\mathrm{gap}^2}\Big] + \frac{b_4}{d}.

Signal and labels are not independent, and the step has fluctuations of its own: the coefficients
are fitted to simulated settings (benchmarks/calibrate_accuracy.py), to about 15 %.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from onegrad.functions.function import Function, MultiIndex
from onegrad.functions.hermite import expect
from onegrad.problem import Problem
from onegrad.theory.results import Bars
from onegrad.theory.uniform.losses import Losses

TRAIN = (0.34, 0.89)
TEST = (0.72, 0.27, 0.12, 0.43)


def spread(problem: Problem, values: Losses) -> Bars:
    """Standard deviations of train and test error between networks."""
    of_train, of_test = variances(problem, values.train, values.penalty, values.test, values.gap)
    excess = max(values.test - problem.noise**2, 0.0)
    return Bars(
        train=values.train * float(np.sqrt(np.array(TRAIN) @ of_train)),
        test=excess * float(np.sqrt(np.array(TEST) @ of_test)),
    )


def variances(
    problem: Problem, train: float, penalty: float, test: float, gap: float
) -> tuple[np.ndarray, np.ndarray]:
    """The terms that a and b multiply."""
    n, K = problem.n, label_kurtosis(problem.teacher_function, problem.noise)
    energy = problem.teacher_function.second_moment + problem.noise**2
    loss, gap = max(train - penalty, 0.0), max(gap, 1e-9)
    of_train = [2 * loss * energy / (n * train**2) if train else 0.0, (K - 1) / n]
    of_test = [1 / (n * gap), (K - 1) / n, max(1 - gap, 0.0) / (n * gap**2), 1 / problem.d]
    return np.array(of_train), np.array(of_test)


@lru_cache(maxsize=1024)
def label_kurtosis(teacher: Function | MultiIndex, noise: float) -> float:
    r""":math:`Ey^4/(Ey^2)^2`; three, as for a Gaussian, with several indices."""
    if isinstance(teacher, MultiIndex):
        return 3.0
    second, fourth = teacher.second_moment, expect(lambda z: teacher(z) ** 4, teacher.kinks)
    total = second + noise**2
    return (fourth + 6 * second * noise**2 + 3 * noise**4) / total**2 if total else 3.0
