"""Models from files: numbers and JSON, read as data, and refused where they do not fit together."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.data.encoding import Encoding
from onegrad.data.tally import Tally
from onegrad.estimators.model.fitted import FitStatistics, Fitted, Member, RowChanges
from onegrad.estimators.model.saving import (
    DESCRIBED,
    HEADER,
    LEARNED,
    NUMBERS,
    READABLE,
    SCALED,
    SUMS,
    Arrays,
    numbered,
)
from onegrad.estimators.model.targets import (
    ClassTargets,
    MultilabelTargets,
    NumericTargets,
    Targets,
)
from onegrad.exceptions import InvalidInput
from onegrad.functions import Function, resolve
from onegrad.io.npy import read_array
from onegrad.layers.layer import Layer
from onegrad.layers.scaling import MAX_INPUT, Scaling
from onegrad.ridge import Moments

NOT_A_MODEL = "not a model file, or truncated or damaged"
UNBOUNDED = ("low", "high", "y_low", "y_high", "scale")  # may be infinite
# where numbers that are not finite were written as text; names and categories are text
NUMERIC = ("layer", "choice", "trials", "parameters", "ridge", "ridges", "slope", "weight")


def load(path: str | Path, kinds: Mapping[str, Callable[..., Any]]) -> Any:
    """The fitted estimator, one of some kinds, that `save` wrote; any other file is refused."""
    try:
        header, arrays = _read(Path(path))
        if header["estimator"] not in kinds:
            raise InvalidInput("estimator", header["estimator"], problem="it is unknown")
        parameters = header["parameters"]
        if isinstance(parameters.get("class_weight"), list):
            parameters["class_weight"] = dict(parameters["class_weight"])
        estimator = kinds[header["estimator"]](**parameters)
        fitted = _fitted(header, arrays)
        check_together(fitted)
        if header["names"] is not None:
            estimator.feature_names_in_ = np.array(list(map(str, header["names"])), dtype=object)
        estimator._publish(fitted)
        return estimator
    except InvalidInput as error:
        raise InvalidInput(str(path), problem=str(error)) from None
    except (zipfile.BadZipFile, EOFError, struct.error, zlib.error, OSError):
        raise InvalidInput(str(path), problem=NOT_A_MODEL) from None
    except (
        LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError,
        AssertionError, MemoryError,
    ) as error:  # fmt: skip
        reason = " ".join(str(error).split())
        raise InvalidInput(str(path), problem=f"not a valid model file: {reason:.100}") from None


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    if not path.is_file():
        raise InvalidInput("model", problem="no such file")
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise InvalidInput("archive", problem="compressed members are not allowed")
        names = archive.namelist()
        if HEADER not in names:
            raise InvalidInput("archive", problem=f"not a model file; it has no {HEADER}")
        header = json.loads(archive.read(HEADER))
        if header.get("format") not in READABLE:
            problem = (
                f"written by onegrad {header.get('onegrad', '?')!s:.20}; this version reads "
                f"formats {', '.join(map(str, READABLE))}"
            )
            raise InvalidInput("format", header.get("format"), problem=problem)
        header |= {key: _restored(header[key]) for key in NUMERIC if key in header}
        arrays: Arrays = {}
        for name in header["arrays"]:
            if name not in names:
                raise InvalidInput("array", name, problem="it is missing; the file is incomplete")
            data = io.BytesIO(archive.read(name))  # all of it, so that its checksum is compared
            arrays[name.removesuffix(".npy")] = read_array(data, f"array {name!r:.40}")
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
    statistics = FitStatistics(
        **{name: arrays[name] for name in DESCRIBED},
        slope=float(header["slope"]),
        choice=dict(header["choice"]),
        trials=tuple(header["trials"]),
        rows=header.get("rows_at_fit", header["rows"]),
    )
    since = header.get("changes", [0, 0])
    if "changes" not in header and statistics.rows != header["rows"]:  # of an earlier version
        since = [max(header["rows"] - statistics.rows, 0), max(statistics.rows - header["rows"], 0)]
    return Fitted(
        tuple(members),
        _targets(header, arrays),
        None if header["encoding"] is None else Encoding.from_list(header["encoding"]),
        statistics,
        _tally(header, arrays),
        RowChanges(int(since[0]), int(since[1])),
    )


def _member(header: dict[str, Any], arrays: Arrays, number: int, ridge: float) -> Member:
    mine = {name: arrays[numbered(name, number)] for name in (*LEARNED, *SUMS)}
    activation = resolve(header["layer"]["activation"])
    assert isinstance(activation, Function)
    layer = Layer(
        _scaling(header, arrays),
        mine["W"],
        mine["b"],
        activation,
        bool(header["layer"]["skip"]),
        float(header["layer"]["bound"]),
        mine["step"],
    )
    sums = (mine[name] for name in SUMS)
    moments = Moments(int(header["rows"]), float(header["weight"]), *sums)
    return Member(layer, moments, float(ridge), bool(header["intercept"]))


def _scaling(header: dict[str, Any], arrays: Arrays) -> Scaling:
    if "far" in header["layer"]:  # of an earlier version
        high = np.full(arrays["centre"].shape, float(header["layer"]["far"]))
        arrays = arrays | {"low": -high, "high": high}
    return Scaling(*(arrays[name] for name in SCALED))


def _targets(header: dict[str, Any], arrays: Arrays) -> Targets:
    if header.get("labels") is not None:
        return MultilabelTargets(int(header["labels"]))
    if "classes" in arrays:
        return ClassTargets(arrays["classes"], arrays.get("class_weights"))
    numbers: dict[str, Any] = {name: arrays[f"y_{name}"] for name in NUMBERS}
    return NumericTargets(**numbers, single=bool(header["single"]))


def _tally(header: dict[str, Any], arrays: Arrays) -> Tally | None:
    if header.get("tally_seed") is None:
        return None
    keys, weights = arrays["row_keys"], arrays["row_weights"]
    if keys.dtype != np.uint64 or keys.ndim != 1 or weights.shape != keys.shape:
        raise InvalidInput("row keys", problem="they are damaged")
    return Tally(keys, weights, int(header["tally_seed"]))


# -- do the pieces fit together? -----------------------------------------------------------------


def check_together(fitted: Fitted) -> None:
    """Checksums only say that arrays are the ones that were written, not that they fit."""
    K, d = fitted.targets.outputs, fitted.layers[0].W.shape[1]
    scaling, statistics = fitted.layers[0].scaling, fitted.statistics
    moments = fitted.members[0].moments
    expected: dict[str, tuple[Any, tuple[int, ...]]] = {
        **{name: (getattr(scaling, name), (d,)) for name in SCALED},
        "metric": (statistics.metric, (d, d)),
        "residuals": (statistics.residuals, (len(statistics.residuals), K)),
        "untrained": (statistics.untrained, (statistics.untrained.size,)),
    }
    for number, member in enumerate(fitted.members):
        parts = _parts(member, d, K).items()
        expected |= {numbered(name, number): part for name, part in parts}
    if isinstance(fitted.targets, NumericTargets):
        expected |= {f"y_{name}": (getattr(fitted.targets, name), (K,)) for name in NUMBERS}
    if isinstance(fitted.targets, ClassTargets):
        _check_classes(fitted.targets)
    for name, (array, shape) in expected.items():
        if array.shape != shape or array.dtype != np.float64:
            raise InvalidInput(
                "array", name, problem=f"{array.dtype}{array.shape}, not float64{shape}"
            )
        if np.isnan(array).any() or (name not in UNBOUNDED and np.isinf(array).any()):
            raise InvalidInput("array", name, problem="it has entries that are not finite")
    for bounded in (scaling, fitted.targets):
        if (
            isinstance(bounded, Scaling | NumericTargets)
            and not (
                np.maximum(bounded.low, -MAX_INPUT) <= np.minimum(bounded.high, MAX_INPUT)
            ).all()
        ):
            raise InvalidInput("bounds", problem="nothing lies between them")
    encoding = fitted.encoding
    if encoding is not None and len(encoding.inputs) != d:
        raise InvalidInput(
            "columns", problem=f"they make {len(encoding.inputs)} inputs; the layer has {d}"
        )
    sizes = (moments.weight, statistics.slope, *(m.ridge for m in fitted.members))
    if moments.rows < 0 or not np.isfinite(sizes).all() or min(sizes) < 0:
        raise InvalidInput("weight, ridge, slope", allowed="finite and not negative")
    if not all(np.isfinite(member.readout.coef).all() for member in fitted.members):
        raise InvalidInput("moments", problem="they have no finite readout")


def _parts(member: Member, d: int, K: int) -> dict[str, tuple[Any, tuple[int, ...]]]:
    layer, sums = member.layer, member.moments
    N, width = len(layer.W), layer.width
    return {
        "W": (layer.W, (N, d)),
        "b": (layer.b, (N,)),
        "step": (np.asarray(layer.step), (width,)),
        "FtF": (sums.FtF, (width, width)),
        "Fty": (sums.Fty, (width, K)),
        "F1": (sums.F1, (width,)),
        "y1": (sums.y1, (K,)),
        "yty": (sums.yty, (K,)),
    }


def _check_classes(classes: ClassTargets) -> None:
    values, weights = classes.labels, classes.weights
    if values.ndim != 1 or len(values) < 1 or values.dtype.kind not in "fiubU":
        raise InvalidInput("classes", f"{values.dtype}{values.shape}", "a vector of labels")
    if len(np.unique(values)) != len(values) or (np.sort(values) != values).any():
        raise InvalidInput("classes", problem="they are not distinct and sorted")
    if weights is not None and (weights.shape != values.shape or weights.dtype != np.float64):
        raise InvalidInput("class weights", allowed="one number per class")
