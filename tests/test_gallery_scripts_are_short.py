"""Every script of the gallery runs, shows a picture, and takes under 20 seconds of processor."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("plot_*.py"))
LAST = ["plot_14_larger_than_memory", "plot_15_forget_a_customer"]
RUN = """
import runpy, sys, warnings
import matplotlib; matplotlib.use("Agg")
from matplotlib import pyplot as plt
import onegrad as og
warnings.simplefilter("ignore", og.AssumptionWarning)
runpy.run_path(sys.argv[1], run_name="__main__")
sys.exit(0 if plt.get_fignums() else 3)
"""


def test_the_gallery_ends_where_it_should():
    assert 12 <= len(SCRIPTS) <= 15
    assert [script.stem for script in SCRIPTS[-2:]] == LAST


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs_in_seconds(script, tmp_path):
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-c", RUN, script], cwd=tmp_path, capture_output=True, text=True
    )
    after = os.times()
    assert done.returncode == 0, done.stderr
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    assert used < 20, f"{used:.1f} s of processor time"
