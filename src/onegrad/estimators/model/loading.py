"""Models from files: numbers and JSON, read as data, and refused where they do not fit together."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.data.encoding import Encoding
from onegrad.data.sample import Tally
from onegrad.estimators.model.boosted_trees import BoostedTrees
from onegrad.estimators.model.coded_network import CodedNetwork, InputCodes
from onegrad.estimators.model.fitted import FitStatistics, Fitted, FrozenSums, Member, RowChanges
from onegrad.estimators.model.neighbours import NearbyRows, Neighbours
from onegrad.estimators.model.permutation_importance import inputs_by_column
from onegrad.estimators.model.saving import (
    CODE_ARRAYS,
    DIGESTS,
    HEAD_ARRAYS,
    HEADER,
    LAYER_ARRAYS,
    MODEL_FORMAT,
    MOMENT_ARRAYS,
    NEARBY_ARRAYS,
    NETWORK_ARRAYS,
    READOUT_ARRAYS,
    SCALING_ARRAYS,
    STATISTICS_ARRAYS,
    TARGET_ARRAYS,
    TREE_ARRAYS,
    Arrays,
    numbered,
)
from onegrad.estimators.model.targets import (
    ClassTargets,
    Link,
    MultilabelTargets,
    NumericTargets,
    Targets,
)
from onegrad.exceptions import InvalidInput
from onegrad.functions import resolve_activation
from onegrad.io.files import suggest_file
from onegrad.io.npy import read_array
from onegrad.layers.layer import Layer
from onegrad.layers.scaling import MAX_INPUT, Scaling
from onegrad.ridge import Moments, Readout

MAX_DEPTH = 16  # of trees in a file
IN_SINGLE = ("near_points", "tree_values")  # precision
MAY_BE_INFINITE = ("low", "high", "y_low", "y_high", "scale", "squash")
# entries of the header with numbers; those that are not finite were written as text
NUMERIC_ENTRIES = (
    *("layer", "choice", "trials", "parameters", "ridges", "slope", "weight"),
    *("link_rows", "effective_rows", "networks"),
)


def read_model(path: str | Path, estimators: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the fitted estimator, one of some by name, that `save` wrote; refuse other files."""
    try:
        header, arrays = _read(Path(path))
        name, parameters = header["estimator"], header["parameters"]
        if name not in estimators:
            raise InvalidInput("estimator", name, problem="it is unknown")
        if isinstance(parameters.get("class_weight"), list):
            parameters["class_weight"] = dict(parameters["class_weight"])
        estimator = estimators[name](**parameters)
        fitted = _fitted(header, arrays)
        _check_values(fitted)
        if header["names"] is not None:
            estimator.feature_names_in_ = np.array(list(map(str, header["names"])), dtype=object)
        return estimator._publish(fitted)
    except InvalidInput as error:
        problem = error.problem if error.argument == "model" else str(error)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    except (zipfile.BadZipFile, EOFError, struct.error, zlib.error):
        problem = "not a model file, or truncated or damaged"
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        RuntimeError,
        ArithmeticError,
        AssertionError,
        MemoryError,
    ) as error:
        reason = " ".join(str(error).split())
        problem = f"not a valid model file: {reason:.100}"
    raise InvalidInput(str(path), problem=problem)


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    if not path.is_file():
        raise InvalidInput("model", problem=f"no such file{suggest_file(path)}")
    content = path.read_bytes()
    try:
        return _unpacked(content)
    except OSError:  # of the archive: an offset that is none
        raise zipfile.BadZipFile from None


def _unpacked(content: bytes) -> tuple[dict[str, Any], Arrays]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise InvalidInput("archive", problem="compressed members are not allowed")
        names = archive.namelist()
        if HEADER not in names:
            raise InvalidInput("archive", problem=f"not a model file; it has no {HEADER}")
        text = archive.read(HEADER)
        header = json.loads(text)
        if header.get("format") != MODEL_FORMAT:
            problem = (
                f"written by onegrad {header.get('onegrad', '?')!s:.20}; this version reads "
                f"format {MODEL_FORMAT}"
            )
            raise InvalidInput("format", header.get("format"), problem=problem)
        header |= {key: _restored(header[key]) for key in NUMERIC_ENTRIES}
        digests = json.loads(archive.read(DIGESTS))
        _check_digest(digests, HEADER, text)
        arrays: Arrays = {}
        for name in header["arrays"]:
            if name not in names:
                raise InvalidInput("array", name, problem="it is missing; the file is incomplete")
            data = archive.read(name)  # all of it, so that its checksum is compared
            _check_digest(digests, name, data)
            arrays[name.removesuffix(".npy")] = read_array(io.BytesIO(data), f"array {name!r:.40}")
    return header, arrays


def _check_digest(digests: Mapping[str, str], name: str, data: bytes) -> None:
    if digests.get(name) != hashlib.sha256(data).hexdigest():
        problem = "it is not what was saved: the file was damaged or edited"
        raise InvalidInput(f"{name!r:.40}", problem=problem)


def _restored(value: Any) -> Any:
    """Return numbers where not finite ones were written as text."""
    if isinstance(value, dict):
        return {k: _restored(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_restored(v) for v in value]
    return float(value) if value in ("inf", "-inf", "nan") else value


def _fitted(header: dict[str, Any], arrays: Arrays) -> Fitted:
    targets = _targets(header, arrays)
    _check_shapes(header, arrays, targets)
    members = (_member(header, arrays, number) for number in range(len(header["ridges"])))
    statistics = FitStatistics(
        **{name: arrays[name] for name in STATISTICS_ARRAYS},
        column_importances=arrays["column_importances"],
        effective_rows=float(header["effective_rows"]),
        link=Link(float(header["slope"]), float(header["link_rows"]), arrays["class_shares"]),
        choice=dict(header["choice"]),
        trials=tuple(header["trials"]),
        rows=header["rows_at_fit"],
        predicted=arrays["residual_predictions"],
    )
    added, removed = header["changes"]
    return Fitted(
        tuple(members),
        targets,
        None if header["encoding"] is None else Encoding.from_list(header["encoding"]),
        statistics,
        _tally(header, arrays),
        RowChanges(int(added), int(removed)),
        tuple(_neighbours(header, arrays)),
        tuple(_networks(header, arrays, targets)),
        _trees(arrays),
    )


def _member(header: dict[str, Any], arrays: Arrays, number: int) -> Member:
    W, b, step = (arrays[numbered(name, number)] for name in LAYER_ARRAYS)
    rows, weight = int(header["rows"]), float(header["weight"])
    ridge = float(header["ridges"][number])
    names = READOUT_ARRAYS if header["frozen"] else MOMENT_ARRAYS
    numbers = [arrays[numbered(name, number)] for name in names]
    sums: Moments | FrozenSums
    if header["frozen"]:
        sums = FrozenSums(rows, weight, Readout(ridge, *numbers))
    else:
        sums = Moments(rows, weight, *numbers)
    activation = resolve_activation(header["layer"]["activation"])
    copies = int(header["layer"]["copies"])
    scaling = Scaling.of_arrays((arrays[name] for name in SCALING_ARRAYS), copies)
    skip, bound = bool(header["layer"]["skip"]), float(header["layer"]["bound"])
    return Member(
        Layer(scaling, W, b, activation, skip, bound, step),
        sums,
        ridge,
        bool(header["intercept"]),
        float(header["shares"][number]),
        _head(header, arrays, number),
    )


def _head(header: dict[str, Any], arrays: Arrays, number: int) -> Readout | None:
    names = [numbered(f"head_{name}", number) for name in HEAD_ARRAYS]
    if names[0] not in arrays:
        return None
    coef, intercept = (arrays[name] for name in names)
    return Readout(float(header["ridges"][number]), coef, intercept)


def _neighbours(header: dict[str, Any], arrays: Arrays) -> Iterator[Neighbours]:
    for number, facts in enumerate(header["neighbours"]):
        keys, points, t, w, root = (
            arrays[numbered(f"near_{name}", number)] for name in ("keys", *NEARBY_ARRAYS, "root")
        )
        if keys.dtype != np.uint64 or keys.shape != w.shape or (np.diff(keys) <= 0).any():
            raise InvalidInput("neighbours", problem="their keys are damaged")
        count, share, seed = int(facts["count"]), float(facts["share"]), int(facts["seed"])
        if not count > 0 or not np.isfinite(share):
            raise InvalidInput("neighbours", problem="their number and share must be positive")
        yield Neighbours(root, count, share, NearbyRows(keys, points, t, w), seed)


def _networks(header: dict[str, Any], arrays: Arrays, targets: Targets) -> Iterator[CodedNetwork]:
    d = arrays["W"].shape[1]
    for number, (first, bound, layers) in enumerate(header["networks"]):
        codes = [arrays[numbered(f"code_{name}", number)] for name in CODE_ARRAYS]
        parts = [
            tuple(arrays[numbered(f"{name}_{layer}", number)] for layer in range(layers))
            for name in NETWORK_ARRAYS
        ]
        sizes = [d - int(first) + len(codes[0]), *(b.size for b in parts[1])]
        shapes: dict[str, list[tuple[int, ...]]] = {
            "code": [(len(codes[0]),)] * len(codes),
            "weights": [*pairwise(sizes)],
            "biases": [(size,) for size in sizes[1:]],
        }
        for name, numbers in zip(shapes, (codes, *parts), strict=True):
            kind = np.float64 if name == "code" else np.float32
            fits = all(a.dtype == kind and np.isfinite(a).all() for a in numbers)
            if not fits or [a.shape for a in numbers] != shapes[name]:
                raise InvalidInput("network", problem=f"its {name} do not fit together")
        column, _, rise, _, fall = codes
        inside = ((column >= 0) & (column < d) & (rise > 0) & (fall > 0)).all()
        if sizes[-1] != targets.outputs or not 0 <= first < d or not bound > 0 or not inside:
            raise InvalidInput("network", problem="it does not fit the inputs or the targets")
        yield CodedNetwork(InputCodes(*codes), int(first), float(bound), *parts)


def _trees(arrays: Arrays) -> BoostedTrees | None:
    if "tree_values" not in arrays:
        return None
    trees = BoostedTrees(*(arrays[f"tree_{name}"] for name in TREE_ARRAYS))
    if not ((trees.columns >= 0) & (trees.columns < arrays["W"].shape[1])).all():
        raise InvalidInput("trees", problem="they ask about inputs that do not exist")
    return trees


def _targets(header: dict[str, Any], arrays: Arrays) -> Targets:
    if header["labels"] is not None:
        return MultilabelTargets(int(header["labels"]))
    if "classes" not in arrays:
        numbers: dict[str, Any] = {name: arrays[f"y_{name}"] for name in TARGET_ARRAYS}
        return NumericTargets(**numbers, single=bool(header["single"]))
    values, weights = arrays["classes"], arrays.get("class_weights")
    if values.ndim != 1 or len(values) < 1 or values.dtype.kind not in "fiubU":
        raise InvalidInput("classes", f"{values.dtype}{values.shape}", "a vector of labels")
    if len(np.unique(values)) != len(values) or (np.sort(values) != values).any():
        raise InvalidInput("classes", problem="they are not distinct and sorted")
    if weights is not None and (weights.shape != values.shape or weights.dtype != np.float64):
        raise InvalidInput("class weights", allowed="one number per class")
    return ClassTargets(values, weights)


def _tally(header: dict[str, Any], arrays: Arrays) -> Tally | None:
    if header["tally_seed"] is None:
        return None
    keys, weights, copies = (arrays[f"row_{name}"] for name in ("keys", "weights", "copies"))
    if keys.dtype != np.uint64 or keys.ndim != 1 or not weights.shape == copies.shape == keys.shape:
        raise InvalidInput("row keys", problem="they are damaged")
    return Tally(keys, weights, copies, int(header["tally_seed"]))


# -- do the pieces fit together? Digests only say that they are the ones that were written -------


def _check_shapes(header: dict[str, Any], arrays: Arrays, targets: Targets) -> None:
    d, skip = arrays["W"].shape[1], bool(header["layer"]["skip"])
    copies = int(header["layer"]["copies"])
    if copies < 1 or d % copies:
        raise InvalidInput("copies", copies, f"a divisor of the {d} inputs")
    sizes = {"c": d // copies, "d": d, "K": targets.outputs}
    sizes |= {"m": len(arrays["residuals"]), "u": arrays["untrained"].size}
    classes = 0 if isinstance(targets, NumericTargets) else len(targets.values)
    shapes = {**SCALING_ARRAYS, **STATISTICS_ARRAYS, "residual_predictions": "mK"}
    shapes |= {"class_shares": "C", "column_importances": "i"}
    sizes["i"] = arrays["column_importances"].size
    sizes["C"] = classes if len(arrays["class_shares"]) else 0  # none where no rows were held out
    if isinstance(targets, NumericTargets):
        shapes |= {f"y_{name}": shape for name, shape in TARGET_ARRAYS.items()}
    _check_arrays(arrays, shapes, sizes)
    for number in range(len(header["neighbours"])):
        local = {f"near_{name}": shape for name, shape in NEARBY_ARRAYS.items()}
        local["near_root"] = "dr"
        shapes = {numbered(name, number): shape for name, shape in local.items()}
        p, r = len(arrays[numbered("near_w", number)]), arrays[numbered("near_root", number)]
        _check_arrays(arrays, shapes, sizes | {"p": p, "r": r.shape[-1]})
    if "tree_values" in arrays:
        T, D = arrays["tree_columns"].shape
        shapes = {f"tree_{name}": shape for name, shape in TREE_ARRAYS.items()}
        _check_arrays(arrays, shapes, sizes | {"T": T, "D": D, "L": 2 ** min(D, MAX_DEPTH)})
    for number in range(len(header["ridges"])):
        N = len(arrays[numbered("W", number)])
        sums = READOUT_ARRAYS if header["frozen"] else MOMENT_ARRAYS
        of_member = {**LAYER_ARRAYS, **sums}
        if numbered("head_coef", number) in arrays:
            of_member |= {f"head_{name}": shape for name, shape in HEAD_ARRAYS.items()}
        shapes = {numbered(name, number): shape for name, shape in of_member.items()}
        _check_arrays(arrays, shapes, sizes | {"N": N, "F": N + d * skip})


def _check_arrays(arrays: Arrays, shapes: Mapping[str, str], sizes: Mapping[str, int]) -> None:
    for name, letters in shapes.items():
        array, shape = arrays[name], tuple(sizes[letter] for letter in letters)
        dtype = np.float32 if name.split(".")[0] in IN_SINGLE else np.float64
        if array.shape != shape or array.dtype != dtype:
            problem = f"{array.dtype}{array.shape}, not {dtype.__name__}{shape}"
            raise InvalidInput("array", name, problem=problem)
        if np.isnan(array).any() or (name not in MAY_BE_INFINITE and np.isinf(array).any()):
            raise InvalidInput("array", name, problem="it has entries that are not finite")


def _check_values(fitted: Fitted) -> None:
    squash = fitted.layers[0].scaling.squash
    if squash is not None and not (squash > 0).all():
        raise InvalidInput("squash", problem="it must be positive")
    for bounded in (fitted.layers[0].scaling, fitted.targets):
        if isinstance(bounded, Scaling | NumericTargets):
            low, high = np.maximum(bounded.low, -MAX_INPUT), np.minimum(bounded.high, MAX_INPUT)
            if not (low <= high).all():
                raise InvalidInput("bounds", problem="nothing lies between them")
    d = fitted.layers[0].scaling.columns
    if fitted.encoding is not None and len(fitted.encoding.inputs) != d:
        problem = f"they make {len(fitted.encoding.inputs)} inputs; the layer has {d}"
        raise InvalidInput("columns", problem=problem)
    by_column = fitted.statistics.column_importances
    columns = inputs_by_column(fitted.encoding, fitted.layers[0].scaling)
    if len(by_column) not in (0, len(columns)) or (by_column < 0).any():
        raise InvalidInput("column importances", allowed="one number per column")
    of_members = (number for m in fitted.members for number in (m.ridge, m.share))
    sizes = (fitted.members[0].sums.weight, fitted.statistics.link.slope, *of_members)
    if fitted.rows < 0 or not np.isfinite(sizes).all() or min(sizes) < 0:
        raise InvalidInput("weight, ridge, slope", allowed="finite and not negative")
    if not all(np.isfinite(member.readout.coef).all() for member in fitted.members):
        raise InvalidInput("moments", problem="they have no finite readout")
