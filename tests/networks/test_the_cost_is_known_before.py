"""The cost that is foretold is what a run then does: products, Gram matrices, random numbers."""

from collections import Counter

import pytest

import onegrad as og
from onegrad.arrays import ExecutionPolicy, get_ops
from onegrad.arrays.numpy_ops import NumpyOps
from onegrad.cli import main
from onegrad.networks import GradientGroup, make_plan, run_plan, streams
from onegrad.networks.cost import Rates, ReplicateWork, count_work

PROBLEMS = {
    "one step": og.Problem(n=1500, d=20, N=30),
    "same rows": og.Problem(n=1500, d=20, N=30, ridge_rows="same", residual="full"),
    "two steps": og.Problem(n=1100, d=20, N=30, steps=2, n_step=700),
    "n < N": og.Problem(n=50, d=20, N=300),
}


@pytest.fixture
def counted(monkeypatch):
    """Count the products and random numbers of a run."""
    seen, product, gram = Counter(), NumpyOps.product, NumpyOps.add_gram
    add, fill_entries = NumpyOps.add_product, streams.fill_entries

    def counting_product(self, X, W, f=None):
        if W.shape[-1] == 20:  # with inputs; a dual readout is another product, and small
            seen["products"] += 2 * X.shape[-2] * X.shape[-1] * W.shape[-2]
        return product(self, X, W, f)

    def counting_add(self, C, A, B):
        seen["products"] += 2 * A.shape[-2] * A.shape[-1] * B.shape[-1]
        add(self, C, A, B)

    def counting_gram(self, C, A, over_rows=False):
        seen["gram"] += A.shape[-2] * A.shape[-1] * C.shape[-1]
        gram(self, C, A, over_rows)

    def counting_fill(rng, law, out):
        seen["normals"] += out.size if out.shape[-1] > 1 else 0  # labels have one column
        fill_entries(rng, law, out)

    monkeypatch.setattr(NumpyOps, "product", counting_product)
    monkeypatch.setattr(NumpyOps, "add_product", counting_add)
    monkeypatch.setattr(NumpyOps, "add_gram", counting_gram)
    monkeypatch.setattr(streams, "fill_entries", counting_fill)
    return seen


def test_the_work_is_the_work(counted):
    for name, problem in PROBLEMS.items():
        for etas in ((1.0,), (1.0, 2.0, 3.0)):
            plan = make_plan(problem, [0], n_test=1100, threads=1, eta=etas, ridge=[0.1, 1.0])
            foretold = count_work(plan.groups[0], plan.options)
            counted.clear()
            run_plan(plan)
            expected = {"products": foretold.products, "gram": foretold.gram}
            expected["normals"] = foretold.normals + 20  # and the teacher
            assert counted == expected, (name, etas)


def test_factors_of_a_path():
    p = PROBLEMS["one step"]
    few, many = (count_work(GradientGroup(p, (1.0, 2.0), (0.1,) * k)).factors for k in (3, 10))
    assert few == 2 * 3 * 30**3 / 3 and many == 2 * 4 * 30**3 / 3


def test_seconds_add_up(monkeypatch):
    rates = Rates(products=100.0, factors=50.0, normals=10.0, activations=20.0)
    assert rates.seconds(ReplicateWork(200.0, 80.0, 50.0, 10.0, 20.0)) == 2 + 1 + 1 + 1 + 1
    monkeypatch.setattr(Rates, "measured", lambda *_: rates)
    one, four = (og.cost(PROBLEMS["one step"], k, eta=[1.0, 2.0], threads=1) for k in (1, 4))
    assert four.seconds == pytest.approx(4 * one.seconds)
    assert four.flops == pytest.approx(4 * one.flops) and one.memory <= four.memory


def test_a_team_takes_longer_than_its_share(monkeypatch):
    monkeypatch.setattr(Rates, "measured", lambda *_: Rates(1e9, 1e9, 1e9, 1e9))
    one_thread, four_threads = (og.cost(PROBLEMS["n < N"], 1, threads=k).seconds for k in (1, 4))
    # at the same rates, which are those of all threads
    assert one_thread < four_threads < 2 * one_thread + 0.05


def test_rates_are_those_of_this_machine():
    rates = Rates.measured(get_ops(), ExecutionPolicy(), PROBLEMS["one step"].sigma, False)
    for name in ("products", "factors", "normals", "activations"):
        assert 1e5 < getattr(rates, name) < 1e15


LABELS = ["flops", "bytes", "memory", "seconds"]


def test_a_dry_run_trains_nothing(monkeypatch, capsys):
    monkeypatch.setattr(Rates, "measured", lambda *_: Rates(1e9, 1e9, 1e9, 1e9))
    monkeypatch.setattr("onegrad.networks.run.run_stack", None)
    for limit, notes in ((), 0), (("--memory", "1e-9"), 1):  # what does not fit has a cost, too
        sizes = ["--n", "100", "--d", "50", "--N", "60", *limit]
        assert main(["simulate", *sizes, "--dry-run"]) == 0
        out, err = capsys.readouterr()
        assert [line.split()[0] for line in out.splitlines()] == LABELS
        assert err.count("note: --memory: this run needs about") == err.count("\n") == notes
