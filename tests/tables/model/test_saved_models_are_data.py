"""A saved model gives the same predictions, holds no code, and is refused when damaged."""

import io
import json
import os
import pickle
import shutil
import zipfile

import numpy as np
import pytest
from soak.forgeries import rewrite_model

import onegrad as og
from onegrad.cli import main
from onegrad.exceptions import InvalidInput
from onegrad.functions import REGISTRY
from onegrad.tables import load

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 3))
Y = X[:, 0] * X[:, 1]
FRAME = dict(zip("abc", X.T, strict=True))

MODELS = {
    "numbers": lambda: og.AlternatingRegressor(10, rounds=2, random_state=0).fit(X, Y),
    "labels": lambda: og.AlternatingClassifier(10, random_state=0).fit(
        X, np.where(Y > 0, "up", "down")
    ),
    "frame": lambda: og.OneStepClassifier(10, random_state=0).fit(
        FRAME, np.digitize(Y, [-0.5, 0.5])
    ),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Saved models by name."""
    folder = tmp_path_factory.mktemp("models")
    for name, make in MODELS.items():
        make().save(folder / name)
    return folder


@pytest.fixture
def saved(files, tmp_path):
    return shutil.copy(files / "numbers", tmp_path / "a.model")


def refused(path):
    """The message with which a file is refused, or with which its model is when it predicts."""
    with np.errstate(all="ignore"), pytest.raises(InvalidInput) as error:
        load(path).predict(X)
    assert "\n" not in str(error.value)
    return str(error.value)


def encrypted(data):
    """The flag that says that members are encrypted, in every header of the archive."""
    changed = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = changed.find(mark)
        while place >= 0:
            changed[place + offset] |= 1
            place = changed.find(mark, place + 4)
    return bytes(changed)


def test_a_damaged_archive_is_refused(saved):
    data = saved.read_bytes()
    with zipfile.ZipFile(saved) as archive:
        content = {name: archive.read(name) for name in ("W.npy", "model.json")}
    cases = [(data[: int(share * len(data))], "truncated") for share in (0, 0.2, 0.5, 0.9, 0.999)]
    cases += [(data.replace(part, part[:-1] + b"\x41"), "damaged") for part in content.values()]
    for changed, message in [*cases, (encrypted(data), "encrypted")]:
        saved.write_bytes(changed)
        assert message in refused(saved)
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", " " * 10**6)
    assert "compressed" in refused(saved)


def test_numpy_opens_it_without_this_package(saved, tmp_path):
    MODELS["numbers"]().save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()
    with np.load(saved, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["W"], load(saved).fitted_.layers[0].W)
        assert json.loads(archive["model.json"])["format"] == 6


def npy(numbers):
    buffer = io.BytesIO()
    np.save(buffer, np.array(numbers))
    return buffer.getvalue()


def in_header(change):
    """A change of the members that changes the header."""

    def changed(members):
        header = json.loads(members["model.json"])
        change(header)
        members["model.json"] = json.dumps(header).encode()

    return changed


def in_array(name, change):
    """A change of the members that changes the numbers of one array."""

    def changed(members):
        members[f"{name}.npy"] = npy(change(np.load(io.BytesIO(members[f"{name}.npy"]))))

    return changed


def nested(depth):
    return b'{"format": 6, "choice": ' + b"[" * depth + b"]" * depth + b"}"


UNKNOWN_COLUMN = [{"name": "a", "categories": None}]
EDITS = [  # what an attacker changes, and what the refusal says
    (lambda m: m.pop("W.npy"), "array 'W.npy': it is missing"),
    (lambda m: m.pop("model.json"), "no model.json"),
    (lambda m: m.update({"W.npy": m["W.npy"][:-8]}), "232 bytes of numbers where"),
    (lambda m: m.update({"W.npy": m["b.npy"]}), "not a valid model"),
    (lambda m: m.update({"model.json": b"[1"}), "not a valid model"),
    (lambda m: m.update({"model.json": b"[1]"}), "not a valid model"),
    (lambda m: m.update({"model.json": nested(500)}), "not a valid model"),
    (lambda m: m.update({"model.json": nested(200_000)}), "not a valid model"),
    (in_header(lambda h: h.update(format=7)), "format 7: written by onegrad 0."),
    (in_header(lambda h: h.update(format=5)), "; this version reads format 6"),
    (in_header(lambda h: h.update(format=5, onegrad=[])), "format 5: written by onegrad []; this"),
    (in_header(lambda h: h.pop("format")), "format None: written by onegrad 0."),
    (in_header(lambda h: h.update(estimator="os.system")), "estimator 'os.system': it is unknown"),
    (in_header(lambda h: h["parameters"].update(evil=1)), "has no argument 'evil'"),
    (in_header(lambda h: h["layer"].update(activation="__import__")), "activation"),
    (in_header(lambda h: h["layer"].update(skip=False)), "array 'step': float64"),
    (in_header(lambda h: h.pop("ridges")), "not a valid model"),
    (in_header(lambda h: h.update(rows="many")), ""),
    (in_header(lambda h: h.update(rows=-3)), ""),
    (in_header(lambda h: h.update(weight="nan")), ""),
    (in_header(lambda h: h.update(ridges=["inf"])), ""),
    (in_header(lambda h: h.update(ridges=[])), ""),
    (in_header(lambda h: h.update(slope=None)), ""),
    (in_header(lambda h: h.update(changes=[1])), ""),
    (in_header(lambda h: h.update(labels=1)), ""),
    (in_header(lambda h: h.update(labels=7)), ""),
    (in_header(lambda h: h.update(names=["a"])), "names: they are not as many as the columns"),
    (in_header(lambda h: h.update(encoding=UNKNOWN_COLUMN)), ""),
    (in_header(lambda h: h.update(arrays={"a": 1})), ""),
    (in_header(lambda h: h["parameters"].update(class_weight=[[1, 2, 3]])), ""),
    (lambda m: m.update({"y_high.npy": npy([-np.inf])}), "nothing lies between them"),
    (lambda m: m.update({"low.npy": npy([np.inf] * 3)}), "nothing lies between them"),
    (in_array("FtF", lambda a: -a), "not a valid model file"),  # sums without a readout
]


def test_an_edited_file_is_refused(files, saved):
    for change, message in EDITS:
        shutil.copy(files / "numbers", saved)
        rewrite_model(saved, change)
        assert message in refused(saved)


def test_a_file_edited_without_its_digests_does_not_predict(files, saved):
    """Whoever computes them anew is not found out: he runs no code, and takes no memory."""
    for change in (
        in_array("Fty", lambda a: -a),
        in_header(lambda h: h.update(weight=h["weight"] * 2)),
        in_header(lambda h: h.update(labels=1)),
        in_header(lambda h: h.update(format=5)),  # whatever it says, its digests are compared
        lambda m: m.update({"digests.json": b"{}"}),
        lambda m: m.pop("digests.json"),
    ):
        shutil.copy(files / "numbers", saved)
        rewrite_model(saved, change, digests=lambda members: members)
        message = refused(saved)
        assert "not what was saved" in message or "digests.json" in message


@pytest.mark.skipif(os.geteuid() != 0, reason="a file of another user is made by root only")
def test_a_file_that_may_not_be_read_is_called_that(saved, public_folder):
    private = shutil.copy(saved, public_folder / "a.model")
    private.chmod(0o600)
    os.seteuid(65534)
    try:
        assert "cannot be read: Permission denied" in refused(private)
    finally:
        os.seteuid(0)


def test_pickles_are_never_read(saved, tmp_path):
    marker = tmp_path / "ran"

    class Hostile:
        def __reduce__(self):
            return (marker.touch, ())

    buffer = io.BytesIO()
    np.save(buffer, np.array([Hostile()], dtype=object), allow_pickle=True)
    rewrite_model(saved, lambda members: members.update({"W.npy": buffer.getvalue()}))
    assert "Python objects, which are never loaded" in refused(saved)
    saved.write_bytes(pickle.dumps(Hostile()))
    assert "not a model file" in refused(saved)
    assert not marker.exists()


def test_a_python_function_cannot_be_saved(tmp_path):
    model = og.OneStepRegressor(5, activation=(np.sin, np.cos), random_state=0).fit(X, Y)
    with pytest.raises(InvalidInput, match="cannot be saved; give it by name"):
        model.save(tmp_path / "m")


def test_a_function_of_another_meaning_is_refused(tmp_path):
    def register(value):
        REGISTRY.pop("bend", None)
        og.register(og.Function("bend", value, np.cos))

    try:
        register(np.sin)
        og.OneStepRegressor(5, activation="bend", random_state=0).fit(X, Y).save(tmp_path / "m")
        load(tmp_path / "m").predict(X)
        for other in (
            np.cos,
            lambda x: np.sin(x) + 0.1 * np.sin(8 * np.pi * x),  # the same at every half
            lambda x: np.where(np.abs(x) < 4, np.sin(x), x),  # and far out another
        ):
            register(other)
            assert "'bend': that function has other values" in refused(tmp_path / "m")
    finally:
        REGISTRY.pop("bend", None)


def forged(shape, descr="<f8"):
    """An .npy member whose header promises more than there is."""
    buffer = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + b"\0" * 64


def test_forged_arrays_are_refused(files, saved):
    for content in (
        forged((10**9, 10**9)),
        forged((2**62, 4)),
        forged((8,), "|O"),
        forged((8,), "<c16"),
        forged((4, 2), "<f8"),
        forged((1,), "<U2000000000"),
        b"",
    ):
        for name in ("W", "FtF", "y_scale", "row_keys", "residuals"):
            shutil.copy(files / "numbers", saved)
            rewrite_model(saved, lambda m, name=name, c=content: m.update({f"{name}.npy": c}))
            refused(saved)


def test_numbers_too_large_to_predict_with_are_refused(files, saved):
    """Not NaN for numbers, and not the first class for classes."""
    for model, names in {"numbers": ("W", "b", "Fty", "F1"), "labels": ("W", "F1")}.items():
        for name in names:
            shutil.copy(files / model, saved)
            rewrite_model(saved, in_array(name, lambda a: np.sign(a) * 1.7e308))
            refused(saved)
    shutil.copy(files / "numbers", saved)  # sound in every array; the deviation would be infinite
    rewrite_model(saved, in_array("yty", lambda a: np.full_like(a, 1e308, dtype=float)))
    rewrite_model(saved, in_array("y_scale", lambda a: a * 1e200))
    with np.errstate(all="ignore"), pytest.raises(InvalidInput):
        load(saved).predict(X, return_std=True)


def test_the_command_refuses_in_one_line(files, saved, tmp_path, capsys):
    """A regressor forged into a classifier; a name with a lone surrogate, which UTF-8 cannot."""
    rewrite_model(saved, in_header(lambda h: h.update(labels=1)))
    nameless = shutil.copy(files / "frame", tmp_path / "b.model")
    before = zipfile.ZipFile(nameless).read("model.json")
    renamed = before.replace(b'"name": "a"', b'"name": "\\ud800"')
    assert renamed != before
    rewrite_model(nameless, lambda members: members.update({"model.json": renamed}))
    np.save(tmp_path / "rows.npy", X)
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b,c", comments="")
    for model, rows in ((saved, "rows.npy"), (nameless, "rows.csv")):
        rows_and_out = [str(tmp_path / rows), "--out", str(tmp_path / "p.csv")]
        assert main(["apply", str(model), *rows_and_out]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and err.encode()


def test_a_missing_file_is_named_once(tmp_path):
    path = tmp_path / "absent.model"
    assert refused(path) == f"{path}: no such file"
    os.mkfifo(path)
    for special in (path, tmp_path):
        assert refused(special) == f"{special}: is a folder, a device or a pipe, not a file"
