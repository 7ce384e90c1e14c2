"""Models as files of numbers and JSON: nothing in them can run.

A file is a ZIP archive, not compressed, of `model.json` and one `.npy` member for each array, as
`numpy.savez` would write them. The JSON names the estimator, its parameters and the arrays;
`digests.json` has the SHA-256 of every other member, so that a file that was damaged or edited is
noticed. Whatever does not fit together is refused by name
(:mod:`onegrad.estimators.model.loading`).
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from onegrad import __version__
from onegrad.estimators.model.fitted import Fitted
from onegrad.estimators.model.targets import ClassTargets, MultilabelTargets, NumericTargets
from onegrad.exceptions import InvalidInput, check_choice
from onegrad.functions import resolve
from onegrad.io.files import atomic_write
from onegrad.io.json_values import json_values

MODEL_FORMAT = 5  # of the first release; formats 1 to 4 were never published, and are not read
HEADER = "model.json"
DIGESTS = "digests.json"

# names of arrays, with their shapes: c columns, d inputs, K outputs, N neurons, F features
SCALING_ARRAYS = {"centre": "d", "scale": "d", "low": "d", "high": "d", "squash": "d"}
TARGET_ARRAYS = {"centre": "K", "scale": "K", "low": "K", "high": "K", "step": "K"}  # after y_
STATISTICS_ARRAYS = {"metric": "cc", "untrained": "u", "residuals": "mK", "residual_weights": "m"}
LAYER_ARRAYS = {"W": "Nd", "b": "N", "step": "F"}  # those of a member, numbered from the second on
READOUT_ARRAYS = {"coef": "FK", "intercept": "K"}  # those of a member that is frozen
MOMENT_ARRAYS = {"F1": "F", "y1": "K", "FtF": "FF", "Fty": "FK", "yty": "K"}  # those, too
HEAD_ARRAYS = READOUT_ARRAYS  # after head_, of members that have one
NEARBY_ARRAYS = {"points": "pr", "t": "pK", "w": "p"}  # after near_, besides their keys
CODE_ARRAYS = ("column", "start", "rise", "stop", "fall")  # after code_, of networks on codes
NETWORK_ARRAYS = ("network_W", "network_b")  # before the number of the layer, single precision
TREE_ARRAYS = {"columns": "TD", "thresholds": "TD", "values": "TLK"}  # after tree_
Arrays = dict[str, np.ndarray[Any, Any]]


def save(estimator: Any, path: str | Path, rows: str = "sums") -> None:
    """Write a fitted estimator; an existing file is replaced only once the new one is complete."""
    check_choice("rows", rows, ("sums", "frozen"))
    fitted: Fitted = estimator.fitted_
    fitted = fitted.frozen() if rows == "frozen" else fitted
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
    with atomic_write(Path(path)) as file, zipfile.ZipFile(file, "w") as archive:
        digests = {}
        for name, content in _members(text, arrays):
            archive.writestr(
                zipfile.ZipInfo(name), content
            )  # without the time: same model, same file
            digests[name] = hashlib.sha256(content).hexdigest()
        archive.writestr(zipfile.ZipInfo(DIGESTS), json.dumps(digests))


def _members(header: str, arrays: Arrays) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the members of the archive."""
    yield HEADER, header.encode()
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
        yield f"{name}.npy", buffer.getvalue()


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
    targets = fitted.targets
    return {
        "encoding": None if fitted.encoding is None else fitted.encoding.to_list(),
        "layer": {
            "activation": layer.activation.name,
            "skip": layer.skip,
            "bound": layer.bound,
            "copies": layer.scaling.copies,
        },
        "rows": fitted.rows,
        "weight": member.sums.weight,
        "frozen": fitted.is_frozen,
        "single": targets.single if isinstance(targets, NumericTargets) else None,
        "ridges": [member.ridge for member in fitted.members],
        "shares": [member.share for member in fitted.members],
        "neighbours": [
            {"count": near.count, "share": near.share, "seed": near.seed}
            for near in fitted.neighbours
        ],
        "networks": [[n.first, n.bound, len(n.weights)] for n in fitted.networks],
        "intercept": member.intercept,
        "slope": statistics.link.slope,
        "link_rows": statistics.link.rows,
        "effective_rows": statistics.effective_rows,
        "choice": statistics.choice,
        "trials": statistics.trials,
        "rows_at_fit": statistics.rows,
        "changes": [fitted.changes.added, fitted.changes.removed],
        "labels": targets.outputs if isinstance(targets, MultilabelTargets) else None,
        "tally_seed": None if fitted.tally is None else fitted.tally.seed,
    }


def _arrays(fitted: Fitted) -> Arrays:
    scaling, targets = fitted.layers[0].scaling, fitted.targets
    arrays: Arrays = dict(zip(SCALING_ARRAYS, scaling.arrays, strict=True))
    for number, member in enumerate(fitted.members):
        sums: tuple[Any, dict[str, str]] = (member.ridge_readout, READOUT_ARRAYS)
        if not fitted.is_frozen:
            sums = member.moments, MOMENT_ARRAYS
        for source, names in ((member.layer, LAYER_ARRAYS), sums):
            arrays |= {numbered(name, number): getattr(source, name) for name in names}
        if member.head is not None:
            head = {f"head_{name}": getattr(member.head, name) for name in HEAD_ARRAYS}
            arrays |= {numbered(name, number): array for name, array in head.items()}
    arrays |= {name: getattr(fitted.statistics, name) for name in STATISTICS_ARRAYS}
    arrays["residual_predictions"] = fitted.statistics.predicted
    arrays["class_shares"] = fitted.statistics.link.shares
    arrays["column_importances"] = fitted.statistics.column_importances
    for number, near in enumerate(fitted.neighbours):
        local = {f"near_{name}": getattr(near.rows, name) for name in ("keys", *NEARBY_ARRAYS)}
        local["near_root"] = near.root
        arrays |= {numbered(name, number): array for name, array in local.items()}
    for number, network in enumerate(fitted.networks):
        arrays |= {
            numbered(f"code_{name}", number): getattr(network.codes, name) for name in CODE_ARRAYS
        }
        for layer, pair in enumerate(zip(network.weights, network.biases, strict=True)):
            of_layer = (numbered(f"{name}_{layer}", number) for name in NETWORK_ARRAYS)
            arrays |= dict(zip(of_layer, pair, strict=True))
    if fitted.trees is not None:
        arrays |= {f"tree_{name}": getattr(fitted.trees, name) for name in TREE_ARRAYS}
    if fitted.tally is not None:
        arrays |= {"row_keys": fitted.tally.keys, "row_weights": fitted.tally.weights}
        arrays["row_copies"] = fitted.tally.copies
    if isinstance(targets, NumericTargets):
        arrays |= {f"y_{name}": getattr(targets, name) for name in TARGET_ARRAYS}
    if isinstance(targets, ClassTargets):
        labels = targets.values
        arrays["classes"] = labels.astype(str) if labels.dtype == object else labels
        if targets.weights is not None:
            arrays["class_weights"] = targets.weights
    return arrays


def numbered(name: str, member: int) -> str:
    """Return the name of a member's array."""
    return name if member == 0 else f"{name}.{member}"
