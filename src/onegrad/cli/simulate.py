"""onegrad simulate: the errors of real networks."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from onegrad.cli.options import ProblemOptions, add_problem_command, load_rows, read_problem_options
from onegrad.cli.output import print_json, print_note, print_table, print_title
from onegrad.exceptions import InvalidInput, NotConverged, OutOfScope
from onegrad.io.progress import TerminalProgress
from onegrad.pictures.result_tables import network_count, row_with_errors, row_with_margins

if TYPE_CHECKING:
    from onegrad.networks import Cost, Simulation

MIN_COUNTED_NETWORKS = 5  # fewer may be large ones, whose progress is in their blocks of rows

_EXAMPLES = (
    "onegrad simulate --alpha 0,0.2,0.4 --seeds 5",
    "onegrad simulate --n 100000 --d 50000 --N 60000 --dry-run",
)
DEVICE_NUMBERS = "random numbers are drawn on the device; --random host draws the same on all"


def add_parser(subparsers: Any) -> None:
    """Add `onegrad simulate`."""
    summary = "errors measured on real networks"
    description = "Train real networks, one per seed, and measure their errors."
    parser = add_problem_command(subparsers, "simulate", summary, description, *_EXAMPLES)
    add = parser.add_argument_group("simulation").add_argument
    add("--seeds", default="20", metavar="K", help="networks: a count, or a list such as 3,4,5")
    add("--device", default="cpu", help="cpu (NumPy), torch, cuda or cuda:k")
    add("--dtype", type=str.lower, default="float64", help="float64 or float32")
    precision = "instead of --dtype: exact, or fast (GPU tensor cores; reports its error)"
    add("--precision", type=str.lower, metavar="P", help=precision)
    model = "the model to fit: trained (default), an equivalent or a baseline"
    add("--model", type=str.lower, default="trained", metavar="M", help=model)
    add("--n-test", type=int, metavar="K", help="test rows (default max(1024, n/4))")
    add("--leave-one-out", action="store_true", help="add the leave-one-out error")
    add("--rows", metavar="FILE", help=".npy file whose rows are the inputs")
    add("--random", help="where to draw: host or device (default on a GPU)")
    add("--batch", type=int, metavar="B", help="networks per stack")
    add("--memory", type=float, metavar="GB", help="limit (default 80 %% of free)")
    add(
        "--dry-run", action="store_true", help="print flops, bytes, memory and seconds; run nothing"
    )


def run(args: argparse.Namespace) -> None:
    """Print the errors of real networks."""
    from onegrad.networks.cost import cost
    from onegrad.networks.plan import OPTION_NAMES
    from onegrad.networks.simulation import simulate

    problem_options = read_problem_options(args)
    problem, axes = problem_options.problem, problem_options.axes
    names = [name for name in OPTION_NAMES if name in vars(args) and name != "rows"]
    options: dict[str, Any] = {name: vars(args)[name] for name in names}
    if args.memory is not None:
        options["memory_limit"] = args.memory * 1e9
    seeds, inputs = read_seeds(args.seeds), load_rows(args.rows)
    if args.dry_run:
        estimate = partial(cost, problem, seeds, **axes)
        try:
            _print_cost(estimate(**options), args.json)
        except InvalidInput as error:
            if error.argument != "memory_limit" or error.allowed:
                raise
            _print_cost(estimate(**options | {"memory_limit": math.inf}), args.json)
            print_note("onegrad simulate", error.describe("--memory"))
        return
    progress = count_networks(seeds, quiet=args.json)
    simulation = simulate(problem, seeds, rows=inputs, progress=progress, **options, **axes)
    if simulation.provenance.random == "device" and args.random is None:
        print(DEVICE_NUMBERS, file=sys.stderr)
    if args.json:
        print_json(simulation.to_dict() | {"setting": problem_options.setting})
        return
    rows = [row_with_errors(row) for row in simulation.results()]
    columns = [*problem_options.columns, "train", "test"]
    if args.leave_one_out:
        columns.append("leave_one_out")
    if args.model == "trained":
        columns += _add_theory(rows, problem_options, simulation, inputs)
    networks = network_count(len(simulation.seeds))
    print_title(f"{networks} ({simulation.model}): {problem_options.title}")
    print_table(rows, columns)
    if simulation.precision_error is not None:
        print(_precision_line(simulation))


def count_networks(seeds: int | list[int], quiet: bool) -> Callable[[int, int], None]:
    """Return a progress callback that counts networks where the run counts blocks of rows.

    A few networks, which may be large, are counted by their blocks.
    """
    networks = len(seeds) if isinstance(seeds, list) else seeds
    if networks < MIN_COUNTED_NETWORKS:
        return TerminalProgress("blocks of rows", quiet=quiet)
    progress = TerminalProgress("networks", quiet=quiet)
    return lambda done, total: progress(done * networks // total, networks)


def _add_theory(
    rows: list[dict[str, Any]], options: ProblemOptions, simulation: Simulation, inputs: Any
) -> list[str]:
    """Add predictions and deviations in standard deviations; return their columns.

    inputs : a user's rows, or None.
    """
    from onegrad.comparison import deviations
    from onegrad.theory import predict

    try:
        prediction = predict(options.problem, rows=inputs, **options.axes)
    except (OutOfScope, NotConverged) as reason:
        print_note("onegrad simulate", f"no theory to compare with: {reason}")
        return []
    z = {name: deviations(prediction, simulation, name) for name in ("train", "test")}
    for i, (row, point) in enumerate(zip(rows, prediction.results(), strict=True)):
        shown = row_with_margins(point)
        for name in z:
            row[f"{name}, theory"] = shown[name]
            row[f"z of {name}"] = round(float(z[name][i]), 1)
    if len(simulation.seeds) == 1:  # it has no standard error
        return ["train, theory", "test, theory"]
    return ["train, theory", "z of train", "test, theory", "z of test"]


def _precision_line(simulation: Simulation) -> str:
    """Return how far the means are from float64, at the point where that is most."""
    import numpy as np

    error = simulation.precision_error
    assert error is not None
    worst = {name: max(np.ravel(getattr(error, name).mean), key=abs) for name in ("train", "test")}
    networks = network_count(len(error.seeds))
    return (
        f"precision {simulation.provenance.precision}: train within {abs(worst['train']):.1e} and "
        f"test within {abs(worst['test']):.1e} of float64, by {networks}"
    )


def _print_cost(cost: Cost, as_json: bool) -> None:
    if as_json:
        print_json(vars(cost))
        return
    print(f"flops    {cost.flops:.3g}")
    print(f"bytes    {cost.bytes:.3g}")
    print(f"memory   {cost.memory / 1e9:.3g} GB")
    print(f"seconds  {cost.seconds:.3g} (estimated from the rates of this machine)")


def read_seeds(text: str) -> int | list[int]:
    """Return the count that `"20"` means, or the list that `"3,4,5"` (or `"7,"`) means."""
    try:
        seeds = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        seeds = []
    if not seeds:
        raise InvalidInput("--seeds", text, "a count or a list of whole numbers")
    return seeds if "," in text else seeds[0]
