"""onegrad spectrum: bulk and spikes, from theory and beside networks."""

import pytest

import onegrad as og
from onegrad.cli import main
from onegrad.networks import spectrum as measure
from programs import json_of

SETTING = "--n 200 --d 100 --N 133 --noise 0.5 --activation tanh --teacher H1 --eta 8"


def test_spectrum_has_edge_and_spikes(capsys):
    value = json_of(capsys, "spectrum", *SETTING.split())
    spike = value["spikes"][0]
    assert spike["eigenvalue"] > value["edge"] > 0
    assert spike["singular_value"] == pytest.approx((200 * spike["eigenvalue"]) ** 0.5)
    assert 0.5 < spike["alignment"]["1"] <= 1


def test_spectrum_beside_networks(capsys, tmp_path):
    path = tmp_path / "spectrum.svg"
    options = ["--simulate", "--seeds", "3", "--plot", str(path)]
    value = json_of(capsys, "spectrum", *SETTING.split(), *options)
    problem = og.Problem(n=200, d=100, N=133, noise=0.5, eta=8.0)
    theory = og.spectrum(problem)
    networks = measure(problem, seeds=3, edge=theory.edge).to_dict()["spikes"]
    for shown, direct in ((value, theory.to_dict()), (value["simulated"], {"spikes": networks})):
        places = [[spike["eigenvalue"] for spike in v["spikes"]] for v in (shown, direct)]
        assert places[0] == pytest.approx(places[1], rel=1e-9)
        assert len(places[0]) == 1
    assert path.stat().st_size > 5000


def test_spectrum_prints_the_scale_of_the_page(capsys):
    """Singular values of F over sqrt(n), as on the explorer's axis and in the plot."""
    assert main(["spectrum", *SETTING.split(), "--simulate", "--seeds", "3"]) == 0
    _, first, header, *rows = capsys.readouterr().out.splitlines()
    problem = og.Problem(n=200, d=100, N=133, noise=0.5, eta=8.0)
    theory = og.spectrum(problem)
    measured = measure(problem, seeds=3, edge=theory.edge)
    assert f"ends at {theory.edge**0.5:.5g}, by asymptotic theory" in first
    found = [dict(zip(header.split(), row.split(), strict=True)) for row in rows[:2]]
    assert [row["of"] for row in found] == ["theory", "measured"]
    expected = [theory.spikes[0].eigenvalue ** 0.5, measured.F[:, 0].mean() / 200**0.5]
    assert [float(row["s/sqrt(n)"]) for row in found] == pytest.approx(expected, rel=1e-4)
    spread = measured.F[:, 0].std(ddof=1) / 3**0.5 / 200**0.5
    assert float(found[1]["se"]) == pytest.approx(spread, rel=1e-4)
    assert float(found[0]["He_1"]) == pytest.approx(theory.spikes[0].alignment[1], abs=1e-4)
