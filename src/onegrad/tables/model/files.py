"""Models as files of numbers and JSON: nothing in them can run.

A file is a ZIP archive, not compressed, of `model.json` and one `.npy` member for each array, as
`numpy.savez` would write them. The JSON names the estimator, its parameters and the arrays;
`digests.json` has the SHA-256 of every other member, so that a file that was damaged or edited is
noticed. They are read as data, and whatever does not fit together is refused by name.
"""

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from onegrad import __version__
from onegrad.exceptions import InvalidInput, check_choice
from onegrad.functions import resolve, resolve_activation
from onegrad.io.files import atomic_write, suggest_file
from onegrad.io.json_values import json_values
from onegrad.io.npy import read_array
from onegrad.ridge import Moments, Readout
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.first_layer.scaling import MAX_INPUT, ScaledRows, Scaling
from onegrad.tables.model.fitted import (
    FewRows,
    FitStatistics,
    Fitted,
    FrozenSums,
    LearnedRows,
    Member,
    RowChanges,
)
from onegrad.tables.model.permutation_importance import inputs_by_column
from onegrad.tables.model.targets import (
    ClassTargets,
    Link,
    MultilabelTargets,
    NumericTargets,
    Targets,
)
from onegrad.tables.parts.neighbours import NearbyRows, Neighbours
from onegrad.tables.parts.networks import CodedNetwork, InputCodes
from onegrad.tables.parts.trees import MAX_DEPTH, BoostedTrees
from onegrad.tables.rows.encoding import Encoding
from onegrad.tables.rows.kinds import NONE
from onegrad.tables.rows.sample import Tally

MODEL_FORMAT = 6
FORMAT_OF_0_3 = 5  # of the first release; formats 1 to 4 were never published, and are not read
HEADER = "model.json"
DIGESTS = "digests.json"

# names of arrays, with their shapes: c columns, d inputs, K outputs, N neurons, F features
SCALING_ARRAYS = {"centre": "d", "scale": "d", "low": "d", "high": "d", "squash": "d"}
TARGET_ARRAYS = {"centre": "K", "scale": "K", "low": "K", "high": "K", "step": "K"}  # after y_
STATISTICS_ARRAYS = {"metric": "cc", "untrained": "u", "residuals": "mK", "residual_weights": "m"}
LAYER_ARRAYS = {"W": "Nd", "b": "N", "step": "F"}  # those of a member, numbered from the second on
READOUT_ARRAYS = {"coef": "FK", "intercept": "K"}  # of a frozen member; after head_, of a head
MOMENT_ARRAYS = {"F1": "F", "y1": "K", "FtF": "FF", "Fty": "FK", "yty": "K"}  # of others
NEARBY_ARRAYS = {"points": "pr", "t": "pK", "w": "p"}  # after near_, besides their keys
CODE_ARRAYS = ("column", "start", "rise", "stop", "fall")  # after code_, of networks on codes
NETWORK_ARRAYS = ("network_W", "network_b")  # before the number of the layer, single precision
TREE_ARRAYS = {"columns": "TD", "thresholds": "TD", "values": "TLK"}  # after tree_
PROBES = np.linspace(-3.0, 3.0, 13)  # at which a function must be what it was
IN_SINGLE = ("near_points", "tree_values")  # precision
MAY_BE_INFINITE = ("low", "high", "y_low", "y_high", "scale", "squash")
# entries of the header with numbers; those that are not finite were written as text
NUMERIC_ENTRIES = (
    *("layer", "choice", "trials", "parameters", "ridges", "slope", "weight"),
    *("link_rows", "effective_rows", "networks"),
)
Arrays = dict[str, np.ndarray[Any, Any]]


def save(estimator: Any, path: str | Path, rows: str = "sums") -> None:
    """Write a fitted estimator; an existing file is replaced only once the new one is complete."""
    check_choice("rows", rows, ("sums", "frozen"))
    fitted: Fitted = estimator.fitted_
    fitted = fitted.frozen() if rows == "frozen" else fitted.without_sums()
    names = getattr(estimator, "feature_names_in_", None)
    arrays = _arrays(fitted)
    header = {
        "format": MODEL_FORMAT,
        "onegrad": __version__,
        "estimator": type(estimator).__name__,
        "parameters": _parameters(estimator),
        "names": None if names is None else [str(name) for name in names],
        "arrays": [f"{name}.npy" for name in arrays],
        **_header(fitted),
    }
    text = json.dumps(json_values(header, not_finite=str), sort_keys=True, allow_nan=False)
    digests = {}
    with atomic_write(Path(path)) as file, zipfile.ZipFile(file, "w") as archive:

        def write(name: str, content: bytes) -> None:
            digests[name] = hashlib.sha256(content).hexdigest()
            # ZipInfo of a name alone has no time: the same model is the same file
            archive.writestr(zipfile.ZipInfo(name), content)

        write(HEADER, text.encode())
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            write(f"{name}.npy", buffer.getvalue())
        archive.writestr(zipfile.ZipInfo(DIGESTS), json.dumps(digests))


def _parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters as JSON values; a random state only where it is a number."""
    parameters = dict(estimator.get_params(deep=False))
    if "activation" in parameters:
        activation = resolve(parameters["activation"])
        try:
            by_name = resolve(activation.name)
        except InvalidInput:
            by_name = None
        if by_name != activation:
            problem = "a Python function cannot be saved; give it by name"
            raise InvalidInput("activation", activation.name, problem=problem)
        parameters["activation"] = activation.name
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None
    if isinstance(parameters.get("class_weight"), Mapping):  # labels may be numbers
        parameters["class_weight"] = [list(pair) for pair in parameters["class_weight"].items()]
    return parameters


def _header(fitted: Fitted) -> dict[str, Any]:
    """Return everything of a fitted model that is not an array, as JSON values."""
    layer, member, statistics = fitted.layers[0], fitted.members[0], fitted.statistics
    targets, learned = fitted.targets, fitted.learned_from
    return {
        "encoding": None if fitted.encoding is None else fitted.encoding.to_list(),
        "layer": {
            "activation": layer.activation.name,
            "activation_values": layer.activation(PROBES).tolist(),
            "skip": layer.skip,
            "bound": layer.bound,
            "copies": layer.scaling.copies,
        },
        "rows": fitted.rows,
        "weight": member.sums.weight,
        "weight_unit": fitted.weight_unit,
        "frozen": fitted.is_frozen,
        "single": targets.single if isinstance(targets, NumericTargets) else None,
        "ridges": [member.ridge for member in fitted.members],
        "shares": [member.share for member in fitted.members],
        "neighbours": [
            {"count": near.count, "share": near.share, "seed": near.seed}
            for near in _of_kind(fitted, Neighbours)
        ],
        "networks": [[n.first, n.bound, len(n.weights)] for n in _of_kind(fitted, CodedNetwork)],
        "intercept": member.intercept,
        "slope": statistics.link.slope,
        "link_rows": statistics.link.rows,
        "effective_rows": statistics.effective_rows,
        "choice": statistics.choice,
        "trials": statistics.trials,
        "rows_at_fit": statistics.rows,
        "changes": [fitted.changes.added, fitted.changes.removed],
        "labels": targets.outputs if isinstance(targets, MultilabelTargets) else None,
        "label_type": str(targets.values.dtype) if isinstance(targets, ClassTargets) else None,
        "tally_seed": None if fitted.tally is None else fitted.tally.seed,
        "learned_from": learned and {"seed": learned.seed, "chosen": learned.chosen},
    }


def _arrays(fitted: Fitted) -> Arrays:
    scaling, targets = fitted.layers[0].scaling, fitted.targets
    arrays: Arrays = dict(zip(SCALING_ARRAYS, scaling.arrays, strict=True))
    for number, member in enumerate(fitted.members):
        sums: tuple[Any, dict[str, str]] = (member.ridge_readout, READOUT_ARRAYS)
        if isinstance(member.sums, Moments):
            sums = member.sums, MOMENT_ARRAYS
        for source, names in ((member.layer, LAYER_ARRAYS), sums):
            arrays |= {numbered(name, number): getattr(source, name) for name in names}
        if member.head is not None:
            head = {f"head_{name}": getattr(member.head, name) for name in READOUT_ARRAYS}
            arrays |= {numbered(name, number): array for name, array in head.items()}
    arrays |= {name: getattr(fitted.statistics, name) for name in STATISTICS_ARRAYS}
    arrays["residual_predictions"] = fitted.statistics.predicted
    arrays["class_shares"] = fitted.statistics.link.shares
    arrays["column_importances"] = fitted.statistics.column_importances
    for number, near in enumerate(_of_kind(fitted, Neighbours)):
        local = {f"near_{name}": getattr(near.rows, name) for name in ("keys", *NEARBY_ARRAYS)}
        local["near_root"] = near.root
        arrays |= {numbered(name, number): array for name, array in local.items()}
    for number, network in enumerate(_of_kind(fitted, CodedNetwork)):
        arrays |= {
            numbered(f"code_{name}", number): getattr(network.codes, name) for name in CODE_ARRAYS
        }
        for layer, pair in enumerate(zip(network.weights, network.biases, strict=True)):
            of_layer = (numbered(f"{name}_{layer}", number) for name in NETWORK_ARRAYS)
            arrays |= dict(zip(of_layer, pair, strict=True))
    if trees := _of_kind(fitted, BoostedTrees):
        for name in TREE_ARRAYS:
            arrays[f"tree_{name}"] = np.concatenate([getattr(each, name) for each in trees])
    if fitted.tally is not None:
        arrays |= {"row_keys": fitted.tally.keys, "row_weights": fitted.tally.weights}
        arrays["row_copies"] = fitted.tally.copies
        if fitted.tally.z is not None and fitted.tally.t is not None:
            arrays |= {"row_z": fitted.tally.z, "row_t": fitted.tally.t}
    if fitted.learned_from is not None:
        arrays["learned_keys"] = fitted.learned_from.keys
    if isinstance(targets, NumericTargets):
        arrays |= {f"y_{name}": getattr(targets, name) for name in TARGET_ARRAYS}
        if len(targets.far_keys):
            arrays |= {"far_keys": targets.far_keys, "far_y": targets.far_y}
    if isinstance(targets, ClassTargets):
        labels = targets.values
        arrays["classes"] = labels.astype(
            {"O": str, "M": np.int64}.get(labels.dtype.kind, labels.dtype)
        )
        if targets.weights is not None:
            arrays["class_weights"] = targets.weights
    return arrays


def _of_kind(fitted: Fitted, kind: type[Any]) -> list[Any]:
    return [part for part in fitted.parts if type(part) is kind]


def numbered(name: str, member: int) -> str:
    """Return the name of a member's array."""
    return name if member == 0 else f"{name}.{member}"


# -- reading -------------------------------------------------------------------------------------


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
        special = "is a folder, a device or a pipe, not a file"
        problem = special if path.exists() else f"no such file{suggest_file(path)}"
        raise InvalidInput("model", problem=problem)
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
        digests = json.loads(archive.read(DIGESTS))
        _check_digest(digests, HEADER, text)  # before the header says what there is to check
        header = json.loads(text)
        if header["format"] == FORMAT_OF_0_3:
            _translate_from_0_3(header)
        elif header["format"] != MODEL_FORMAT:
            problem = (
                f"written by onegrad {header.get('onegrad', '?')!s:.20}; this version reads "
                f"formats {FORMAT_OF_0_3} and {MODEL_FORMAT}"
            )
            raise InvalidInput("format", header["format"], problem=problem)
        header |= {key: _restored(header[key]) for key in NUMERIC_ENTRIES}
        arrays: Arrays = {}
        for name in header["arrays"]:
            if name not in names:
                raise InvalidInput("array", name, problem="it is missing; the file is incomplete")
            data = archive.read(name)  # all of it, so that its checksum is compared
            _check_digest(digests, name, data)
            arrays[name.removesuffix(".npy")] = read_array(io.BytesIO(data), f"array {name!r:.40}")
    return header, arrays


def _translate_from_0_3(header: dict[str, Any]) -> None:
    """Change the header of a file of version 0.3 to what this version writes."""
    for column in header["encoding"] or ():  # the text "None" stood for missing values, too
        for owner, name in ((column, "categories"), (column["statistics"] or {}, "values")):
            if owner.get(name):
                owner[name] = [None if value == NONE else value for value in owner[name]]


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


@dataclass(frozen=True)
class ArrayReader:
    """Arrays of a file, which are checked by name once they fit together.

    `sizes` are those of the letters of shapes that all parts of a model share.
    """

    arrays: Arrays
    sizes: Mapping[str, int]

    def take(
        self, shapes: Mapping[str, str], prefix: str = "", number: int = 0, **sizes: int
    ) -> list[Any]:
        """Return the arrays of these names, those of a member or of one of several parts.

        Digests only say that they are the ones that were written.
        """
        checked, known_sizes = [], {**self.sizes, **sizes}
        for plain_name, letters in shapes.items():
            name = numbered(prefix + plain_name, number)
            array, shape = self.arrays[name], tuple(known_sizes[letter] for letter in letters)
            dtype = np.float32 if prefix + plain_name in IN_SINGLE else np.float64
            if array.shape != shape or array.dtype != dtype:
                problem = f"{array.dtype}{array.shape}, not {dtype.__name__}{shape}"
                raise InvalidInput("array", name, problem=problem)
            if np.isnan(array).any() or (name not in MAY_BE_INFINITE and np.isinf(array).any()):
                raise InvalidInput("array", name, problem="it has entries that are not finite")
            checked.append(array)
        return checked


def _fitted(header: dict[str, Any], arrays: Arrays) -> Fitted:
    targets = _targets(header, arrays)
    d, copies = arrays["W"].shape[1], int(header["layer"]["copies"])
    if copies < 1 or d % copies:
        raise InvalidInput("copies", copies, f"a divisor of the {d} inputs")
    sizes = {"c": d // copies, "d": d, "K": targets.outputs}
    sizes |= {"m": len(arrays["residuals"]), "u": arrays["untrained"].size}
    sizes["i"] = arrays["column_importances"].size
    classes = 0 if isinstance(targets, NumericTargets) else len(targets.values)
    sizes["C"] = classes if len(arrays["class_shares"]) else 0  # none where no rows were held out
    reader = ArrayReader(arrays, sizes)
    described = reader.take(STATISTICS_ARRAYS)
    shares, column_importances = reader.take({"class_shares": "C", "column_importances": "i"})
    (predicted,) = reader.take({"residual_predictions": "mK"})
    statistics = FitStatistics(
        **dict(zip(STATISTICS_ARRAYS, described, strict=True)),
        column_importances=column_importances,
        effective_rows=float(header["effective_rows"]),
        link=Link(float(header["slope"]), float(header["link_rows"]), shares),
        choice=dict(header["choice"]),
        trials=tuple(header["trials"]),
        rows=header["rows_at_fit"],
        predicted=predicted,
    )
    added, removed = header["changes"]
    tally = _tally(header, reader)
    few = None
    if tally is not None and tally.z is not None and tally.t is not None:
        w = targets.weighted(tally.t, tally.weights)
        few = FewRows(ScaledRows(tally.z, tally.t, w), int(header["rows"]))
    return Fitted(
        tuple(_members(header, reader, few)),
        targets,
        None if header["encoding"] is None else Encoding.from_list(header["encoding"]),
        statistics,
        tally,
        RowChanges(int(added), int(removed)),
        (
            *_neighbours(header, reader),
            *_networks(header, arrays, targets),
            *_trees(reader),
        ),
        float(header.get("weight_unit", 1.0)),
        _learned_from(header, reader),
    )


def _members(header: dict[str, Any], reader: ArrayReader, few: FewRows | None) -> Iterator[Member]:
    of_layer, frozen = header["layer"], header["frozen"]
    activation = resolve_activation(of_layer["activation"])
    values = of_layer.get("activation_values")
    if values is not None and not np.allclose(activation(PROBES), values, rtol=1e-9, atol=1e-12):
        problem = "that function has other values here than where the model was saved"
        raise InvalidInput("activation", activation.name, problem=problem)
    skip, bound = bool(of_layer["skip"]), float(of_layer["bound"])
    scaling = Scaling.of_arrays(reader.take(SCALING_ARRAYS), int(of_layer["copies"]))
    rows, weight = int(header["rows"]), float(header["weight"])
    for number, ridge in enumerate(map(float, header["ridges"])):
        N = len(reader.arrays[numbered("W", number)])
        sizes = {"N": N, "F": N + reader.sizes["d"] * skip}
        W, b, step = reader.take(LAYER_ARRAYS, "", number, **sizes)
        stored = READOUT_ARRAYS if frozen or few is not None else MOMENT_ARRAYS
        numbers = reader.take(stored, "", number, **sizes)
        sums: Moments | FrozenSums
        if stored is READOUT_ARRAYS:
            sums = FrozenSums(rows, weight, Readout(ridge, *numbers))
        else:
            sums = Moments(rows, weight, *numbers)
        head = None
        if numbered("head_coef", number) in reader.arrays:
            head = Readout(ridge, *reader.take(READOUT_ARRAYS, "head_", number, **sizes))
        layer = Layer(scaling, W, b, activation, skip, bound, step)
        share = float(header["shares"][number])
        member = Member(layer, sums, ridge, bool(header["intercept"]), share, head)
        yield member if few is None else member.with_few_rows(few, member.ridge_readout)


def _neighbours(header: dict[str, Any], reader: ArrayReader) -> Iterator[Neighbours]:
    for number, facts in enumerate(header["neighbours"]):
        keys, w, root = (
            reader.arrays[numbered(f"near_{name}", number)] for name in ("keys", "w", "root")
        )
        shapes = {**NEARBY_ARRAYS, "root": "dr"}
        points, t, *_ = reader.take(shapes, "near_", number, p=len(w), r=root.shape[-1])
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


def _trees(reader: ArrayReader) -> Iterator[BoostedTrees]:
    if "tree_values" not in reader.arrays:
        return
    T, D = reader.arrays["tree_columns"].shape
    trees = BoostedTrees(*reader.take(TREE_ARRAYS, "tree_", T=T, D=D, L=2 ** min(D, MAX_DEPTH)))
    if not ((trees.columns >= 0) & (trees.columns < reader.sizes["d"])).all():
        raise InvalidInput("trees", problem="they ask about inputs that do not exist")
    yield trees


def _targets(header: dict[str, Any], arrays: Arrays) -> Targets:
    if header["labels"] is not None:
        return MultilabelTargets(int(header["labels"]))
    if "classes" not in arrays:
        reader = ArrayReader(arrays, {"K": len(arrays["y_centre"])})
        centre, scale, low, high, step = reader.take(TARGET_ARRAYS, "y_")
        targets = NumericTargets(centre, scale, low, high, step, bool(header["single"]))
        if "far_keys" not in arrays:
            return targets
        keys = _keys(reader, "far_keys")
        (y,) = reader.take({"far_y": "rK"}, r=len(keys))
        return replace(targets, far_keys=keys, far_y=y)
    values, weights = arrays["classes"], arrays.get("class_weights")
    if values.ndim != 1 or len(values) < 1 or values.dtype.kind not in "fiubU":
        raise InvalidInput("classes", f"{values.dtype}{values.shape}", "a vector of labels")
    if len(np.unique(values)) != len(values) or (np.sort(values) != values).any():
        raise InvalidInput("classes", problem="they are not distinct and sorted")
    if re.fullmatch(r"datetime64\[\w+\]", str(header.get("label_type"))):
        values = values.astype(np.int64).view(header["label_type"])
    if weights is not None and (weights.shape != values.shape or weights.dtype != np.float64):
        raise InvalidInput("class weights", allowed="one number per class")
    return ClassTargets(values, weights)


def _tally(header: dict[str, Any], reader: ArrayReader) -> Tally | None:
    if header["tally_seed"] is None:
        return None
    keys = _keys(reader, "row_keys")
    weights, copies = reader.take({"weights": "r", "copies": "r"}, "row_", r=len(keys))
    z = t = None
    if "row_z" in reader.arrays:
        z, t = reader.take({"z": "rd", "t": "rK"}, "row_", r=len(keys))
    return Tally(keys, weights, copies, int(header["tally_seed"]), z, t)


def _learned_from(header: dict[str, Any], reader: ArrayReader) -> LearnedRows | None:
    facts = header.get("learned_from")
    if facts is None:
        return None
    return LearnedRows(_keys(reader, "learned_keys"), int(facts["seed"]), bool(facts["chosen"]))


def _keys(reader: ArrayReader, name: str) -> Any:
    keys = reader.arrays[name]
    if keys.dtype != np.uint64 or keys.ndim != 1 or (keys[1:] <= keys[:-1]).any():
        raise InvalidInput("array", name, problem="its keys are damaged")
    return keys


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
    if not 0 < fitted.weight_unit <= 1:
        raise InvalidInput("weight unit", fitted.weight_unit, "positive, at most one")
    if fitted.rows < 0 or not np.isfinite(sizes).all() or min(sizes) < 0:
        raise InvalidInput("weight, ridge, slope", allowed="finite and not negative")
    if not all(np.isfinite(member.readout.coef).all() for member in fitted.members):
        raise InvalidInput("moments", problem="they have no finite readout")
