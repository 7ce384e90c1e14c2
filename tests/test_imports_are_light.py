"""`import onegrad` costs NumPy and SciPy only."""

from programs import run_python

HEAVY = ("torch", "matplotlib", "sklearn", "dask", "distributed", "pyarrow", "starlette", "pandas")


def loaded_after(statement: str, depth: int = 1) -> set[str]:
    modules = run_python(f"{statement}\nimport sys\nprint(*sys.modules)").split()
    return {".".join(name.split(".")[:depth]) for name in modules}


def test_predicting_loads_no_heavy_library():
    statement = "import onegrad as og; og.predict(og.Problem(n=100, d=50, N=60, eta=1.0))"
    assert not loaded_after(statement) & set(HEAVY)


def test_the_processes_of_a_sweep_load_no_heavy_library():
    statement = "import onegrad.cli.sweep, onegrad.parallel.children, onegrad.studies.measures"
    assert not loaded_after(statement) & set(HEAVY)


def test_the_command_line_starts_without_the_heavy_half_of_scipy():
    """scipy.optimize and what it loads take as long as everything else together.

    Old versions of scipy.special load scipy.sparse themselves.
    """
    commands = ("cite", "predict", "simulate", "sweep")
    loaded = loaded_after(f"import {', '.join(f'onegrad.cli.{name}' for name in commands)}", 2)
    unavoidable = loaded_after("import scipy.linalg, scipy.special", 2)
    assert "scipy.special" in loaded
    heavy = {f"scipy.{name}" for name in ("optimize", "interpolate", "sparse", "fft")}
    assert not (loaded - unavoidable) & heavy
    assert "scipy.optimize" not in unavoidable
