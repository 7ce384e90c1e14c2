"""Decimal points stand under each other; colour is for terminals, and for those who like it."""

import io
import re
import sys

import numpy as np
import pytest

from onegrad.cli import main
from onegrad.cli.output import aligned, print_table, styled

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


def test_a_column_has_as_many_decimals_as_its_longest_entry():
    assert aligned([0.0, 0.05, 0.5]) == ["0.00", "0.05", "0.50"]
    assert aligned([1.0, 31.623]) == [" 1.000", "31.623"]
    assert aligned([1e-9, 1.5]) == ["1e-09", "1.5  "]
    assert aligned([3, 250]) == ["  3", "250"]
    assert aligned(["theory", "measured"]) == ["  theory", "measured"]


def test_every_line_of_a_table_is_as_wide_as_its_header(capsys):
    print_table([{"a": 0.5, "name": "x"}, {"a": 12.25, "name": None}], ["a", "name"])
    assert capsys.readouterr().out == "    a  name\n 0.50     x\n12.25     -\n"


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
    assert "\x1b" not in plain and plain.startswith("random-features theory: n = 60, d = 30")
    for liked in (True, False):
        if not liked:
            plain_environment.setenv("NO_COLOR", "1")
        plain_environment.setattr(sys, "stdout", Terminal())
        plain_environment.setattr(sys, "stderr", Terminal())
        assert main(command) == 0
        assert main(["predict", "--n", "-5", "--d", "30", "--N", "40"]) == 2
        shown, complained = sys.stdout.getvalue(), sys.stderr.getvalue()
        assert ("\x1b" in shown, "\x1b" in complained) == (liked, liked)
        assert re.sub(r"\x1b\[\d+m", "", shown) == plain
        line = re.sub(r"\x1b\[\d+m", "", complained)
        assert line.startswith("onegrad predict: error: --n must be")


def test_what_the_numbers_are_from_is_said_above_them(capsys):
    for command, named in (
        ("predict --theory staircase --alpha 0.3", "staircase theory"),
        ("predict --theory small-step --eta 1", "small-step theory"),
        ("spectrum --eta 3", "uniform theory"),
        ("simulate --seeds 5,7", "2 networks"),
        ("simulate --seeds 7,", "one network"),
    ):
        assert main([*command.split(), *SIZES]) == 0
        out = capsys.readouterr().out
        first, second, *_ = out.splitlines()
        assert "nan" not in out
        assert "n = 60, d = 30, N = 40" in first
        assert named in (second if command.startswith("spectrum") else first)
