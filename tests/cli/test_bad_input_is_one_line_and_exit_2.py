"""Whatever is wrong, the answer is one line that starts with the option that was typed."""

import re
import shlex
import socket

import numpy as np
import pytest
from soak.sweeping import rehearsal_toml

from onegrad.cli import COMMANDS, main
from programs import complaint

SIZES = "--n 100 --d 50 --N 60"
FIT = "rows.csv --target y --width 5 --out made.model"
FIGURE = "cui-maximal-step --quick"
COMPLAINTS = {
    "predict": [
        ("--n -5 --d 50 --N 60", "--n must be"),
        ("--n 100 --d two --N 60", "--d must be"),
        (f"{SIZES} --ridge 0", "--ridge must be"),
        (f"{SIZES} --noise nan", "--noise must be"),
        ("--n 1 --d 50 --N 60 --alpha 0.2", "--alpha"),
        (f"{SIZES} --alpha 0.2 --eta 3", "--eta: give --eta or --alpha"),
        (f"{SIZES} --teacher 'H1 +* H2'", "--teacher 'H1 +* H2'"),
        (f"{SIZES} --weights square", "--weights"),
        (f"{SIZES} --inputs 'student-t(1)'", "--inputs"),
        (f"{SIZES} --n-step 0", "--n-step must be"),
        (f"{SIZES} --alpha 0:0.5:0", "--alpha.*count"),
        (f"{SIZES} --alpha 0:0.5", "--alpha.*start:stop:count"),
        (f"{SIZES} --theory 3", "--theory must be one of"),
        (f"{SIZES} --activation H2 --alpha 0.3 --theory staircase", ".*c_1"),
        (f"{SIZES} --alpha 0,0.1 --theory staircase --plot curve.doc", "--plot must be"),
        (f"{SIZES} --alpha 0.3 --theory staircase --plot a.svg", "--plot: needs a curve"),
        (f"{SIZES} --frobnicate", ".*--frobnicate"),
        ("--n 60 --d 30 --phi 0.5 --N 40", "--phi: give --phi or --d, not both"),
        ("--n 60 --d 30 --N 40 --psi 2", "--psi: give --psi or --N, not both"),
        ("--n 60,80 --phi 0.5 --N 40", "--phi: needs one value of --n"),
        ("--n 60 --phi 0.5,1 --psi 0.5", "--psi: needs one value of --d"),
        ("--n 60 --phi -0.5 --N 40", "--phi must be > 0"),
        ("--n 60 --phi 0.5 --psi two", "--psi must be a number"),
    ],
    "simulate": [
        (f"{SIZES} --n-test 0", "--n-test must be"),
        (f"{SIZES} --memory 1e-9", "--memory: this run needs about .* a higher limit"),
        (f"{SIZES} --memory nan --dry-run", "--memory must be a number > 0"),
        (f"{SIZES} --rows nowhere.npy --dry-run", "--rows 'nowhere.npy': no such file"),
        (f"{SIZES} --batch 0", "--batch must be"),
        (f"{SIZES} --dtype float16", "--dtype must be"),
        (f"{SIZES} --random both", "--random must be"),
        (f"{SIZES} --model x", "--model must be one of"),
        (f"{SIZES} --device tpu", "--device must be"),
        (f"{SIZES} --device cuda:99", "--device 'cuda:99'"),
        (f"{SIZES} --seeds many", "--seeds must be a count"),
        (f"{SIZES} --rows nowhere.npy", "--rows 'nowhere.npy': no such file"),
        (f"{SIZES} --rows rows.csv", "--rows: not an array that NumPy wrote"),
        (f"{SIZES} --memory 0.000001", ".*GiB may be used"),
    ],
    "compare": [(f"{SIZES} --seeds few", "--seeds must be")],
    "optimum": [(f"{SIZES} --over beta", "--over must be one of")],
    "spectrum": [
        (f"{SIZES} --simulate --seeds 0", "--seeds must be"),
        (f"{SIZES} --alpha 0.1,0.2", "--alpha must be one number"),
    ],
    "fit": [
        (f"{FIT} --members 0", "--members must be"),
        (f"{FIT} --estimator onestep", "--estimator 'onestep': did you mean one-step?"),
        (f"{FIT} --members 2 --estimator one-step", "--members: it is for --estimator alternating"),
        (f"{FIT} --sample-rows 0", "--sample-rows must be"),
        (f"{FIT} --seed -1", "--seed must be"),
        (f"{FIT} --device tpu", "--device must be"),
        (f"{FIT} --columns x,x", "--columns 'x': it is there twice"),
        (f"{FIT} --columns x,y", "--columns 'y': it is the target"),
        (f"{FIT} --width 9999999999", "--width must be a whole number >= 1 and <="),
        (f"{FIT} --columns q", "--columns must be one of x, y, gap, kind; got 'q'"),
        (f"{FIT} --weight q", "--weight must be one of x, y, gap, kind; got 'q'"),
        (f"{FIT} --weight kind", "--weight 'kind': holds text"),
        (f"{FIT} --categorical q", "--categorical 'q': missing; the columns are"),
        ("rows.csv --target q --out m", "--target must be one of x, y, gap, kind; got 'q'"),
        ("rows.csv --target gap --out m", "--target 'gap': 53 rows have no value"),
        ("rows.csv --target kind --task regression --out m", "--task.*text"),
        ("rows.csv --target y --width 0 --out m", "--width"),
        ("nowhere.csv --target y --out m", ".*no such file"),
    ],
    "apply": [
        ("y.model rows.csv --out p.csv --interval 2", "--interval must be"),
        ("y.model rows.csv --out p.doc", "--out must be a file that ends in"),
        ("y.model rows.csv --out p.csv --proba", "--proba: only for"),
        ("y.model rows.csv --out - --json", "--json and --out -"),
        ("y.model other.csv --out p.csv", "column 'x': missing"),
        ("rows.csv rows.csv --out p.csv", ".*not a model file"),
        ("y.model rows.csv --keep gaps --out p.csv", "--keep 'gaps': did you mean gap?"),
        ("y.model rows.csv --keep x --out p.npz", "--keep 'x': needs a table"),
        ("y.model rows.npy --keep x --out p.csv", "--keep.*only columns of CSV and Parquet"),
        ("y.model named.csv --keep prediction --out p.csv", "--keep.*already has this name"),
    ],
    "show": [("nowhere.model", ".*no such file")],
    "reproduce": [
        ("figure9", ".*figure9"),
        (f"{FIGURE} --device abacus", "--device must be"),
        (f"{FIGURE} --cells-only --shard 3/2", "--shard must be i/k"),
        (f"{FIGURE} --seeds 0", "--seeds must be a whole number"),
        ("--workers 0", "--workers must be"),
    ],
    "sweep": [
        ("run nowhere.toml", ".*nowhere.toml"),
        ("run grid.toml --shard 3/2", "--shard must be i/k with 1 <= i <= k"),
        ("run n.toml", "n.toml: not valid TOML"),  # a file that is called like an option
    ],
    "explore": [(f"--port={port}", "--port must be a whole number from 0 to 65535")
                for port in ("-1", "eighty", "70000", "1e3", "")],
    "exponents": [
        ("H3 --activation tahn", "--activation 'tahn'"),
        ("'H3 +'", "teacher 'H3 +': a term is missing"),
    ],
    "cite": [("--bibtex", ".*--bibtex")],
    "doctor": [("me", ".*me")],
    "completion": [("ksh", ".*bash, zsh, fish")],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("rows")
    rows = np.random.default_rng(0).standard_normal((60, 2))
    lines = [f"{x:.3f},{y:.3f},{'' if i % 9 else 1},k{i % 2}" for i, (x, y) in enumerate(rows)]
    (here / "rows.csv").write_text("x,y,gap,kind\n" + "\n".join(lines) + "\n", "utf-8")
    (here / "named.csv").write_text("x,prediction\n1,2\n", "utf-8")
    (here / "other.csv").write_text("a,b\n1,2\n", "utf-8")
    (here / "n.toml").write_text("n", "utf-8")
    (here / "grid.toml").write_text(rehearsal_toml(1, wait=0.0), "utf-8")
    np.save(here / "rows.npy", rows[:, :1])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        command = "fit rows.csv --target y --columns x --width 5 --estimator one-step --out y.model"
        assert main([*command.split(), "--no-card"]) == 0
    return here


@pytest.mark.parametrize("command", COMPLAINTS)
def test_the_complaint_starts_with_the_option(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    capsys.readouterr()
    for options, words in COMPLAINTS[command]:
        line = complaint(capsys, command, *shlex.split(options))
        pattern = ".*".join(map(re.escape, words.split(".*")))
        assert re.match(f"onegrad( {command})?: error: {pattern}", line), (options, line)


def test_no_command_is_missing_here():
    assert set(COMPLAINTS) == set(COMMANDS)


def test_a_port_in_use_is_one_line(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"--port {port}" in complaint(capsys, "explore", "--no-open", "--port", port)
