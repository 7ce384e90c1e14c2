"""onegrad simulate: the numbers of `og.simulate`, as a table or as JSON."""

import pytest

import onegrad as og
from onegrad.cli import main
from programs import json_of

SIZES = ["--n", "60", "--d", "10", "--N", "20"]


def test_json_has_what_the_interface_promises(capsys):
    options = "--alpha 0,0.2 --seeds 3 --leave-one-out --noise 0.1"
    answer = json_of(capsys, "simulate", *SIZES, *options.split())
    assert len(answer["results"]) == 2 and answer["seeds"] == [0, 1, 2]
    first = answer["results"][0]
    assert first["risk"] == pytest.approx(first["test"] - 0.01)
    assert {"alpha", "eta", "ridge", "train_se", "test_se", "leave_one_out"} <= set(first)
    assert answer["provenance"]["random"] == "host"
    teacher = "H1 + H2/sqrt(2)"
    problem = og.Problem(n=60, d=10, N=20, noise=0.1, activation="softplus", teacher=teacher)
    direct = og.simulate(problem, 3, alpha=[0, 0.2])
    assert first["test"] == pytest.approx(direct.test.mean[0], rel=1e-10)


def test_a_table_has_a_line_a_point(capsys):
    assert main(["simulate", *SIZES, "--seeds", "5,7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[1].split()[:3] == ["alpha", "eta", "ridge"]
    assert lines[0].startswith("2 networks")


def test_an_interrupt_exits_130_and_prints_no_result(monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("onegrad.networks.simulation.simulate", interrupt)
    assert main(["simulate", *SIZES, "--json"]) == 130
    assert capsys.readouterr().out == ""


@pytest.mark.torch
def test_the_device_is_passed_on(capsys):
    answers = []
    for device in ("cpu", "torch"):
        answers.append(json_of(capsys, "simulate", *SIZES, "--seeds", "2", "--device", device))
    assert answers[1]["provenance"]["device"] == "torch"
    a, b = (answer["results"][0]["test"] for answer in answers)
    assert a == pytest.approx(b, rel=1e-10)
