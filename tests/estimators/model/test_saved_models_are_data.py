"""A saved model gives the same predictions, holds no code, and is refused when damaged."""

import io
import json
import os
import pickle
import shutil
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import onegrad as og
from forgeries import with_digests
from onegrad.cli import main
from onegrad.data import source
from onegrad.estimators import load
from onegrad.exceptions import InvalidInput

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 3))
Y = X[:, 0] * X[:, 1]

MODELS = {
    "numbers": lambda: og.AlternatingRegressor(10, rounds=2, random_state=0).fit(X, Y),
    "outputs": lambda: og.OneStepRegressor(10, random_state=0).fit(X, np.column_stack([Y, X])),
    "labels": lambda: og.AlternatingClassifier(10, random_state=0).fit(
        X, np.where(Y > 0, "up", "down")
    ),
    "features": lambda: og.OneStepFeatures(10, activation="tanh", random_state=0).fit(X, Y),
    "frame": lambda: og.OneStepClassifier(10, random_state=0).fit(
        pd.DataFrame(X, columns=list("abc")), np.digitize(Y, [-0.5, 0.5])
    ),
    "literal": lambda: og.OneStepRegressor.literal(
        og.Problem(n=40, d=3, N=10, alpha=0.2), random_state=0
    ).fit(X, Y),
}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "a.model"
    MODELS["numbers"]().save(path)
    return path


@pytest.mark.parametrize("name", MODELS)
def test_predictions_and_further_rows_survive(name, tmp_path):
    model = MODELS[name]()
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert type(again) is type(model)
    inputs = pd.DataFrame(X, columns=list("abc")) if name == "frame" else X
    for method in ("predict", "predict_proba", "transform"):
        if hasattr(model, method):
            np.testing.assert_array_equal(
                getattr(again, method)(inputs), getattr(model, method)(inputs)
            )
    assert str(again.report()) == str(model.report())
    if name == "numbers":
        model.partial_fit(X[:5], Y[:5] + 1)
        again.partial_fit(X[:5], Y[:5] + 1)
        np.testing.assert_array_equal(again.readout_, model.readout_)
    clone(again)


def test_a_model_of_named_columns_finds_them_again(tmp_path):
    (tmp_path / "d.csv").write_text(
        "y,size,kind\n" + "".join(f"{i % 7},{i},{'ab'[i % 2]}\n" for i in range(40))
    )
    model = og.AlternatingRegressor(10, random_state=0).fit(source(tmp_path / "d.csv", target="y"))
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(
        again.predict(tmp_path / "d.csv"), model.predict(tmp_path / "d.csv")
    )
    assert again.input_names_ == ["size", "kind=a", "kind=b"]


def test_the_file_is_the_same_for_the_same_model(tmp_path):
    for name in "ab":
        MODELS["numbers"]().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(saved, share):
    data = saved.read_bytes()
    saved.write_bytes(data[: int(share * len(data))])
    with pytest.raises(InvalidInput, match="truncated"):
        load(saved)


def test_any_changed_byte_is_noticed_or_harmless(saved):
    data = saved.read_bytes()
    expected = load(saved).predict(X)
    for position in range(0, len(data), max(1, len(data) // 150)):
        changed = bytearray(data)
        changed[position] ^= 0x41
        saved.write_bytes(bytes(changed))
        try:
            got = load(saved).predict(X)
        except InvalidInput:
            continue
        np.testing.assert_array_equal(got, expected)  # a byte of the archive that says nothing


def test_numpy_opens_it_without_this_package(saved):
    with np.load(saved, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["W"], load(saved).fitted_.layers[0].W)
        assert json.loads(archive["model.json"])["format"] == 5


def rewritten(path, change, digests=with_digests):
    """The archive with its members changed, as an attacker would write it: digests, too."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in digests(members).items():
            archive.writestr(name, content)


def npy(numbers):
    buffer = io.BytesIO()
    np.save(buffer, np.array(numbers))
    return buffer.getvalue()


def edited(members, change):
    header = json.loads(members["model.json"])
    change(header)
    members["model.json"] = json.dumps(header).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("W.npy"), "array 'W.npy': it is missing"),
        (lambda m: m.pop("model.json"), "no model.json"),
        (lambda m: m.update({"W.npy": m["W.npy"][:-8]}), "232 bytes of numbers where"),
        (lambda m: m.update({"W.npy": m["b.npy"]}), "not a valid model"),
        (lambda m: m.update({"model.json": b"[1"}), "not a valid model"),
        (lambda m: m.update({"model.json": b"[1]"}), "not a valid model"),
        (lambda m: edited(m, lambda h: h.update(format=99)), "reads format 5"),
        (lambda m: edited(m, lambda h: h.update(format=4)), "reads format 5"),
        (
            lambda m: edited(m, lambda h: h.update(estimator="os.system")),
            "estimator 'os.system': it is unknown",
        ),
        (lambda m: edited(m, lambda h: h["parameters"].update(evil=1)), "has no argument .evil."),
        (lambda m: edited(m, lambda h: h["layer"].update(activation="__import__")), "activation"),
        (lambda m: edited(m, lambda h: h.pop("ridges")), "not a valid model"),
        (lambda m: edited(m, lambda h: h["layer"].update(skip=False)), "array 'step': float64"),
        (lambda m: m.update({"y_high.npy": npy([-np.inf])}), "nothing lies between them"),
        (lambda m: m.update({"low.npy": npy([np.inf] * 3)}), "nothing lies between them"),
    ],
)
def test_an_edited_file_is_refused(saved, change, message):
    rewritten(saved, change)
    with pytest.raises(InvalidInput, match=message):
        load(saved)


def negated(members):
    members["Fty.npy"] = npy(-np.load(io.BytesIO(members["Fty.npy"])))


@pytest.mark.parametrize(
    "change",
    [
        negated,
        lambda m: edited(m, lambda h: h.update(weight=h["weight"] * 2)),
        lambda m: edited(m, lambda h: h.update(labels=1)),
        lambda m: m.update({"digests.json": b"{}"}),
        lambda m: m.pop("digests.json"),
    ],
)
def test_a_file_edited_without_its_digests_does_not_predict(saved, change):
    """Whoever computes them anew is not found out: he runs no code, and takes no memory."""
    rewritten(saved, change, digests=lambda members: members)
    with pytest.raises(InvalidInput, match=r"not what was saved|digests\.json"):
        load(saved)


@pytest.mark.skipif(os.geteuid() != 0, reason="a file of another user is made by root only")
def test_a_file_that_may_not_be_read_is_called_that(saved, public_folder):
    private = shutil.copy(saved, public_folder / "a.model")
    private.chmod(0o600)
    os.seteuid(65534)
    try:
        with pytest.raises(InvalidInput, match="cannot be read: Permission denied"):
            load(private)
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("member", ["W.npy", "model.json"])
def test_damage_is_found_by_the_archive(saved, member):
    with zipfile.ZipFile(saved) as archive:
        content = archive.read(member)
    saved.write_bytes(saved.read_bytes().replace(content, content[:-1] + b"\x41"))
    with pytest.raises(InvalidInput, match="damaged"):
        load(saved)


def test_pickles_are_never_read(saved, tmp_path):
    marker = tmp_path / "ran"

    class Hostile:
        def __reduce__(self):
            return (marker.touch, ())

    buffer = io.BytesIO()
    np.save(buffer, np.array([Hostile()], dtype=object), allow_pickle=True)
    rewritten(saved, lambda members: members.update({"W.npy": buffer.getvalue()}))
    with pytest.raises(InvalidInput, match="Python objects, which are never loaded"):
        load(saved)
    saved.write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(InvalidInput, match="not a model file"):
        load(saved)
    assert not marker.exists()


def test_compressed_members_are_refused(saved):
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", " " * 10**6)
    with pytest.raises(InvalidInput, match="compressed"):
        load(saved)


def test_a_python_function_cannot_be_saved(tmp_path):
    model = og.OneStepRegressor(5, activation=(np.sin, np.cos), random_state=0).fit(X, Y)
    with pytest.raises(InvalidInput, match="cannot be saved; give it by name"):
        model.save(tmp_path / "m")


def encrypted(data):
    """The flag that says that members are encrypted, in every header of the archive."""
    changed = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = changed.find(mark)
        while place >= 0:
            changed[place + offset] |= 1
            place = changed.find(mark, place + 4)
    return bytes(changed)


def forged(shape, descr="<f8"):
    """An .npy member whose header promises more than there is."""
    buffer = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + b"\0" * 64


def test_encrypted_members_are_refused(saved):
    saved.write_bytes(encrypted(saved.read_bytes()))
    with pytest.raises(InvalidInput, match="encrypted"):
        load(saved)


@pytest.mark.parametrize("depth", [500, 5_000, 200_000])
def test_deep_json_is_refused(saved, depth):
    deep = b"[" * depth + b"]" * depth
    rewritten(saved, lambda m: m.update({"model.json": b'{"format": 5, "choice": ' + deep + b"}"}))
    with pytest.raises(InvalidInput):
        load(saved)


@pytest.mark.parametrize(
    "member",
    [
        forged((10**9, 10**9)),
        forged((2**62, 4)),
        forged((8,), "|O"),
        forged((8,), "<c16"),
        forged((4, 2), "<f8"),
        forged((1,), "<U2000000000"),
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3,",
        b"",
    ],
)
@pytest.mark.parametrize("name", ["W", "FtF", "y_scale", "row_keys", "residuals"])
def test_forged_arrays_are_refused(saved, name, member):
    rewritten(saved, lambda m: m.update({f"{name}.npy": member}))
    with pytest.raises(InvalidInput):
        load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(rows="many"),
        lambda h: h.update(rows=-3),
        lambda h: h.update(weight="nan"),
        lambda h: h.update(ridges=["inf"]),
        lambda h: h.update(ridges=[]),
        lambda h: h.update(slope=None),
        lambda h: h.update(changes=[1]),
        lambda h: h.update(labels=1),
        lambda h: h.update(labels=7),
        lambda h: h.update(encoding=[{"name": "a", "categories": None}]),
        lambda h: h.update(arrays={"a": 1}),
        lambda h: h["parameters"].update(class_weight=[[1, 2, 3]]),
    ],
)
def test_a_header_of_other_values_is_refused(saved, change):
    rewritten(saved, lambda m: edited(m, change))
    with pytest.raises(InvalidInput):
        load(saved)


def with_array(path, name, change):
    """The file with one of its arrays changed and packed soundly again."""

    def changed(members):
        buffer = io.BytesIO()
        np.save(buffer, change(np.load(io.BytesIO(members[f"{name}.npy"]))))
        members[f"{name}.npy"] = buffer.getvalue()

    rewritten(path, changed)


@pytest.mark.parametrize("model", ["numbers", "labels"])
@pytest.mark.parametrize("name", ["W", "b", "Fty", "F1"])
def test_numbers_too_large_to_predict_with_are_refused(model, name, tmp_path):
    """Not NaN for numbers, and not the first class for classes."""
    path = tmp_path / "a.model"
    MODELS[model]().save(path)
    with_array(path, name, lambda a: np.sign(a) * 1.7e308)
    with np.errstate(all="ignore"), pytest.raises(InvalidInput):
        load(path).predict(X)


@pytest.mark.parametrize("family", [og.OneStepRegressor, og.AlternatingRegressor])
def test_sums_too_large_for_a_deviation_are_refused(family, tmp_path):
    """Sound in every array, with their digests; the deviation would be infinite."""
    path = tmp_path / "a.model"
    family(10, random_state=0).fit(X, Y).save(path)
    with_array(path, "yty", lambda a: np.full_like(a, 1e308, dtype=float))
    with_array(path, "y_scale", lambda a: a * 1e200)
    with np.errstate(all="ignore"), pytest.raises(InvalidInput):
        load(path).predict(X, return_std=True)


def test_a_regressor_forged_into_a_classifier_is_one_line(saved, tmp_path, capsys):
    rewritten(saved, lambda m: edited(m, lambda h: h.update(labels=1)))
    np.save(tmp_path / "rows.npy", X)
    out = str(tmp_path / "p.csv")
    assert main(["apply", str(saved), str(tmp_path / "rows.npy"), "--out", out, "--std"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_name_that_is_no_text_is_one_line(tmp_path, capsys):
    """A lone surrogate, which JSON can hold and UTF-8 cannot."""
    path, rows = tmp_path / "a.model", tmp_path / "rows.csv"
    MODELS["frame"]().save(path)

    def rename(members):
        members["model.json"] = members["model.json"].replace(b'"name": "a"', b'"name": "\\ud800"')

    before = zipfile.ZipFile(path).read("model.json")
    assert b'"name": "a"' in before
    rewritten(path, rename)
    pd.DataFrame(X, columns=list("abc")).to_csv(rows, index=False)
    assert main(["apply", str(path), str(rows), "--out", str(tmp_path / "p.csv")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and err.encode()


def test_sums_without_a_readout_are_refused_when_loaded(saved):
    with_array(saved, "FtF", lambda a: -a)
    with pytest.raises(InvalidInput, match="not a valid model file"):
        load(saved)


def test_a_missing_file_is_named_once(tmp_path):
    path = tmp_path / "absent.model"
    with pytest.raises(InvalidInput) as error:
        load(path)
    assert str(error.value) == f"{path}: no such file"
