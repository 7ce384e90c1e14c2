"""The page as one file: style sheet, plotly.js, the page's modules and its numbers inside."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from onegrad.explorer.precompute import Grids, numbers
from onegrad.explorer.server import STATIC, plotly_file
from onegrad.io.files import atomic_write

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
IMPORT = re.compile(r'import\s+(?:\{([^}]*)\}|\*\s+as\s+(\w+))\s+from\s+"\./(\w+)\.js";\n')
EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def write_page(
    path: Path,
    grids: Grids | None = None,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Write the page to `path` and return its number of bytes."""
    text = page(json.dumps(numbers(grids or Grids(), jobs, progress), separators=(",", ":")))
    content = text.encode()
    with atomic_write(path) as file:
        file.write(content)
    return len(content)


def page(values: str) -> str:
    """index.html with everything that it loads written into it."""
    html = (STATIC / "index.html").read_text(encoding="utf-8")
    plotly = plotly_file().read_text(encoding="utf-8")
    # `<` inside JSON's strings and `</script` inside JavaScript's must not end the element
    parts = {
        '<link rel="stylesheet" href="/static/style.css">': (
            f"<style>\n{(STATIC / 'style.css').read_text(encoding='utf-8')}</style>"
        ),
        '<script src="/plotly.min.js" defer></script>': (
            f"<script>{_inside(plotly)}</script>\n"
            f"<script>globalThis.ONEGRAD={values.replace('<', chr(92) + 'u003c')};</script>"
        ),
        '<script src="/static/app.js" type="module"></script>': (
            f'<script type="module">\n{_inside(script("app"))}</script>'
        ),
        '<meta charset="utf-8">': (
            f'<meta charset="utf-8">\n  <meta http-equiv="Content-Security-Policy" '
            f'content="{POLICY}">'
        ),
    }
    for old, new in parts.items():
        if old not in html:
            raise ValueError(f"index.html has no {old}")
        html = html.replace(old, new)
    return html


def _inside(text: str) -> str:
    return text.replace("</script", "<\\/script")


def script(name: str) -> str:
    """A module and all it imports as one script: each is a function whose value is its exports."""
    written: list[str] = []
    done: set[str] = set()

    def write(module: str, above: tuple[str, ...]) -> None:
        if module in done:
            return
        if module in above:
            raise ValueError(f"modules import one another: {' → '.join((*above, module))}")
        text = (STATIC / f"{module}.js").read_text(encoding="utf-8")
        for _, _, other in IMPORT.findall(text):
            write(other, (*above, module))
        done.add(module)
        written.append(_wrapped(module, text))

    write(name, ())
    return "\n".join(written)


def _wrapped(module: str, text: str) -> str:
    def taken(found: re.Match[str]) -> str:
        names, whole, other = found.groups()
        # `a as b` of an import is `a: b` of a pattern
        left = whole or "{" + re.sub(r"\s+as\s+", ": ", names) + "}"
        return f"const {left} = $_{other};\n"

    exported = ", ".join(name for _, name in EXPORT.findall(text))
    body = EXPORT.sub(r"\1", IMPORT.sub(taken, text))
    return f"const $_{module} = (() => {{\n{body}return {{ {exported} }};\n}})();"
