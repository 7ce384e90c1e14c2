"""Mathematics as MathML, made when the site is built: browsers set it, and nothing is loaded."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node, node.astext(), "inline"))
    raise nodes.SkipNode


def display(translator: Any, node: nodes.math_block) -> None:
    """One block; a row of an aligned environment is a row of it."""
    text = node.astext().strip().replace("{aligned}", "{align*}")
    if r"\\" in text and r"\begin" not in text:
        text = rf"\begin{{align*}}{text}\end{{align*}}"
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(mathml(node, text, "block") + "</div>\n")
    raise nodes.SkipNode


def mathml(node: nodes.Node, text: str, display: str) -> str:
    """MathML of a formula; what the converter does not know is a warning, not a strange sign."""
    markup = convert(text, display=display)
    if "<mi>&</mi>" in markup or "<mi>\\" in markup:
        LOGGER.warning("formula not understood: %s", text, location=node, type="typeset")
    return markup


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer(
        "mathml", inline_renderers=(inline, None), block_renderers=(display, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
