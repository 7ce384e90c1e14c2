"""A recorded stack, repeated with other seeds, finds what those seeds find without a recording.

A GPU records kernels; here a tape of torch's operations stands in for it, on the CPU.
"""

import numpy as np
import pytest

import onegrad as og
from onegrad.arrays import get_ops
from onegrad.arrays.executor import run_directly
from onegrad.arrays.torch_executor import Recorder, TorchExecutor
from onegrad.parallel.threads import WorkCancelled

pytestmark = pytest.mark.torch

BASE = {"n": 60, "d": 12, "N": 30, "noise": 0.3, "eta": 1.0}
PROBLEMS = (
    {},
    {"ridge_rows": "same"},
    {"n": 20},  # fewer rows than neurons
    {"steps": 2},
    {"residual": "full", "intercept": True},
    {"corrupted": 0.2, "labels": "centred"},
    {"inputs": "spiked(2)", "readout": "rademacher", "weights": "sphere"},
    {"inputs": "power-law(1)", "activation": "relu"},
)
GRIDS = ({}, {"dtype": "float32"}, {"eta": [0.5, 2.0], "ridge": [0.01, 0.1, 1.0]})


def tape(fails_at_the_end=False):
    """Stand in for torch.cuda.CUDAGraph: `replay` repeats the calls between begin and end."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Tape(TorchDispatchMode):
        def __torch_dispatch__(self, f, types, args=(), kwargs=None):
            found = f(*args, **(kwargs or {}))
            self.__dict__.setdefault("calls", []).append((f, args, kwargs or {}, found))
            return found

        def capture_begin(self, pool=None, capture_error_mode="global"):
            self.__enter__()

        def capture_end(self):
            self.__exit__(None, None, None)
            if fails_at_the_end:
                raise RuntimeError("operation not permitted when stream is capturing")

        def pool(self):
            return (0, 1)

        def replay(self):
            for f, _, _, found in self.calls:  # a graph's own memory holds anything
                if "empty" in f._schema.name:
                    found.fill_(torch.nan)
            for f, args, kwargs, before in self.calls:
                kinds = [x.alias_info for x in (*f._schema.arguments, *f._schema.returns)]
                view = any(kind is not None and not kind.is_write for kind in kinds)
                if view or "empty" in f._schema.name:  # memory is where it was
                    continue
                again = f(*args, **kwargs)
                for old, new in zip(tree_leaves(before), tree_leaves(again), strict=True):
                    if isinstance(old, torch.Tensor):
                        old.copy_(new)

    return Tape()


@pytest.mark.parametrize("fields", PROBLEMS, ids=str)
def test_repeated_stacks_find_the_same(fields, monkeypatch):
    recorders, stacks_of_runs = [], []

    def repeater(self, stacks, entries):
        stacks_of_runs.append(stacks)
        recorders.append(Recorder(self))
        return recorders[-1]

    monkeypatch.setattr(TorchExecutor, "graph", lambda self: tape())
    for grid in GRIDS:
        batch = 3 if grid else 1
        problem, run = og.Problem(**(BASE | fields)), {"seeds": [5, 2, 11, 3, 8, 6, 7], **grid}
        run |= {"batch": batch, "device": "torch", "random": "device"}
        plain = og.simulate(problem, **run)
        with monkeypatch.context() as patch:
            patch.setattr(TorchExecutor, "repeater", repeater)
            repeated = og.simulate(problem, **run)
        assert stacks_of_runs[-1] == -(-7 // batch) and not recorders[-1].failure
        for name in ("train", "test", "risk", "squared_loss", "overlap"):
            one, other = getattr(plain, name).values, getattr(repeated, name).values
            np.testing.assert_allclose(other, one, rtol=1e-12, atol=0, err_msg=str(grid))


def two_numbers(ops):
    """Work of a constant and of random numbers."""

    def work(seeds, tick):
        X = ops.executor.draw(seeds, (1,), 0, 4, 3, normal=True)
        tick()
        tick()
        return {"sum": X.sum(-1) + ops.asarray([1.0, 2.0, 3.0, 4.0]), "all": X.sum((1, 2))}

    return work


def test_the_work_itself_is_called_twice(monkeypatch):
    """Once as it is and once recorded; progress is reported all the same."""
    ops, calls, ticks = get_ops("torch"), [], []
    monkeypatch.setattr(ops.executor, "graph", tape)
    recorder, work = Recorder(ops.executor), two_numbers(ops)

    def counted(seeds, tick):
        calls.append(seeds)
        return work(seeds, tick)

    for i in range(5):
        found = recorder(counted, (i, i + 9), lambda: ticks.append(1))
        expected = run_directly(work, (i, i + 9), lambda: None)
        assert found["sum"].shape == (2, 4) and found["all"].shape == (2,)
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)
    assert len(calls) == 2 and len(ticks) == 10
    assert len(recorder(counted, (7,), lambda: None)["all"]) == 1  # a last, shorter stack
    assert len(calls) == 3


def test_what_cannot_be_recorded_is_called_as_it_is_and_a_stop_ends_the_run(monkeypatch):
    ops = get_ops("torch")
    work = two_numbers(ops)
    monkeypatch.setattr(ops.executor, "graph", lambda: tape(fails_at_the_end=True))
    recorder = Recorder(ops.executor)
    for i in range(4):
        found = recorder(work, (i,), lambda: None)
        np.testing.assert_array_equal(found["all"], run_directly(work, (i,), lambda: None)["all"])
    assert "not permitted" in recorder.failure
    monkeypatch.setattr(ops.executor, "graph", tape)
    recorder = Recorder(ops.executor)
    for i in range(2):
        recorder(work, (i,), lambda: None)

    def stop():
        raise WorkCancelled

    with pytest.raises(WorkCancelled):
        recorder(work, (2,), stop)


def test_only_many_small_stacks_on_a_gpu_are_recorded(monkeypatch):
    ops = get_ops("torch")
    assert ops.executor.repeater(100, 1000) is run_directly
    monkeypatch.setattr(ops.executor, "is_cuda", True)
    assert ops.executor.repeater(2, 1000) is run_directly
    assert ops.executor.repeater(100, 2**30) is run_directly
    assert isinstance(ops.executor.repeater(100, 1000), Recorder)
    assert get_ops().executor.repeater(100, 1000) is run_directly
