"""Freed memory stays with the process: the next arrays cost no new pages."""

import os
import platform

import pytest

from programs import run_python

ROUNDS = 20
SCRIPT = f"""
import resource, sys
import numpy as np
from onegrad.arrays import keep_freed_memory

if sys.argv[1] == "keep":
    keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def arrays():
    for a in [np.empty(500_000) for _ in range(8)]:
        a.fill(1.0)
arrays(), arrays()
before = faults()
for _ in range({ROUNDS}):
    arrays()
print(faults() - before)
"""


def pages(mode):
    """That 20 times eight arrays of 4 MB cost in a process of their own."""
    # Dask leaves settings of malloc in the environment of whoever starts its workers
    plain = {name: v for name, v in os.environ.items() if not name.startswith("MALLOC_")}
    return int(run_python(SCRIPT, mode, env=plain))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc's memory")
def test_new_arrays_cost_no_new_pages():
    assert pages("keep") < 0.1 * pages("as ever")
