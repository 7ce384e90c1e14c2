"""In a fresh kernel every picture appears, the reader's own included, one per cell."""

import pytest

pytestmark = [pytest.mark.full, pytest.mark.compat]

CELLS = [
    "import onegrad as og\np = og.Problem(n=200, d=60, N=80, alpha=0.2)",
    "og.predict(p, alpha=[0, 0.2]).plot();",
    "og.spectrum(p).plot();",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3]);",
    "og.simulate(p, seeds=2, alpha=[0, 0.2]).plot();",
    "fig, ax = plt.subplots()\nog.predict(p, alpha=[0, 0.2]).plot(ax=ax)\nplt.get_fignums() == [1]",
    "p",
    "og.simulate(p, seeds=2, progress=True).test",
]


def outputs(cell, kind):
    return [o["data"][kind] for o in cell.outputs if kind in o.get("data", {})]


def test_every_cell_with_a_plot_shows_one_picture(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    NotebookClient(
        notebook, timeout=600, startup_timeout=600, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    pictures = [len(outputs(cell, "image/png")) for cell in notebook.cells]
    # matplotlib 3.8 shows the first picture of a kernel one cell late, pyplot's own as well
    assert sum(pictures[1:3]) == 2
    assert pictures[3:] == [1, 1, 1, 0, 0]
    assert outputs(notebook.cells[5], "text/plain")[0] == "True"
    assert outputs(notebook.cells[6], "text/plain") == ["Problem(n=200, d=60, N=80, alpha=0.2)"]
    last = notebook.cells[7]
    assert " ± " in outputs(last, "text/plain")[0]
    assert "blocks of rows: " in "".join(o.get("text", "") for o in last.outputs)
