"""Whatever is wrong with the options, the answer is one line that names the option."""

import pytest

from onegrad.cli import main

SIZES = ["--n", "100", "--d", "50", "--N", "60"]

BAD = {
    "--n": ["--n", "-5", "--d", "50", "--N", "60"],
    "--d": ["--n", "100", "--d", "two", "--N", "60"],
    "--N": ["--n", "100", "--d", "50"],
    "--ridge": [*SIZES, "--ridge", "0"],
    "--noise": [*SIZES, "--noise", "nan"],
    "--alpha": ["--n", "1", "--d", "50", "--N", "60", "--alpha", "0.2"],
    "--eta": [*SIZES, "--alpha", "0.2", "--eta", "3"],
    "--activation": [*SIZES, "--activation", "tahn"],
    "--teacher": [*SIZES, "--teacher", "H1 +* H2"],
    "--weights": [*SIZES, "--weights", "square"],
    "--inputs": [*SIZES, "--inputs", "student-t(1)"],
    "--n-step": [*SIZES, "--n-step", "0"],
    "count": [*SIZES, "--alpha", "0:0.5:0"],
    "start:stop:count": [*SIZES, "--alpha", "0:0.5"],
    "theory": [*SIZES, "--eta", "1", "--theory", "magic"],
    "c_1": [*SIZES, "--activation", "H2", "--alpha", "0.3", "--theory", "staircase"],
    "--plot": [*SIZES, "--alpha", "0,0.1", "--theory", "staircase", "--plot", "curve.doc"],
    "--frobnicate": [*SIZES, "--frobnicate"],
}


@pytest.mark.parametrize("names", BAD)
def test_predict_complains_in_one_line(names, capsys):
    try:
        code = main(["predict", *BAD[names]])
    except SystemExit as exit_:
        code = exit_.code
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert names in err
    assert "Traceback" not in err


def test_a_misspelt_name_gets_a_suggestion(capsys):
    assert main(["predict", *SIZES, "--activation", "tahn"]) == 2
    assert "did you mean tanh" in capsys.readouterr().err


def test_an_unknown_command_is_one_line(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["predcit"])
    assert exit_.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
