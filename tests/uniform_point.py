"""The uniform theory of one problem as numbers, with a tolerance or nodes of one's own."""

from types import SimpleNamespace

from onegrad.theory.uniform import uniform_errors


def uniform_point(problem, **options):
    """Return the errors of one problem: the first entry of every column."""
    columns = uniform_errors([problem], **options)
    names = ("train", "test", "squared_loss", "residual", "iterations", "quadrature_error")
    numbers = {name: getattr(columns, name)[0] for name in names}
    bars = {name: getattr(columns, name).map(lambda v: v[0]) for name in ("accuracy", "spread")}
    nodes = tuple(columns.nodes[0].tolist())
    return SimpleNamespace(**numbers, **bars, nodes=nodes, warnings=columns.warnings)
