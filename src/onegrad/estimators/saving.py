"""Models as files of numbers and JSON: nothing in them can run.

A file is a ZIP archive, not compressed, of `model.json` and one `.npy` member for each array. The
JSON names the estimator, its parameters, the format version and a SHA-256 digest of every array;
its own digest is stored beside it. Whatever does not match is refused by name.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from onegrad import __version__
from onegrad.data.encoding import Encoding
from onegrad.errors import InvalidInput
from onegrad.estimators.fitted import Fitted
from onegrad.estimators.models import ESTIMATORS
from onegrad.estimators.targets import Classes, Numbers, Targets
from onegrad.functions import resolve
from onegrad.layers.layer import Layer, Scaling
from onegrad.ridge.moments import Moments

FORMAT = 1
HEADER = "model.json"
DIGEST = "model.sha256"
Arrays = dict[str, np.ndarray[Any, Any]]


def save(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator; an existing file is replaced only once the new one is complete."""
    fitted: Fitted = estimator.fitted_
    parameters = _parameters(estimator)
    arrays = _arrays(fitted)
    members = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    header = {
        "format": FORMAT,
        "onegrad": __version__,
        "estimator": type(estimator).__name__,
        "parameters": parameters,
        "columns": estimator.n_features_in_,
        "names": _names(estimator),
        "encoding": None if fitted.encoding is None else fitted.encoding.to_list(),
        "layer": {
            "activation": fitted.layer.activation.name,
            "skip": fitted.layer.skip,
            "bound": fitted.layer.bound,
            "far": fitted.layer.scaling.bound,
        },
        "rows": fitted.moments.rows,
        "weight": fitted.moments.weight,
        "single": getattr(fitted.targets, "single", None),
        "ridge": fitted.ridge,
        "intercept": fitted.intercept,
        "slope": fitted.slope,
        "choice": fitted.choice,
        "trials": fitted.trials,
        "arrays": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    text = json.dumps(_plain(header), sort_keys=True, allow_nan=False).encode()
    members = {DIGEST: hashlib.sha256(text).hexdigest().encode(), HEADER: text, **members}
    _write(Path(path), members)


def load(path: str | Path) -> Any:
    """The fitted estimator in a file written by `save`; a damaged or foreign file is refused."""
    try:
        header, arrays = _read(Path(path))
        return _estimator(header, arrays)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    except (zipfile.BadZipFile, EOFError):
        raise InvalidInput(f"{path} is not a model file, or is truncated") from None
    except (KeyError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
        raise InvalidInput(f"{path} is not a valid model file: {error!s:.100}") from None


# -- to the file ---------------------------------------------------------------------------------


def _parameters(estimator: Any) -> dict[str, Any]:
    """JSON values only; an activation by its name, a random state only where it is a number."""
    parameters = dict(estimator.get_params(deep=False))
    if "activation" in parameters:
        activation = resolve(parameters["activation"])
        try:
            known = resolve(activation.name)
        except InvalidInput:
            known = None
        if known != activation:
            raise InvalidInput(
                f"activation {activation.name!r} is a Python function and cannot be saved; "
                "give it by name"
            )
        parameters["activation"] = activation.name
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None
    return parameters


def _plain(value: Any) -> Any:
    """JSON values; JSON has no infinity and no NaN, which become text."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _names(estimator: Any) -> list[str] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _arrays(fitted: Fitted) -> Arrays:
    layer, m = fitted.layer, fitted.moments
    arrays: Arrays = {
        "centre": layer.scaling.centre,
        "scale": layer.scaling.scale,
        "W": layer.W,
        "b": layer.b,
        "step": np.asarray(layer.step),
        "F1": m.F1,
        "y1": m.y1,
        "FtF": m.FtF,
        "Fty": m.Fty,
        "yty": m.yty,
        "metric": fitted.metric,
        "untrained": fitted.untrained,
        "residuals": fitted.residuals,
    }
    if isinstance(fitted.targets, Classes):
        values = fitted.targets.values
        return arrays | {"classes": values.astype(str) if values.dtype == object else values}
    t = fitted.targets
    return arrays | {
        "y_centre": t.centre,
        "y_scale": t.scale,
        "y_low": t.low,
        "y_high": t.high,
        "y_step": t.step,
    }


def _npy(array: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _write(path: Path, members: dict[str, bytes]) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, data in members.items():
                archive.writestr(zipfile.ZipInfo(name), data)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


# -- from the file -------------------------------------------------------------------------------


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    if not path.is_file():
        raise InvalidInput("no such file")
    with zipfile.ZipFile(path) as archive:
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise InvalidInput("compressed members are not allowed in a model file")
        names = archive.namelist()
        if HEADER not in names or DIGEST not in names:
            raise InvalidInput(f"not a model file: it has no {HEADER}")
        text = archive.read(HEADER)
        if hashlib.sha256(text).hexdigest().encode() != archive.read(DIGEST):
            raise InvalidInput(f"{HEADER} was changed after the model was saved")
        header = _restored(json.loads(text))
        if header.get("format") != FORMAT:
            raise InvalidInput(
                f"written by onegrad {header.get('onegrad', '?')!s:.20} in format "
                f"{header.get('format')!s:.20}; this version reads format {FORMAT}"
            )
        arrays: Arrays = {}
        for name, digest in header["arrays"].items():
            if name not in names:
                raise InvalidInput(f"array {name!r:.40} is missing: the file is incomplete")
            data = archive.read(name)
            if hashlib.sha256(data).hexdigest() != digest:
                raise InvalidInput(f"array {name!r:.40} was changed after the model was saved")
            arrays[name.removesuffix(".npy")] = np.lib.format.read_array(
                io.BytesIO(data), allow_pickle=False
            )
    return header, arrays


def _estimator(header: dict[str, Any], arrays: Arrays) -> Any:
    kind = ESTIMATORS.get(header["estimator"])
    if kind is None:
        raise InvalidInput(f"unknown estimator {header['estimator']!r:.40}")
    estimator = kind(**header["parameters"])
    layer = Layer(
        Scaling(arrays["centre"], arrays["scale"], header["layer"]["far"]),
        arrays["W"],
        arrays["b"],
        resolve(header["layer"]["activation"]),  # type: ignore[arg-type]
        header["layer"]["skip"],
        header["layer"]["bound"],
        arrays["step"],
    )
    moments = Moments(
        header["rows"], header["weight"], *(arrays[k] for k in ("F1", "y1", "FtF", "Fty", "yty"))
    )
    encoding = None if header["encoding"] is None else Encoding.from_list(header["encoding"])
    fitted = Fitted(
        layer,
        _targets(header, arrays),
        encoding,
        moments,
        float(header["ridge"]),
        header["intercept"],
        arrays["metric"],
        arrays["untrained"],
        arrays["residuals"],
        float(header["slope"]),
        header["choice"],
        tuple(header["trials"]),
    )
    _check_shapes(fitted)
    estimator.n_features_in_ = header["columns"]
    if header["names"] is not None:
        estimator.feature_names_in_ = np.array(header["names"], dtype=object)
    if "classes" in arrays:
        estimator.classes_ = arrays["classes"]
    estimator._settle(fitted)
    return estimator


def _targets(header: dict[str, Any], arrays: Arrays) -> Targets:
    if "classes" in arrays:
        return Classes(arrays["classes"])
    centre, scale, low, high, step = (
        arrays[f"y_{k}"] for k in ("centre", "scale", "low", "high", "step")
    )
    return Numbers(centre, scale, low, high, step, bool(header["single"]))


def _restored(value: Any) -> Any:
    """The inverse of _plain."""
    if isinstance(value, dict):
        return {k: _restored(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_restored(v) for v in value]
    return float(value) if value in ("inf", "-inf", "nan") else value


def _check_shapes(fitted: Fitted) -> None:
    """Arrays that fit together; digests only say that they are the ones that were written."""
    layer, K = fitted.layer, fitted.targets.outputs
    N, d = layer.W.shape
    expected = {
        "b": (layer.b, (N,)),
        "step": (np.asarray(layer.step), (layer.width,)),
        "centre": (layer.scaling.centre, (d,)),
        "scale": (layer.scaling.scale, (d,)),
        "FtF": (fitted.moments.FtF, (layer.width, layer.width)),
        "Fty": (fitted.moments.Fty, (layer.width, K)),
        "F1": (fitted.moments.F1, (layer.width,)),
        "metric": (fitted.metric, (d, d)),
    }
    for name, (array, shape) in expected.items():
        if array.shape != shape or array.dtype != np.float64:
            raise InvalidInput(f"array {name} is {array.dtype}{array.shape}, not float64{shape}")
