"""predict, simulate and spectrum: the numbers of the library, as tables, JSON and pictures."""

import pytest

import onegrad as og
from onegrad.cli import main
from onegrad.networks import spectrum as measured_spectrum
from programs import json_of

SIZES = ["--n", "200", "--d", "100", "--N", "133"]
SMALL = ["--n", "60", "--d", "10", "--N", "20"]
PROBLEM = {"n": 200, "d": 100, "N": 133, "activation": "softplus", "teacher": "H1 + H2/sqrt(2)"}


def test_predict_has_what_the_interface_promises(capsys):
    problem = og.Problem(**PROBLEM, noise=0.5, alpha=0.3)
    for theory in ("random-features", "small-step", "staircase", "uniform"):
        options = ["--noise", "0.5", "--alpha", "0.1,0.3", "--theory", theory]
        value = json_of(capsys, "predict", *SIZES, *options)
        assert value["theory"] == theory and value["problem"]["N"] == 133
        assert [row["alpha"] for row in value["results"]] == [0.1, 0.3]
        expected, last = og.predict(problem, theory=theory), value["results"][1]
        assert last["eta"] == pytest.approx(200**0.3)
        assert last["test"] == pytest.approx(float(expected.test), rel=1e-6), theory
        assert last["train"] == pytest.approx(float(expected.train), rel=1e-6), theory
        assert last["risk"] == pytest.approx(last["test"] - 0.25)
    assert json_of(capsys, "predict", *SIZES)["theory"] == "uniform"


def test_predict_prints_a_line_a_point_and_the_bound(capsys):
    assert main(["predict", *SIZES, "--ridge", "0.01,0.1,1", "--theory", "random-features"]) == 0
    said, header, *points, bound = capsys.readouterr().out.splitlines()
    assert said.startswith("random-features theory") and "test" in header and len(points) == 3
    assert bound == "no rotation-invariant kernel has a test error below 1"


def test_predict_draws_a_curve(tmp_path, capsys):
    path = tmp_path / "curve.svg"
    options = ["--alpha", "0:0.45:8", "--theory", "uniform", "--teacher", "H1 + H2"]
    assert main(["predict", *SIZES, *options, "--plot", str(path)]) == 0
    text = path.read_text("utf-8")
    assert text.startswith("<?xml") and len(text) > 5000
    assert capsys.readouterr().err == f"wrote {path}\n"


def test_simulate_has_what_the_interface_promises(capsys):
    options = "--alpha 0,0.2 --seeds 3 --leave-one-out --noise 0.1"
    answer = json_of(capsys, "simulate", *SMALL, *options.split())
    assert len(answer["results"]) == 2 and answer["seeds"] == [0, 1, 2]
    first = answer["results"][0]
    assert first["risk"] == pytest.approx(first["test"] - 0.01)
    assert {"alpha", "eta", "ridge", "train_se", "test_se", "leave_one_out"} <= set(first)
    assert answer["provenance"]["random"] == "host"
    teacher = "H1 + H2/sqrt(2)"
    problem = og.Problem(n=60, d=10, N=20, noise=0.1, activation="softplus", teacher=teacher)
    direct = og.simulate(problem, 3, alpha=[0, 0.2])
    assert first["test"] == pytest.approx(direct.test.mean[0], rel=1e-10)


def test_an_interrupt_exits_130_and_prints_no_result(monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("onegrad.networks.simulation.simulate", interrupt)
    assert main(["simulate", *SMALL, "--json"]) == 130
    assert capsys.readouterr().out == ""


@pytest.mark.torch
def test_the_device_is_passed_on(capsys):
    answers = []
    for device in ("cpu", "torch"):
        answers.append(json_of(capsys, "simulate", *SMALL, "--seeds", "2", "--device", device))
    assert answers[1]["provenance"]["device"] == "torch"
    a, b = (answer["results"][0]["test"] for answer in answers)
    assert a == pytest.approx(b, rel=1e-10)


def test_spectrum_is_that_of_the_library_beside_networks(capsys, tmp_path):
    """Printed are singular values of F over sqrt(n), as on the explorer's axis and in the plot."""
    setting = "--noise 0.5 --activation tanh --teacher H1 --eta 8 --simulate --seeds 3"
    command, path = ["spectrum", *SIZES, *setting.split()], tmp_path / "spectrum.svg"
    value = json_of(capsys, *command, "--plot", str(path))
    problem = og.Problem(n=200, d=100, N=133, noise=0.5, eta=8.0)
    theory = og.spectrum(problem)
    measured = measured_spectrum(problem, seeds=3, edge=theory.edge)
    (spike,), (other,) = value["spikes"], value["simulated"]["spikes"]
    assert value["edge"] == pytest.approx(theory.edge, rel=1e-12)
    assert spike["eigenvalue"] == pytest.approx(theory.spikes[0].eigenvalue, rel=1e-9)
    assert spike["singular_value"] == pytest.approx((200 * spike["eigenvalue"]) ** 0.5)
    assert spike["eigenvalue"] > value["edge"] > 0 and 0.5 < spike["alignment"]["1"] <= 1
    direct = measured.to_dict()["spikes"][0]["eigenvalue"]
    assert other["eigenvalue"] == pytest.approx(direct, rel=1e-9)
    assert path.stat().st_size > 5000

    assert main(command) == 0
    _, first, header, *rows = capsys.readouterr().out.splitlines()
    assert f"ends at {theory.edge**0.5:.5g}, by uniform theory" in first
    found = [dict(zip(header.split(), row.split(), strict=True)) for row in rows[:2]]
    assert [row["of"] for row in found] == ["theory", "measured"]
    expected = [theory.spikes[0].eigenvalue ** 0.5, measured.F[:, 0].mean() / 200**0.5]
    assert [float(row["s/sqrt(n)"]) for row in found] == pytest.approx(expected, rel=1e-4)
    spread = measured.F[:, 0].std(ddof=1) / 3**0.5 / 200**0.5
    assert float(found[1]["se"]) == pytest.approx(spread, rel=1e-4)
    assert float(found[0]["He_1"]) == pytest.approx(theory.spikes[0].alignment[1], abs=1e-4)
