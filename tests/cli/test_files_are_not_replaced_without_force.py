"""A file that exists is replaced only with --force; the table in a store is the store's own."""

import numpy as np
import pytest

from onegrad.cli import main
from programs import complaint

SIZES = ["--n", "60", "--d", "30", "--N", "40", "--theory", "random-features"]
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


def test_force_is_needed(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for name, command in (
        ("new.model", [*FIT, "--out"]),
        ("there.csv", ["apply", "m", "d.npz", "--out"]),
        ("there.svg", ["predict", *SIZES, "--ridge", "1,2", "--plot"]),
        ("table.csv", ["sweep", "export", "grid.toml", "--store", "store", "--out"]),
    ):
        (folder / name).write_text("dear")
        line = complaint(capsys, *command, name)
        assert name in line and "--force" in line
        assert (folder / name).read_text() == "dear"
        assert main([*command, name, "--force"]) == 0
        assert (folder / name).read_bytes() != b"dear"
        capsys.readouterr()


def test_a_card_is_not_replaced_either(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    (folder / "new.html").write_text("dear")
    command = [word for word in FIT if word != "--no-card"]
    assert "--card 'new.html'" in complaint(capsys, *command, "--out", "new")
    assert not (folder / "new").exists()


def test_the_table_of_a_store_is_made_anew(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for _ in range(2):
        assert main(["sweep", "export", "grid.toml", "--store", "store"]) == 0
