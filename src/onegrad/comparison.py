"""Theory beside real networks: the errors along the step, the spikes, and whether they agree."""

import contextlib
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from onegrad.arrays import Floats, normal_score
from onegrad.exceptions import AssumptionWarning, InvalidInput, NotConverged, OutOfScope
from onegrad.io.json_values import json_values
from onegrad.networks import MeasuredSpectrum, Simulation, simulate
from onegrad.networks import spectrum as measure_spectrum
from onegrad.pictures import load_library, style
from onegrad.pictures.result_tables import dataframe, html_table, network_count, with_error
from onegrad.problem import Problem, check_axes, quick_start
from onegrad.theory import Prediction, Spectrum, predict, prediction_of, spectrum

COMPARED_ERRORS = ("train", "test")
LEVEL = 0.01  # share of comparisons that say "differ" where nothing does; benchmarks/verdict.py
MIN_NETWORKS = 5  # fewer have errors that Student's t makes too wide to say "agree"
MAX_SPECTRUM_SEEDS = 1  # all singular values of a network cost more than its errors
_NETWORK_STEPS, _CURVE_STEPS = 6, 41  # exponents of the step up to the problem's own

# of a theory: its name, a function of a problem, or numbers
TheoryLike = str | Callable[[Problem], float] | Sequence[float] | float | Floats


@dataclass(frozen=True)
class Comparison:
    """Predicted and measured errors of one problem, along the step or along given axes.

    Attributes
    ----------
    prediction, simulation : errors at the same points; the last one is the problem itself unless
        axes were given.
    curve : the prediction at many more steps, for the picture; None where axes were given.
    untrained : the predicted test error without a step.
    spectrum, measured_spectrum : bulk and spikes of the last point; None where theory has none.

    Examples
    --------
    >>> import onegrad as og
    >>> c = og.compare(og.Problem(n=400, d=100, N=150, activation="softplus", alpha=0.4), seeds=5)
    >>> c.agrees, len(c.results())
    (True, 6)
    """

    prediction: Prediction
    simulation: Simulation
    curve: Prediction | None
    untrained: float
    spectrum: Spectrum | None
    measured_spectrum: MeasuredSpectrum | None

    @property
    def compared(self) -> tuple[str, ...]:
        """The errors that theory has: train and test, or test alone."""
        return tuple(
            name for name in COMPARED_ERRORS if np.isfinite(getattr(self.prediction, name)).all()
        )

    @cached_property
    def z(self) -> dict[str, Floats]:
        """Deviations of networks from theory, in standard deviations of both."""
        return {name: deviations(self.prediction, self.simulation, name) for name in self.compared}

    @property
    def agrees(self) -> bool | None:
        """True if theory and networks agree; None where there are too few networks to tell.

        They differ where chance alone would give so large a deviation, among so many values, in
        one comparison of a hundred.
        """
        z = np.concatenate(list(self.z.values()))
        if np.isnan(z).any():
            return None
        if 2 * float(ndtr(-np.abs(z).max())) * len(z) < LEVEL:
            return False
        return True if len(self.simulation.seeds) >= MIN_NETWORKS else None

    def results(self) -> list[dict[str, Any]]:
        """Return one dictionary per point: theory and networks, each with its error, and z."""
        rows = []
        for i, (theory, networks) in enumerate(
            zip(self.prediction.results(), self.simulation.results(), strict=True)
        ):
            row = {k: v for k, v in networks.items() if k in self._varied}
            for name in self.compared:
                row |= {name: theory[name], f"{name}_accuracy": theory.get(f"{name}_accuracy")}
                row |= {f"{name}_networks": networks[name], f"{name}_se": networks[f"{name}_se"]}
                row[f"{name}_z"] = float(self.z[name][i])
            rows.append(row)
        return rows

    @property
    def _varied(self) -> list[str]:
        return list(self.prediction.axes) or ["alpha"]

    def table(self) -> list[dict[str, Any]]:
        """Return one dictionary per point, for printing: values with errors, and the largest z."""
        rows = []
        for row in self.results():
            line = {k: v for k, v in row.items() if k in self._varied}
            for name in self.compared:
                accuracy = row[f"{name}_accuracy"] or 0.0
                line[f"{name}, theory"] = with_error(row[name], accuracy * row[name])
                line[f"{name}, networks"] = with_error(row[f"{name}_networks"], row[f"{name}_se"])
            if len(self.simulation.seeds) > 1:  # one network has no standard error
                line["largest |z|"] = f"{max(abs(row[f'{name}_z']) for name in self.compared):.1f}"
            rows.append(line)
        return rows

    @property
    def sentence(self) -> str:
        """The result of the comparison, in one or two sentences."""
        test, measured = np.ravel(self.prediction.test)[-1], self.simulation.test
        mean, se = np.ravel(measured.mean)[-1], np.ravel(measured.se)[-1]
        values = f"{test:.3g} in theory and {with_error(mean, se)} on {self._networks}"
        if self.simulation.points[-1].step == 0.0:
            errors = f"without a step, the test error is {values}"
        else:
            two_se = 2 * float(np.nan_to_num(se))
            moves = "falls" if mean + two_se < self.untrained else "goes"
            moves = "rises" if mean - two_se > self.untrained else moves
            errors = f"the test error {moves} from {self.untrained:.3g} without a step to {values}"
        beside_kernels = self._kernels_clause(float(test), mean + 2 * float(np.nan_to_num(se)))
        return f"{self._verdict}: {errors}{beside_kernels}.{self._spikes_sentence()}"

    @property
    def _networks(self) -> str:
        return network_count(len(self.simulation.seeds))

    @property
    def _verdict(self) -> str:
        """Return whether they agree, and the deviation that says so."""
        if len(self.simulation.seeds) == 1:
            return "One network has no standard error, so nothing is compared (use more seeds)"
        label = self.prediction.label
        own_words = {"uniform": "theory", "your": "your theory"}
        theory = own_words.get(label, f"the {label} theory")
        z = np.abs(np.concatenate(list(self.z.values())))
        largest = f"largest |z| {z.max():.1f} of {len(z)} value{'s' if len(z) > 1 else ''}"
        if self.agrees is None:
            return f"{self._networks} are too few to tell whether {theory} is right ({largest})"
        verdict = f"{theory} and networks {'agree' if self.agrees else 'differ'} ({largest})"
        return verdict[0].upper() + verdict[1:]

    def _kernels_clause(self, test: float, measured: float) -> str:
        """Return whether both are below the kernels' bound, where they can be."""
        bound = float(np.ravel(self.prediction.kernel_bound)[-1])
        noise = self.simulation.points[-1].noise ** 2
        if not bound > noise * (1 + 1e-9) + 1e-9:  # the best linear predictor makes no error
            return ""
        both = "both" if max(test, measured) < bound else "not both clearly"
        return f", {both} below {bound:.3g}, the best that any rotation-invariant kernel can do"

    def _spikes_sentence(self) -> str:
        law, measured = self.spectrum, self.measured_spectrum
        if law is None or measured is None:
            return ""
        # the spikes are not those of another theory, of which only errors are known
        theory = "Theory" if self.prediction.label == "uniform" else f"The {law.method} theory"
        if not law.spikes:
            return f" {theory} has no spike outside the bulk."
        predicted = [f"{math.sqrt(spike.eigenvalue):.3g}" for spike in law.spikes]
        largest = [f"{s:.3g}" for s in np.sqrt(measured.eigenvalues[0, : len(predicted)])]
        one = len(predicted) == 1
        spikes = "one spike" if one else f"{len(predicted)} spikes"
        values = "value of a network is" if one else "values of a network are"
        return (
            f" {theory} has {spikes} outside the bulk, at s/√n = {' and '.join(predicted)}; "
            f"the largest {values} {' and '.join(largest)}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return json_values(
            {
                "results": self.results(),
                "problem": self.prediction.problem.to_dict(),
                "theory": self.prediction.theory,
                "agrees": self.agrees,
                "sentence": self.sentence,
                "kernel_bound": self.prediction.kernel_bound,
                "untrained": self.untrained,
                "spectrum": self.spectrum and self.spectrum.to_dict(),
                "simulated_spectrum": self.measured_spectrum and self.measured_spectrum.to_dict(),
            }
        )

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with the rows of `results`."""
        return dataframe(self.results())

    def plot(self, figure: Any = None) -> Any:
        """Draw the errors along the step and, beside them, bulk and spikes.

        Parameters
        ----------
        figure : matplotlib figure; by default a new one.

        Returns
        -------
        numpy.ndarray of matplotlib.axes.Axes : one, or two where theory has a spectrum.
        """
        pyplot = load_library("matplotlib.pyplot", "plot")
        columns = 1 if self.spectrum is None else 2
        if figure is None:
            figure = pyplot.figure(figsize=(6.0 * columns, 4.4), layout="constrained")
        with load_library("matplotlib", "plot").rc_context(style.RC):
            axes = figure.subplots(1, columns, squeeze=False)[0]
            shown = tuple(reversed(self.compared))
            (self.prediction if self.curve is None else self.curve).plot(axes[0], shown)
            self.simulation.plot(axes[0], shown)
            if self.spectrum is not None:
                self.spectrum.plot(axes[1])
            if self.measured_spectrum is not None:
                self.measured_spectrum.plot(axes[1])
        return axes

    def __repr__(self) -> str:
        return f"Comparison: {self.sentence}"

    def _repr_html_(self) -> str:
        return html_table(self.sentence, self.prediction.problem, self.table())


def deviations(prediction: Prediction, simulation: Simulation, name: str) -> Floats:
    r"""Return deviations of networks from theory in standard deviations of both, point by point.

    .. math:: t = \frac{m - p}{\sqrt{\mathrm{se}^2 + (\text{95 \% margin}/1.96)^2}}

    and z has the tail probability of Student's t with k - 1 degrees of freedom, since the standard
    error of k networks is itself estimated. (Welch and Satterthwaite's more degrees would say
    "differ" too often: of two networks that happen to be close, the error seems small.)
    """
    measured, margin = getattr(simulation, name), prediction.margin(name)
    scale = np.hypot(measured.se, np.nan_to_num(margin) / 1.96)
    difference = measured.mean - getattr(prediction, name)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(difference == 0.0, 0.0 * scale, difference / scale)
    return np.ravel(normal_score(t, len(simulation.seeds) - 1))


def compare(
    problem: Problem | None = None,
    seeds: int | Sequence[int] = 10,
    *,
    theory: TheoryLike = "uniform",
    rows: Any = None,
    device: str = "cpu",
    progress: Callable[[int, int], None] | bool | None = None,
    **axes: Any,
) -> Comparison:
    """Compare theory with real networks, for steps up to that of the problem.

    Parameters
    ----------
    problem : sizes, functions, noise, ridge and step; by default those of the quick start.
    seeds : number of networks, or a list of their seeds.
    theory : the name of a theory; a function that takes a problem and returns its test error; or
        the test error of the problem itself, or an array of them with one axis for each of `axes`.
    rows : inputs of your own, for theory and networks, as in `predict`; without a spectrum.
    device : as in `simulate`.
    progress : as in `simulate`.
    axes : compare along these fields instead of the step, e.g. ridge=[1e-3, 1e-2].

    Returns
    -------
    Comparison : a table, a picture, and a sentence that says whether the two agree.

    See Also
    --------
    predict : theory alone.
    simulate : networks alone.

    Examples
    --------
    >>> import onegrad as og
    >>> problem = og.Problem(n=400, d=100, N=150, activation="relu", alpha=0.4)
    >>> og.compare(problem, seeds=5)
    Comparison: Theory and networks agree ...
    >>> og.compare(problem, seeds=5, theory=lambda problem: problem.noise**2).agrees
    False
    """
    check_axes(compare, axes)
    problem = problem or quick_start()
    curve = None
    if not axes and problem.alpha is not None and (isinstance(theory, str) or callable(theory)):
        low = min(0.0, problem.alpha)
        steps = np.linspace(low, problem.alpha, _CURVE_STEPS).tolist()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)  # those of its points are enough
            curve = _predicted(theory, problem, rows, alpha=steps)
        axes = {"alpha": np.linspace(low, problem.alpha, _NETWORK_STEPS).round(6).tolist()}
        axes["alpha"][-1] = problem.alpha
    prediction = _predicted(theory, problem, rows, **axes)
    simulation = simulate(problem, seeds, rows=rows, device=device, progress=progress, **axes)
    last = simulation.points[-1]
    law, measured = None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # said by predict already
        no_step = last.replace(eta=0.0, steps=1, later_alpha="")
        untrained = float(predict(no_step, rows=rows).test)
        with contextlib.suppress(OutOfScope, NotConverged):
            law = spectrum(last) if rows is None else None
        if law is not None:
            few = simulation.seeds[:MAX_SPECTRUM_SEEDS]
            measured = measure_spectrum(last, few, edge=law.edge, distances=False)
    return Comparison(prediction, simulation, curve, untrained, law, measured)


def _predicted(theory: TheoryLike, problem: Problem, rows: Any, **axes: Any) -> Prediction:
    """Return the prediction of a named theory, of a function, or of numbers, over a grid."""
    if isinstance(theory, str):
        return predict(problem, theory, rows=rows, **axes)
    points, shape = problem.grid(**axes) if axes else ([problem], ())
    if callable(theory):
        name = getattr(theory, "__name__", "your")
        label = name if name.isidentifier() else "your"
        return prediction_of([_number(theory(point)) for point in points], label, problem, **axes)
    values = np.asarray(theory)
    is_real = values.dtype.kind in "iuf" and np.isfinite(values).all()
    if values.shape != shape or not is_real:
        allowed = f"a name, a function of a problem, or numbers of shape {shape}, that of the axes"
        raise InvalidInput("theory", theory, allowed)
    return prediction_of(values.ravel().tolist(), "your", problem, **axes)


def _number(test_error: Any) -> float:
    try:
        number = float(test_error)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise InvalidInput("theory", test_error, "a function that returns a number")
    return number
