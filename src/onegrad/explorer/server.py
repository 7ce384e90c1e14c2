"""The server behind the page: routes, nothing else. Computing is in api, workers, simulations."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from onegrad.exceptions import InvalidInput, NotConverged, check_choice
from onegrad.explorer import api, measure, recompute
from onegrad.explorer.controls import describe
from onegrad.explorer.guard import LOOPBACK_HOSTS, Guard
from onegrad.explorer.network import one_network
from onegrad.explorer.readers import for_readers
from onegrad.explorer.request import field_of, read_problem
from onegrad.explorer.simulations import Busy, Job, Simulations
from onegrad.explorer.workers import Workers
from onegrad.networks.cost import network_rate
from onegrad.problem import Problem

STATIC = Path(__file__).parent / "static"
Handler = Callable[[Request], Awaitable[Response]]


def plotly_file() -> Path:
    """plotly.min.js inside the installed plotly package, which is not imported for it."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ImportError("the explorer needs plotly: pip install 'onegrad[explorer]'")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


@dataclass(frozen=True)
class Routes:
    """The answers to requests, given those who compute them and those who simulate."""

    crew: Workers
    jobs: Simulations

    def all(self) -> list[Route | Mount]:
        return [
            Route("/", _index),
            Route("/plotly.min.js", _plotly),
            Route("/api/controls", _controls),
            Route("/api/code", _code),
            Route("/api/instant", _answer(self.crew.here, api.instant)),
            Route("/api/spectrum", _answer(self.crew.here, api.spectrum)),
            Route("/api/here", _answer(self.crew, api.here)),
            Route("/api/network", self.network),
            Route("/api/curve", self.curve),
            Route("/api/simulations", self.simulate, methods=["POST"]),
            Route("/api/simulations/{name}", self.simulation),
            Route("/api/simulations/{name}/cancel", self.cancel, methods=["POST"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.crew.warm()
        tidying = asyncio.create_task(_every(2.0, self.jobs.tidy))
        yield
        tidying.cancel()
        self.jobs.stop()
        self.crew.stop()

    async def network(self, request: Request) -> Response:
        problem, rest = _read(request, "seed")
        seed = rest.get("seed", "0")
        if not (seed.isascii() and seed.isdecimal() and len(seed) < 4):
            raise InvalidInput(f"seed must be a whole number below 1000; got {seed!r:.60}")
        return JSONResponse(await self.crew(one_network, problem, int(seed)))

    async def curve(self, request: Request) -> Response:
        problem, rest = _read(request, "axis")
        axis = check_choice("axis", rest.get("axis", "alpha"), api.AXES)
        return StreamingResponse(self._lines(problem, axis), media_type="application/x-ndjson")

    async def _lines(self, problem: Problem, axis: str) -> AsyncIterator[str]:
        values, at_once = api.axis_values(axis), 2 * self.crew.count
        for start in range(0, len(values), at_once):
            chunk = values[start : start + at_once]
            found = await asyncio.gather(*(self.crew(api.point, problem, axis, v) for v in chunk))
            for point in found:
                yield json.dumps(point) + "\n"
        yield json.dumps({"finished": True}) + "\n"

    async def simulate(self, request: Request) -> Response:
        body = await _json(request)
        plan = measure.read_plan(body)
        page = str(body.get("page", ""))[:80]
        seconds = measure.estimate(plan, await self.crew.here(network_rate))
        if seconds > measure.LONG and body.get("confirmed") is not True:
            return JSONResponse({"confirm": True, "seconds": seconds})
        return JSONResponse({"id": self.jobs.start(page, plan), "seconds": seconds}, 201)

    async def simulation(self, request: Request) -> Response:
        since = request.query_params.get("since", "0")
        if not (since.isascii() and since.isdecimal() and len(since) < 10):
            raise InvalidInput(f"since must be a whole number; got {since!r:.60}")
        return JSONResponse(self._job(request).answer(int(since)))

    async def cancel(self, request: Request) -> Response:
        job = self._job(request)
        if job.status == "running":
            job.end("cancelled", "Cancelled; what was found stays.")
        return JSONResponse(job.answer(job.seen))

    def _job(self, request: Request) -> Job:
        job = self.jobs.get(request.path_params["name"])
        if job is None:
            raise HTTPException(404, "no such simulation")
        return job


def create_app(
    hosts: frozenset[str] | None = LOOPBACK_HOSTS,
    workers: Workers | None = None,
    simulations: Simulations | None = None,
) -> Starlette:
    """The application; `hosts` are the Host names it answers to (None: any)."""
    routes = Routes(workers or Workers(), simulations or Simulations())
    return Starlette(
        routes=routes.all(),
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={
            Busy: _complaint(409),
            InvalidInput: _complaint(422),
            NotConverged: _complaint(503),
            HTTPException: _http,
        },
        lifespan=routes.lifespan,
    )


def _answer(ask: Callable[..., Awaitable[Any]], function: Callable[[Problem], Any]) -> Handler:
    """A route whose answer is a function of the problem, computed by those who are asked."""

    async def respond(request: Request) -> Response:
        problem, _ = _read(request)
        return JSONResponse(await ask(function, problem))

    return respond


async def _index(_: Request) -> Response:
    return FileResponse(STATIC / "index.html")


async def _plotly(_: Request) -> Response:
    headers = {"cache-control": "max-age=86400"}
    return FileResponse(plotly_file(), media_type="text/javascript", headers=headers)


async def _controls(_: Request) -> Response:
    return JSONResponse(describe())


async def _code(request: Request) -> Response:
    problem, rest = _read(request, "view", "axis")
    view = check_choice("view", rest.get("view", "errors"), api.VIEWS)
    axis = check_choice("axis", rest.get("axis", "n"), ("n", "N"))
    script, command = (say(problem, view, axis) for say in (recompute.python, recompute.command))
    return JSONResponse({"python": script, "command": command})


def _read(request: Request, *others: str) -> tuple[Problem, dict[str, str]]:
    """The request's problem and its other parameters."""
    query: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in query:
            raise InvalidInput(f"{name[:40]} is given twice")
        query[name] = value
    rest = {name: query.pop(name) for name in others if name in query}
    return read_problem(query), rest


async def _json(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise InvalidInput("the body must be a JSON object")
    return body


async def _every(seconds: float, task: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(seconds)
        task()


def _complaint(status: int) -> Callable[[Request, Exception], Response]:
    def respond(_: Request, error: Exception) -> Response:
        return JSONResponse({"field": field_of(error), "message": for_readers(error)}, status)

    return respond


def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    body: dict[str, Any] = {"field": None, "message": error.detail}
    return JSONResponse(body, error.status_code, headers=error.headers)
