"""Every name of the API reference has an example in its docstring, and it does what it says."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import onegrad as og
from onegrad.functions import registry

REFERENCE = Path(__file__).parents[1] / "docs" / "reference" / "index.md"
LISTED = re.findall(r"^   ([A-Za-z_.0-9]+)$", REFERENCE.read_text(encoding="utf-8"), re.M)
PLAIN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def failures(name: str, text: str) -> str:
    """What an example prints where it should not."""
    found: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    doctest.DocTestRunner(verbose=False, optionflags=PLAIN).run(test, out=found.append)
    return "".join(found)


@pytest.fixture(autouse=True)
def same_names_afterwards(monkeypatch):
    monkeypatch.setattr(registry, "REGISTRY", dict(registry.REGISTRY))


def test_the_reference_lists_every_public_name():
    assert set(og.__all__) <= set(LISTED) and len(LISTED) == len(set(LISTED))


def test_every_name_has_an_example_that_is_true():
    for name in LISTED:
        package, _, word = f"onegrad.{name}".rpartition(".")
        text = inspect.getdoc(getattr(importlib.import_module(package), word))
        assert ">>> import onegrad as og" in text, name
        assert not failures(name, text), failures(name, text)
