"""Whatever a file holds, fit and apply succeed or say in one line what is wrong with it."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mutations import EXAMPLE_FILES, EXAMPLE_TARGETS, csv_file, damage, model_file
from onegrad.cli import main

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))


def fit(path, *options, target="y"):
    command = ["fit", str(path), "--target", target, "--out", str(path.parent / "made.model")]
    return main(
        [
            *command,
            "--width",
            "4",
            "--estimator",
            "one-step",
            "--json",
            "--no-card",
            "--force",
            *options,
        ]
    )


def apply(model, path, *options):
    return main(
        ["apply", str(model), str(path), "--out", str(path.parent / "out.csv"), "--force", *options]
    )


@pytest.mark.parametrize("kind", EXAMPLE_FILES)
@pytest.mark.parametrize("seed", range(24))
def test_mutants(kind, seed, tmp_path, capsys):
    path = tmp_path / f"x{kind}"
    path.write_bytes(damage(np.random.default_rng(seed), EXAMPLE_FILES[kind]()))
    if kind == ".model":
        data = tmp_path / "d.csv"
        data.write_bytes(csv_file())
        code = apply(path, data, "--json")
    else:
        code = fit(path, target=EXAMPLE_TARGETS[kind])
    out, err = capsys.readouterr()
    assert code in (0, 2)
    if code == 2:
        assert out == ""
        assert err.count("\n") == 1
        assert len(err) < 500
    else:
        json.loads(out)


def write_npz(**arrays):
    return lambda path: np.savez(path, **arrays)


def write_text(text, encoding="utf-8"):
    return lambda path: path.write_bytes(text.encode(encoding))


def with_rows(header, row):
    return header + "\n" + "\n".join(row.format(i=i, j=i % 7) for i in range(40)) + "\n"


CASES = {
    "duplicate columns.csv": (write_text(with_rows("a,a,y", "{i},{j},{j}")), "columns named a"),
    "latin-1 header.csv": (
        write_text(with_rows("größe,y", "{i},{j}"), "latin-1"),
        "not UTF-8",
    ),
    "latin-1 values.csv": (write_text(with_rows("k,y", "ü{j},{j}"), "latin-1"), "UTF"),
    "a number that is none.csv": (
        write_text(with_rows("a,y", "{j},{i}.5").replace(",8.5", ",8.5.")),
        r"--target 'y': the column holds numbers and '8\.5\.'; fix it, or .* --task classification",
    ),
    "a blank label.csv": (
        write_text(with_rows("a,y", "{i},k{j}").replace("k3", " ")),
        "target 'y': 6 rows have no value; add --drop-missing",
    ),
    "no rows.csv": (write_text("a,y\n"), "the table is empty"),
    "nothing.csv": (write_text(""), "CSV"),
    "junk.npz": (write_text("junk"), "not an .npz file, or damaged"),
    "junk.npy": (write_text("junk"), "not an array that NumPy wrote"),
    "flat.npz": (write_npz(X=X[:, 0], y=X[:, 0]), "X must be a matrix"),
    "deep.npz": (write_npz(X=np.ones((4, 2, 2)), y=np.ones(4)), "X must be a matrix"),
    "text.npz": (write_npz(X=np.array([["a", "b"]] * 4), y=np.ones(4)), "must hold real numbers"),
    "complex.npz": (write_npz(X=X + 1j, y=X[:, 0]), "must hold real numbers"),
    "complex target.npz": (write_npz(X=X, y=X[:, 0] + 1j), "real"),
    "deep target.npz": (write_npz(X=X, y=X[:, :1, None]), "y must be a vector or a matrix"),
    "longer target.npz": (write_npz(X=X, y=np.ones(50)), "X has 40 rows"),
    "shorter target.npz": (write_npz(X=X, y=np.ones(30)), "X has 40 rows"),
    "large target.npz": (write_npz(X=X, y=X[:, 0] * 1e305), "at most 1e\\+300"),
    "large inputs.npz": (write_npz(X=X * 0 + 1.797e308, y=X[:, 0]), "at most 1e\\+300"),
    "junk.parquet": (write_text("junk"), "not a Parquet file, or damaged"),
    "lists.parquet": (
        lambda path: pq.write_table(pa.table({"a": [[1]] * 9, "y": list(range(9))}), path),
        "'a': holds list<",
    ),
    "duplicate.parquet": (
        lambda path: pq.write_table(pa.table([[1.0], [2.0], [3.0]], names=["a", "a", "y"]), path),
        "'a': occurs twice",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_learned_from_is_one_line(name, tmp_path, capsys):
    write, message = CASES[name]
    write(tmp_path / name)
    assert fit(tmp_path / name) == 2
    err = capsys.readouterr().err
    assert re.search(message, err)
    assert err.count("\n") == 1


def test_codes_are_classes_though_most_are_numbers(tmp_path, capsys):
    (tmp_path / "d.csv").write_text(with_rows("a,y", "{i},{j}").replace(",6", ",x"))
    assert fit(tmp_path / "d.csv") == 0
    assert json.loads(capsys.readouterr().out)["estimator"] == "OneStepClassifier"


def test_a_label_with_a_nul_in_it_is_predicted_whole(tmp_path, capsys):
    data, model, out = (tmp_path / name for name in ("d.csv", "m", "p.csv"))
    data.write_bytes(b"x,y\n" + b"".join(b"%d,a\n%d,\x00b\n" % (i, -i) for i in range(1, 9)))
    assert (
        main(["fit", str(data), "--target", "y", "--out", str(model), "--width", "9", "--no-card"])
        == 0
    )
    assert main(["apply", str(model), str(data), "--out", str(out)]) == 0
    assert set(out.read_text().splitlines()[1:]) == {'"a"', '"\x00b"'}


def test_names_in_files_do_not_break_the_line_or_command_the_terminal(tmp_path, capsys):
    """What a file calls its columns and arrays is quoted in complaints and notes."""
    write_npz(**{"a\n\x1b[2J\x85": X})(tmp_path / "d.npz")
    assert fit(tmp_path / "d.npz") == 2
    assert "it has a\\n\\x1b[2J\\x85\n" in capsys.readouterr().err
    (tmp_path / "a.model").write_bytes(model_file())
    (tmp_path / "d.csv").write_bytes(csv_file().replace(b",b,", b',"b\nc\x1b[2J",'))
    assert apply(tmp_path / "a.model", tmp_path / "d.csv") == 0
    err = capsys.readouterr().err
    assert "does not know ('b\\nc\\x1b[2J')" in err or "b\\\\nc" in err
    assert err.count("\n") == 1 and "\x1b" not in err


def test_endless_names_are_cut(tmp_path, capsys):
    write_npz(**{"a" * 10_000: X})(tmp_path / "d.npz")
    assert fit(tmp_path / "d.npz") == 2
    err = capsys.readouterr().err
    assert f"it has {'a' * 40}…{'a' * 40}\n" in err and len(err) < 1000


def test_text_weights_are_one_line(tmp_path, capsys):
    (tmp_path / "d.csv").write_text(with_rows("a,w,y", "{i},heavy,{j}"))
    assert fit(tmp_path / "d.csv", "--weight", "w") == 2
    assert "--weight 'w': holds text" in capsys.readouterr().err


@pytest.mark.parametrize("cut", [10, 80, 300, -1])
@pytest.mark.parametrize("kind", [".npz", ".npy", ".parquet"])
def test_truncated_files_are_one_line(kind, cut, tmp_path, capsys):
    (tmp_path / f"x{kind}").write_bytes(EXAMPLE_FILES[kind]()[:cut])
    assert fit(tmp_path / f"x{kind}", target=EXAMPLE_TARGETS[kind]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_large_targets_and_tiny_inputs_are_learned(tmp_path, capsys):
    """Their squares overflow, or vanish; they are learned as plain ones are."""
    np.savez(tmp_path / "plain.npz", X=X, y=X[:, 0])
    np.savez(tmp_path / "large.npz", X=X * 2.0**-700, y=X[:, 0] * 2.0**530)
    for name in ("plain", "large"):
        assert fit(tmp_path / f"{name}.npz") == 0
        assert json.loads(capsys.readouterr().out)["choice"]["held_out_loss"] < 1e-6


def test_names_and_values_called_nan(tmp_path, capsys):
    rows = with_rows("nan,inf,y", "{i},k{j},{j}").replace("k3", "inf")
    (tmp_path / "d.csv").write_text(rows)
    assert fit(tmp_path / "d.csv") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["inputs"][:2] == ["nan", "inf=inf"]
    assert apply(tmp_path / "made.model", tmp_path / "d.csv") == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wide.npy", "shape is \\(40, 4\\); the model has 3 inputs"),
        ("narrow.npz", "shape is \\(40, 2\\); the model has 3 inputs"),
        ("gaps.npy", "inputs must be finite"),
        ("named.csv", "fitted on a matrix; pass a matrix"),
    ],
)
def test_inputs_that_do_not_fit_a_matrix_model_are_one_line(name, message, tmp_path, capsys):
    np.savez(tmp_path / "good.npz", X=X, y=X[:, 0])
    np.save(tmp_path / "wide.npy", np.hstack([X, X[:, :1]]))
    np.savez(tmp_path / "narrow.npz", X=X[:, :2])
    np.save(tmp_path / "gaps.npy", np.where(X > 1, np.nan, X))
    (tmp_path / "named.csv").write_bytes(csv_file())
    assert fit(tmp_path / "good.npz") == 0
    capsys.readouterr()
    assert apply(tmp_path / "made.model", tmp_path / name) == 2
    assert re.search(message, err := capsys.readouterr().err)
    assert err.count("\n") == 1


def test_a_matrix_for_a_model_of_named_columns_is_one_line(tmp_path, capsys):
    (tmp_path / "a.model").write_bytes(model_file())
    np.save(tmp_path / "d.npy", X)
    assert apply(tmp_path / "a.model", tmp_path / "d.npy") == 2
    assert "pass a table with these names" in (err := capsys.readouterr().err)
    assert err.count("\n") == 1


def test_nothing_that_is_read_is_overwritten(tmp_path, capsys):
    data, model = tmp_path / "d.csv", tmp_path / "a.model"
    data.write_bytes(csv_file())
    model.write_bytes(model_file())
    for command in (
        ["apply", str(model), str(data), "--out", str(data)],
        ["apply", str(model), str(tmp_path / "*.csv"), "--out", str(tmp_path / "." / "d.csv")],
        ["fit", str(data), "--target", "y", "--out", str(data)],
    ):
        assert main(command) == 2
        assert "is an input" in capsys.readouterr().err
    assert data.read_bytes() == csv_file()


def test_a_failed_apply_leaves_the_old_predictions(tmp_path, capsys):
    (tmp_path / "a.model").write_bytes(model_file())
    (tmp_path / "d.csv").write_bytes(csv_file() + b"far,a,2020-01-01,0\n")
    (tmp_path / "out.csv").write_text("yesterday's")
    assert apply(tmp_path / "a.model", tmp_path / "d.csv") == 2
    assert (tmp_path / "out.csv").read_text() == "yesterday's"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.model", "d.csv", "out.csv"]


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".npz"])
def test_unknown_values_are_counted_once_for_all_blocks(kind, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("onegrad.data.file_partitions.ROWS_PER_BLOCK", 10)
    (tmp_path / "a.model").write_bytes(model_file())
    frame = pd.DataFrame({"size": 1.0, "kind": ["new"] * 30 + ["a"] * 10, "day": "2020-03-01"})
    frame.to_csv(tmp_path / "d.csv", index=False)
    out = tmp_path / f"p{kind}"
    assert (
        main(["apply", str(tmp_path / "a.model"), str(tmp_path / "d.csv"), "--out", str(out)]) == 0
    )
    err = capsys.readouterr().err
    assert "column 'kind': 30 rows hold 1 values that the model does not know ('new')" in err
    assert err.count("\n") == 1


def test_a_label_of_a_zero_character_alone_is_missing(tmp_path, capsys):
    """NumPy drops zeros at the end of a text: it would be written as an empty label."""
    table = tmp_path / "t.csv"
    table.write_bytes(b"x,y\n" + b"1,a\n2,b\n3,\0\n" * 5)
    assert main(["fit", str(table), "--target", "y", "--out", str(tmp_path / "m")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
