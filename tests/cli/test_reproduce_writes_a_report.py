"""onegrad reproduce: cells, figures and one report; nothing in the store is computed again."""

import pytest

from onegrad.cli import main
from onegrad.studies import gallery
from programs import json_of

FIGURE = "cui-maximal-step"  # the cheapest


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
    assert out[0].startswith("report: ") and out[1].startswith("verification: ")
    assert main([*command, "--cells-only"]) == 0
    assert f"0 computed, 0 failed of {said['cells']} cells" in capsys.readouterr().out


def test_the_figures_are_listed(capsys):
    titles = json_of(capsys, "reproduce", "--list")["figures"]
    assert list(titles) == list(gallery.select(gallery.groups())) and all(titles.values())
    assert main(["reproduce", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(" ")] == list(titles)
    assert [line[:-1] for line in lines if line.endswith(":")] == gallery.groups()
