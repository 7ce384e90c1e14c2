"""Simulations that run beside the server: one a page, each in a process that can be stopped."""

from __future__ import annotations

import multiprocessing
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from onegrad.exceptions import InvalidInput
from onegrad.explorer import measure
from onegrad.explorer.workers import in_the_background
from onegrad.parallel.children import end_with_parent

AT_ONCE = 4  # simulations of all pages together
FORGOTTEN = 20.0  # seconds without a question after which the page is taken to be gone
KEPT = 20  # finished simulations whose last answer is kept

Run = Callable[[Any], Iterator[dict[str, Any]]]


class Busy(InvalidInput):
    """A simulation of this page is still running, or too many run already."""


@dataclass
class Job:
    """One simulation: its process and what it has said so far."""

    page: str
    process: Any
    connection: Connection
    began: float
    progress: float = 0.0
    seen: int = 0  # answers so far
    found: dict[str | None, tuple[int, dict[str, Any]]] = field(default_factory=dict)  # newest
    status: str = "running"  # running, finished, cancelled, failed
    message: str = "Starting …"
    asked: float = 0.0

    def listen(self) -> None:
        """Take in what the process has said."""
        try:
            while self.status == "running" and self.connection.poll():
                self._hear(self.connection.recv())
        except (EOFError, OSError):
            if self.status == "running":
                self.end("failed", "The simulation ended unexpectedly.")

    def _hear(self, said: dict[str, Any]) -> None:
        spent = time.monotonic() - self.began
        if "error" in said:
            self.end("failed", said["error"])
        elif said.get("finished"):
            self.end("finished", f"Simulated in {spent:.0f} s.")
        else:
            self.progress = said["progress"]
            self.seen += 1
            self.found[said["found"].get("axis")] = (self.seen, said["found"])
            left = spent / self.progress - spent
            self.message = f"{100 * self.progress:.0f} % done, about {left:.0f} s left"

    def end(self, status: str, message: str) -> None:
        self.status, self.message = status, message
        if self.process.is_alive() and status != "finished":
            self.process.terminate()
        self.connection.close()

    def answer(self, since: int) -> dict[str, Any]:
        """State, and what was found after the first `since` answers; later ones replace earlier."""
        newest = [found for number, found in self.found.values() if number > since]
        return {
            "status": self.status,
            "message": self.message,
            "progress": self.progress,
            "seen": self.seen,
            "found": newest,
        }


class Simulations:
    """All simulations of a server."""

    def __init__(self, run: Run = measure.run) -> None:
        self.run = run
        self.jobs: dict[str, Job] = {}
        self._context = multiprocessing.get_context("spawn")

    def start(self, page: str, plan: measure.SimulationPlan) -> str:
        """Start a plan and return the job's name."""
        self.tidy()
        running = [job for job in self.jobs.values() if job.status == "running"]
        if any(job.page == page for job in running):
            raise Busy("seeds: a simulation of this page is running; cancel it first")
        if len(running) >= AT_ONCE:
            raise Busy(f"seeds: {AT_ONCE} simulations are running already; try again later")
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_work, args=(theirs, self.run, plan), daemon=True, name="onegrad-simulation"
        )
        process.start()
        theirs.close()
        name, now = secrets.token_urlsafe(12), time.monotonic()
        self.jobs[name] = Job(page, process, ours, began=now, asked=now)
        return name

    def get(self, name: str) -> Job | None:
        job = self.jobs.get(name)
        if job is not None:
            job.asked = time.monotonic()
            job.listen()
        return job

    def tidy(self) -> None:
        """Stop the simulations of pages that are gone; forget old answers."""
        now = time.monotonic()
        for job in self.jobs.values():
            job.listen()
            if job.status == "running" and now - job.asked > FORGOTTEN:
                job.end("cancelled", "The page went away.")
        over = [name for name, job in self.jobs.items() if job.status != "running"]
        for name in over[: max(0, len(over) - KEPT)]:
            del self.jobs[name]

    def stop(self) -> None:
        for job in self.jobs.values():
            if job.status == "running":
                job.end("cancelled", "The server stopped.")


def _work(connection: Connection, run: Run, plan: measure.SimulationPlan) -> None:
    """The process: run the plan and report; the pages' own work goes first."""
    parent = multiprocessing.parent_process()
    assert parent is not None and parent.pid is not None
    end_with_parent(parent.pid)
    in_the_background(10)
    try:
        for said in run(plan):
            connection.send(said)
        connection.send({"finished": True})
    except BrokenPipeError:
        return  # nobody listens any more
    except Exception as error:
        line = " ".join(str(error).split()) or type(error).__name__
        connection.send({"error": line[:500]})
