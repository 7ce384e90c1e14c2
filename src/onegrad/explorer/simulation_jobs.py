"""Simulations that run beside the server: one per page, each in a process that can be stopped."""

import multiprocessing
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from onegrad.exceptions import InvalidInput
from onegrad.explorer.simulation_runs import SimulationRun, simulate_run
from onegrad.explorer.workers import run_in_background
from onegrad.parallel.children import end_with_parent

MAX_RUNNING = 4  # simulations of all pages together
MAX_FINISHED = 20  # finished simulations whose last answer is kept
ABANDONED_SECONDS = 20.0  # without a question, after which the page is taken to be gone

Simulate = Callable[[Any], Iterator[dict[str, Any]]]


class Busy(InvalidInput):
    """A simulation of this page is still running, or too many run already."""


@dataclass
class Job:
    """One simulation: its process and its answers so far."""

    page: str
    process: Any
    connection: Connection
    began: float
    progress: float = 0.0
    count: int = 0  # answers so far
    # the newest answer of each axis, with its number
    newest: dict[str | None, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    status: str = "running"  # running, finished, cancelled, failed
    message: str = "Starting …"
    last_asked: float = 0.0

    def listen(self) -> None:
        """Receive what the process has sent."""
        try:
            while self.status == "running" and self.connection.poll():
                self.receive(self.connection.recv())
        except (EOFError, OSError):
            if self.status == "running":
                self.end("failed", "The simulation ended unexpectedly.")

    def receive(self, message: dict[str, Any]) -> None:
        """Take in one message of the process."""
        seconds = time.monotonic() - self.began
        if "error" in message:
            self.end("failed", message["error"])
        elif message.get("finished"):
            self.end("finished", f"Simulated in {seconds:.0f} s.")
        else:
            self.progress = message["progress"]
            self.count += 1
            self.newest[message["found"].get("axis")] = (self.count, message["found"])
            remaining = seconds / self.progress - seconds
            self.message = f"{100 * self.progress:.0f} % done, about {remaining:.0f} s left"

    def end(self, status: str, message: str) -> None:
        """End the process, unless it has finished."""
        self.status, self.message = status, message
        if self.process.is_alive() and status != "finished":
            self.process.terminate()
        self.connection.close()

    def answer(self, since: int) -> dict[str, Any]:
        """Return the state and the newest answers after the first `since`."""
        return {
            "status": self.status,
            "message": self.message,
            "progress": self.progress,
            "seen": self.count,
            "found": [answer for number, answer in self.newest.values() if number > since],
        }


class Simulations:
    """All simulations of a server."""

    def __init__(self, simulate: Simulate = simulate_run) -> None:
        self.simulate = simulate
        self.jobs: dict[str, Job] = {}
        self._context = multiprocessing.get_context("spawn")

    def start(self, page: str, run: SimulationRun) -> str:
        """Start a run and return the name of its job."""
        self.tidy()
        running = [job for job in self.jobs.values() if job.status == "running"]
        if any(job.page == page for job in running):
            raise Busy("seeds", problem="a simulation of this page is running; cancel it first")
        if len(running) >= MAX_RUNNING:
            problem = f"{MAX_RUNNING} simulations are running already; try again later"
            raise Busy("seeds", problem=problem)
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_work, args=(theirs, self.simulate, run), daemon=True, name="onegrad-simulation"
        )
        process.start()
        theirs.close()
        name, now = secrets.token_urlsafe(12), time.monotonic()
        self.jobs[name] = Job(page, process, ours, began=now, last_asked=now)
        return name

    def get(self, name: str) -> Job | None:
        """Return a job with everything that its process has sent."""
        if (job := self.jobs.get(name)) is not None:
            job.last_asked = time.monotonic()
            job.listen()
        return job

    def tidy(self) -> None:
        """Stop the simulations of pages that are gone, and forget old answers."""
        now = time.monotonic()
        for job in self.jobs.values():
            job.listen()
            if job.status == "running" and now - job.last_asked > ABANDONED_SECONDS:
                job.end("cancelled", "The page went away.")
        ended = [name for name, job in self.jobs.items() if job.status != "running"]
        for name in ended[: max(0, len(ended) - MAX_FINISHED)]:
            del self.jobs[name]

    def stop(self) -> None:
        """Cancel every simulation."""
        for job in self.jobs.values():
            if job.status == "running":
                job.end("cancelled", "The server stopped.")


def _work(connection: Connection, simulate: Simulate, run: SimulationRun) -> None:
    """Run in the process: simulate and report, behind the work of the pages."""
    parent = multiprocessing.parent_process()
    assert parent is not None and parent.pid is not None
    end_with_parent(parent.pid)
    run_in_background(10)
    try:
        for message in simulate(run):
            connection.send(message)
        connection.send({"finished": True})
    except BrokenPipeError:
        return  # the server is gone
    except Exception as error:
        line = " ".join(str(error).split()) or type(error).__name__
        connection.send({"error": line[:500]})
