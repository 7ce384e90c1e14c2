"""onegrad sweep and reproduce: cells, tables, figures and a report; nothing is computed twice."""

import io

import pytest

import onegrad
from onegrad.cli import main
from onegrad.studies import gallery
from programs import complaint, json_of

FIGURE = "cui-maximal-step"  # the cheapest
SPEC = """
[problem]
n = 60
d = 30
N = 40
teacher = "tanh(2*x)"
eta = [0, 2]
ridge = "0.01:1:3:log"

[[grid]]
measure = "errors"
seeds = 4
seeds_per_cell = 2

[[grid]]
measure = "theory"
options.theory = "random-features"
problem.eta = 0
"""


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # in this process
    path = tmp_path / "small.toml"
    path.write_text(SPEC, "utf-8")
    return path


@pytest.mark.compat
def test_run_status_export(spec, capsys):
    import pandas

    said = json_of(capsys, "sweep", "run", str(spec))
    assert (said["cells"], said["computed"], said["failed"]) == (3, 3, 0)
    grids = json_of(capsys, "sweep", "status", str(spec))["grids"]
    counts = [(g["grid"], g["cells"], g["done"]) for g in grids]
    assert counts == [("errors", 2, 2), ("theory", 1, 1)]
    for form, read in (("csv", pandas.read_csv), ("parquet", pandas.read_parquet)):
        assert main(["sweep", "export", str(spec), "--format", form]) == 0
        table = read(spec.parent / "out" / "small" / f"table.{form}")
        assert len(table) == 4 * 2 * 3 + 3
        simulated = table[table.measure == "errors"]
        problem = onegrad.Problem(n=60, d=30, N=40, teacher="tanh(2*x)")
        direct = onegrad.simulate(problem, seeds=4, eta=[0, 2], ridge=[0.01, 0.1, 1])
        for _, row in simulated.iterrows():
            i, j = [0, 2].index(row.eta), [0.01, 0.1, 1].index(round(row.ridge, 6))
            assert row.test == pytest.approx(direct.test.values[int(row.seed), i, j], rel=1e-9)
        assert set(table.dtype) == {"float64"} and set(table.device) == {"cpu"}
        assert set(table.version) == {onegrad.__version__}


def test_a_failing_cell_is_reported_and_the_rest_is_kept(spec, capsys):
    grid = '\n[[grid]]\nmeasure = "rehearsal"\noptions.wait = -1.0\n'  # time.sleep refuses
    spec.write_text(SPEC + grid, "utf-8")
    assert main(["sweep", "run", str(spec)]) == 1
    captured = capsys.readouterr()
    assert "3 computed, 0 in the store already, 1 failed of 4 cells" in captured.out
    assert "a cell failed: ValueError: sleep length must be non-negative" in captured.err
    assert main(["sweep", "status", str(spec)]) == 0
    assert "rehearsal: 0 of 1 cells done, 1 failed" in capsys.readouterr().out


def test_nothing_there_yet(spec, capsys):
    assert main(["sweep", "status", str(spec)]) == 1
    assert "there is no store" in capsys.readouterr().err


@pytest.mark.full
def test_one_figure(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # in this process
    command = ["reproduce", FIGURE, "--quick", "--out", "there"]
    said = json_of(capsys, *command)
    assert said["figures"] == [FIGURE] and said["passed"] and said["points"] > 10
    assert said["computed"] == said["cells"] > 0 and said["failed"] == said["missing"] == 0
    made = {p.name for p in (tmp_path / "there" / "figures").iterdir()}
    assert made == {f"{FIGURE}{end}" for end in (".svg", ".png", ".csv", ".checks.csv", ".json")}
    assert (tmp_path / "there" / "report.html").stat().st_size > 20_000

    assert main(command) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("report: ") and out[1].startswith("sentences: ")
    assert main([*command, "--cells-only"]) == 0
    assert f"0 computed, 0 failed of {said['cells']} cells" in capsys.readouterr().out


def test_the_figures_are_listed(capsys):
    titles = json_of(capsys, "reproduce", "--list")["figures"]
    assert list(titles) == list(gallery.select(gallery.groups())) and all(titles.values())


def test_an_export_has_the_cells_of_its_spec_and_no_seed_twice(spec, capsys):
    import pandas

    command = ("sweep", "export", str(spec), "--store", "one", "--out", "-")

    def table(*options):
        assert main([*command, *options]) == 0
        return pandas.read_csv(io.StringIO(capsys.readouterr().out))

    for text in (
        SPEC,
        SPEC.replace("d = 30", "d = 20"),
        SPEC.replace("seeds_per_cell = 2", "seeds_per_cell = 4"),
    ):
        spec.write_text(text, "utf-8-sig")  # as some editors do
        assert main(["sweep", "run", str(spec), "--store", "one"]) == 0
        capsys.readouterr()
        rows, size = table(), 20 if "d = 20" in text else 30
        assert set(rows.d) == {size} and len(rows) == 4 * 2 * 3 + 3
        assert rows.grid.value_counts().to_dict() == {"errors": 24, "theory": 3}
    whole = table("--all")
    assert len(whole) == 2 * len(rows) and set(whole.grid[whole.d == 20].isna()) == {True}
    assert not whole.duplicated(["measure", "d", "eta", "ridge", "seed"]).any()

    more = ("[[grid]]", 'name = "more"', 'measure = "errors"', "seeds = 3")
    spec.write_text(
        "\n".join([SPEC, *more, 'problem.teacher = "tanh(2 * x)"']), "utf-8"
    )  # spaced otherwise
    assert main(["sweep", "run", str(spec), "--store", "one"]) == 0
    capsys.readouterr()
    both = table()
    assert both.grid.value_counts().to_dict() == {"errors, more": 18, "errors": 6, "theory": 3}
    for options, message in (
        (("--format", "parquet"), "only CSV"),
        (("--json",), "both need standard output"),
        (("--format", "parquet", "--out", "x.parquet", "--escape"), "--escape: only for CSV"),
    ):
        assert message in complaint(capsys, *command, *options)
