r"""Errors of problems: their cases, as many nodes as a tolerance asks for, warm starts and bars.

Fresh rows have rules that converge geometrically: what a coarser one changes, times `SHRINKING`, is
the error. Rows in step and ridge have bins, whose error falls like one over the square of their
number (more slowly for labels with heavy tails): the last two are extrapolated. Draws of the
teacher are solved with coarse nodes, and what finer ones change in one of them moves their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from onegrad.exceptions import AssumptionWarning, InvalidInput, NotConverged, OutOfScope
from onegrad.parallel.cores import one_blas_thread
from onegrad.problem import Problem
from onegrad.theory.prediction import Errors, TrainTest
from onegrad.theory.uniform import bars
from onegrad.theory.uniform.concerns import ERROR_FIELDS, UNIFORM_FIELDS, concerns, require_covered
from onegrad.theory.uniform.discretise import Nodes
from onegrad.theory.uniform.evaluation import Evaluation, errors
from onegrad.theory.uniform.laws.inputs import MORE_DRAWS, InputSpectrum
from onegrad.theory.uniform.laws.labels import LabelLaw
from onegrad.theory.uniform.laws.rows import INDEX_POINTS
from onegrad.theory.uniform.laws.table import Laws, laws_of
from onegrad.theory.uniform.spread import spread

QUADRATURE_TOLERANCE = 1e-3  # below the theory's own error: a few tenths of a percent at n = 1000
PER_PROBLEM = ("warnings", "neglected")  # columns of Errors that are not arrays
COVERED_INPUTS = ("gaussian", "power-law", "spiked")
MAX_INDICES = max(INDEX_POINTS)  # of rows in step and ridge
SHRINKING = 0.25  # of the error by a rule that is finer by COARSER; a tenth in nine of ten problems
COARSER = 4 / 3  # factor of spacings from level to level, and its inverse of numbers of nodes
FINER_LEVELS = 4  # than the usual nodes, of fresh rows: until rtol is met
# s/rho up to which the usual nodes of fresh rows are not compared with coarser ones, and their
# error there: coarser ones change no setting by more than 0.1 %
SMALL_STEEPNESS, SMALL_ERROR = 0.5, 2.5e-4
# of r, of rows in step and ridge: for readouts of one size, and for others
BINS: tuple[int, ...] = (12, 24, 48)
BINS_OF_MANY_READOUTS: tuple[int, ...] = (4, 8, 16)
# where rows resolve two indices: they take seconds; and the error from which initial weights are no
# types: relu near interpolation changed from bins to bins by factors
TOLERANCE_OF_MANY_TYPES, MAX_ERROR_OF_STARTS = 0.02, 0.1
# of a neuron's variance in one direction of the inputs, that types leave: beyond the first bars
# make no statement; beyond the second predictions are 20 to 90 % off and more where the noise of M
# multiplies weights along the strongest direction so many times, else within 25 % and their bars
MAX_SHARE, LARGE_SHARE, MAX_MULTIPLIED_WEIGHT = 0.7, 0.35, 10.0
# variables of the fit up to which many draws take no more than seconds, and from which one does
FEW_VARIABLES, MANY_VARIABLES = 300, 800
VERY_FEW_DRAWS, LOOSE_TOLERANCE = 2, 0.05
OF_ERROR_OF_MEAN = 0.25  # over draws: more accurate nodes would change nothing that is known
MAX_ACCURACY = 1e4  # relative: a response without a sign makes it so
MAX_ERROR_OF_MEAN = 0.015  # over draws; above it more are taken: their bar alone would be 3 %
MIN_VARIATION = 1e-6  # of strengths between draws, relative
# of the deviation that balanced numbers explain: with it errors of means over 8 draws cover what
# means over 64 differ from them on power laws of reach_covariance
OF_BALANCED = 0.3


@dataclass(frozen=True)
class Refinement:
    """Means over a problem's cases, with the estimated error of their nodes."""

    train: float
    test: float
    squared_loss: float
    cases: tuple[Evaluation, ...]
    last: Evaluation  # to start others from
    quadrature_error: float
    resolved: bool  # whether the tolerance was met

    @property
    def has_starts(self) -> bool:
        """True if initial weights are types."""
        return self.cases[0].steps.types.initial is not None


@one_blas_thread
def uniform_errors(
    problems: Sequence[Problem],
    *,
    rtol: float = QUADRATURE_TOLERANCE,
    nodes: Nodes | None = None,
    inputs: InputSpectrum | None = None,
) -> Errors:
    """Return training and test errors after gradient steps and ridge: columns over problems.

    Problems may differ in anything; each starts from the solution of the one before it, so that
    neighbours that differ little (in step or ridge) gain most.

    Parameters
    ----------
    rtol : relative error allowed to quadrature; nodes are added until it is met.
    nodes : use exactly these nodes instead.
    inputs : spectrum of a user's inputs, in place of the problems' own.

    Holds for one step on Gaussian inputs, which may have a covariance, then ridge on fresh rows or
    on those of the step; and for two steps.
    See docs/uniform.md; tests/theory/uniform/test_stored_simulations_agree.py.
    """
    if not rtol > 0:
        raise InvalidInput("rtol", rtol, "> 0")
    for problem in problems:
        require_covered(problem, UNIFORM_FIELDS if inputs is not None else ERROR_FIELDS)
    points, start = list[Errors](), None
    for problem in problems:
        refinement = refine(problem, rtol, start, nodes, inputs)
        points.append(with_bars(problem, refinement))
        start = refinement.last
    return _columns(points)


def refine(
    problem: Problem,
    rtol: float,
    start: Evaluation | None = None,
    nodes: Nodes | None = None,
    spectrum: InputSpectrum | None = None,
) -> Refinement:
    """Evaluate the cases of a problem's laws with as many nodes as rtol asks for."""
    require_derived(problem, spectrum)
    cases = laws_of(problem, spectrum)
    if nodes is not None:
        return mean_of(evaluate(cases, nodes, start))
    middle = sorted(cases, key=lambda case: case.inputs.label_strength)[len(cases) // 2]
    if middle.inputs.isotropic:
        return refine_cases(cases, rtol, start)
    typical = mean_of(evaluate([middle], first_nodes(middle), start))
    variables = typical.last.variables
    if variables > MANY_VARIABLES:
        cases, rtol = laws_of(problem, spectrum, VERY_FEW_DRAWS), LOOSE_TOLERANCE
    draws = evaluate_draws(cases, typical.last)
    share = float(np.mean([max(x.steps.along_v, x.steps.off_v) for x in draws]))
    multiplied = float(np.mean([x.steps.step.multiplied_weight for x in draws]))
    largest = LARGE_SHARE if multiplied > MAX_MULTIPLIED_WEIGHT else MAX_SHARE
    if share > largest and spectrum is None:  # bars say what rows of a user are worth
        covered = "steps that leave no direction of the inputs most of a neuron's variance"
        raise OutOfScope("uniform", "eta", problem.step, covered)
    if error_of_mean(draws) > MAX_ERROR_OF_MEAN and variables <= FEW_VARIABLES:
        more = laws_of(problem, spectrum, MORE_DRAWS[middle.neurons.one_size])
        draws += evaluate_draws(more, typical.last)
    return corrected(draws, typical, rtol)


def first_nodes(laws: Laws) -> Nodes:
    """Return the fewest nodes of a case."""
    if laws.same_rows and laws.update.second is None:
        return Nodes(bins=(BINS if laws.neurons.one_size else BINS_OF_MANY_READOUTS)[0])
    return Nodes()


def require_derived(problem: Problem, spectrum: InputSpectrum | None) -> None:
    """Raise OutOfScope for laws that nobody has derived together."""
    labels, law = LabelLaw.of(problem), problem.input_law.name
    if spectrum is None and law not in COVERED_INPUTS:
        raise OutOfScope("uniform", "inputs", problem.inputs, ", ".join(COVERED_INPUTS))
    if spectrum is not None:
        if labels.teacher_indices > 1:
            name = problem.teacher_function.name
            raise OutOfScope("uniform", "teacher", name, "teachers of one index on a user's rows")
        if labels.fit.has_direction:
            raise OutOfScope("uniform", "labels", problem.labels, "plain, centred on a user's rows")
        if problem.update != "gradient":
            raise OutOfScope("uniform", "update", problem.update, "gradient on a user's rows")
    if problem.ridge_rows == "same" and labels.indices > MAX_INDICES:
        covered = f"teachers of at most {MAX_INDICES} indices with ridge_rows='same'"
        raise OutOfScope("uniform", "teacher", problem.teacher_function.name, covered)


def refine_cases(
    cases: Sequence[Laws],
    rtol: float,
    start: Evaluation | None,
    first: Refinement | None = None,
    coarser: Refinement | None = None,
) -> Refinement:
    """Evaluate all cases with more and more nodes until rtol is met.

    first, coarser : with the first nodes and with those of draws, where these are evaluated.
    """
    if cases[0].same_rows and cases[0].update.second is None:
        return refine_bins(cases, rtol, start, first)
    first = first or mean_of(evaluate(cases, first_nodes(cases[0]), start))
    if first.cases[0].steps.steepness < SMALL_STEEPNESS and rtol >= SMALL_ERROR:
        return replace(first, quadrature_error=SMALL_ERROR)
    if coarser is None:
        nodes, starts = scaled(1 / COARSER), first.cases
        rough = [
            errors(x, nodes, [near], rough=True) for x, near in zip(cases, starts, strict=True)
        ]
        coarser = mean_of(rough)
    finest, change = first, relative_change(coarser, first)
    error = SHRINKING * change
    for level in range(1, 1 + FINER_LEVELS):
        if error <= rtol or finest.last.variables > MANY_VARIABLES:
            break
        before, coarser = change, finest
        finest = mean_of(evaluate(cases, scaled(COARSER**level), coarser.last))
        change = relative_change(coarser, finest)
        error = change * min(change / before, SHRINKING)
    return replace(finest, quadrature_error=error, resolved=error <= rtol)


def refine_bins(
    cases: Sequence[Laws],
    rtol: float,
    start: Evaluation | None,
    first: Refinement | None = None,
    starts: bool = True,
) -> Refinement:
    """Evaluate all cases with more and more bins until rtol is met; the last two extrapolate.

    first : with the first nodes, where these are evaluated.
    starts : whether initial weights may be types: not where rows of large features are unstable
        with them.
    """
    counts, enough = BINS if cases[0].neurons.one_size else BINS_OF_MANY_READOUTS, rtol
    try:
        finer = first or mean_of(evaluate(cases, Nodes(bins=counts[0], starts=starts), start))
        if finer.has_starts:
            counts, enough = counts[:2], max(rtol, TOLERANCE_OF_MANY_TYPES)
        for bins in counts[1:]:
            nodes = Nodes(bins=bins, starts=starts)
            coarser, finer = finer, mean_of(evaluate(cases, nodes, finer.last))
            error = SHRINKING * relative_change(coarser, finer)
            if error <= enough:
                break
        unstable = finer.has_starts and error > MAX_ERROR_OF_STARTS
    except NotConverged:
        if not starts:
            raise
        unstable = True
    if unstable and starts:
        return refine_bins(cases, rtol, start, starts=False)
    extrapolated = {
        name: getattr(finer, name) + (getattr(finer, name) - getattr(coarser, name)) / 3
        for name in ("train", "test", "squared_loss")
    }
    return replace(finer, **extrapolated, quadrature_error=error, resolved=error <= enough)


def corrected(draws: Sequence[Evaluation], typical: Refinement, rtol: float) -> Refinement:
    """Return the mean over draws times what more nodes do to a typical one of them."""
    laws = typical.last.steps.step.laws
    same = [draw for draw in draws if draw.steps.step.laws is laws]
    coarse = mean_of(same or evaluate_draws([laws], typical.last))
    enough = max(rtol, OF_ERROR_OF_MEAN * error_of_mean(draws))
    fine, mean = refine_cases([laws], enough, None, typical, coarse), mean_of(draws)
    train, test = fine.train / coarse.train, fine.test / coarse.test
    return replace(
        fine,
        train=train * mean.train,
        test=test * mean.test,
        squared_loss=train * mean.squared_loss,
        cases=mean.cases,
    )


def scaled(factor: float) -> Nodes:
    """Return the usual nodes times a factor; fewer leave the readouts, so that types stay."""
    usual = Nodes()
    return replace(
        usual,
        residual=int(np.ceil(usual.residual * factor)),
        index=usual.index / factor,
        readout=usual.readout / max(factor, 1.0),
    )


def evaluate(cases: Sequence[Laws], nodes: Nodes, start: Evaluation | None) -> list[Evaluation]:
    """Return the errors of cases, each from the solution of the one before it."""
    evaluations = [] if start is None else [start]
    for laws in cases:
        evaluations.append(errors(laws, nodes, evaluations[-1:]))
    return evaluations[-len(cases) :]


def evaluate_draws(cases: Sequence[Laws], typical: Evaluation) -> list[Evaluation]:
    """Return the errors of draws to a part in a thousand, each from others and a typical one.

    Nodes are coarser ones, and types as with the first nodes.
    """
    draws = [typical]
    nodes = replace(scaled(1 / COARSER), bins=first_nodes(cases[0]).bins)
    for laws in cases:
        draws.append(errors(laws, nodes, draws, rough=True, like=typical.steps))
    return draws[1:]


def mean_of(cases: Sequence[Evaluation]) -> Refinement:
    """Return the mean over cases."""
    train, test, loss = (
        float(np.mean([getattr(case, name) for case in cases]))
        for name in ("train", "test", "squared_loss")
    )
    nothing_known = float("nan")
    return Refinement(train, test, loss, tuple(cases), cases[-1], nothing_known, resolved=True)


def error_of_mean(draws: Sequence[Evaluation]) -> float:
    r"""Return the relative standard error of the mean of test errors over draws.

    Draws are balanced in what errors follow most, :math:`\beta^\top\Sigma\beta` and the squared
    length :math:`b^2` of the learned direction: of what these explain a part is left.
    """
    tests = np.array([draw.test for draw in draws])
    steps = [draw.steps.step for draw in draws]
    strengths = [step.inputs.label_strength for step in steps]
    balanced = np.column_stack([np.ones(len(tests)), strengths, [step.b**2 for step in steps]])
    balanced /= np.linalg.norm(balanced, axis=0).clip(1e-300)
    along, sizes, _ = np.linalg.svd(balanced, full_matrices=False)
    along = along[:, sizes > MIN_VARIATION]
    explained = along @ (along.T @ tests)
    free = max(len(tests) - along.shape[1], 1)
    variance = ((tests - explained) ** 2).sum() / free + (OF_BALANCED * explained.std()) ** 2
    return float(np.sqrt(variance / len(tests)) / tests.mean())


def relative_change(a: Refinement, b: Refinement) -> float:
    """Return the larger relative difference of train and test."""
    return max(abs(a.train / b.train - 1), abs(a.test / b.test - 1))


def with_bars(problem: Problem, refinement: Refinement) -> Errors:
    """Return the errors of a refinement with their accuracy, spread and warnings."""
    cases, error = refinement.cases, refinement.quadrature_error
    sizes = bars.neglected_sizes(problem, cases)
    accuracy, largest = bars.stated_accuracy(sizes)
    if max(accuracy.train, accuracy.test) > MAX_ACCURACY:
        raise NotConverged(f"uniform theory: nothing is known of this error ({largest.value})")
    within = [spread(problem, case, case.steps.step.labels.teacher) for case in cases]

    def scatter(kind: str) -> float:
        """Return the deviation of a network: within a case, and between cases."""
        squares = [getattr(s, kind) ** 2 for s in within]
        return float(np.sqrt(np.mean(squares) + np.var([getattr(case, kind) for case in cases])))

    spreads = TrainTest(train=scatter("train"), test=scatter("test"))
    warnings = concerns(problem, accuracy, largest.value, spreads.test / refinement.test)
    if not refinement.resolved:
        text = f"uniform theory: computed to within {100 * error:.1g} % (see quadrature_error)"
        warnings = (*warnings, AssumptionWarning("uniform", "quadrature_error", text))
    laws, first = cases[0].steps.step.laws, cases[0]
    energies = [case.steps.step.labels.energy for case in cases]
    rows = [pi.size for pi in (state.pi for state in first.solution.state.rows)]
    return Errors(
        train=refinement.train,
        test=refinement.test,
        squared_loss=refinement.squared_loss,
        residual=first.solution.residual,
        iterations=first.solution.iterations,
        accuracy=accuracy.map(lambda value: float(np.hypot(value, np.nan_to_num(error)))),
        spread=spreads,
        quadrature_error=error,
        nodes=(sum(rows), len(first.steps.types.g)),
        label_energy=float("nan") if laws.inputs.isotropic else float(np.mean(energies)),
        warnings=warnings,
        neglected=({term.name.lower(): size for term, size in sizes.items()},),
    )


def _columns(points: Sequence[Errors]) -> Errors:
    """Return errors of single problems as columns, and each text of their warnings once."""
    columns: dict[str, Any] = {}
    for name in (f.name for f in fields(Errors) if f.name not in PER_PROBLEM):
        values = [getattr(point, name) for point in points]
        if isinstance(values[0], TrainTest):
            train, test = (np.array([getattr(v, k) for v in values]) for k in ("train", "test"))
            columns[name] = TrainTest(train=train, test=test)
        else:
            columns[name] = np.array(values)
    warnings = {str(warning): warning for point in points for warning in point.warnings}
    neglected = tuple(sizes for point in points for sizes in point.neglected)
    return Errors(**columns, warnings=tuple(warnings.values()), neglected=neglected)
