"""Theory beside real networks: the errors along the step, the spikes, and whether they agree."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, OutOfScope
from onegrad.io.json_values import json_values
from onegrad.networks import MeasuredSpectrum, Simulation, simulate
from onegrad.networks import spectrum as measure_spectrum
from onegrad.pictures import load_library, style
from onegrad.pictures.result_tables import dataframe, html_table, with_error
from onegrad.problem import Problem, check_axes
from onegrad.theory import Prediction, Spectrum, predict, spectrum

COMPARED = ("train", "test")
MAX_Z = 3.0  # of twelve deviations from a true theory, one is larger in 3 % of comparisons
MAX_SPECTRUM_SEEDS = 1  # all singular values of a network cost more than its errors
_NETWORK_STEPS, _CURVE_STEPS = 6, 41  # exponents of the step up to the problem's own


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
    >>> c = og.compare(og.Problem(n=400, d=100, N=150, activation="softplus", alpha=0.4), seeds=4)
    >>> c.agrees, len(c.results())
    (True, 6)
    """

    prediction: Prediction
    simulation: Simulation
    curve: Prediction | None
    untrained: float
    spectrum: Spectrum | None
    measured_spectrum: MeasuredSpectrum | None

    @cached_property
    def z(self) -> dict[str, Floats]:
        """Deviations of networks from theory, in standard deviations of both."""
        return {name: deviations(self.prediction, self.simulation, name) for name in COMPARED}

    @property
    def agrees(self) -> bool:
        """True if no error deviates by more than three standard deviations."""
        return bool(max(np.abs(z).max() for z in self.z.values()) <= MAX_Z)

    def results(self) -> list[dict[str, Any]]:
        """Return one dictionary per point: theory and networks, each with its error, and z."""
        rows = []
        for i, (theory, networks) in enumerate(
            zip(self.prediction.results(), self.simulation.results(), strict=True)
        ):
            row = {k: v for k, v in networks.items() if k in self._varied}
            for name in COMPARED:
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
            for name in COMPARED:
                accuracy = row[f"{name}_accuracy"] or 0.0
                line[f"{name}, theory"] = with_error(row[name], accuracy * row[name])
                line[f"{name}, networks"] = with_error(row[f"{name}_networks"], row[f"{name}_se"])
            line["largest |z|"] = f"{max(abs(row[f'{name}_z']) for name in COMPARED):.1f}"
            rows.append(line)
        return rows

    @property
    def sentence(self) -> str:
        """The result of the comparison, in one or two sentences."""
        test, measured = np.ravel(self.prediction.test), np.ravel(self.simulation.test.mean)
        se, bound = np.ravel(self.simulation.test.se), np.ravel(self.prediction.kernel_bound)
        largest = max(np.abs(z).max() for z in self.z.values())
        if self.agrees:
            verdict = f"Theory and networks agree (largest |z| {largest:.1f})"
        else:
            verdict = f"Theory and networks differ by {largest:.1f} standard deviations"
        falls = "falls" if measured[-1] < self.untrained else "goes"
        beside_kernels = ""
        if not np.isnan(bound[-1]):
            side = "below" if measured[-1] + 2 * se[-1] < bound[-1] else "not below"
            beside_kernels = f", {side} the bound {bound[-1]:.3g} for every kernel"
        return (
            f"{verdict}: the test error {falls} from {self.untrained:.3g} without a step to "
            f"{test[-1]:.3g} in theory and {with_error(measured[-1], se[-1])} on "
            f"{len(self.simulation.seeds)} networks{beside_kernels}.{self._spikes_sentence()}"
        )

    def _spikes_sentence(self) -> str:
        law, measured = self.spectrum, self.measured_spectrum
        if law is None or measured is None:
            return ""
        if not law.spikes:
            return " Theory has no spike outside the bulk."
        predicted = [f"{math.sqrt(spike.eigenvalue):.3g}" for spike in law.spikes]
        largest = [f"{s:.3g}" for s in np.sqrt(measured.eigenvalues[0, : len(predicted)])]
        one = len(predicted) == 1
        spikes = "one spike" if one else f"{len(predicted)} spikes"
        values = "value of a network is" if one else "values of a network are"
        return (
            f" Theory has {spikes} outside the bulk, at s/√n = {' and '.join(predicted)}; "
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
        """
        pyplot = load_library("matplotlib.pyplot", "plot")
        columns = 1 if self.spectrum is None else 2
        if figure is None:
            figure = pyplot.figure(figsize=(6.0 * columns, 4.4), layout="constrained")
        with load_library("matplotlib", "plot").rc_context(style.RC):
            axes = figure.subplots(1, columns, squeeze=False)[0]
            (self.prediction if self.curve is None else self.curve).plot(axes[0])
            self.simulation.plot(axes[0])
            if self.spectrum is not None:
                self.spectrum.plot(axes[1])
            if self.measured_spectrum is not None:
                self.measured_spectrum.plot(axes[1])
        return figure

    def __repr__(self) -> str:
        return f"Comparison: {self.sentence}"

    def _repr_html_(self) -> str:
        return html_table(self.sentence, self.prediction.problem, self.table())


def deviations(prediction: Prediction, simulation: Simulation, name: str) -> Floats:
    r"""Return deviations of networks from theory in standard deviations of both, point by point.

    .. math:: z = (m - p)/\sqrt{\mathrm{se}^2 + (\text{95 \% margin}/1.96)^2}
    """
    measured, margin = getattr(simulation, name), prediction.margin(name)
    scale = np.hypot(measured.se, np.nan_to_num(margin) / 1.96)
    return np.ravel((measured.mean - getattr(prediction, name)) / scale)


def compare(
    problem: Problem,
    seeds: int | Sequence[int] = 10,
    *,
    device: str = "cpu",
    progress: Callable[[int, int], None] | bool | None = None,
    **axes: Any,
) -> Comparison:
    """Compare theory with real networks, for steps up to that of the problem.

    Parameters
    ----------
    problem : sizes, functions, noise, ridge and step.
    seeds : number of networks, or a list of their seeds.
    device : as in `simulate`.
    progress : as in `simulate`: True shows progress on standard error.
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
    >>> og.compare(og.Problem(n=400, d=100, N=150, activation="relu", alpha=0.4), seeds=4)
    Comparison: Theory and networks agree ...
    """
    check_axes(compare, axes)
    curve = None
    if not axes and problem.alpha is not None:
        low = min(0.0, problem.alpha)
        curve = predict(problem, alpha=np.linspace(low, problem.alpha, _CURVE_STEPS).tolist())
        axes = {"alpha": np.linspace(low, problem.alpha, _NETWORK_STEPS).round(6).tolist()}
        axes["alpha"][-1] = problem.alpha
    prediction = predict(problem, **axes)
    simulation = simulate(problem, seeds, device=device, progress=progress, **axes)
    last = simulation.points[-1]
    law, measured = None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # said by predict already
        untrained = float(predict(last.replace(eta=0.0)).test)
        try:
            law = spectrum(last)
        except OutOfScope:
            pass
        else:
            few = simulation.seeds[:MAX_SPECTRUM_SEEDS]
            measured = measure_spectrum(last, few, edge=law.edge, distances=False)
    return Comparison(prediction, simulation, curve, untrained, law, measured)
