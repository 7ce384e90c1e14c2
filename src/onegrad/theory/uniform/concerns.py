"""Where the uniform theory ends: what it refuses, and the reasons to distrust a prediction.

The reasons follow from the accuracy and the spread that come with every prediction.
"""

from onegrad.exceptions import AssumptionWarning, OutOfScope
from onegrad.problem import Problem
from onegrad.theory.prediction import TrainTest
from onegrad.theory.scope import require_known_fields
from onegrad.theory.uniform.laws.labels import LabelLaw

# what the theory reads, and fields without meaning for one step on Gaussian inputs
UNIFORM_FIELDS = (
    "n", "d", "N", "activation", "teacher", "noise", "ridge", "alpha", "eta", "n_step", "weights",
    "readout", "residual", "noise_law", "corrupted", "intercept", "batches", "later_alpha",
    "input_overlap", "labels",
)  # fmt: skip
ERROR_FIELDS = (
    *UNIFORM_FIELDS, "inputs", "ridge_rows", "steps", "update", "weight_decay", "paired",
)  # fmt: skip
ONE_STEP_FIELDS = (*UNIFORM_FIELDS, "update")  # with steps that are not the gradient
MAX_MEAN_SQUARE = 1e12  # of outputs and labels, and of a step: beyond it rounding takes over
MIN_ENERGY_LEFT = 1e-12  # of labels less their linear part
# relative accuracy above which a prediction warns, and the same for the spread of single networks;
# ordinary bars are half a percent. Chosen for a reader, not tuned
MAX_SILENT_ERROR, MAX_SILENT_SPREAD = 0.08, 0.2


def require_covered(p: Problem, fields: tuple[str, ...] = UNIFORM_FIELDS) -> None:
    """Raise OutOfScope for a problem that the theory does not describe.

    fields : those that it takes into account.
    """
    require_known_fields("uniform", fields, [p])
    labels, noise = p.teacher_function.second_moment, p.noise * p.noise
    if labels + noise == 0.0:
        raise OutOfScope("uniform", "teacher", covered="labels that are not all zero")
    energies = {"activation": p.sigma.second_moment, "teacher": labels, "noise": noise}
    for field, energy in energies.items():
        if energy > MAX_MEAN_SQUARE:
            raise OutOfScope("uniform", field, energy, f"mean squares up to {MAX_MEAN_SQUARE:g}")
    if p.labels == "residual-least-squares":  # which must not fit the labels of the step exactly
        if p.rows_of_step <= p.d + 1:
            covered = f"more than d + 1 with labels={p.labels!r}"
            raise OutOfScope("uniform", "n_step", p.n_step, covered)
        law = LabelLaw.of(p)
        if not law.fit.step_energy > MIN_ENERGY_LEFT * law.energy:
            covered = f"more than linear with labels={p.labels!r}"
            raise OutOfScope("uniform", "teacher", covered=covered)
    for field, step in (("eta", p.step), *(("later_alpha", later) for later in p.later_sizes)):
        if step > MAX_MEAN_SQUARE:
            raise OutOfScope("uniform", field, step, f"steps up to {MAX_MEAN_SQUARE:g}")


def concerns(
    problem: Problem, accuracy: TrainTest, reason: str, relative_spread: float
) -> tuple[AssumptionWarning, ...]:
    """Return the reasons to distrust a prediction; none where the theory is accurate.

    reason : the largest contribution to the accuracy, in words.
    relative_spread : standard deviation of the test error of single networks over the prediction.
    """
    reasons = {}
    if not max(accuracy.train, accuracy.test) <= MAX_SILENT_ERROR:
        text = f"may be off by more than {MAX_SILENT_ERROR:.0%} (see accuracy), because of {reason}"
        reasons["accuracy"] = text
    if not relative_spread <= MAX_SILENT_SPREAD:
        reasons["spread"] = (
            f"single networks scatter by more than {MAX_SILENT_SPREAD:.0%} (see spread)"
        )
    freedom = problem.noise_distribution.parameter
    if freedom is not None and freedom <= 4 and problem.noise:
        reasons["noise_law"] = (
            f"noise_law {problem.noise_law} has no fourth moment; single draws rule the mean over "
            "networks"
        )
    return tuple(
        AssumptionWarning("uniform", field, f"uniform theory: {text}")
        for field, text in reasons.items()
    )
