"""Running text as the pages write it: `x_j`, `X^T`, `n^{2α}` become sub- and superscripts."""

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

# one letter (or He, or a bracket) with one or two letters below it, or anything in braces, so that
# words_of_code stay as they are; above it the same, or anything in brackets
LETTER = "A-Za-zα-ωΑ-Ωϖϑ"
BRACES = r"\{(?:[^{}]|\{[^{}]*\})*\}"
BRACKETS = r"\((?:[^()]|\([^()]*\))*\)"
LOWERED = (rf"(?P<base>(?<![A-Za-z0-9_])(?:He|[{LETTER}∏])|[)\]⋆])_"
           rf"(?P<low>{BRACES}|[{LETTER}0-9⊥]{{1,2}}(?![{LETTER}0-9_]))")  # fmt: skip
RAISED = (rf"(?<=[{LETTER}0-9)\]⋆|}}])\^"
          rf"(?P<high>{BRACES}|{BRACKETS}|−?[{LETTER}0-9½¼⅓⅖⅜]{{1,2}}(?![{LETTER}]))")  # fmt: skip
SCRIPT = re.compile(f"{LOWERED}|{RAISED}")
LEFT_ALONE = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw,
              nodes.comment)  # fmt: skip


def pieces(text: str) -> Iterator[nodes.Node]:
    """The text, cut where something is lowered or raised."""
    done = 0
    for match in SCRIPT.finditer(text):
        before = text[done : match.start()] + (match["base"] or "")
        if before:
            yield nodes.Text(before)
        script = match["low"] or match["high"]
        script = script[1:-1] if script[0] in "{(" else script
        kind = nodes.subscript if match["low"] else nodes.superscript
        yield kind("", "", *pieces("⊤" if script == "T" else script))
        done = match.end()
    if text[done:]:
        yield nodes.Text(text[done:])


class Scripts(SphinxPostTransform):
    """Cut every text of a page that is not code."""

    default_priority = 300
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for text in list(self.document.findall(nodes.Text)):
            parent, inside = text.parent, text.parent
            while inside is not None and not isinstance(inside, LEFT_ALONE):
                inside = inside.parent
            if inside is None and SCRIPT.search(text):
                parent.replace(text, list(pieces(str(text))))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(Scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
