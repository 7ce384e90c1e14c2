"""Every public name has an example in its docstring, and it does what it says."""

import doctest
import inspect

import pytest

import onegrad as og
from onegrad.functions import registry

PLAIN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def failures(name: str, text: str) -> str:
    """What an example prints where it should not."""
    found: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    doctest.DocTestRunner(optionflags=PLAIN).run(test, out=found.append)
    return "".join(found)


@pytest.fixture(autouse=True)
def same_names_afterwards(monkeypatch):
    monkeypatch.setattr(registry, "REGISTRY", dict(registry.REGISTRY))


@pytest.mark.parametrize("name", sorted(og.__all__))
def test_example(name):
    text = inspect.getdoc(getattr(og, name))
    assert ">>> import onegrad as og" in text
    assert not failures(name, text), failures(name, text)


def test_a_wrong_example_is_seen():
    assert failures("wrong", ">>> import onegrad as og\n>>> og.spike_count(0.3)\n3\n")
