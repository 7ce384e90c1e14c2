r"""Standard deviations of the train and test error of single networks around their mean.

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
are fitted to simulated settings (benchmarks/calibrate_spread.py), to about 15 %.
"""

from functools import lru_cache

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.function import Function, MultiIndex
from onegrad.functions.hermite import expect
from onegrad.problem import Problem
from onegrad.theory.prediction import TrainTest
from onegrad.theory.uniform.evaluation import Evaluation

# a and b: least squares on simulated settings, by benchmarks/calibrate_spread.py; no prediction
# depends on them
TRAIN_VARIANCE = (0.34, 0.89)
TEST_VARIANCE = (0.72, 0.27, 0.12, 0.43)


def spread(
    problem: Problem, values: Evaluation, teacher: Function | MultiIndex | None = None
) -> TrainTest:
    """Return the standard deviations of train and test error between networks.

    teacher : as a function of standard normal indices; by default the problem's own.
    """
    train_terms, test_terms = variance_terms(problem, values, teacher)
    excess = max(values.test - problem.noise**2, 0.0)
    return TrainTest(
        train=values.train * float(np.sqrt(np.array(TRAIN_VARIANCE) @ train_terms)),
        test=excess * float(np.sqrt(np.array(TEST_VARIANCE) @ test_terms)),
    )


def variance_terms(
    problem: Problem, values: Evaluation, teacher: Function | MultiIndex | None = None
) -> tuple[Floats, Floats]:
    """Return the terms that the coefficients a and b multiply."""
    teacher = teacher or problem.teacher_function
    n, K = problem.n, label_kurtosis(teacher, problem.noise)
    energy = teacher.second_moment + problem.noise**2
    train, gap = values.train, max(values.gap, 1e-9)
    loss = max(train - values.penalty, 0.0)
    train_terms = [2 * loss * energy / (n * train**2) if train else 0.0, (K - 1) / n]
    test_terms = [1 / (n * gap), (K - 1) / n, max(1 - gap, 0.0) / (n * gap**2), 1 / problem.d]
    return np.array(train_terms), np.array(test_terms)


@lru_cache(maxsize=1024)
def label_kurtosis(teacher: Function | MultiIndex, noise: float) -> float:
    r"""Return :math:`Ey^4/(Ey^2)^2`; three, as for a Gaussian, with several indices."""
    if isinstance(teacher, MultiIndex):
        return 3.0
    second, fourth = teacher.second_moment, expect(lambda z: teacher(z) ** 4, teacher.kinks)
    total = second + noise**2
    return (fourth + 6 * second * noise**2 + 3 * noise**4) / total**2 if total else 3.0
