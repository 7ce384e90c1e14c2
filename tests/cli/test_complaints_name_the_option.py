"""Whoever complains, the line starts with the option that was typed."""

import numpy as np
import pytest

from onegrad.cli import main

SIZES = "--n 60 --d 30 --N 40"
FIT = "fit rows.csv --target y --width 5 --out made.model"

CASES = [
    (f"predict {SIZES} --printed", "--printed must be"),
    (f"predict {SIZES} --theory 3", "--theory must be one of"),
    (f"simulate {SIZES} --n-test 0", "--n-test must be"),
    (f"simulate {SIZES} --batch 0", "--batch must be"),
    (f"simulate {SIZES} --dtype float16", "--dtype must be"),
    (f"simulate {SIZES} --random both", "--random must be"),
    (f"simulate {SIZES} --model 3", "--model must be one of"),
    (f"simulate {SIZES} --device tpu", "--device must be"),
    (f"spectrum {SIZES} --simulate --seeds 0", "--seeds must be"),
    (f"{FIT} --members 0", "--members must be"),
    (f"{FIT} --sample-rows 0", "--sample-rows must be"),
    (f"{FIT} --seed -1", "--seed must be"),
    (f"{FIT} --device tpu", "--device must be"),
    (f"{FIT} --columns q", "--columns must be one of x, y, gap; got 'q'"),
    (f"{FIT} --weight q", "--weight must be one of x, y, gap; got 'q'"),
    (f"{FIT} --categorical q", "--categorical 'q': missing; the columns are"),
    ("fit rows.csv --target q --out made.model", "--target must be one of x, y, gap; got 'q'"),
    ("fit rows.csv --target gap --out made.model", "--target 'gap': 53 rows have no value"),
    ("apply y.model rows.csv --out p.csv --interval 2", "--interval must be"),
    ("reproduce --workers 0", "--workers must be"),
    ("exponents H3 --activation tahn", "--activation 'tahn'"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("rows")
    rows = np.random.default_rng(0).standard_normal((60, 2))
    lines = (f"{x:.3f},{y:.3f},{'' if i % 9 else 1}" for i, (x, y) in enumerate(rows))
    (here / "rows.csv").write_text("x,y,gap\n" + "\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        command = "fit rows.csv --target y --columns x --width 5 --estimator one-step --out y.model"
        assert main([*command.split(), "--json"]) == 0
    return here


@pytest.mark.parametrize(("command", "words"), CASES)
def test_the_complaint_starts_with_the_option(command, words, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(command.split()) == 2
    out, err = capsys.readouterr()
    name = command.split()[0]
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"onegrad {name}: error: {words}")


def test_a_file_that_is_called_like_an_option_is_none(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.toml").write_text("n")
    assert main(["sweep", "run", "d.toml"]) == 2
    assert capsys.readouterr().err.startswith("onegrad sweep: error: d.toml: not valid TOML")
