"""onegrad apply --out -: the rows of the file on standard output, and nothing else."""

import subprocess

import numpy as np
import pytest

from onegrad.cli import main
from programs import ONEGRAD


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("pipe")
    x = np.random.default_rng(0).standard_normal(40_000)  # several blocks
    (here / "d.csv").write_text("x,y\n" + "".join(f"{v},{v * v}\n" for v in x))
    command = ["fit", str(here / "d.csv"), "--target", "y", "--estimator", "one-step"]
    assert main([*command, "--width", "5", "--out", str(here / "m"), "--json", "--no-card"]) == 0
    return here


def test_what_is_printed_is_what_would_be_in_the_file(folder, capfd):
    command = ["apply", str(folder / "m"), str(folder / "d.csv"), "--std", "--out"]
    assert main([*command, str(folder / "p.csv")]) == 0
    capfd.readouterr()
    assert main([*command, "-"]) == 0
    out, err = capfd.readouterr()
    assert out == (folder / "p.csv").read_text() and err == ""
    assert out.count("\n") == 40_001


@pytest.mark.full
def test_a_reader_that_has_enough_is_no_failure_to_talk_about(folder):
    program = [*ONEGRAD, "apply", folder / "m", folder / "d.csv"]
    with subprocess.Popen(
        [*program, "--out", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None and writer.stderr is not None
        assert writer.stdout.readline() == b'"prediction"\n'
        writer.stdout.close()
        assert writer.wait(120) == 1
        assert writer.stderr.read() == b""
