"""`simulate`: errors of real networks on a grid, with their standard errors and every seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from onegrad import __version__
from onegrad.exceptions import AssumptionWarning, warn
from onegrad.io.json_values import json_values
from onegrad.io.progress import as_progress
from onegrad.networks.plan import OPTION_NAMES, Plan, make_plan, repeat_plan
from onegrad.networks.run import run_plan
from onegrad.networks.sample_mean import SampleMean
from onegrad.pictures.error_curves import check_quantities, draw_measured_errors
from onegrad.pictures.result_tables import dataframe, html_table, network_count, row_with_errors
from onegrad.problem import Problem, check_axes, list_axes, quick_start, representation_warnings

# part of a standard error that the precision may be off without a warning: both together are then
# (1 + 1/16)^(1/2), 3 % more than chance alone
MAX_ERROR_SHARE = 0.25
QUANTITIES = ("train", "test", "risk", "squared_loss")


@dataclass(frozen=True)
class SimulationProvenance:
    """Version, device and settings that produced the numbers of a simulation."""

    version: str
    device: str
    dtype: str
    random: str
    n_test: int | None  # None: the default of each problem
    seconds: float
    precision: str = "exact"  # or "float32", "fast"


@dataclass(frozen=True)
class PrecisionError:
    """Relative difference of a run from float64, over networks that were computed in both.

    seeds : of the networks that were repeated in float64, on the same random numbers.
    train, test : (value - value in float64) / value in float64, with their means and standard
        errors over these networks.
    """

    seeds: tuple[int, ...]
    train: SampleMean
    test: SampleMean


@dataclass(frozen=True)
class Simulation:
    """Measured errors of real networks on a grid of problems.

    Attributes
    ----------
    train : the ridge objective at its minimum.
    test : E(y - f_hat)^2 over fresh rows, label noise included; risk is test - noise^2.
    squared_loss : the training loss without penalty.
    leave_one_out : the leave-one-out error, if it was requested.
    overlap : the part of the learned direction that lies in the teacher's span.
    axes : the listed values of the grid, in the order of the arrays' axes.
    precision_error : how far the run is from float64; None where it is in float64 or `dtype`.

    Examples
    --------
    >>> import onegrad as og
    >>> simulation = og.simulate(og.Problem(n=100, d=50, N=80), seeds=5, alpha=[0.1, 0.3])
    >>> test = simulation.test
    >>> test.mean.shape, test.se.shape, test.values.shape
    ((2,), (2,), (5, 2))
    """

    problem: Problem
    points: tuple[Problem, ...]
    shape: tuple[int, ...]
    seeds: tuple[int, ...]
    model: str
    train: SampleMean
    test: SampleMean
    risk: SampleMean
    squared_loss: SampleMean
    leave_one_out: SampleMean | None
    overlap: SampleMean
    provenance: SimulationProvenance
    axes: dict[str, list[Any]] = field(default_factory=dict)
    precision_error: PrecisionError | None = None

    def __repr__(self) -> str:
        if self.shape == ():
            return f"Simulation({self._networks}: train={self.train}, test={self.test})"
        grid = " x ".join(f"{len(values)} {name}" for name, values in self.axes.items())
        test = self.test.mean
        return f"Simulation({self._networks}, {grid}: test {test.min():.4g} to {test.max():.4g})"

    def results(self) -> list[dict[str, Any]]:
        """Return one dictionary per grid point, in C order; further axes have their own keys."""
        names = [*self._error_names, "overlap"]
        columns = {name: np.ravel(getattr(self, name).mean) for name in names}
        columns |= {f"{name}_se": np.ravel(getattr(self, name).se) for name in names}
        if self.precision_error is not None:
            for name in ("train", "test"):
                error = getattr(self.precision_error, name)
                columns[f"{name}_precision_error"] = np.ravel(error.mean)
                columns[f"{name}_precision_error_se"] = np.ravel(error.se)
        fields = [p.to_dict() for p in self.points]
        varied = [
            name
            for name in fields[0]
            if name in ("alpha", "eta", "ridge") or len({f[name] for f in fields}) > 1
        ]
        return [
            {name: f[name] for name in varied}
            | {name: float(values[i]) for name, values in columns.items()}
            for i, f in enumerate(fields)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but single networks as JSON values."""
        content = {
            "results": self.results(),
            "problem": self.problem.to_dict(),
            "theory": None,
            "model": self.model,
            "seeds": self.seeds,
            "provenance": asdict(self.provenance),
        }
        return dict(json_values(content))

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with the rows of `results`."""
        return dataframe(self.results())

    def plot(
        self, ax: Any = None, quantities: str | Sequence[str] = ("test", "train"), **line: Any
    ) -> Any:
        """Draw means with two standard errors, and thin lines of single networks.

        Parameters
        ----------
        ax : matplotlib axes, for example those of `Prediction.plot`; new ones by default.
        quantities : any of train, test, risk, squared_loss and leave_one_out.
        line : options of matplotlib's errorbar, such as color and label.
        """
        names = check_quantities(quantities, self._error_names)
        values = {name: getattr(self, name).values for name in names}
        return draw_measured_errors(ax, self._networks, self.axes, values, **line)

    @property
    def _error_names(self) -> tuple[str, ...]:
        return (*QUANTITIES, *(["leave_one_out"] if self.leave_one_out else []))

    @property
    def _networks(self) -> str:
        kind = "" if self.model == "trained" else f" ({self.model})"
        return network_count(len(self.seeds)) + kind

    def _repr_html_(self) -> str:
        rows = [row_with_errors(row) for row in self.results()]
        return html_table(f"Simulation: {self._networks}", self.problem, rows, self.axes)


def simulate(
    problem: Problem | None = None,
    seeds: int | Sequence[int] = 20,
    *,
    device: str = "cpu",
    dtype: str = "float64",
    precision: str | None = None,
    rows: Any = None,
    model: str = "trained",
    n_test: int | None = None,
    leave_one_out: bool = False,
    random: str | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
    batch: int | None = None,
    threads: int | None = None,
    memory_limit: float | None = None,
    **axes: Any,
) -> Simulation:
    """Train real networks and measure their errors.

    Each network is drawn, takes its gradient step, is fitted by ridge and tested on fresh rows.

    Parameters
    ----------
    problem : sizes, functions, noise, ridge and step; by default those of the quick start.
    seeds : number of networks, or a list of their seeds; (problem, seed) fixes the numbers.
    device, dtype : "cpu" is NumPy; "torch", "cuda" and "cuda:k" are torch. "float64" or "float32".
    precision : instead of a dtype, "exact" (float64) or "fast": half-precision products on a GPU's
        tensor cores, and ridge in float64. Some networks are repeated in float64 on the same random
        numbers; `precision_error` is the difference, and a warning says when it exceeds a quarter
        of a standard error. NumPy refuses "fast".
    rows : an array whose rows are used as inputs, each at most once per seed.
    model : one of `onegrad.networks.MODELS`: the trained network, an equivalent, or a baseline.
    n_test : fresh rows per seed that measure the test error (default max(1024, n/4)).
    leave_one_out : measure that error too, by an eigendecomposition and a second pass.
    random : "host" numbers are the same on every device; "device" ones come from the device's own
        generator: ten times faster on a GPU, and the default there where the laws allow it.
    progress : True shows progress on standard error, None below the cell of a notebook after two
        seconds, False nothing; a function is called with (done, total).
    batch, threads, memory_limit : networks computed together, cores, bytes; chosen by default.
    axes : fields of the problem with a value or a list, e.g. alpha=[0, .1, .2]; lists make a grid.
        Steps and penalties share one gradient per seed and one Gram matrix per step.

    Returns
    -------
    Simulation : means with standard errors, which are numbers to compute with, and the value of
        every network.

    See Also
    --------
    predict : the same errors from theory.
    cost : time and memory of a run, before it starts.

    Examples
    --------
    >>> import onegrad as og
    >>> og.simulate(og.Problem(n=100, d=50, N=80, alpha=0.3), seeds=5).test
    0.110 ± 0.013
    """
    given = locals()
    options = {name: given[name] for name in OPTION_NAMES}
    check_axes(simulate, axes)
    problem = problem or quick_start()
    began = time.perf_counter()
    plan = make_plan(problem, seeds, **options, **axes)
    if model == "trained":
        warn(*representation_warnings(plan.points))
    quantities = {
        name: SampleMean.over_seeds(values.reshape(-1, *plan.shape), plan.seeds)
        for name, values in run_plan(plan, as_progress(progress)).items()
    }
    # float64 and `dtype` are taken as they are; a precision states how far it is from float64
    precision_error = None
    if plan.ops.exact is not plan.ops:
        precision_error = _precision_error(plan, quantities)
        _warn_of_precision(precision_error, quantities)
    provenance = SimulationProvenance(
        __version__,
        device,
        plan.ops.dtype.name,
        str(plan.options.random),
        n_test,
        time.perf_counter() - began,
        plan.ops.precision,
    )
    return Simulation(
        problem=problem,
        points=plan.points,
        shape=plan.shape,
        seeds=plan.seeds,
        model=model,
        provenance=provenance,
        axes=list_axes(axes),
        precision_error=precision_error,
        **{"leave_one_out": None, **quantities},  # type: ignore[arg-type]
    )


def _precision_error(plan: Plan, quantities: dict[str, SampleMean]) -> PrecisionError:
    """Repeat some networks in float64 and compare."""
    repeated = repeat_plan(plan)
    exact, k = run_plan(repeated), len(repeated.seeds)

    def difference(name: str) -> SampleMean:
        reference = exact[name].reshape(-1, *plan.shape)
        return SampleMean.over_seeds(quantities[name].values[:k] / reference - 1, repeated.seeds)

    return PrecisionError(repeated.seeds, difference("train"), difference("test"))


def _warn_of_precision(error: PrecisionError, quantities: dict[str, SampleMean]) -> None:
    """Warn where the means may be off by more than a part of their standard errors."""
    for name in ("test", "train"):
        mean, se = quantities[name].mean, quantities[name].se
        off = getattr(error, name).mean
        shares = np.abs(off * mean) / se  # NaN for a single network
        if np.any(shares > MAX_ERROR_SHARE):
            worst = np.nanargmax(np.ravel(shares))
            text = (
                f"the mean {name} error is off by {np.ravel(off)[worst]:.1e} of itself, "
                f"{np.ravel(shares)[worst]:.2g} standard errors; precision='exact' is closer"
            )
            warn(AssumptionWarning("simulate", "precision", text))
            return
