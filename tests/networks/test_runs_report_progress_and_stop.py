"""Progress counts up to its total; an interrupt or a failure stops every thread at once."""

import json
import threading

import pytest

import onegrad as og
from onegrad.cli import main
from onegrad.networks.simulation import simulate

PROBLEM = og.Problem(n=3000, d=20, N=30, eta=1.0)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("model", ["trained", "linear", "rbf-kernel"])
def test_progress_rises_to_its_total(threads, model):
    calls = []
    p = PROBLEM.replace(n=300) if model == "rbf-kernel" else PROBLEM
    simulate(p, 4, threads=threads, model=model, progress=lambda *c: calls.append(c))
    done = [d for d, _ in calls]
    assert done == sorted(done) and len({total for _, total in calls}) == 1
    assert calls[-1][0] == calls[-1][1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_the_callback_raises_stops_the_run(threads, error):
    calls = []

    def stop(done, total):
        calls.append(done)
        if done == 3:
            raise error

    before = threading.active_count()
    with pytest.raises(error):
        simulate(PROBLEM, 50, threads=threads, progress=stop)
    assert len(calls) < 20  # of some 350
    assert threading.active_count() <= before + 1


def test_the_command_prints_one_json_object(capsys):
    options = "--n 60 --d 10 --N 20 --alpha 0,0.2 --seeds 3 --json --leave-one-out --noise 0.1"
    code = main(["simulate", *options.split()])
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert code == 0 and err == ""
    assert len(answer["results"]) == 2 and answer["seeds"] == [0, 1, 2]
    first = answer["results"][0]
    assert first["risk"] == pytest.approx(first["test"] - 0.01)
    assert {"alpha", "eta", "ridge", "train_se", "test_se", "leave_one_out"} <= set(first)
    assert answer["provenance"]["random"] == "host"
    direct = simulate(og.Problem(n=60, d=10, N=20, noise=0.1), 3, alpha=[0, 0.2])
    assert first["test"] == pytest.approx(direct.test.mean[0], rel=1e-10)


def test_the_command_prints_a_table(capsys):
    assert main(["simulate", "--n", "60", "--d", "10", "--N", "20", "--seeds", "5,7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[0].split()[:3] == ["alpha", "eta", "ridge"]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--seeds", "many", "--seeds must be a count"),
        ("--model", "x", "model must be one of"),
        ("--device", "cuda:99", "device 'cuda:99'"),
        ("--rows", "nowhere.npy", "--rows must be a .npy file"),
        ("--memory", "0.000001", "GiB may be used"),
    ],
)
def test_bad_options_are_one_line_and_exit_2(option, value, words, capsys):
    code = main(["simulate", "--n", "60", "--d", "10", "--N", "20", option, value])
    err = capsys.readouterr().err
    assert code == 2 and words in err and err.count("\n") == 1


def test_an_interrupt_exits_130_and_prints_no_result(monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("onegrad.networks.runner.replicates", interrupt)
    assert main(["simulate", "--n", "60", "--d", "10", "--N", "20", "--json"]) == 130
    assert capsys.readouterr().out == ""
