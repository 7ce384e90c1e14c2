"""The page as one file that holds its style sheet, its modules and its numbers."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

from onegrad.explorer.precompute import Grids, page_numbers
from onegrad.explorer.server import STATIC
from onegrad.io.files import atomic_write

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
IMPORT = re.compile(r'import\s+(?:\{([^}]*)\}|\*\s+as\s+(\w+))\s+from\s+"\./(\w+)\.js";\n')
EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def write_page(path: Path, jobs: int, progress: Callable[[int, int], None]) -> int:
    """Write the page to `path` and return its number of bytes."""
    numbers = page_numbers(Grids(), jobs, progress)
    content = bundled_page(json.dumps(numbers, separators=(",", ":"))).encode()
    with atomic_write(path) as file:
        file.write(content)
    return len(content)


def bundled_page(numbers: str) -> str:
    """Return index.html with everything that it loads written into it."""
    html = (STATIC / "index.html").read_text(encoding="utf-8")
    packed = base64.b64encode(gzip.compress(numbers.encode(), mtime=0)).decode()
    script = f"{UNPACK}{_inside(bundled_script('app'))}"
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


def _inside(text: str) -> str:
    """Return a script that may stand inside a script element."""
    return text.replace("</script", "<\\/script")


def bundled_script(name: str) -> str:
    """Return a module and all its imports as one script: each a function that returns exports."""
    scripts: dict[str, str] = {}

    def add(module: str, importers: tuple[str, ...]) -> None:
        if module in scripts:
            return
        if module in importers:
            raise ValueError(f"modules import one another: {' → '.join((*importers, module))}")
        text = (STATIC / f"{module}.js").read_text(encoding="utf-8")
        for _, _, imported in IMPORT.findall(text):
            add(imported, (*importers, module))
        scripts[module] = _wrapped(module, text)

    add(name, ())
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
