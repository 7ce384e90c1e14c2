"""Whatever a file holds, fit and apply succeed or say in one line what is wrong with it."""

import csv
import json
import re

import numpy as np
import pytest
from soak.mutations import EXAMPLE_FILES, EXAMPLE_TARGETS, csv_file, damage, model_file

from onegrad.cli import main, output
from programs import complaint

X = np.random.default_rng(0).standard_normal((40, 3))


def fit_command(path, *options, target="y"):
    """Return the command that fits a small model to a file, made.model beside it."""
    out = ["--target", target, "--out", str(path.parent / "made.model"), "--force"]
    small = ["--width", "4", "--estimator", "one-step", "--no-card", "--json"]
    return ["fit", str(path), *out, *small, *options]


def apply_command(model, path, *options):
    return ["apply", str(model), str(path), "--out", str(path.parent / "out.csv"), *options]


def fitted(capsys, path, *options):
    """Return what fit says of the model that it fits to a file."""
    capsys.readouterr()
    assert main(fit_command(path, *options)) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 24), marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", EXAMPLE_FILES)
def test_mutants(kind, seeds, tmp_path, capsys):
    """Damage a file in many ways: each is learned from, or refused in one line."""
    path, data = tmp_path / f"x{kind}", tmp_path / "d.csv"
    data.write_bytes(csv_file())
    for seed in seeds:
        path.write_bytes(damage(np.random.default_rng(seed), EXAMPLE_FILES[kind]()))
        if kind == ".model":
            command = apply_command(path, data, "--json", "--force")
        else:
            command = fit_command(path, target=EXAMPLE_TARGETS[kind])
        code = main(command)
        out, err = capsys.readouterr()
        assert code in (0, 2), seed
        if code == 2:
            assert out == "" and err.count("\n") == 1 and len(err) < 500, (seed, err)
        else:
            json.loads(out)


def write_npz(**arrays):
    return lambda path: np.savez(path, **arrays)


def write_parquet(columns, names):
    def write(path):
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(columns, names=names), path)

    return write


def write_text(text, encoding="utf-8"):
    return lambda path: path.write_bytes(text.encode(encoding))


def with_rows(header, row):
    return header + "\n" + "\n".join(row.format(i=i, j=i % 7) for i in range(40)) + "\n"


CASES = {
    "duplicate columns.csv": (write_text(with_rows("a,a,y", "{i},{j},{j}")), "columns named a"),
    "latin-1 header.csv": (write_text(with_rows("größe,y", "{i},{j}"), "latin-1"), "not UTF-8"),
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
    "lists.parquet": (write_parquet([[[1]] * 9, list(range(9))], ["a", "y"]), "'a': holds list<"),
    "duplicate.parquet": (
        write_parquet([[1.0], [2.0], [3.0]], ["a", "a", "y"]), "'a': occurs twice",
    ),
}  # fmt: skip


def test_what_cannot_be_learned_from_is_one_line(tmp_path, capsys):
    for name, (write, message) in CASES.items():
        write(tmp_path / name)
        line = complaint(capsys, *fit_command(tmp_path / name))
        assert re.search(message, line), (name, line)
    for kind in (".npz", ".npy", ".parquet"):
        for cut in (10, 80, 300, -1):
            (tmp_path / f"x{kind}").write_bytes(EXAMPLE_FILES[kind]()[:cut])
            complaint(capsys, *fit_command(tmp_path / f"x{kind}", target=EXAMPLE_TARGETS[kind]))


def test_codes_are_classes_though_most_are_numbers(tmp_path, capsys):
    (tmp_path / "d.csv").write_text(with_rows("a,y", "{i},{j}").replace(",6", ",x"), "utf-8")
    assert fitted(capsys, tmp_path / "d.csv")["estimator"] == "OneStepClassifier"


def test_a_label_with_a_nul_in_it_is_predicted_whole(tmp_path, capsys):
    data = tmp_path / "d.csv"
    data.write_bytes(b"x,y\n" + b"".join(b"%d,a\n%d,\x00b\n" % (i, -i) for i in range(1, 9)))
    fitted(capsys, data, "--width", "9")
    assert main(apply_command(tmp_path / "made.model", data)) == 0
    assert set((tmp_path / "out.csv").read_text("utf-8").splitlines()[1:]) == {'"a"', '"\x00b"'}
    capsys.readouterr()
    # NumPy drops zeros at the end of a text: it would be written as an empty label
    data.write_bytes(b"x,y\n" + b"1,a\n2,b\n3,\0\n" * 5)
    complaint(capsys, *fit_command(data))


def test_names_in_files_do_not_break_the_line_or_command_the_terminal(tmp_path, capsys):
    """What a file calls its columns and arrays is quoted in complaints and notes."""
    write_npz(**{"a\n\x1b[2J\x85": X})(tmp_path / "d.npz")
    line = complaint(capsys, *fit_command(tmp_path / "d.npz"))
    assert "it has a\\n\\x1b[2J\\x85\n" in line
    write_npz(**{"a" * 10_000: X})(tmp_path / "d.npz")
    line = complaint(capsys, *fit_command(tmp_path / "d.npz"))
    assert f"it has {'a' * 40}…{'a' * 40}\n" in line and len(line) < 1000
    (tmp_path / "a.model").write_bytes(model_file())
    (tmp_path / "d.csv").write_bytes(csv_file().replace(b",b,", b',"b\nc\x1b[2J",'))
    assert main(apply_command(tmp_path / "a.model", tmp_path / "d.csv")) == 0
    err = capsys.readouterr().err
    assert "does not know ('b\\nc\\x1b[2J')" in err or "b\\\\nc" in err
    assert err.count("\n") == 1 and "\x1b" not in err
    (tmp_path / "d.csv").write_bytes(csv_file().replace(b"size", b'"si\nze\x1b[2J"'))
    assert main(fit_command(tmp_path / "d.csv")) == 0
    capsys.readouterr()
    assert main(["show", str(tmp_path / "made.model")]) == 0
    out = capsys.readouterr().out
    assert out.count("si\\nze\\x1b[2J") == 2 and "\x1b" not in out


def test_large_targets_and_tiny_inputs_are_learned(tmp_path, capsys):
    """Their squares overflow, or vanish; they are learned as plain ones are."""
    np.savez(tmp_path / "plain.npz", X=X, y=X[:, 0])
    np.savez(tmp_path / "large.npz", X=X * 2.0**-700, y=X[:, 0] * 2.0**530)
    for name in ("plain.npz", "large.npz"):
        assert fitted(capsys, tmp_path / name)["choice"]["held_out_loss"] < 1e-6, name


def test_names_and_values_called_nan(tmp_path, capsys):
    rows = with_rows("nan,inf,y", "{i},k{j},{j}").replace("k3", "inf")
    (tmp_path / "d.csv").write_text(rows, "utf-8")
    assert fitted(capsys, tmp_path / "d.csv")["inputs"][:2] == ["nan", "inf=inf"]
    assert main(apply_command(tmp_path / "made.model", tmp_path / "d.csv")) == 0


def test_inputs_that_do_not_fit_the_model_are_one_line(tmp_path, capsys):
    np.savez(tmp_path / "good.npz", X=X, y=X[:, 0])
    np.save(tmp_path / "plain.npy", X)
    np.save(tmp_path / "wide.npy", np.hstack([X, X[:, :1]]))
    np.savez(tmp_path / "narrow.npz", X=X[:, :2])
    np.save(tmp_path / "gaps.npy", np.where(X > 1, np.nan, X))
    (tmp_path / "named.csv").write_bytes(csv_file())
    (tmp_path / "named.model").write_bytes(model_file())
    fitted(capsys, tmp_path / "good.npz")
    for model, name, message in (
        ("made.model", "wide.npy", "shape is (40, 4); the model has 3 inputs"),
        ("made.model", "narrow.npz", "shape is (40, 2); the model has 3 inputs"),
        ("made.model", "gaps.npy", "inputs must be finite"),
        ("made.model", "named.csv", "fitted on a matrix; pass a matrix"),
        ("named.model", "plain.npy", "pass a table with these names"),
    ):
        assert message in complaint(capsys, *apply_command(tmp_path / model, tmp_path / name))


def test_a_failed_apply_leaves_the_old_predictions(tmp_path, capsys):
    (tmp_path / "a.model").write_bytes(model_file())
    (tmp_path / "d.csv").write_bytes(csv_file() + b"far,a,2020-01-01,0\n")
    (tmp_path / "out.csv").write_text("yesterday's", "utf-8")
    complaint(capsys, *apply_command(tmp_path / "a.model", tmp_path / "d.csv", "--force"))
    assert (tmp_path / "out.csv").read_text("utf-8") == "yesterday's"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.model", "d.csv", "out.csv"]


def test_unknown_values_are_counted_once_for_all_blocks(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("onegrad.tables.rows.file_partitions.ROWS_PER_BLOCK", 10)
    (tmp_path / "a.model").write_bytes(model_file())
    rows = ["1,new,2020-03-01"] * 30 + ["1,a,2020-03-01"] * 10
    (tmp_path / "d.csv").write_text("\n".join(["size,kind,day", *rows]) + "\n", "utf-8")
    for kind in (".csv", ".parquet", ".npz"):
        out = str(tmp_path / f"p{kind}")
        assert (
            main(["apply", str(tmp_path / "a.model"), str(tmp_path / "d.csv"), "--out", out]) == 0
        )
        err = capsys.readouterr().err
        assert "column 'kind': 30 rows hold 1 values that the model does not know ('new')" in err
        assert err.count("\n") == 1


def test_text_that_a_spreadsheet_would_run_can_be_escaped(tmp_path, capsys):
    import pyarrow as pa

    path, out = tmp_path / "d.csv", tmp_path / "out.csv"
    labels = ["=cmd|' /C calc'!A0", "+1", "-2", "@SUM(A1)", "plain"]
    rows = "".join(f'{i},"{labels[i % 5]}"\n' for i in range(40))
    path.write_text("x,=y\n" + rows, "utf-8")
    fitted(capsys, path, "--target", "=y", "--task", "classification")
    command = apply_command(tmp_path / "made.model", path, "--keep", "=y,x", "--force")
    texts = {}
    for options in ((), ("--escape",)):
        assert main([*command, *options]) == 0
        with out.open(newline="", encoding="utf-8") as file:
            texts[options] = list(csv.reader(file))
    assert texts[()][0][:2] == ["=y", "x"] and texts["--escape",][0][:2] == ["'=y", "x"]
    for plain, escaped in zip(texts[()][1:], texts["--escape",][1:], strict=True):
        assert plain[0] in labels and escaped[1] == plain[1]  # numbers stay what they are
        assert [text.removeprefix("'") for text in escaped] == plain
        assert not any(text[:1] in tuple("=+@-") for text in (escaped[0], *escaped[2:]))
    texts_of_arrow = (
        pa.array(["=1", None]).dictionary_encode(),
        pa.array(["@", "x"], "large_string"),
    )
    table = pa.table(dict(zip("ab", texts_of_arrow, strict=True)))
    assert output.escaped(table).to_pydict() == {"a": ["'=1", None], "b": ["'@", "x"]}


def test_semicolons_and_decimal_commas_are_read(tmp_path, capsys):
    """As spreadsheets of half of Europe write them."""
    rows = [(f"{x:.3f}", "a,b" if i % 2 else "c", f"{i % 28 + 1:02}.03.2020", f"{x * x:.3f}")
            for i, x in enumerate(X[:, 0])]  # fmt: skip
    plain = "\n".join(["size,kind,day,y", *(f'{a},"{b}",{c},{d}' for a, b, c, d in rows)])
    (tmp_path / "plain.csv").write_text(plain, "utf-8")
    facts = fitted(capsys, tmp_path / "plain.csv")
    for name, point, quote in (("commas", ",", ""), ("points", ".", '"')):
        lines = [";".join(["size", "kind", "day", "y"])]
        for a, b, c, d in rows:
            numbers = [quote + number.replace(".", point) + quote for number in (a, d)]
            lines.append(f"{numbers[0]};{b};{c};{numbers[1]}")
        if quote:  # a name may hold anything, and lines may be empty
            lines[0] = '\r\n"si;,\nze"' + lines[0][4:]
        (tmp_path / f"{name}.csv").write_text("\r\n".join(lines), "utf-8")
        same = fitted(capsys, tmp_path / f"{name}.csv", "--force")
        for key in ("inputs", "choice", "importance"):
            same_names = json.loads(json.dumps(same[key]).replace(r"si;,\nze", "size"))
            assert same_names == facts[key], (name, key)
