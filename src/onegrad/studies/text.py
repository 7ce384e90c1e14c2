"""Sentences from facts: the templates in the [text] of a study, filled with its numbers.

A field such as `{gain:.0%}` is a fact. Where [text] has an entry with the field's name, that entry
says how the fact is written:

    "a template"                  once, or once per item of a list, joined by "; "
    { each, join, all, none }     the items of a list, around them all, or for an empty list
    { yes, no }                   a fact that is True or False

The template of an item that is a table sees the fields of the item before all other facts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.pictures import Curve

ACRONYMS = {"relu": "ReLU", "elu": "ELU", "gelu": "GELU", "silu": "SiLU"}
Facts = Mapping[str, Any]  # numbers, texts, truth values, lists of these and of tables of them


class Estimate(NamedTuple):
    """A mean with its standard error; a field `{error:.2f}` writes both.

    >>> f"{Estimate(0.25, 0.031):+.2f}"
    '+0.25 ± 0.03'
    """

    mean: float
    se: float

    @classmethod
    def of(cls, values: Floats) -> Estimate:
        """Return the mean of values and its standard error."""
        return cls(float(np.mean(values)), float(standard_error(values)))

    @classmethod
    def at(cls, curve: Curve, index: int) -> Estimate:
        """Return the value of a curve at one of its positions."""
        return cls(float(curve.y[index]), float(curve.se[index]))

    @property
    def z(self) -> float:
        """The mean in standard errors."""
        return self.mean / self.se if self.se else math.copysign(math.inf, self.mean)

    def __format__(self, spec: str) -> str:
        return f"{self.mean:{spec}} ± {self.se:{spec.removeprefix('+')}}"


def activation_name(name: str) -> str:
    """Return the name of an activation as a sentence has it.

    >>> activation_name("relu"), activation_name("tanh")
    ('ReLU', 'tanh')
    """
    return ACRONYMS.get(name, name)


def fill_template(template: str, text: Mapping[str, Any], facts: Facts) -> str:
    """Return a template with its fields filled from the facts.

    >>> text = {"errors": "{test:.1f} at n = {n}", "won": {"yes": "beats", "no": "trails"}}
    >>> facts = {"won": True, "gain": 0.25, "errors": [{"test": 1, "n": 9}, {"test": 2, "n": 8}]}
    >>> fill_template("It {won} the rest by {gain:.0%}: {errors}.", text, facts)
    'It beats the rest by 25%: 1.0 at n = 9; 2.0 at n = 8.'
    """
    return template.format_map(_Fields(text, facts))


@dataclass(frozen=True)
class _Fields:
    """The value of each field of a template."""

    text: Mapping[str, Any]
    facts: Facts

    def __getitem__(self, name: str) -> Any:
        if name in self.text:
            return _write(self.text[name], self.facts.get(name), self.text, self.facts)
        value = self.facts[name]
        return ", ".join(map(str, value)) if isinstance(value, list) else value


def _write(entry: Any, fact: Any, text: Mapping[str, Any], facts: Facts) -> str:
    forms = {"each": entry} if isinstance(entry, str) else entry
    if isinstance(fact, bool):
        return fill_template(forms["yes" if fact else "no"], text, facts)
    if not isinstance(fact, list):
        return fill_template(forms["each"], text, facts)
    if not fact:
        return fill_template(forms.get("none", ""), text, facts)
    tables = [item if isinstance(item, Mapping) else {"item": item} for item in fact]
    items = [
        fill_template(forms.get("each", "{item}"), text, {**facts, **table}) for table in tables
    ]
    joined = forms.get("join", "; ").join(items)
    return fill_template(forms.get("all", "{items}"), text, {**facts, "items": joined})
