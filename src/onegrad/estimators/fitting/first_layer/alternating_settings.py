"""Settings of the alternating family, and how much network a number of rows is worth.

Neurons are looked for in several *searches* of some hundreds each, which cost less than one search
for all of them and find more; one readout then goes over the neurons of all searches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from onegrad.estimators.fitting.settings import check_layer, check_parameter
from onegrad.estimators.fitting.training_set import TrainingSet
from onegrad.exceptions import check_choice

SAMPLE_ROWS = {"fast": 10_000, "default": 20_000, "best": 40_000}  # by budget

SEARCH_WIDTH = 600  # neurons of one search
FAST_SEARCH_WIDTH = 400  # with the fast budget
MAX_SINGLE_SEARCH = 1000  # neurons up to which a width that was asked for is one search
MAX_NEURONS_PER_ROW = 6  # where rows are few
MAX_COMMITTEE_ROWS = 600  # rows up to which a committee costs next to nothing
MANY_ROWS = 8_000  # rows from which a further search pays
MANY_CLASSES = 10  # classes from which one more search pays, and two where rows are many

# share of each kind of new neurons, by whether targets are classes
NEURON_SHARES: dict[bool, Mapping[str, float]] = {
    False: {"any": 0.4, "axis": 0.15, "pair": 0.15, "neighbours": 0.3},
    True: {"any": 0.2, "axis": 0.15, "pair": 0.15, "neighbours": 0.25, "rows": 0.25},
}
# power of the metric, by whether targets are classes and whether there are several searches
METRIC_POWER = {(False, True): 0.5, (False, False): 0.75, (True, True): 0.25, (True, False): 0.5}


@dataclass(frozen=True)
class Capacity:
    """The size of a committee of networks, and of the searches for their neurons.

    Parameters
    ----------
    width, searches : neurons of a network, and searches for them.
    members : number of networks.
    rounds : largest number of rounds of new neurons in a search.
    further : largest number of rounds with the neurons of all searches, where targets have no
        noise.
    steps : largest number of gradient steps after the rounds of a search.
    """

    width: int
    searches: int
    members: int
    rounds: int
    further: int
    steps: int

    @property
    def max_candidates(self) -> int:
        per_search = 1 + self.rounds + 2 * self.steps
        pooled = 1 + self.further if self.searches > 1 else 0
        return self.members * (self.searches * per_search + pooled)


@dataclass(frozen=True)
class AlternatingSettings:
    """The parameters of the alternating estimators that say how rounds are made.

    None is left to the rows and the budget; `classes` says whether targets are labels.
    """

    width: int | None
    members: int | None
    rounds: int | None
    budget: str
    ridge: float | str
    clip: float
    classes: bool

    inputs: ClassVar[str] = "standard"
    intercept: ClassVar[bool] = True
    chooses: ClassVar[bool] = True
    fresh_step_share: ClassVar[None] = None

    def __post_init__(self) -> None:
        check_layer(1 if self.width is None else self.width, self.clip, self.ridge)
        if self.members is not None:
            check_parameter("members", self.members, 1, whole=True)
        if self.rounds is not None:
            check_parameter("rounds", self.rounds, 0, whole=True)
        check_choice("budget", self.budget, SAMPLE_ROWS)

    def capacity(self, rows: int, outputs: int) -> Capacity:
        """Return the capacity for a sample of so many rows, and so many outputs."""
        classes = outputs if self.classes else 0
        fast = self.budget == "fast"
        search_width = FAST_SEARCH_WIDTH if fast else SEARCH_WIDTH
        many = rows >= MANY_ROWS
        if self.width is None:
            pays = 2 if fast else 3 + many + (1 + many if classes >= MANY_CLASSES else 0)
            width = min(max(MAX_NEURONS_PER_ROW * rows, 1), pays * search_width)
            searches = -(-width // search_width)
        else:
            width = self.width
            searches = 1 if width <= MAX_SINGLE_SEARCH else -(-width // search_width)
        rounds = self.rounds
        if rounds is None:
            rounds = 32 if searches == 1 else 8 if classes else 24
        further = (1 if fast or many else 2) * rounds
        few = rows <= MAX_COMMITTEE_ROWS and self.width is None and not fast
        members = self.members or (3 if few or self.budget == "best" else 1)
        # gradient steps: of no use to neurons that are pooled, and as costly as rounds
        steps = 4 if classes and searches == 1 else 0
        return Capacity(width, searches, members, rounds, further, steps)

    def capacity_for(self, training_set: TrainingSet) -> Capacity:
        """Return the capacity for a training set."""
        return self.capacity(training_set.sample_rows, training_set.targets.outputs)

    def committee_size(self, training_set: TrainingSet) -> int:
        return self.capacity_for(training_set).members

    def max_candidates(self, training_set: TrainingSet) -> int:
        return self.capacity_for(training_set).max_candidates
