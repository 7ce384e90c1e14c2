"""The page as one file: its style sheet, its modules, and the answers that a server would give."""

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from onegrad import __version__
from onegrad.explorer import api, controls
from onegrad.explorer.controls import ALPHA_RANGE, DEFAULTS, PRESETS, Preset, read_problem
from onegrad.explorer.server import STATIC
from onegrad.explorer.simulation_runs import SimulationRun, simulate_run
from onegrad.io.files import atomic_write
from onegrad.parallel.children import process_map
from onegrad.problem import Problem

EXPORTED_STEP = 0.01  # of the page's slider: every place on it has a spectrum of its own
SPECTRUM_ALPHAS = controls.alpha_grid(EXPORTED_STEP)
CONTENT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
# the numbers are packed: a fifth of their size as text
UNPACK = """const packed = document.getElementById("numbers").textContent;
const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
globalThis.ONEGRAD = await new Response(unpacked).json();
"""
# enough of JavaScript for the modules of static/: a test reads what becomes of them
IMPORT = re.compile(r'import\s+(?:\{([^}]*)\}|\*\s+as\s+(\w+))\s+from\s+"\./(\w+)\.js";\n')
EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


@dataclass(frozen=True)
class Grids:
    """Values computed for each preset, besides its own ridge and the whole slider of the step."""

    presets: tuple[Preset, ...] = PRESETS
    ridges: tuple[str, ...] = ("0.0001", "0.001", "0.01", "0.1", "1")
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)  # n of the stairs
    alphas: tuple[float, ...] = api.CURVE_ALPHAS
    network_alphas: tuple[float, ...] = (*api.CURVE_ALPHAS[::3], api.CURVE_ALPHAS[-1])
    networks: int = 4  # trained for the points on the curve


# tenths of a second of processor time for an answer, as measured
COSTS = {"curve": 9, "stairs": 9, "spectra": 220, "network": 70, "simulation": 130, "instant": 1,
         "untrained": 1}  # fmt: skip

Key = tuple[Any, ...]  # preset, kind of answer and, where there are several, ridge or size
Task = tuple[Key, Callable[[], Any]]


def write_page(
    path: Path, grids: Grids, jobs: int, progress: Callable[[int, int], None] | None = None
) -> int:
    """Write the page to `path` and return its number of bytes."""
    numbers = page_numbers(grids, jobs, progress)
    content = bundled_page(json.dumps(numbers, separators=(",", ":"))).encode()
    with atomic_write(path) as file:
        file.write(content)
    return len(content)


def bundled_page(numbers: str) -> str:
    """Return index.html with everything that it loads written into it."""
    html = (STATIC / "index.html").read_text(encoding="utf-8")
    packed = base64.b64encode(gzip.compress(numbers.encode(), mtime=0)).decode()
    script = f"{UNPACK}{bundled_script('app')}".replace("</script", "<\\/script")
    parts = {
        '<link rel="stylesheet" href="/static/style.css">': (
            f"<style>\n{(STATIC / 'style.css').read_text(encoding='utf-8')}</style>"
        ),
        '<script src="/static/app.js" type="module"></script>': (
            f'<script type="text/plain" id="numbers">{packed}</script>\n'
            f'<script type="module">\n{script}</script>'
        ),
        '<meta charset="utf-8">': (
            f'<meta charset="utf-8">\n  <meta http-equiv="Content-Security-Policy" '
            f'content="{CONTENT_POLICY}">'
        ),
    }
    for old, new in parts.items():
        if old not in html:
            raise ValueError(f"index.html has no {old}")
        html = html.replace(old, new)
    return html


def bundled_script(name: str) -> str:
    """Return a module and all its imports as one script: each a function that returns exports."""
    scripts: dict[str, str] = {}

    def add(module: str) -> None:
        if module not in scripts:
            text = (STATIC / f"{module}.js").read_text(encoding="utf-8")
            for _, _, imported in IMPORT.findall(text):
                add(imported)
            scripts[module] = _wrapped(module, text)

    add(name)
    return "\n".join(scripts.values())


def _wrapped(module: str, text: str) -> str:
    """Return the module as a constant: a function of no arguments, called once."""

    def as_constant(match: re.Match[str]) -> str:
        names, namespace, imported = match.groups()
        # `a as b` of an import is `a: b` of a pattern
        pattern = namespace or "{" + re.sub(r"\s+as\s+", ": ", names) + "}"
        return f"const {pattern} = $_{imported};\n"

    exported = ", ".join(name for _, name in EXPORT.findall(text))
    body = EXPORT.sub(r"\1", IMPORT.sub(as_constant, text))
    return f"const $_{module} = (() => {{\n{body}return {{ {exported} }};\n}})();"


def page_numbers(
    grids: Grids, jobs: int = 1, progress: Callable[[int, int], None] | None = None
) -> dict[str, Any]:
    """Return everything that static/offline.js answers from, as JSON values."""
    tasks = [task for preset in grids.presets for task in _tasks(preset, grids)]
    tasks.sort(key=lambda task: -COSTS[task[0][1]])  # the long ones first
    answers: dict[Key, Any] = {}
    for key, answer in process_map(_answer, tasks, jobs):
        answers[key] = answer
        if progress:
            progress(*(sum(COSTS[key[1]] for key in keys) for keys in (answers, dict(tasks))))
    queries = [preset.query for preset in grids.presets]
    table = {
        "presets": [vars(preset) for preset in grids.presets],
        "defaults": DEFAULTS if DEFAULTS in queries else queries[0],
        "alpha_step": EXPORTED_STEP,
    }
    return {
        "controls": controls.control_table() | table,
        "about": (
            f"Exported by onegrad {__version__}: presets, step, ridge and the size n of the stairs "
            "use numbers computed in advance; for all other controls run onegrad explore."
        ),
        "settings": [_setting(preset, grids, answers) for preset in grids.presets],
    }


def _answer(task: Task) -> tuple[Key, Any]:
    key, compute = task
    return key, _rounded(compute())


def _rounded(value: Any) -> Any:
    """Return JSON values with six digits: more than a picture shows, and half the bytes."""
    return json.loads(json.dumps(value), parse_float=lambda text: float(f"{float(text):.6g}"))


def _tasks(preset: Preset, grids: Grids) -> Iterator[Task]:
    problem, name = read_problem(preset.query), preset.name
    for ridge in _ridges(preset, grids):
        at_ridge = problem.replace(ridge=float(ridge))
        yield (name, "curve", ridge), partial(_curve, at_ridge, grids.alphas)
        yield (name, "instant", ridge), partial(api.instant_answer, at_ridge)
        yield (name, "untrained", ridge), partial(api.errors_answer, at_ridge.replace(eta=0.0))
    for n in grids.sizes:
        larger = read_problem(resized_query(preset.query, n))
        yield (name, "stairs", n), partial(_curve, larger, grids.alphas, False)
    yield (name, "spectra"), partial(_spectra, problem)
    yield (name, "network"), partial(_networks, problem, grids.network_alphas)
    yield (name, "simulation"), partial(_simulated, problem, grids.networks)


def _setting(preset: Preset, grids: Grids, answers: dict[Key, Any]) -> dict[str, Any]:
    """Return the numbers of one preset."""
    name, ridges = preset.name, _ridges(preset, grids)
    spectra, steps = answers[name, "spectra"]
    networks, untrained = answers[name, "network"]
    for step in steps:
        if step["eta"] == "0":
            step["here"] = {ridge: answers[name, "untrained", ridge] for ridge in ridges}
            step["network"] = untrained
    return {
        "query": preset.query,
        "alphas": ALPHA_RANGE,
        "spectra": spectra,
        "steps": steps,
        "networks": networks,
        "simulation": answers[name, "simulation"],
        "ridges": [
            {
                "ridge": ridge,
                "instant": answers[name, "instant", ridge],
                "points": answers[name, "curve", ridge],
            }
            for ridge in ridges
        ],
        "stairs": [
            {"query": resized_query(preset.query, n), "points": answers[name, "stairs", n]}
            for n in grids.sizes
        ],
    }


def _ridges(preset: Preset, grids: Grids) -> tuple[str, ...]:
    own = preset.query["ridge"]
    others = [ridge for ridge in grids.ridges if float(ridge) != float(own)]
    return tuple(sorted((own, *others), key=float))


def resized_query(query: dict[str, str], n: int) -> dict[str, str]:
    """Return the query at another n, all else in proportion; as `resized` of static/state.js."""
    problem = read_problem(query)
    others = {k: v for k, v in query.items() if k not in ("d", "N", "alpha", "eta")}
    ratios = {"phi": f"{problem.phi:.6g}", "psi": f"{problem.psi:.6g}", "n": str(n)}
    rows = {"n_step": str(round(problem.rows_of_step / problem.n * n))} if "n_step" in query else {}
    return others | ratios | rows


def _curve(problem: Problem, alphas: tuple[float, ...], with_learned: bool = True) -> list[Any]:
    points = [api.curve_point(problem, "alpha", alpha) for alpha in alphas]
    return [p if with_learned else {k: p[k] for k in p if k != "learned"} for p in points]


def _spectra(problem: Problem) -> tuple[list[Any], list[dict[str, Any]]]:
    """Return the spectra along the slider and those at some etas."""
    etas = {0.0, problem.eta} if problem.eta is not None else {0.0}
    steps = [
        {"eta": f"{eta:g}", "spectrum": api.spectrum_answer(problem.replace(eta=eta))}
        for eta in sorted(etas)
    ]
    along = [api.spectrum_answer(problem.replace(alpha=alpha)) for alpha in SPECTRUM_ALPHAS]
    return along, steps


def _networks(problem: Problem, alphas: tuple[float, ...]) -> tuple[list[Any], Any]:
    """Return one network along alpha, and untrained; nothing if it is too large."""
    untrained = api.network_answer(problem.replace(eta=0.0))
    if "refused" in untrained:
        return [], None
    return [{"x": a, **api.network_answer(problem.replace(alpha=a))} for a in alphas], untrained


def _simulated(problem: Problem, networks: int) -> dict[str, Any]:
    *_, last = simulate_run(SimulationRun(problem, networks, ("alpha",)))
    return dict(last["found"])
