r"""The alternating family: first layers made of the neurons of several searches.

A search is ridge, first-layer update with the trained readout, ridge, and so on. A wide layer is
made of the neurons of several searches, each with random numbers of its own; one ridge readout
goes over all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from onegrad.data.sample import Sample
from onegrad.estimators.fitting.first_layer.alternating_settings import (
    BUDGETS,
    SAMPLE,
    Capacity,
    Wish,
)
from onegrad.estimators.fitting.first_layer.search import (
    FOR_CLASSES,
    FOR_NUMBERS,
    Manner,
    Terms,
    continued,
    search,
)
from onegrad.estimators.fitting.pipeline import Split
from onegrad.estimators.fitting.settings import check_layer, check_number, given, recipe_of
from onegrad.estimators.fitting.training_set import Learned, Lesson, Mask, Search, lowest, try_layer
from onegrad.estimators.model.report import listed
from onegrad.estimators.sklearn_api.base import FeatureLearner
from onegrad.estimators.sklearn_api.documentation import documented
from onegrad.estimators.sklearn_api.tasks import Classification, Regression
from onegrad.exceptions import check_choice
from onegrad.layers.layer import Layer
from onegrad.parallel import thread_map


@dataclass(frozen=True)
class AlternatingRecipe:
    """The parameters of the estimators that say how rounds are made, see there, and the manner.

    `capacity` is known once rows and outputs are counted.
    """

    width: int | None
    members: int | None
    rounds: int | None
    budget: str
    ridge: float | str
    clip: float
    manner: Manner
    capacity: Capacity | None = None

    inputs: ClassVar[str] = "standard"
    intercept: ClassVar[bool] = True
    chooses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_layer(1 if self.width is None else self.width, self.clip, self.ridge)
        if self.members is not None:
            check_number("members", self.members, 1, whole=True)
        if self.rounds is not None:
            check_number("rounds", self.rounds, 0, whole=True)
        check_choice("budget", self.budget, BUDGETS)

    def sized(self, rows: int, outputs: int) -> AlternatingRecipe:
        wish = Wish(self.budget, self.width, self.members, self.rounds)
        return replace(self, capacity=wish.capacity(rows, outputs if self.manner.classes else 0))

    @property
    def size(self) -> Capacity:
        assert self.capacity is not None
        return self.capacity

    @property
    def networks(self) -> int:
        return self.size.members

    @property
    def most_trials(self) -> int:
        size = self.size
        of_search = 1 + size.rounds + 2 * size.steps
        after = 1 + size.further if size.searches > 1 else 0
        return size.members * (size.searches * of_search + after)

    def split(self, sample: Sample, held: Mask) -> Split:
        return Split(~held, ~held)

    def learn(self, lesson: Lesson, rng: np.random.Generator) -> Learned:
        """The neurons of all searches, which run side by side."""
        size, ridge, manner = self.size, given(self.ridge), self.manner
        power = manner.lone if size.searches == 1 else manner.power

        def terms(width: int) -> Terms:
            limits = size.rounds, size.further, size.steps
            return Terms(manner, power, width, *limits, ridge, float(self.clip))

        if size.searches == 1:
            return search(terms(size.width), lesson, rng)
        widths = [len(part) for part in np.array_split(range(size.width), size.searches)]
        alone = replace(lesson, threads=1)
        jobs = [*zip(widths, (rng, *rng.spawn(size.searches - 1)), strict=True)]
        found = [
            *thread_map(lambda job: search(terms(job[0]), alone, job[1]), jobs, lesson.threads)
        ]
        best = [one.best for one in found]
        label = {key: [trial.label[key] for trial in best] for key in ("update", "round")}
        start = min(trial.ridge for trial in best)
        layer = pooled([trial.layer for trial in best])
        fine = replace(terms(size.width), fine=True)  # many neurons, few rows: a decade is coarse
        together = try_layer(lesson, layer, Search(ridge, start, fine=True), label, worth=True)
        more = [
            replace(trial, label={"update": ["neurons"], "round": [trial.label["round"]]})
            for trial in continued(fine, lesson, rng, together)
        ]
        trials = [
            replace(trial, label={"search": number, **trial.label})
            for number, one in enumerate(found)
            for trial in one.trials
        ]
        untrained = pooled([one.untrained for one in found])
        return Learned(untrained, [*trials, together, *more], lowest([together, *more]))


def pooled(layers: Sequence[Layer]) -> Layer:
    """The layer of all their neurons."""
    W, b = (np.concatenate([getattr(layer, name) for layer in layers]) for name in ("W", "b"))
    return replace(layers[0], W=W, b=b, step=None)


PARAMETERS = """

    Parameters
    ----------
    width : number of neurons N of a member; None: by rows and budget. Above 1,000 they are looked
        for in several searches, one readout goes over all.
    members : networks whose predictions are averaged, each with random numbers of its own; all
        share the passes over the data. None: by budget.
    rounds : most rounds of new neurons in a search; None: by budget.
    budget : "fast", "default" or "best": what None stands for.
    ridge : the penalty; "auto" chooses a power of ten of the features' mean variance.
    clip : standard deviations at which the neurons' inputs are clipped.
    hold_out : share of the rows that no first-layer update sees; they choose round and ridge.
        Without any the layer stays untrained.
"""


def describe(choice: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Lines of a report, by name, on the rounds that were chosen."""
    update, rounds = (listed("{}", choice[key]) for key in ("update", "round"))
    return [("first layer", f"{update}, round {rounds}")]


@dataclass(eq=False, repr=False)
class _Alternating(FeatureLearner):
    """Rounds of first-layer updates with the trained readout."""

    _manner: ClassVar[Manner]

    width: int | None = None
    _: KW_ONLY
    members: int | None = None
    rounds: int | None = None
    budget: str = "default"
    sample_rows: int | None = None
    ridge: float | str = "auto"
    clip: float = 4.0

    _describe = staticmethod(describe)

    def _recipe(self) -> AlternatingRecipe:
        return recipe_of(AlternatingRecipe, self, manner=self._manner, capacity=None)

    def _rows_of_sample(self) -> int | None:
        return SAMPLE[self.budget] if self.sample_rows is None else self.sample_rows


class AlternatingRegressor(_Alternating, Regression):
    __doc__ = documented("AlternatingRegressor", PARAMETERS)
    _manner = FOR_NUMBERS


@dataclass(eq=False, repr=False)
class AlternatingClassifier(_Alternating, Classification):
    __doc__ = documented("AlternatingClassifier", PARAMETERS)
    _: KW_ONLY
    class_weight: Any = None
    _manner = FOR_CLASSES
