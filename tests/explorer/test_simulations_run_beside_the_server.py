"""One simulation a page, in its own process: progress, results, cancel, and what it costs."""

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import onegrad as og
from onegrad.explorer import simulation_runs
from onegrad.explorer.controls import read_problem
from onegrad.explorer.simulation_jobs import Busy, Simulations

SMALL = {"n": "60", "d": "20", "N": "30", "alpha": "0.3", "activation": "tanh", "teacher": "H1"}


def endless(plan: Any, call: Any) -> Iterator[dict[str, Any]]:
    yield {"progress": 0.5, "found": {"axis": "alpha", "points": [call(os.getpid)]}}
    call(time.sleep, 3600)


def broken(plan: Any, call: Any) -> Iterator[dict[str, Any]]:
    yield {"progress": 0.5, "found": {"axis": "alpha", "points": []}}
    call(int, "no\nnumber")


def assert_ended(job: Any) -> None:
    """Whoever computed is gone, in the middle of an hour's work."""
    ((_, found),) = job.newest.values()
    with pytest.raises(ProcessLookupError):
        os.kill(found["points"][0], 0)


def wait(jobs: Simulations, name: str, until: Any) -> Any:
    deadline = time.monotonic() + 300.0
    while time.monotonic() < deadline:
        job = jobs.get(name)
        assert job is not None
        if until(job):
            return job
        time.sleep(0.02)
    raise AssertionError(f"{job.status}: {job.message}")


@pytest.fixture
def plan() -> simulation_runs.SimulationRun:
    return read_run(seeds="3", parts=list(simulation_runs.PARTS))


def read_run(query: dict[str, str] = SMALL, **others: Any) -> simulation_runs.SimulationRun:
    return simulation_runs.read_run({"query": query, **others})


def test_a_run_reports_what_simulate_gives(plan) -> None:
    said = list(simulation_runs.simulate_run(plan))
    assert [s["progress"] for s in said] == pytest.approx([(i + 1) / 9 for i in range(9)])
    alpha = next(s["found"] for s in reversed(said) if s["found"].get("axis") == "alpha")
    alphas = [p["x"] for p in alpha["points"]]
    direct = og.simulate(plan.problem, seeds=3, alpha=alphas)
    assert [p["test"] for p in alpha["points"]] == pytest.approx(list(direct.test.mean), rel=1e-9)
    assert [p["test_se"] for p in alpha["points"]] == pytest.approx(list(direct.test.se), rel=1e-6)
    sizes = next(s["found"] for s in reversed(said) if s["found"].get("axis") == "n")
    assert [p["x"] for p in sizes["points"]] == list(simulation_runs.SIMULATED_RATIOS)
    step = next(s["found"] for s in reversed(said) if "eigenvalues" in s["found"])
    assert len(step["eigenvalues"]) == 3
    assert np.all(np.diff(step["eigenvalues"][0]) <= 0)


def test_the_standard_error_of_one_network_is_unknown() -> None:
    one = read_run(seeds="1", parts=list(simulation_runs.PARTS))
    found = [said["found"] for said in simulation_runs.simulate_run(one)]
    for points in (f["points"] for f in found if "points" in f):
        assert all(p["train_se"] is None and p["test_se"] is None for p in points)
        assert all(p["train"] > 0 and p["test"] > 0 for p in points)
    (learned,) = (f["learned"] for f in found if "learned" in f)
    assert set(learned["coefficients_se"]) == set(learned["fitted_se"]) == {None}


def test_the_present_step_is_among_those_simulated() -> None:
    assert 0.123 in simulation_runs.simulated_alphas(read_problem(SMALL | {"alpha": "0.123"}))


@pytest.mark.full
def test_a_process_runs_to_its_end_and_a_failure_is_one_line(plan) -> None:
    jobs, failing = Simulations(), Simulations(broken)
    name, other = jobs.start("page", plan), failing.start("page", plan)
    job = wait(jobs, name, lambda job: job.status != "running")
    assert job.status == "finished" and job.progress == 1.0
    newest = job.answer(0)["found"]
    assert {f.get("axis") for f in newest} == {"alpha", "n", None}
    assert job.answer(job.count)["found"] == []
    job = wait(failing, other, lambda job: job.status != "running")
    assert (job.status, job.message) == (
        "failed", "invalid literal for int() with base 10: 'no\\nnumber'",
    )  # fmt: skip


@pytest.mark.full
def test_one_simulation_a_page_which_cancel_ends(plan) -> None:
    jobs = Simulations(endless)
    try:
        name = jobs.start("one", plan)
        with pytest.raises(Busy, match="cancel it first"):
            jobs.start("one", plan)
        jobs.start("two", plan)
        job = wait(jobs, name, lambda job: job.newest)
        job.end("cancelled", "Cancelled.")
        assert_ended(job)
        answer = jobs.get(name).answer(0)
        assert answer["status"] == "cancelled" and answer["found"]  # the results stay
    finally:
        jobs.stop()


@pytest.mark.full
def test_a_page_that_went_away_stops_its_simulation(plan, monkeypatch) -> None:
    monkeypatch.setattr("onegrad.explorer.simulation_jobs.ABANDONED_SECONDS", -1.0)
    jobs = Simulations(endless)
    job = wait(jobs, jobs.start("page", plan), lambda job: job.newest)
    jobs.tidy()
    assert job.status == "cancelled"
    assert_ended(job)


def test_a_long_run_is_confirmed_first(client, monkeypatch) -> None:
    def rate_of_a_slow_machine() -> float:
        return 1e10

    monkeypatch.setattr("onegrad.explorer.server.network_rate", rate_of_a_slow_machine)
    query = {"n": "8000", "d": "2000", "N": "4000"}
    body = {"page": "p", "query": query, "seeds": "20", "parts": ["alpha"]}
    answer = client.post("/api/simulations", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["confirm"] is True and answer.json()["seconds"] > 60


def test_the_estimate_grows_with_the_work_and_what_cannot_fit_is_refused() -> None:
    runs = (read_run(seeds="3"), read_run(SMALL | {"n": "6000"}, seeds="3"), read_run(seeds="300"))
    small, larger, more = (simulation_runs.estimate_seconds(run, 1e9) for run in runs)
    assert small < larger and small < more
    huge = read_run({"n": "100000", "d": "30000", "N": "50000"}, seeds="1")
    with pytest.raises(og.InvalidInput, match="GB"):
        simulation_runs.estimate_seconds(huge, 1e12)
