"""The server behind the page: routes, nothing else. Others compute: api, workers, simulations."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from onegrad.exceptions import InvalidInput, NotConverged, check_choice
from onegrad.explorer import api, recompute
from onegrad.explorer.controls import control_of, control_table, read_problem, read_whole
from onegrad.explorer.guard import Guard
from onegrad.explorer.simulation_jobs import Busy, Job, Simulations
from onegrad.explorer.simulation_runs import CONFIRM_SECONDS, estimate_seconds, read_run
from onegrad.explorer.workers import Workers
from onegrad.networks.cost import network_rate
from onegrad.problem import Problem

STATIC = Path(__file__).parent / "static"
LOOPBACK_HOSTS = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class Routes:
    """The answers to requests, from the workers that compute and the simulations that run."""

    workers: Workers
    simulations: Simulations

    def all(self) -> list[Route | Mount]:
        compute_now, compute_here = self.workers.compute_now, self.workers.compute_here
        return [
            Route("/", _index),
            Route("/api/controls", _controls),
            Route("/api/code", _code),
            Route("/api/instant", _answer(compute_here, api.instant_answer)),
            Route("/api/spectrum", _answer(compute_now, api.spectrum_answer)),
            Route("/api/here", _answer(compute_now, api.here_answer)),
            Route("/api/network", self.network),
            Route("/api/curve", self.curve),
            Route("/api/simulations", self.simulate, methods=["POST"]),
            Route("/api/simulations/{name}", self.simulation),
            Route("/api/simulations/{name}/cancel", self.cancel, methods=["POST"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.workers.warm()
        tidying = asyncio.create_task(_tidy(self.simulations))
        yield
        tidying.cancel()
        self.simulations.stop()
        self.workers.stop()

    async def network(self, request: Request) -> Response:
        problem, others = _read(request, "seed")
        seed = read_whole("seed", others.get("seed", "0"), 0, 999)
        return _json_response(await self.workers.compute(api.network_answer, problem, seed))

    async def curve(self, request: Request) -> Response:
        problem, others = _read(request, "axis")
        axis = check_choice("axis", others.get("axis", "alpha"), api.AXES)
        return StreamingResponse(self._points(problem, axis), media_type="application/x-ndjson")

    async def _points(self, problem: Problem, axis: str) -> AsyncIterator[bytes]:
        """Yield a line of JSON per point of a curve, and one that says it is finished."""
        values, at_once = api.axis_values(axis), 2 * self.workers.count
        for start in range(0, len(values), at_once):
            points = (
                self.workers.compute(api.curve_point, problem, axis, value)
                for value in values[start : start + at_once]
            )
            for point in await asyncio.gather(*points):
                yield point + b"\n"
        yield b'{"finished": true}\n'

    async def simulate(self, request: Request) -> Response:
        body = await _read_body(request)
        run = read_run(body)
        page = str(body.get("page", ""))[:80]
        rate = json.loads(await self.workers.compute_here(network_rate))
        seconds = estimate_seconds(run, rate)
        if seconds > CONFIRM_SECONDS and body.get("confirmed") is not True:
            return JSONResponse({"confirm": True, "seconds": seconds})
        return JSONResponse({"id": self.simulations.start(page, run), "seconds": seconds}, 201)

    async def simulation(self, request: Request) -> Response:
        since = read_whole("since", request.query_params.get("since", "0"), 0, 999_999_999)
        return JSONResponse(self._job(request).answer(since))

    async def cancel(self, request: Request) -> Response:
        job = self._job(request)
        job.end("cancelled", "Cancelled; the points so far stay.")
        return JSONResponse(job.answer(job.count))

    def _job(self, request: Request) -> Job:
        job = self.simulations.get(request.path_params["name"])
        if job is None:
            raise HTTPException(404, "no such simulation")
        return job


def create_app(
    hosts: Sequence[str] = LOOPBACK_HOSTS,
    workers: Workers | None = None,
    simulations: Simulations | None = None,
) -> Starlette:
    """Return the application; `hosts` are the Host names that it answers to ("*": any).

    Those of other names are refused: a page elsewhere may give its own name this address.
    """
    routes = Routes(workers or Workers(), simulations or Simulations())
    return Starlette(
        routes=routes.all(),
        middleware=[Middleware(Guard), Middleware(TrustedHostMiddleware, allowed_hosts=hosts)],
        exception_handlers={
            Busy: _error_response(409),
            InvalidInput: _error_response(422),
            NotConverged: _error_response(503),
            HTTPException: _http_error,
        },
        lifespan=routes.lifespan,
    )


def _answer(
    compute: Callable[..., Awaitable[bytes]], function: Callable[[Problem], dict[str, Any]]
) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that answers with a function of the problem in the query."""

    async def respond(request: Request) -> Response:
        problem, _ = _read(request)
        return _json_response(await compute(function, problem))

    return respond


def _json_response(content: bytes) -> Response:
    return Response(content, media_type="application/json")


async def _index(_: Request) -> Response:
    return FileResponse(STATIC / "index.html")


async def _controls(_: Request) -> Response:
    return JSONResponse(control_table())


async def _code(request: Request) -> Response:
    problem, others = _read(request, "view", "axis")
    view = check_choice("view", others.get("view", "errors"), api.VIEWS)
    axis = check_choice("axis", others.get("axis", "n"), ("n", "N"))
    script = recompute.python_script(problem, view, axis)
    return JSONResponse({"python": script, "command": recompute.command(problem, view, axis)})


def _read(request: Request, *others: str) -> tuple[Problem, dict[str, str]]:
    """Return the request's problem and its other parameters."""
    query: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name in query:
            raise InvalidInput(name[:40], problem="given twice")
        query[name] = value
    parameters = {name: query.pop(name) for name in others if name in query}
    return read_problem(query), parameters


async def _read_body(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise InvalidInput("body", allowed="a JSON object")
    return body


async def _tidy(simulations: Simulations) -> None:
    """Look every two seconds for simulations of pages that are gone."""
    while True:
        await asyncio.sleep(2.0)
        simulations.tidy()


def _error_response(status: int) -> Callable[[Request, Exception], Response]:
    def respond(_: Request, error: Exception) -> Response:
        body = {"field": control_of(error), "message": api.reader_message(error)}
        return JSONResponse(body, status)

    return respond


def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    body: dict[str, Any] = {"field": None, "message": error.detail}
    return JSONResponse(body, error.status_code, headers=error.headers)
