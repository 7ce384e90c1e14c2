"""Simulated settings in files: the data that accuracies of the theory are measured and fitted on.

A file is a JSON list of settings: `id`, fields of a problem, `alphas` (null for no step), and per
step the `mean` and standard error `se` over `networks` of (train, test). Or each has its `id`, one
`problem` with its step, and `train`, `train_se`, `test`, `test_se`.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onegrad import Problem

FOLDER = Path(__file__).parent / "settings"
FILES = ("random_settings", "wide_settings", "precise_settings", "reach_same", "reach_covariance",
         "reach_steps", "reach_labels", "held_out_precise", "held_out_same",
         "held_out_covariance", "held_out_steps", "held_out_labels",
         "preconditioned_settings", "strong_settings", "combinations")  # fmt: skip
MEASURED = ("id", "alphas", "mean", "se", "networks")


@dataclass(frozen=True)
class Setting:
    """One simulated setting.

    fields : of the problem, all but the step.
    half : "even" settings may be looked at and fitted on, "odd" ones verify.
    mean, se : (steps, 2), train and test.
    """

    id: int
    half: str
    fields: dict[str, Any]
    alphas: tuple[float | None, ...]
    mean: np.ndarray
    se: np.ndarray

    def problems(self) -> list[Problem]:
        """Return one problem per step."""
        base = Problem(**self.fields)
        return [base.replace(eta=0.0) if a is None else base.replace(alpha=a) for a in self.alphas]


def read_settings(path: Path) -> list[Setting]:
    """Return the settings of a file.

    Halves go by the parity of the id, or of id // 2 in a file that has odd ids only.
    """
    rows = [_with_steps(row) for row in json.loads(path.read_text("utf-8"))]
    divisor = 1 if any(row["id"] % 2 == 0 for row in rows) else 2
    return [
        Setting(
            id=row["id"],
            half="odd" if row["id"] // divisor % 2 else "even",
            fields={name: value for name, value in row.items() if name not in MEASURED},
            alphas=tuple(row["alphas"]),
            mean=np.array(row["mean"]),
            se=np.array(row["se"]),
        )
        for row in rows
    ]


def _with_steps(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of one problem as a setting of one step."""
    if "problem" not in row:
        return row
    fields = {"id": row["id"], **row["problem"]}
    fields["alphas"] = [fields.pop("alpha", None)]
    return fields | {
        "mean": [[row["train"], row["test"]]],
        "se": [[row["train_se"], row["test_se"]]],
    }


def write_settings(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as a JSON list with one setting per line."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", "utf-8")


def named_files(names: Sequence[Path]) -> list[Path]:
    """Return files as given, or else those of the folder of settings with these names."""
    return [path if path.exists() else FOLDER / f"{path.name}.json" for path in names]
