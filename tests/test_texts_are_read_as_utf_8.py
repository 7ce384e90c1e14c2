"""Texts are read and written as UTF-8 in every locale: sources and pages have Greek letters."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "soak", "benchmarks", "docs", "examples")
ENCODING_AT = {"read_text": 0, "write_text": 1}  # its place among the arguments


def without_encoding(code):
    """Lines that read or write a text in the encoding of the locale."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            named = any(keyword.arg == "encoding" for keyword in node.keywords)
            if not named and len(node.args) <= ENCODING_AT.get(node.func.attr, -1):
                yield node.lineno


def test_every_script_names_the_encoding():
    assert list(without_encoding("path.read_text()\npath.write_text(text)")) == [1, 2]
    assert not list(without_encoding("path.read_text('utf-8')\npath.open('rb')"))
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        assert not list(without_encoding(path.read_text("utf-8"))), path
