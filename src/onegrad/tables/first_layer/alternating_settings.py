r"""Settings of the alternating family, and the size and cost of a fit that follow.

A round of a search for N neurons on n rows of d inputs costs about

.. math:: n N^2 + 2 N^3 + 11\,n d N

operations: the Gram matrix, the factors of a few ridges with the worth of each neuron, and the
features of the layer and of its entrants. Rounds end early, so that the expected cost counts a
typical share of them.
"""

import time
from dataclasses import dataclass

from onegrad.exceptions import check_choice
from onegrad.networks.cost import Cost, product_rate
from onegrad.parallel.cores import blas_threads
from onegrad.tables.fitting.settings import FitPlan, Settings, check_layer, check_parameter
from onegrad.tables.fitting.training_set import TrainingSet
from onegrad.tables.parts.learner import MANY_CLASSES, MANY_ROWS, FitSize, Learner
from onegrad.tables.parts.table import learners

# measured: on inner splits of real tables, as docs/real_data.md tells; numbers are ratios of errors
SAMPLE_ROWS = {"fast": 10_000, "default": 50_000, "best": 100_000}  # by budget
SEARCH_ROWS = {"fast": 10_000, "default": 20_000, "best": 20_000}  # of them, rows of the rounds
# members of a committee, by budget; of the default, fewer for classes and where rows are many.
# With 3,000 rows two have 0.970 (numbers) and 0.962 (classes) of the error of one, three 0.956 and
# 0.956, five 0.942 and 0.950; with 12,000 a second network on codes does as much for less time
MEMBERS = {"fast": 1, "default": 3, "classes": 2, "many rows": 1, "best": 5}
INPUT_SCALES = ("standard", "robust", "both")

# searches for the neurons of a member, where rows are few and where they are many. Two for classes
# have the log-loss of three (0.998) in two thirds of the time
SEARCHES = {"fast": (2, 2), "numbers": (3, 4), "classes": (2, 4), "many classes": (3, 6)}
SEARCH_WIDTH = 600  # neurons of one search; three searches cost less than one of 1,800
FAST_SEARCH_WIDTH = 400  # with the fast budget
MAX_SINGLE_SEARCH = 1000  # neurons up to which a width that was asked for is one search
MAX_NEURONS_PER_ROW = 6  # keeps fits of few rows small; not tuned
FEW_ROWS = 600  # rows up to which one more member of classes costs next to nothing

# typical numbers: with them an estimate is right within a factor of two on a quiet machine
TYPICAL_ROUNDS = 0.75  # share of the rounds of a search that is made
TYPICAL_FURTHER_ROUNDS = 0.15  # of those at full width
EFFICIENCY = 0.5  # of the operations counted here, relative to a matrix product's
SQUARE_MATRICES = 5  # of the size of a Gram matrix that are held at once


@dataclass(frozen=True)
class Capacity:
    """The size of a committee of networks, and of the searches for their neurons."""

    width: int  # neurons of a network
    searches: int  # for them
    members: int  # networks
    rounds: int  # of new neurons in a search, at most
    further: int  # with the neurons of all searches, at most, where targets have no noise
    steps: int  # gradient steps after the rounds of a search, at most

    @property
    def max_candidates(self) -> int:
        per_search = 1 + self.rounds + 2 * self.steps
        pooled = 1 + self.further if self.searches > 1 else 0
        return self.members * (self.searches * per_search + pooled)


@dataclass(frozen=True)
class AlternatingSettings(Settings):
    """The parameters of the alternating estimators that say how rounds are made.

    None is left to the rows and the budget; `classes` says whether targets are labels. Corrections
    are "auto" and the inputs of classes on "both" scales unless somebody asked for others, or for
    a width: then "none" and "standard".
    """

    width: int | None
    members: int | None
    rounds: int | None
    budget: str
    ridge: float | str
    clip: float
    inputs: str | None
    corrections: str | None
    classes: bool
    patience: int | None = None

    intercept = True

    def __post_init__(self) -> None:
        check_layer(1 if self.width is None else self.width, self.clip, self.ridge)
        for name, least in {"members": 1, "rounds": 0, "patience": 1}.items():
            if (value := getattr(self, name)) is not None:
                check_parameter(name, value, least, integer=True)
        check_choice("budget", self.budget, SAMPLE_ROWS)
        if self.inputs is not None:
            check_choice("inputs", self.inputs, INPUT_SCALES)
        if self.corrections is not None:
            check_choice("corrections", self.corrections, ("auto", "none"))

    @property
    def corrects(self) -> bool:
        return (self.corrections or ("auto" if self.width is None else "none")) == "auto"

    @property
    def in_single(self) -> bool:
        """True if candidates are compared in single precision: not those of a given width."""
        return self.width is None

    def plan(self, rows: int, outputs: int, /) -> FitPlan:
        capacity = self.capacity(rows, outputs)
        return FitPlan(self.scale(capacity), capacity.members, capacity.max_candidates)

    def scale(self, capacity: Capacity) -> str:
        """Return the scale of the inputs: by default both, for classes if searches take turns."""
        both = self.width is None and self.classes and capacity.searches > 1
        return self.inputs or ("both" if both else "standard")

    def capacity(self, rows: int, outputs: int) -> Capacity:
        """Return the capacity for a sample of so many rows, and so many outputs."""
        fast, many = self.budget == "fast", rows >= MANY_ROWS
        search_width = FAST_SEARCH_WIDTH if fast else SEARCH_WIDTH
        width = self.width
        if width is None:
            kind = "many classes" if outputs >= MANY_CLASSES else "classes"
            most = SEARCHES["fast" if fast else kind if self.classes else "numbers"][many]
            width = min(max(MAX_NEURONS_PER_ROW * rows, 1), most * search_width)
        searches = -(-width // search_width)
        if self.width is not None and width <= MAX_SINGLE_SEARCH:
            searches = 1
        rounds = self.rounds
        if rounds is None:
            rounds = 32 if searches == 1 else 8 if self.classes else 24
        further = (1 if fast or many else 2) * rounds
        # gradient steps on the logistic loss gain nothing for pooled neurons, and cost as rounds do
        steps = 4 if self.classes and searches == 1 else 0
        return Capacity(width, searches, self.members_for(rows), rounds, further, steps)

    def members_for(self, rows: int) -> int:
        """Return the number of members for a sample of so many rows."""
        if self.members is not None or self.width is not None:
            return self.members or 1
        if self.budget != "default" or rows >= MANY_ROWS:
            return MEMBERS["many rows" if self.budget == "default" else self.budget]
        return MEMBERS["classes" if self.classes and rows > FEW_ROWS else "default"]

    def part_learners(self, training_set: TrainingSet) -> dict[str, Learner] | None:
        if not self.corrects:
            return None
        rows, scaling = training_set.sample_rows, training_set.scaling
        return learners(
            self.fit_size(rows, scaling.columns, scaling.copies, training_set.targets.outputs)
        )

    def fit_size(
        self, rows: int, inputs: int, copies: int, outputs: int, hold_out: float = 0.0
    ) -> FitSize:
        """Return what decides how the parts of a prediction are learned."""
        of_settings = self.classes, self.budget, self.patience
        return FitSize(rows, hold_out, inputs, copies, outputs, *of_settings)


def round_flops(n: float, d: float, N: float) -> float:
    """Operations of one round."""
    return n * N**2 + 2 * N**3 + 11 * n * d * N


def alternating_cost(
    settings: AlternatingSettings,
    rows: int,
    sampled: int,
    inputs: int,
    outputs: int,
    hold_out: float,
) -> Cost:
    """Estimate what a fit costs on this machine; `inputs` are those after encoding.

    Bytes are features of all rows, written and read once each. Seconds of a processor follow from
    the rate of products that is measured here.
    """
    capacity = settings.capacity(sampled, outputs)
    copies = 1 + (settings.scale(capacity) == "both")
    size = settings.fit_size(sampled, inputs, copies, outputs, hold_out)
    d, N = copies * inputs, capacity.width
    width = N + d
    searched = min(size.learned, (1 - hold_out) * SEARCH_ROWS[settings.budget])
    per_round = round_flops(searched, inputs, N / capacity.searches)
    flops = capacity.searches * (1 + TYPICAL_ROUNDS * capacity.rounds) * per_round
    if capacity.searches > 1:
        further = 1 + TYPICAL_FURTHER_ROUNDS * capacity.rounds
        flops += further * round_flops(searched, d, N)
    if settings.corrects:
        flops += sum(learner.flops(size) for learner in learners(size).values())
    flops += searched * width**2  # spectrum of the untrained layer
    flops += rows * (width**2 + 2 * d * N) + width**3  # second pass and readout
    flops *= capacity.members
    held_out_features = hold_out * min(sampled, SEARCH_ROWS[settings.budget]) * width
    of_sample = sampled * (3 * d + 2 * outputs)
    memory = 8 * ((capacity.members + SQUARE_MATRICES) * width**2 + held_out_features + of_sample)
    with blas_threads(1):
        rate = product_rate(clock=time.process_time)
    seconds = flops / (EFFICIENCY * rate)
    return Cost(flops, 16.0 * rows * width * capacity.members, int(memory), seconds)
