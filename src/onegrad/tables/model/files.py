"""Models as archives of numbers and JSON: what is written of each part, and how it is read.

Every array is declared with its axes and its type, and one function compares them. What does not
fit together is refused by name. Digests only say that it is what was written.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from onegrad import __version__
from onegrad.exceptions import InvalidInput, check_choice
from onegrad.functions import resolve, resolve_activation
from onegrad.ridge import Moments, Readout
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.first_layer.scaling import MAX_INPUT, Scaling
from onegrad.tables.model.archive import Arrays, numbers_of, read_archive, write_archive
from onegrad.tables.model.fitted import (
    FitStatistics,
    Fitted,
    LearnedRows,
    Member,
    RowChanges,
    StoredReadout,
    few_rows,
)
from onegrad.tables.model.permutation_importance import inputs_by_column
from onegrad.tables.model.targets import (
    ClassTargets,
    Link,
    MultilabelTargets,
    NumericTargets,
    Targets,
)
from onegrad.tables.parts.part import KEYS, ArraySpec, Part, check_arrays
from onegrad.tables.parts.table import PART_KINDS, name_of
from onegrad.tables.rows.encoding import Encoding
from onegrad.tables.rows.sample import Tally

MODEL_FORMAT = 6  # that of 0.4.0, the first release: later versions read it, too
PROBES = np.sinh(np.linspace(-3.2, 3.1, 32))  # where a function must be what it was: -12 to 11

Specs = dict[str, ArraySpec]


def declared(arrays: str, infinite: bool = False) -> Specs:
    """Return the specs of arrays that are given as "name: axes; name: axes"."""
    pairs = (array.split(": ") for array in arrays.split("; "))
    return {name: ArraySpec(axes, infinite=infinite) for name, axes in pairs}


SCALING = declared("centre: inputs")
SCALING |= declared("scale: inputs; low: inputs; high: inputs; squash: inputs", infinite=True)
LAYER = declared("W: neurons inputs; b: neurons; step: features")
READOUT = declared("coef: features outputs; intercept: outputs")
MOMENTS = declared(
    "F1: features; y1: outputs; FtF: features features; Fty: features outputs; yty: outputs"
)
TARGETS = declared("centre: outputs; scale: outputs; step: outputs")
TARGETS |= declared("low: outputs; high: outputs", infinite=True)
FAR_TARGETS = {"far_keys": KEYS} | declared("far_y: rows outputs")
STATISTICS = declared(
    "metric: columns columns; untrained: eigenvalues; residuals: held_out outputs; "
    "residual_weights: held_out; predicted: held_out outputs; column_importances: importances"
)
TALLY = {"keys": KEYS} | declared("weights: rows; copies: rows")
TALLY_ROWS = declared("z: rows inputs; t: rows outputs")
# entries of the header with names; in others, numbers that are not finite were written as text
ENTRIES_OF_NAMES = ("encoding", "names")


def save(estimator: Any, path: str | Path, rows: str = "sums") -> None:
    """Write a fitted estimator; an existing file is replaced only once the new one is complete."""
    check_choice("rows", rows, ("sums", "frozen"))
    fitted: Fitted = estimator.fitted_
    fitted = fitted.frozen() if rows == "frozen" else fitted.without_sums()
    names = getattr(estimator, "feature_names_in_", None)
    header = {
        "format": MODEL_FORMAT,
        "onegrad": __version__,
        "estimator": type(estimator).__name__,
        "parameters": _parameters(estimator),
        "names": None if names is None else [str(name) for name in names],
        **_header(fitted),
    }
    write_archive(Path(path), header, _arrays(fitted))


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
        "encoding": fitted.encoding and fitted.encoding.columns,
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
        "parts": [{"part": name_of(part), **part.facts} for part in fitted.parts],
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
        "seed": fitted.seed,
        "chosen": learned and learned.chosen,
    }


def _arrays(fitted: Fitted) -> Arrays:
    statistics, targets, tally = fitted.statistics, fitted.targets, fitted.tally
    arrays: Arrays = dict(zip(SCALING, fitted.layers[0].scaling.arrays, strict=True))
    for number, member in enumerate(fitted.members):
        arrays |= _arrays_of(member.layer, LAYER, "", number)
        if isinstance(member.sums, Moments):
            arrays |= _arrays_of(member.sums, MOMENTS, "", number)
        else:
            arrays |= _arrays_of(member.ridge_readout, READOUT, "", number)
    arrays |= _arrays_of(statistics, STATISTICS) | {"class_shares": statistics.link.shares}
    for number, part in enumerate(fitted.parts):
        arrays |= {_numbered(f"part_{name}", number): a for name, a in part.arrays().items()}
    if tally is not None:
        arrays |= _arrays_of(tally, TALLY, "row_")
        if tally.z is not None:
            arrays |= _arrays_of(tally, TALLY_ROWS, "row_")
    if fitted.learned_from is not None:
        arrays["learned_keys"] = fitted.learned_from.keys
    if isinstance(targets, NumericTargets):
        arrays |= _arrays_of(targets, TARGETS, "y_")
        arrays |= _arrays_of(targets, FAR_TARGETS) if len(targets.far_keys) else {}
    if isinstance(targets, ClassTargets):
        kind = {"O": str, "M": np.int64}.get(targets.values.dtype.kind, targets.values.dtype)
        arrays["classes"] = targets.values.astype(kind)
        if targets.weights is not None:
            arrays["class_weights"] = targets.weights
    return arrays


def _arrays_of(value: Any, names: Collection[str], prefix: str = "", number: int = 0) -> Arrays:
    return {_numbered(prefix + name, number): getattr(value, name) for name in sorted(names)}


def _numbered(name: str, number: int) -> str:
    """Return the name of an array of one of several members or parts."""
    return name if number == 0 else f"{name}.{number}"


# -- reading -------------------------------------------------------------------------------------


def read_model(path: str | Path, estimators: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the fitted estimator, one of some by name, that `save` wrote; refuse other files."""
    try:
        header, arrays = read_archive(Path(path))
        if (number := header.get("format")) != MODEL_FORMAT:
            version = f"written by onegrad {header.get('onegrad', '?')!s:.20}"
            problem = f"{version}; this version reads format {MODEL_FORMAT}"
            raise InvalidInput("format", number, problem=problem)
        header |= {k: numbers_of(v) for k, v in header.items() if k not in ENTRIES_OF_NAMES}
        name, parameters = header["estimator"], header["parameters"]
        if name not in estimators:
            raise InvalidInput("estimator", name, problem="it is unknown")
        if isinstance(parameters.get("class_weight"), list):
            parameters["class_weight"] = dict(parameters["class_weight"])
        estimator = estimators[name](**parameters)
        fitted = ModelReader(header, arrays).fitted()
        _check_values(fitted)
        estimator._publish(fitted)
        if header["names"] is not None:
            names = list(map(str, header["names"]))
            if len(names) != estimator.n_features_in_:
                raise InvalidInput("names", problem="they are not as many as the columns")
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return estimator
    except InvalidInput as error:
        problem = error.problem if error.argument == "model" else str(error)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    except (zipfile.BadZipFile, EOFError, struct.error, zlib.error):
        problem = "not a model file, or truncated or damaged"
    except (
        *(LookupError, TypeError, ValueError, AttributeError, RuntimeError),
        *(ArithmeticError, AssertionError, MemoryError),
    ) as error:
        reason = " ".join(str(error).split())
        problem = f"not a valid model file: {reason:.100}"
    raise InvalidInput(str(path), problem=problem)


class ModelReader:
    """The header and the arrays of a file, of which each is checked as it is taken."""

    def __init__(self, header: dict[str, Any], arrays: Arrays) -> None:
        self.header, self.arrays = header, arrays
        self.targets = self._targets()
        d, copies = arrays["W"].shape[1], int(header["layer"]["copies"])
        if copies < 1 or d % copies:
            raise InvalidInput("copies", copies, f"a divisor of the {d} inputs")
        classes = 0 if isinstance(self.targets, NumericTargets) else len(self.targets.values)
        self.sizes = {
            "columns": d // copies,
            "inputs": d,
            "outputs": self.targets.outputs,
            "classes": classes if len(arrays["class_shares"]) else 0,  # none without held-out rows
        }

    def take(
        self, specs: Mapping[str, ArraySpec], prefix: str = "", number: int = 0, **sizes: int
    ) -> Arrays:
        """Return the arrays of these names, those of a member or of one of several parts."""
        arrays = {name: self.arrays[_numbered(prefix + name, number)] for name in specs}
        check_arrays(specs, arrays, {**self.sizes, **sizes})
        return arrays

    def fitted(self) -> Fitted:
        """Return the fitted model."""
        header = self.header
        (shares,) = self.take(declared("class_shares: classes")).values()
        added, removed = map(int, header["changes"])
        learned, tally = None, self._tally()
        if "learned_keys" in self.arrays:
            (keys,) = self.take({"learned_keys": KEYS}).values()
            learned = LearnedRows(keys, bool(header["chosen"]))
        return Fitted(
            tuple(self._members(tally)),
            self.targets,
            None if header["encoding"] is None else Encoding.from_list(header["encoding"]),
            FitStatistics(
                **self.take(STATISTICS),
                effective_rows=float(header["effective_rows"]),
                link=Link(float(header["slope"]), float(header["link_rows"]), shares),
                choice=dict(header["choice"]),
                trials=tuple(header["trials"]),
                rows=header["rows_at_fit"],
            ),
            tally,
            RowChanges(added, removed),
            tuple(self._parts()),
            float(header["weight_unit"]),
            learned,
            int(header["seed"]),
        )

    def _targets(self) -> Targets:
        header, arrays = self.header, self.arrays
        self.sizes = {}
        if header["labels"] is not None:
            return MultilabelTargets(int(header["labels"]))
        if "classes" not in arrays:
            numbers = self.take(TARGETS, "y_")
            if "far_keys" in arrays:
                numbers |= self.take(FAR_TARGETS, outputs=len(numbers["centre"]))
            return NumericTargets(**numbers, single=bool(header["single"]))
        values, weights = arrays["classes"], arrays.get("class_weights")
        if values.ndim != 1 or len(values) < 1 or values.dtype.kind not in "fiubU":
            raise InvalidInput("classes", f"{values.dtype}{values.shape}", "a vector of labels")
        if len(np.unique(values)) != len(values) or (np.sort(values) != values).any():
            raise InvalidInput("classes", problem="they are not distinct and sorted")
        if weights is not None and (weights.shape != values.shape or weights.dtype != np.float64):
            raise InvalidInput("class weights", allowed="one number per class")
        if re.fullmatch(r"datetime64\[\w+\]", str(header["label_type"])):
            values = values.astype(np.int64).view(header["label_type"])
        return ClassTargets(values, weights)

    def _tally(self) -> Tally | None:
        if "row_keys" not in self.arrays:
            return None
        return Tally(**self.take(TALLY | TALLY_ROWS if "row_z" in self.arrays else TALLY, "row_"))

    def _members(self, tally: Tally | None) -> Iterator[Member]:
        header, of_layer = self.header, self.header["layer"]
        activation = resolve_activation(of_layer["activation"])
        if not np.allclose(activation(PROBES), of_layer["activation_values"], 1e-9, 1e-12):
            problem = "that function has other values here than where the model was saved"
            raise InvalidInput("activation", activation.name, problem=problem)
        skip, bound = bool(of_layer["skip"]), float(of_layer["bound"])
        scaling = Scaling.of_arrays(self.take(SCALING).values(), int(of_layer["copies"]))
        rows, weight = int(header["rows"]), float(header["weight"])
        few = few_rows(tally, self.targets)
        for number, ridge in enumerate(map(float, header["ridges"])):
            neurons = len(self.arrays[_numbered("W", number)])
            features = neurons + self.sizes["inputs"] * skip
            layer = Layer(
                scaling,
                **self.take(LAYER, "", number, neurons=neurons, features=features),
                activation=activation,
                skip=skip,
                bound=bound,
            )
            sums: Moments | StoredReadout
            if header["frozen"] or few is not None:
                readout = Readout(ridge, **self.take(READOUT, "", number, features=features))
                sums = StoredReadout(rows, weight, readout, few)
            else:
                sums = Moments(rows, weight, **self.take(MOMENTS, "", number, features=features))
            share = float(header["shares"][number])
            yield Member(layer, sums, ridge, bool(header["intercept"]), share)

    def _parts(self) -> Iterator[Part]:
        for number, facts in enumerate(self.header["parts"]):
            kind = PART_KINDS[facts["part"]].part
            arrays = self.take(kind.specs(facts), "part_", number)
            yield kind.from_arrays(arrays, facts, self.sizes["inputs"])


def _check_values(fitted: Fitted) -> None:
    scaling, statistics = fitted.layers[0].scaling, fitted.statistics
    if scaling.squash is not None and not (scaling.squash > 0).all():
        raise InvalidInput("squash", problem="it must be positive")
    for bounded in (scaling, fitted.targets):
        if isinstance(bounded, Scaling | NumericTargets):
            low, high = np.maximum(bounded.low, -MAX_INPUT), np.minimum(bounded.high, MAX_INPUT)
            if not (low <= high).all():
                raise InvalidInput("bounds", problem="nothing lies between them")
    d = scaling.columns
    if fitted.encoding is not None and len(fitted.encoding.inputs) != d:
        problem = f"they make {len(fitted.encoding.inputs)} inputs; the layer has {d}"
        raise InvalidInput("columns", problem=problem)
    by_column = statistics.column_importances
    columns = inputs_by_column(fitted.encoding, scaling)
    if len(by_column) not in (0, len(columns)) or (by_column < 0).any():
        raise InvalidInput("column importances", allowed="one number per column")
    of_members = (number for m in fitted.members for number in (m.ridge, m.share))
    sizes = (fitted.members[0].sums.weight, statistics.link.slope, *of_members)
    if fitted.rows < 0 or not np.isfinite(sizes).all() or min(sizes) < 0:
        raise InvalidInput("weight, ridge, slope", allowed="finite and not negative")
    if not 0 < fitted.weight_unit <= 1:
        raise InvalidInput("weight unit", fitted.weight_unit, "positive, at most one")
    if not all(np.isfinite(member.readout.coef).all() for member in fitted.members):
        raise InvalidInput("moments", problem="they have no finite readout")
