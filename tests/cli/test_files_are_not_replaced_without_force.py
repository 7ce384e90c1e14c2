"""A file that exists is replaced only with --force; the table in a store is the store's own."""

import numpy as np
import pytest

from onegrad.cli import main

SIZES = ["--n", "60", "--d", "30", "--N", "40"]
SPEC = """
[[grid]]
measure = "theory"
options.theory = "random-features"
[grid.problem]
n = 60
d = 30
N = 40
"""
FIT = ["fit", "d.npz", "--target", "y", "--estimator", "one-step", "--width", "6", "--no-card"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("force")
    X = np.random.default_rng(0).standard_normal((60, 2))
    np.savez(here / "d.npz", X=X, y=X[:, 0])
    (here / "grid.toml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        assert main([*FIT, "--out", "m"]) == 0
        assert main(["sweep", "run", "grid.toml", "--store", "store"]) == 0
    return here


@pytest.mark.parametrize(
    "command",
    [
        [*FIT, "--out"],
        ["apply", "m", "d.npz", "--out"],
        ["predict", *SIZES, "--theory", "random-features", "--ridge", "1,2", "--plot"],
        ["sweep", "export", "grid.toml", "--store", "store", "--out"],
    ],
    ids=lambda words: words[0],
)
def test_force_is_needed(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    name = "there.svg" if "--plot" in command else "there.csv"
    (folder / name).write_text("dear")
    assert main([*command, name]) == 2
    err = capsys.readouterr().err
    assert name in err and "--force" in err and err.count("\n") == 1
    assert (folder / name).read_text() == "dear"
    assert main([*command, name, "--force"]) == 0
    assert (folder / name).read_bytes() != b"dear"


def test_a_card_is_not_replaced_either(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    (folder / "new.html").write_text("dear")
    command = [word for word in FIT if word != "--no-card"]
    assert main([*command, "--out", "new"]) == 2
    assert "--card 'new.html'" in capsys.readouterr().err and not (folder / "new").exists()


def test_the_table_of_a_store_is_made_anew(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for _ in range(2):
        assert main(["sweep", "export", "grid.toml", "--store", "store"]) == 0
