"""Models as files of numbers and JSON: nothing in them can run.

A file is a ZIP archive, not compressed, of `model.json` and one `.npy` member for each array, as
`numpy.savez` would write them. The JSON names the estimator, its parameters and the arrays. The
archive's checksums notice damage; whatever does not fit together is refused by name.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from onegrad import __version__
from onegrad.data.encoding import Encoding
from onegrad.errors import InvalidInput
from onegrad.estimators.fitted import AtFit, Fitted, Member, SecondLayer
from onegrad.estimators.targets import Classes, Numbers, Targets
from onegrad.functions import resolve
from onegrad.io.files import replacing
from onegrad.io.json_values import plain
from onegrad.layers.layer import Layer
from onegrad.layers.scaling import Scaling
from onegrad.ridge import Moments

FORMAT = 3
# the first had digests beside the archive's own checksums, the second a single network
READABLE = (1, 2, 3)
HEADER = "model.json"
SUMS = ("F1", "y1", "FtF", "Fty", "yty")
LEARNED = ("W", "b", "step")  # with the sums: the arrays of a member, numbered from the second on
DESCRIBED = ("metric", "untrained", "residuals")
NUMBERS = ("centre", "scale", "low", "high", "step")
Arrays = dict[str, np.ndarray[Any, Any]]


def save(estimator: Any, path: str | Path) -> None:
    """Write a fitted estimator; an existing file is replaced only once the new one is complete."""
    fitted: Fitted = estimator.fitted_
    names = getattr(estimator, "feature_names_in_", None)
    arrays = _arrays(fitted)
    header = {
        "format": FORMAT,
        "onegrad": __version__,
        "estimator": type(estimator).__name__,
        "parameters": _parameters(estimator),
        "names": None if names is None else [str(name) for name in names],
        "arrays": [f"{name}.npy" for name in arrays],
        **_header(fitted),
    }
    text = json.dumps(plain(header, not_finite=str), sort_keys=True, allow_nan=False)
    with replacing(Path(path)) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(HEADER), text)  # without the time: same model, same file
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), buffer.getvalue())


def load(path: str | Path, kinds: Mapping[str, Callable[..., Any]]) -> Any:
    """The fitted estimator, one of some kinds, that `save` wrote; any other file is refused."""
    try:
        header, arrays = _read(Path(path))
        if header["estimator"] not in kinds:
            raise InvalidInput(f"unknown estimator {header['estimator']!r:.40}")
        estimator = kinds[header["estimator"]](**header["parameters"])
        fitted = _fitted(header, arrays)
        _check_shapes(fitted)
        if header["names"] is not None:
            estimator.feature_names_in_ = np.array(header["names"], dtype=object)
        estimator._publish(fitted)
        return estimator
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    except (zipfile.BadZipFile, EOFError):
        raise InvalidInput(f"{path} is not a model file, or is truncated or damaged") from None
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
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


def _header(fitted: Fitted) -> dict[str, Any]:
    """All of a fitted network that is not an array."""
    layer, second, at_fit = fitted.layers[0], fitted.members[0].second, fitted.at_fit
    return {
        "encoding": None if fitted.encoding is None else fitted.encoding.to_list(),
        "layer": {
            "activation": layer.activation.name,
            "skip": layer.skip,
            "bound": layer.bound,
            "far": layer.scaling.bound,
        },
        "rows": second.moments.rows,
        "weight": second.moments.weight,
        "single": getattr(fitted.targets, "single", None),
        "ridges": [member.second.ridge for member in fitted.members],
        "intercept": second.intercept,
        "slope": at_fit.slope,
        "choice": at_fit.choice,
        "trials": at_fit.trials,
        "rows_at_fit": at_fit.rows,
    }


def _arrays(fitted: Fitted) -> Arrays:
    scaling, targets, at_fit = fitted.layers[0].scaling, fitted.targets, fitted.at_fit
    arrays: Arrays = {"centre": scaling.centre, "scale": scaling.scale}
    for number, member in enumerate(fitted.members):
        for source, names in ((member.layer, LEARNED), (member.second.moments, SUMS)):
            arrays |= {_numbered(name, number): getattr(source, name) for name in names}
    arrays |= {name: getattr(at_fit, name) for name in DESCRIBED}
    if isinstance(targets, Classes):
        values = targets.values
        return arrays | {"classes": values.astype(str) if values.dtype == object else values}
    return arrays | {f"y_{name}": getattr(targets, name) for name in NUMBERS}


def _numbered(name: str, member: int) -> str:
    """The name of a member's array."""
    return name if member == 0 else f"{name}.{member}"


# -- from the file -------------------------------------------------------------------------------


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    if not path.is_file():
        raise InvalidInput("no such file")
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise InvalidInput("compressed members are not allowed in a model file")
        names = archive.namelist()
        if HEADER not in names:
            raise InvalidInput(f"not a model file: it has no {HEADER}")
        header = _restored(json.loads(archive.read(HEADER)))
        if header.get("format") not in READABLE:
            raise InvalidInput(
                f"written by onegrad {header.get('onegrad', '?')!s:.20} in format "
                f"{header.get('format')!s:.20}; this version reads format "
                f"{' and '.join(map(str, READABLE))}"
            )
        arrays: Arrays = {}
        for name in header["arrays"]:
            if name not in names:
                raise InvalidInput(f"array {name!r:.40} is missing: the file is incomplete")
            data = io.BytesIO(archive.read(name))  # all of it, so that its checksum is compared
            arrays[name.removesuffix(".npy")] = np.lib.format.read_array(data, allow_pickle=False)
    return header, arrays


def _restored(value: Any) -> Any:
    """What `plain` made text of is a number again."""
    if isinstance(value, dict):
        return {k: _restored(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_restored(v) for v in value]
    return float(value) if value in ("inf", "-inf", "nan") else value


def _fitted(header: dict[str, Any], arrays: Arrays) -> Fitted:
    ridges = header["ridges"] if "ridges" in header else [header["ridge"]]
    members = (_member(header, arrays, number, ridge) for number, ridge in enumerate(ridges))
    at_fit = AtFit(
        **{name: arrays[name] for name in DESCRIBED},
        slope=float(header["slope"]),
        choice=header["choice"],
        trials=tuple(header["trials"]),
        rows=header.get("rows_at_fit", header["rows"]),
    )
    return Fitted(
        tuple(members),
        _targets(header, arrays),
        None if header["encoding"] is None else Encoding.from_list(header["encoding"]),
        at_fit,
    )


def _member(header: dict[str, Any], arrays: Arrays, number: int, ridge: float) -> Member:
    mine = {name: arrays[_numbered(name, number)] for name in (*LEARNED, *SUMS)}
    layer = Layer(
        Scaling(arrays["centre"], arrays["scale"], header["layer"]["far"]),
        mine["W"],
        mine["b"],
        resolve(header["layer"]["activation"]),  # type: ignore[arg-type]
        header["layer"]["skip"],
        header["layer"]["bound"],
        mine["step"],
    )
    moments = Moments(header["rows"], header["weight"], *(mine[name] for name in SUMS))
    return Member(layer, SecondLayer(moments, float(ridge), header["intercept"]))


def _targets(header: dict[str, Any], arrays: Arrays) -> Targets:
    if "classes" in arrays:
        return Classes(arrays["classes"])
    numbers: dict[str, Any] = {name: arrays[f"y_{name}"] for name in NUMBERS}
    return Numbers(**numbers, single=bool(header["single"]))


def _check_shapes(fitted: Fitted) -> None:
    """Arrays that fit together; checksums only say that they are the ones that were written."""
    scaling, K = fitted.layers[0].scaling, fitted.targets.outputs
    d = fitted.layers[0].W.shape[1]
    expected = {
        "centre": (scaling.centre, (d,)),
        "scale": (scaling.scale, (d,)),
        "metric": (fitted.at_fit.metric, (d, d)),
    }
    for number, member in enumerate(fitted.members):
        layer, sums = member.layer, member.second.moments
        N, width = len(layer.W), layer.width
        parts = {
            "W": (layer.W, (N, d)),
            "b": (layer.b, (N,)),
            "step": (np.asarray(layer.step), (width,)),
            "FtF": (sums.FtF, (width, width)),
            "Fty": (sums.Fty, (width, K)),
            "F1": (sums.F1, (width,)),
        }
        expected |= {_numbered(name, number): part for name, part in parts.items()}
    for name, (array, shape) in expected.items():
        if array.shape != shape or array.dtype != np.float64:
            raise InvalidInput(f"array {name} is {array.dtype}{array.shape}, not float64{shape}")
