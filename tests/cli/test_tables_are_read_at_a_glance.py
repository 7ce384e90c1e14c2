"""Decimal points stand under each other; colour is for terminals, and for those who like it."""

import io
import re
import sys

import numpy as np
import pytest

from onegrad.cli import main
from onegrad.cli.output import aligned, styled

SIZES = ["--n", "60", "--d", "30", "--N", "40"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_points_stand_under_each_other_and_no_digit_is_lost():
    rng = np.random.default_rng(0)
    for _ in range(300):
        count = int(rng.integers(1, 9))
        values = (rng.standard_normal(count) * 10.0 ** rng.integers(-40, 39, count)).tolist()
        if rng.random() < 0.5:  # of about one size, as in most tables
            values = (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4)).tolist()
        values[0] = [values[0], None, 0.0][int(rng.integers(3))]
        texts = aligned(values)
        assert len({len(text) for text in texts}) == 1, texts
        assert len({text.index(".") for text in texts if "." in text}) <= 1, texts
        for value, text in zip(values, texts, strict=True):
            if value is None:
                assert text.strip() == "-"
            else:
                assert float(text) == pytest.approx(value, rel=6e-5, abs=0), texts


@pytest.fixture
def plain_environment(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return monkeypatch


def test_only_a_terminal_is_coloured(plain_environment):
    assert styled("a", "red", Terminal()) == "\x1b[31ma\x1b[0m"
    assert styled("a", "red", io.StringIO()) == "a"
    plain_environment.setenv("NO_COLOR", "")  # set but empty: no wish
    assert styled("a", "red", Terminal()) != "a"
    plain_environment.setenv("NO_COLOR", "1")
    assert styled("a", "red", Terminal()) == "a"
    plain_environment.delenv("NO_COLOR")
    plain_environment.setenv("TERM", "dumb")
    assert styled("a", "red", Terminal()) == "a"


def test_a_command_says_the_same_with_and_without_colour(plain_environment, capsys):
    command = ["predict", *SIZES, "--theory", "random-features", "--eta", "0"]
    assert main(command) == 0
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    plain_environment.setattr(sys, "stdout", Terminal())
    assert main(command) == 0
    shown = sys.stdout.getvalue()
    assert "\x1b" in shown and re.sub(r"\x1b\[\d+m", "", shown) == plain
