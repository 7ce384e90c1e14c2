"""Simulations that run beside the server: one per page, each in a process that can be stopped."""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from onegrad.exceptions import InvalidInput
from onegrad.explorer.simulation_runs import SimulationRun, simulate_run
from onegrad.explorer.workers import SIMULATION_NICENESS, Processes

MAX_RUNNING = 4  # simulations of all pages together
MAX_FINISHED = 20  # finished simulations whose last answer is kept
ABANDONED_SECONDS = 20.0  # without a question, after which the page is taken to be gone

Simulate = Callable[[SimulationRun, Callable[..., Any]], Iterator[dict[str, Any]]]


class Busy(InvalidInput):
    """A simulation of this page is still running, or too many run already."""


@dataclass
class Job:
    """One simulation: its process and its answers so far, which a thread writes."""

    page: str
    processes: Processes = field(default_factory=lambda: Processes(1, SIMULATION_NICENESS))
    began: float = field(default_factory=time.monotonic)
    last_asked: float = field(default_factory=time.monotonic)
    progress: float = 0.0
    count: int = 0  # answers so far
    # the newest answer of each axis, with its number
    newest: dict[str | None, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    status: str = "running"  # running, finished, cancelled, failed
    message: str = "Starting …"

    def work(self, simulate: Simulate, run: SimulationRun) -> None:
        """Simulate in the process, and keep what that finds."""
        try:
            for answer in simulate(run, self.processes.call):
                self.receive(answer)
            self.end("finished", f"Simulated in {time.monotonic() - self.began:.0f} s.")
        except Exception as error:
            line = " ".join(str(error).split()) or type(error).__name__
            self.end("failed", line[:500])

    def receive(self, answer: dict[str, Any]) -> None:
        """Take in one answer; its number is counted last, as the page may ask meanwhile."""
        self.progress = answer["progress"]
        self.newest[answer["found"].get("axis")] = (self.count + 1, answer["found"])
        self.count += 1
        seconds = time.monotonic() - self.began
        remaining = seconds / self.progress - seconds
        if self.status == "running":
            self.message = f"{100 * self.progress:.0f} % done, about {remaining:.0f} s left"

    def end(self, status: str, message: str) -> None:
        """End the process, unless the simulation has ended already."""
        if self.status == "running":
            self.status, self.message = status, message
            self.processes.stop()

    def answer(self, since: int) -> dict[str, Any]:
        """Return the state and the newest answers after the first `since`."""
        return {
            "status": self.status,
            "message": self.message,
            "progress": self.progress,
            "seen": self.count,
            "found": [answer for number, answer in [*self.newest.values()] if number > since],
        }


class Simulations:
    """All simulations of a server."""

    def __init__(self, simulate: Simulate = simulate_run) -> None:
        self.simulate = simulate
        self.jobs: dict[str, Job] = {}

    def start(self, page: str, run: SimulationRun) -> str:
        """Start a run and return the name of its job."""
        self.tidy()
        running = [job for job in self.jobs.values() if job.status == "running"]
        if any(job.page == page for job in running):
            raise Busy("seeds", problem="a simulation of this page is running; cancel it first")
        if len(running) >= MAX_RUNNING:
            problem = f"{MAX_RUNNING} simulations are running already; try again later"
            raise Busy("seeds", problem=problem)
        name, job = secrets.token_urlsafe(12), Job(page)
        self.jobs[name] = job
        threading.Thread(target=job.work, args=(self.simulate, run), daemon=True).start()
        return name

    def get(self, name: str) -> Job | None:
        """Return a job, which its page has now asked about."""
        if (job := self.jobs.get(name)) is not None:
            job.last_asked = time.monotonic()
        return job

    def tidy(self) -> None:
        """Stop the simulations of pages that are gone, and forget old answers."""
        for job in self.jobs.values():
            if time.monotonic() - job.last_asked > ABANDONED_SECONDS:
                job.end("cancelled", "The page went away.")
        ended = [name for name, job in self.jobs.items() if job.status != "running"]
        for name in ended[: max(0, len(ended) - MAX_FINISHED)]:
            del self.jobs[name]

    def stop(self) -> None:
        """Cancel every simulation."""
        for job in self.jobs.values():
            job.end("cancelled", "The server stopped.")
