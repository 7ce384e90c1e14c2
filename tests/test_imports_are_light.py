"""`import onegrad` costs NumPy and SciPy only."""

import subprocess
import sys

HEAVY = ("torch", "matplotlib", "sklearn", "dask", "distributed", "pyarrow", "starlette", "pandas")


def loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*{{m.split('.')[0] for m in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_onegrad_loads_no_heavy_library():
    assert not loaded_after("import onegrad") & set(HEAVY)


def test_predicting_loads_no_heavy_library():
    statement = "import onegrad as og; og.predict(og.Problem(n=100, d=50, N=60, eta=1.0))"
    assert not loaded_after(statement) & set(HEAVY)


def test_the_check_sees_a_heavy_library():
    assert "sklearn" in loaded_after("import sklearn")
