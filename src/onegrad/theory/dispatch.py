"""The public functions predict and spectrum: the theory of a name, over a problem or a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from onegrad.exceptions import (
    AssumptionWarning,
    InvalidInput,
    NotConverged,
    OutOfScope,
    case_insensitive,
    check_choice,
    warn,
)
from onegrad.pictures.result_tables import with_error
from onegrad.problem import (
    FIELDS,
    Problem,
    check_axes,
    list_axes,
    quick_start,
    representation_warnings,
)
from onegrad.theory import scope
from onegrad.theory.bounds import kernel_lower_bound
from onegrad.theory.prediction import Errors, Prediction
from onegrad.theory.spectral_law import Spectrum
from onegrad.theory.theories import SPECTRUM_METHODS, THEORIES, Theory
from onegrad.theory.uniform import uniform_errors
from onegrad.theory.uniform.laws.inputs import InputSpectrum

Column = np.ndarray[Any, Any]
# far from its regime: as far as users of a limit would want to know of; not tuned
MAX_DISTANCE = 0.1  # of the test error, relative to that of the uniform theory
MAX_COMPARED_POINTS = 5  # of a grid: each costs what the uniform theory does
MIN_COVARIANCE_ROWS = 20  # of which a covariance is estimated: fewer say little; not tuned
# columns of Errors that a prediction has in the shape of its grid
SHAPED = ("train", "test", "squared_loss", "residual", "iterations", "quadrature_error", "nodes")


def predict(
    problem: Problem | None = None, theory: str = "uniform", *, rows: Any = None, **axes: Any
) -> Prediction:
    """Predict the training and test error of a problem.

    Parameters
    ----------
    problem : sizes, functions, noise, ridge and step; by default those of the quick start.
    theory : "uniform" (every step size at finite n), "staircase" (eta = n**alpha between
        thresholds, n to infinity), "small-step" (eta of order one, n to infinity) or
        "random-features" (the untrained network). A theory of the limit warns where it is far from
        the uniform one.
    rows : an array whose rows are the inputs, as in `simulate`. With "uniform" the prediction is
        for inputs with the mean, covariance and lengths of these rows.
    axes : fields of the problem with a value or a list, e.g. alpha=[0, 0.1, 0.2]; lists make a
        grid.

    Returns
    -------
    Prediction : the errors, with their accuracy; floats, or arrays of the grid's shape.

    See Also
    --------
    simulate : measure the same errors on real networks.
    compare : theory beside networks.
    spectrum : bulk and spikes of the features.

    Examples
    --------
    >>> import onegrad as og
    >>> problem = og.Problem(n=1000, d=500, N=667, activation="softplus", alpha=0.4)
    >>> og.predict(problem)
    Prediction(uniform: train=0.03957 ± 0.00016, test=0.11413 ± 0.00035)
    >>> og.predict(problem, theory="staircase", alpha=[0.1, 0.2]).test.round(3)
    array([0.098, 0.098])
    """
    check_axes(predict, axes)
    grid = ProblemGrid.over(problem, axes)
    prediction = _evaluate(grid, theory, rows)
    far = distance_warnings(prediction, grid.problems)
    warn(*far)
    return replace(prediction, warnings=(*prediction.warnings, *far))


def evaluate_theory(problem: Problem, theory: str | Theory = "uniform", **axes: Any) -> Prediction:
    """Return what `predict` returns, without a look at how far the uniform theory is."""
    return _evaluate(ProblemGrid.over(problem, axes), theory)


def _evaluate(grid: ProblemGrid, theory: str | Theory, rows: Any = None) -> Prediction:
    """Return the errors of all points of a grid, and issue the warnings of the theory."""
    if not isinstance(theory, Theory):
        name = case_insensitive(theory, THEORIES) if isinstance(theory, str) else theory
        theory = THEORIES[check_choice("theory", name, THEORIES)]
    name, problems = theory.name, grid.problems
    scope.require_known_fields(name, theory.fields, problems)
    scope.require_representable(name, problems)
    with scope.numerical_failures(f"{name} theory"):
        if rows is None:
            errors = theory.function(problems)
        else:
            errors = uniform_errors(problems, inputs=_spectrum_of(rows, name, problems))
        errors = scope.require_possible(f"{name} theory", errors, problems)
    warnings = (*errors.warnings, *representation_warnings(problems))
    warn(*warnings)
    return grid.prediction(replace(errors, warnings=warnings), theory)


def prediction_of(
    test: Sequence[float], label: str, problem: Problem | None = None, **axes: Any
) -> Prediction:
    """Return test errors from elsewhere, one for each point of a grid, as a prediction."""
    grid, test_errors = ProblemGrid.over(problem, axes), np.array(test, dtype=float)
    none = np.full(len(test_errors), np.nan)
    errors = Errors(train=none, test=test_errors, squared_loss=None, residual=none, iterations=none)
    return grid.prediction(errors, Theory(label, lambda _: errors, tuple(FIELDS)))


@dataclass(frozen=True)
class ProblemGrid:
    """The problems of a grid: the one that all share, the listed values, and every point."""

    base: Problem
    axes: dict[str, list[Any]]
    problems: list[Problem]
    shape: tuple[int, ...]

    @classmethod
    def over(cls, problem: Problem | None, axes: Mapping[str, Any]) -> Self:
        problem, lists = problem or quick_start(), list_axes(axes)
        fixed = {field: value for field, value in axes.items() if field not in lists}
        problems, shape = problem.grid(**axes) if axes else ([problem], ())
        base = problem if not fixed else problem.replace(**fixed) if lists else problems[0]
        return cls(base, lists, problems, shape)

    def prediction(self, errors: Errors, theory: Theory) -> Prediction:
        """Return errors of all points, as columns, in the shape of the grid."""
        problems = self.problems
        noise = np.array([p.noise**2 for p in problems])
        kernel_bound = noise + [kernel_lower_bound(p.teacher_function) for p in problems]
        kernel_bound[~np.isnan(np.broadcast_to(errors.label_energy, len(problems)))] = np.nan

        def shaped(values: Column | None) -> Any:
            """Return a column of numbers, or of rows of them, in the shape of the grid."""
            if values is None:
                return None
            values = values.reshape((*self.shape, *values.shape[1:]))
            return values if values.ndim else values.item()

        def bars(values: Any) -> Any:
            return shaped(np.broadcast_to(values, len(problems)).copy())

        return Prediction(
            problem=self.base,
            theory=theory.name,
            axes=self.axes,
            warnings=errors.warnings,
            **{name: shaped(getattr(errors, name)) for name in SHAPED},
            risk=shaped(errors.test - noise),
            accuracy=errors.accuracy.map(bars),
            spread=errors.spread.map(bars),
            alpha=shaped(np.array([np.nan if p.alpha is None else p.alpha for p in problems])),
            eta=shaped(np.array([p.step for p in problems])),
            ridge=shaped(np.array([p.ridge for p in problems])),
            kernel_bound=shaped(kernel_bound),
            label_energy=bars(errors.label_energy),
            label=theory.label,
            dash=theory.dash,
            jumps=theory.jumps,
        )


def distance_warnings(
    prediction: Prediction, problems: Sequence[Problem]
) -> tuple[AssumptionWarning, ...]:
    """Return a warning where a theory of a limit is far from the uniform theory at this n.

    Of a long grid a few points are compared, the first and the last among them.
    """
    theory = THEORIES[prediction.theory]
    if not theory.regime:
        return ()
    few = np.unique(np.linspace(0, len(problems) - 1, MAX_COMPARED_POINTS).astype(int))
    points, test = [problems[i] for i in few], np.ravel(prediction.test)[few]
    try:
        scope.require_known_fields("uniform", THEORIES["uniform"].fields, points)
        with scope.numerical_failures("uniform theory"):
            uniform = scope.require_possible("uniform theory", uniform_errors(points), points)
    except (InvalidInput, NotConverged):
        return ()  # outside the scope of both there are other warnings
    distance = np.abs(test / uniform.test - 1)
    i = int(np.argmax(distance))
    if not distance[i] > MAX_DISTANCE:
        return ()
    margin = np.broadcast_to(uniform.accuracy.test, len(few))[i] * uniform.test[i]
    text = (
        f"{theory.name} theory: {theory.regime}; it has test = {test[i]:.4g} at "
        f"eta = {points[i].step:.3g} and n = {points[i].n}, where the uniform theory has "
        f"{with_error(float(uniform.test[i]), float(margin))}"
    )
    return (AssumptionWarning(theory.name, "eta", text),)


def _spectrum_of(rows: Any, theory: str, problems: Sequence[Problem]) -> InputSpectrum:
    """Return the spectrum of a user's rows, if they fit the problems and the theory reads them."""
    if theory != "uniform":
        raise InvalidInput("rows", problem=f"the {theory} theory does not read them")
    try:
        X = np.asarray(rows, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput("rows", allowed="an array of numbers, one row per input") from None
    for d in {problem.d for problem in problems}:
        if X.ndim != 2 or X.shape[1] != d or len(X) < MIN_COVARIANCE_ROWS:
            allowed = f"an array of shape (m, d) with m >= {MIN_COVARIANCE_ROWS} and d = {d}"
            raise InvalidInput("rows", X.shape, allowed)
    if not np.isfinite(X).all():
        raise InvalidInput("rows", problem="there is a NaN or infinity")
    if not X.var(0).any():
        raise InvalidInput("rows", problem="all rows are equal")
    return InputSpectrum.of_rows(X)


def spectrum(
    problem: Problem | None = None, *, method: str | None = None, **changes: Any
) -> Spectrum:
    r"""Return the bulk and the spikes of the features, as eigenvalues of :math:`F F^\top/n`.

    Spikes stand where their strength at this n puts them; those of the untrained features, which an
    activation with an even part has, are included.

    Parameters
    ----------
    problem : sizes, functions, noise, ridge and step; by default those of the quick start.
    method : "uniform" (the bulk of the trained features) or "asymptotic" (that of the untrained
        ones, in closed form); by default the first of these that has an answer.
    changes : fields of the problem with another value, e.g. alpha=0.3.

    Examples
    --------
    >>> import onegrad as og
    >>> og.spectrum(og.Problem(n=1000, d=500, N=667, activation="softplus", alpha=0.4))
    Spectrum(uniform: edge=1.7..., atom=0.333, spikes: ...)
    """
    check_axes(spectrum, changes)
    if method is not None:
        check_choice("method", method, SPECTRUM_METHODS)
    if lists := list_axes(changes):
        name, values = next(iter(lists.items()))
        raise InvalidInput(name, values, "one value: a spectrum is that of one problem")
    (problem,) = ProblemGrid.over(problem, changes).problems
    refusals = []
    for name in [method] if method else SPECTRUM_METHODS:
        try:
            law = _spectrum_by(name, problem)
        except (OutOfScope, NotConverged) as refusal:
            if isinstance(refusal, OutOfScope) and refusal.instead:
                raise  # a spectrum after another step would be no answer
            refusals.append(refusal)
        else:
            warn(*law.warnings)
            return law
    raise refusals[0]


def _spectrum_by(method: str, problem: Problem) -> Spectrum:
    function, fields = SPECTRUM_METHODS[method]
    scope.require_known_fields(method, fields, [problem])
    scope.require_representable(method, [problem])
    with scope.numerical_failures(f"{method} spectrum"):
        law = function(problem)
    numbers = [law.edge, law.atom, *law.x, *law.rho, *(spike.eigenvalue for spike in law.spikes)]
    if not np.all(np.isfinite(numbers)):
        raise NotConverged(f"{method} spectrum: rounding leaves no correct digits")
    return law
