r"""The alternating family: ridge, first-layer update with the trained readout, ridge, and so on.

Neurons are looked for in several *searches* of some hundreds each, which cost less than one search
for all of them and find more; each has random numbers of its own, and one ridge readout goes over
the neurons of all searches. A round of a search looks at the fitted function f and at what it
leaves unexplained:

1. the metric :math:`M = \frac1n\sum_i \nabla f(x_i)\,\nabla f(x_i)^\top` says in which directions f
   varies;
2. the neurons whose removal would cost most stay: :math:`|a_i|^2/[(G+\lambda)^{-1}]_{ii}` is what
   the penalised loss grows by without neuron i;
3. the others are replaced by new ones, drawn with the metric by several laws (:mod:`.neurons`); of
   every few entrants the one that fits the residual best comes in.

Everything is judged on held-out rows. Inputs come on two scales, and searches take turns on them:
where one scale is wrong for a table, ridge leaves its neurons alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.exceptions import check_choice
from onegrad.functions import resolve_activation
from onegrad.parallel.threads import thread_map
from onegrad.tables.first_layer.layer import Layer, gradient_outer_product
from onegrad.tables.first_layer.neurons import Metric, Neurons, NeuronSampler
from onegrad.tables.fitting.candidates import (
    FIRST_RIDGE,
    MIN_SINGLE_RIDGE,
    Candidate,
    Candidates,
    choose,
    evaluate_layer,
    lowest,
)
from onegrad.tables.fitting.settings import FitPlan, check_layer, check_parameter, number_or_none
from onegrad.tables.fitting.training_set import TrainingSet, metric_rows
from onegrad.tables.model.report import listed
from onegrad.tables.parts.learner import MANY_CLASSES, MANY_ROWS, FitSize, Learner
from onegrad.tables.parts.table import PART_KINDS, learners

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

# share of each kind of new neurons, by whether targets are classes
NEURON_SHARES: dict[bool, Mapping[str, float]] = {
    False: {"any": 0.4, "axis": 0.15, "pair": 0.15, "neighbours": 0.3},
    True: {"any": 0.2, "axis": 0.15, "pair": 0.15, "neighbours": 0.25, "rows": 0.25},
}
# power of the metric, by whether targets are classes and whether there are several searches: their
# errors are one to two per cent smaller (classes' 5 %) than with the powers of a single one
METRIC_POWER = {(False, True): 0.5, (False, False): 0.75, (True, True): 0.25, (True, False): 0.5}

RELU = resolve_activation("relu:raw")  # the activation of all neurons
# 25 or 55 % that stay, ten entrants, or 40 rounds: 0.95 to 1.07 of the error, without a trend
STAYING_SHARE = 0.4  # share of the neurons that stays in a round
ENTRANTS_PER_PLACE = 4  # new neurons that compete for a place
NARROW_PERIOD = 4  # one in so many rounds is made at half the width: a quarter of the time
# relative ridge up to which targets have next to no noise: with further rounds at full width
# parkinsons, noiseless, has a tenth of its error
MAX_NOISELESS_RIDGE = 1e-5
ROUND_PATIENCE = 4  # rounds without improvement after which they end


@dataclass(frozen=True, kw_only=True)
class Capacity(FitPlan):
    """The size of a committee of networks, and of the searches for their neurons."""

    classes: bool  # whether targets are labels
    width: int  # neurons of a network
    searches: int  # for them
    rounds: int  # of new neurons in a search, at most
    further: int  # with the neurons of all searches, at most, where targets have no noise


@dataclass(eq=False, repr=False)
class AlternatingParameters:
    """Rounds of first-layer updates with the trained readout.

    Parameters
    ----------
    width : number of neurons N per member, scikit-learn's `hidden_layer_sizes`. None: set by the
        number of rows and the budget. More than 1,000 neurons are learned in several searches that
        share one readout.
    members : number of networks whose predictions are averaged, scikit-learn's `n_estimators`. Each
        has its own random numbers and holds out other rows; all share the passes over the data.
        None: set by the budget and the number of rows.
    rounds : maximum number of rounds of new neurons in a search, scikit-learn's `max_iter`. None:
        set by the budget.
    patience : number of rounds, or epochs of training, without improvement on held-out rows before
        stopping, scikit-learn's `n_iter_no_change`. None: 4 rounds, 10 epochs.
    budget : "fast", "default" or "best": how much time and memory to spend. Sets the parameters
        that are None.
    ridge : the ridge penalty, scikit-learn's `alpha` of Ridge; "auto" chooses a power of ten times
        the mean variance of the features, as RidgeCV would.
    clip : number of standard deviations at which the inputs of the neurons are clipped.
    inputs : "standard" scales columns by mean and standard deviation; "robust" scales by median and
        quartiles and compresses outliers; "both" uses every column on both scales. None: "both" for
        classifiers unless a width is given, otherwise "standard".
    corrections : "auto" adds, where it helps on held-out rows, logistic regression (for classifiers
        of few rows), networks on encodings of single inputs, boosted trees, and the mean target of
        the nearest rows in the learned metric. "none" does not. None: "auto" unless a width is
        given.
    hold_out : fraction of the sample, scikit-learn's `validation_fraction`, that is held out from
        all first-layer updates to choose the round and the ridge; 0 leaves the layer untrained.
    sample_rows : number of rows on which the first layer is learned, scikit-learn's `max_samples`;
        the readout is fitted on all rows. None: set by the budget.
    """

    width: int | None = None
    _: KW_ONLY
    members: int | None = None
    rounds: int | None = None
    patience: int | None = None
    budget: str = "default"
    sample_rows: int | None = None
    ridge: float | str = "auto"
    clip: float = 4.0
    inputs: str | None = None
    corrections: str | None = None


def check(p: AlternatingParameters) -> None:
    """Raise InvalidInput unless the parameters are allowed."""
    check_layer(1 if p.width is None else p.width, p.clip, p.ridge)
    for name, least in {"members": 1, "rounds": 0, "patience": 1}.items():
        if (value := getattr(p, name)) is not None:
            check_parameter(name, value, least, integer=True)
    choices = {"budget": SAMPLE_ROWS, "inputs": INPUT_SCALES, "corrections": ("auto", "none")}
    for name, allowed in choices.items():
        if (value := getattr(p, name)) is not None or name == "budget":
            check_choice(name, value, allowed)


def corrects(p: AlternatingParameters) -> bool:
    """Return whether parts are tried beside the network."""
    return (p.corrections or ("auto" if p.width is None else "none")) == "auto"


def plan(p: AlternatingParameters, rows: int, outputs: int) -> Capacity:
    """Return the size of a committee: what is None follows from the rows and the budget."""
    fast, many, classes = p.budget == "fast", rows >= MANY_ROWS, is_classifier(p)
    search_width = FAST_SEARCH_WIDTH if fast else SEARCH_WIDTH
    width = p.width
    if width is None:
        kind = "many classes" if outputs >= MANY_CLASSES else "classes"
        most = SEARCHES["fast" if fast else kind if classes else "numbers"][many]
        width = min(max(MAX_NEURONS_PER_ROW * rows, 1), most * search_width)
    searches = -(-width // search_width)
    if p.width is not None and width <= MAX_SINGLE_SEARCH:
        searches = 1
    rounds = p.rounds
    if rounds is None:
        rounds = 32 if searches == 1 else 8 if classes else 24
    further = (1 if fast or many else 2) * rounds
    members = member_count(p, rows)
    # both scales for classes if searches take turns
    both = p.width is None and classes and searches > 1
    per_member = searches * (1 + rounds) + (1 + further if searches > 1 else 0)
    return Capacity(
        scale=p.inputs or ("both" if both else "standard"),
        members=members,
        max_candidates=members * per_member,
        classes=classes,
        width=width,
        searches=searches,
        rounds=rounds,
        further=further,
    )


def member_count(p: AlternatingParameters, rows: int) -> int:
    """Return the number of members for a sample of so many rows."""
    if p.members is not None or p.width is not None:
        return p.members or 1
    if p.budget != "default" or rows >= MANY_ROWS:
        return MEMBERS["many rows" if p.budget == "default" else p.budget]
    return MEMBERS["classes" if is_classifier(p) and rows > FEW_ROWS else "default"]


def part_learners(p: AlternatingParameters, training_set: TrainingSet) -> dict[str, Learner] | None:
    """Return the learner of each part by name; None where there are no corrections."""
    if not corrects(p):
        return None
    size = FitSize(
        rows=len(training_set.keys),
        inputs=training_set.scaling.columns,
        copies=training_set.scaling.copies,
        outputs=training_set.targets.outputs,
        labels=is_classifier(p),
        budget=p.budget,
        patience=p.patience,
    )
    return learners(size)


def learn(
    training_set: TrainingSet, p: AlternatingParameters, rng: np.random.Generator
) -> Candidates:
    """Pool the neurons of all searches, which run in parallel, and go on at full width."""
    capacity = plan(p, len(training_set.keys), training_set.targets.outputs)
    training_set = training_set.first(SEARCH_ROWS[p.budget])
    sampler = NeuronSampler.of(training_set.update, float(p.clip), training_set.ops)
    wide = NeuronSearch(training_set, p, capacity, capacity.width, sampler, rng)
    if capacity.searches == 1:
        return wide.run()
    widths = [len(part) for part in np.array_split(range(capacity.width), capacity.searches)]
    one_thread = replace(training_set, threads=1)
    copies = range(training_set.scaling.copies)
    on_scale = [one_thread.on_scale(number) for number in copies]
    samplers = [NeuronSampler.of(each.update, float(p.clip), each.ops) for each in on_scale]
    turns = [search % len(copies) for search in range(capacity.searches)]
    generators = (rng, *rng.spawn(capacity.searches - 1))
    searches = [
        replace(
            wide, training_set=on_scale[turn], width=width, sampler=samplers[turn], rng=generator
        )
        for turn, width, generator in zip(turns, widths, generators, strict=True)
    ]
    results = [*thread_map(lambda search: search.run(), searches, training_set.threads)]
    best = [result.best for result in results]
    wide = replace(wide, fine=True)
    pooled = wide.evaluate(
        wide.pool([candidate.layer for candidate in best], turns),
        min(candidate.ridge for candidate in best),
        {key: [candidate.label[key] for candidate in best] for key in ("update", "round")},
    )
    more = [
        replace(candidate, label={"update": ["neurons"], "round": [candidate.label["round"]]})
        for candidate in wide.continue_from(pooled)
    ]
    of_searches = [
        replace(candidate, label={"search": number, **candidate.label})
        for number, result in enumerate(results)
        for candidate in result.tried
    ]
    untrained = wide.layer(wide.pool([result.untrained for result in results], turns))
    return Candidates(untrained, [*of_searches, pooled, *more], lowest([pooled, *more]))


@dataclass(frozen=True)
class NeuronSearch:
    """Everything that the rounds of one search share; a round maps a candidate to the next one.

    Parameters and capacity are those of the whole layer.
    """

    training_set: TrainingSet
    parameters: AlternatingParameters
    capacity: Capacity
    width: int  # neurons that are looked for
    sampler: NeuronSampler
    rng: np.random.Generator
    # whether the ridge is chosen by half decades: for many neurons and few rows, with 0.989 of the
    # error of decades
    fine: bool = False

    def run(self) -> Candidates:
        """Try all rounds, the untrained layer first, and let held-out rows choose."""
        untrained = self.draw(self.width, np.eye(self.training_set.inputs))
        tried = [self.evaluate(untrained, FIRST_RIDGE, {"update": "none", "round": 0})]
        held_out = self.training_set.held_out
        if len(held_out):
            tried += self.rounds(tried[0])
        return Candidates(tried[0].layer, tried, choose(tried, held_out.w))

    def continue_from(self, candidate: Candidate) -> Iterator[Candidate]:
        """Make further rounds at full width; many more where targets have no noise."""
        rounds = self.capacity.rounds
        if not len(self.training_set.held_out) or not rounds:
            return
        if candidate.ridge <= MAX_NOISELESS_RIDGE:
            count, patience = self.capacity.further, ROUND_PATIENCE
        else:
            count, patience = -(-rounds // 2), 1
        numbers = range(1, count + 1)
        yield from self.rounds_at(self.width, candidate, numbers, candidate.score, patience)

    def rounds(self, first: Candidate) -> Iterator[Candidate]:
        """Make rounds at full width, after a few at half of it, which cost a quarter."""
        rounds = self.capacity.rounds
        narrow_rounds = rounds // NARROW_PERIOD
        half = (self.width + 1) // 2
        narrow = list(self.rounds_at(half, first, range(1, narrow_rounds + 1)))
        if self.training_set.progress.stopped:  # the best so far may be one of these
            yield from narrow
            return
        best = lowest(narrow) if narrow else first
        start = len(narrow) + 1
        yield from self.rounds_at(self.width, best, range(start, start + rounds - narrow_rounds))

    def rounds_at(
        self,
        width: int,
        candidate: Candidate,
        numbers: range,
        lowest_score: float = np.inf,
        patience: int = ROUND_PATIENCE,
    ) -> Iterator[Candidate]:
        """Make rounds at one width, until so many in a row do not lower the score."""
        patience = self.parameters.patience or patience
        waited = 0
        for number in numbers:
            neurons = None
            if not self.training_set.progress.stopped:
                neurons = self.renew(candidate, width)
            if neurons is None:
                return
            label = {"update": "neurons", "round": number}
            candidate = self.evaluate(neurons, candidate.ridge, label)
            yield candidate
            waited = 0 if candidate.score < lowest_score else waited + 1
            lowest_score = min(lowest_score, candidate.score)
            if waited == patience:
                return

    def renew(self, candidate: Candidate, width: int) -> Neurons | None:
        """Return the neurons that are worth most, and new ones; None where f is constant."""
        ops, rows = self.training_set.ops, self.training_set.on_device.update
        layer = candidate.layer.on(ops)
        large = candidate.ridge > MIN_SINGLE_RIDGE
        if self.parameters.width is None and large and ops.device == "cpu":
            ops, rows = get_ops("cpu", "float32"), self.training_set.in_single.update
            layer = candidate.layer.in_single()
        coef = ops.asarray(candidate.update_readout.coef)
        M = gradient_outer_product(metric_rows(rows), (layer, coef))
        M = np.asarray(to_numpy(M), np.float64)
        if not M.any():
            return None
        stay = round(STAYING_SHARE * width)
        entrants = self.draw(ENTRANTS_PER_PLACE * (width - stay), M)
        readout = candidate.readout
        coef = ops.asarray(readout.coef)
        fitted = [to_numpy(layer.features(block.z) @ coef) for block in rows.blocks()]
        residual = self.training_set.update.t - np.concatenate(fitted) - readout.intercept
        assert candidate.worth is not None
        best = np.argsort(-candidate.worth, kind="stable")[:stay]
        staying = Neurons(candidate.layer.W[best], candidate.layer.b[best])
        return staying + self.sampler.best_entrants(entrants, residual, ENTRANTS_PER_PLACE)

    def draw(self, count: int, M: Floats) -> Neurons:
        """Draw new neurons of all kinds, for a metric M."""
        classes = self.capacity.classes
        metric = Metric(M, METRIC_POWER[classes, self.capacity.searches > 1])
        return self.sampler.draw(NEURON_SHARES[classes], count, metric, self.rng)

    def evaluate(self, neurons: Neurons, first_ridge: float, label: Mapping[str, Any]) -> Candidate:
        """Evaluate the layer of these neurons."""
        return evaluate_layer(
            self.training_set,
            self.layer(neurons),
            label,
            ridge=number_or_none(self.parameters.ridge),
            first_ridge=first_ridge,
            fine=self.fine,
            worth=True,
            single=self.parameters.width is None,
        )

    def layer(self, neurons: Neurons) -> Layer:
        """Return the layer of these neurons."""
        scaling, clip = self.training_set.scaling, float(self.parameters.clip)
        return Layer(scaling, neurons.W, neurons.b, RELU, True, clip)

    def pool(self, layers: Sequence[Layer], turns: Sequence[int]) -> Neurons:
        """Return all neurons of layers, each on the scale whose turn it was."""
        parts = []
        for layer, turn in zip(layers, turns, strict=True):
            W = np.zeros((len(layer.W), self.training_set.inputs))
            first = turn * layer.scaling.columns
            W[:, first : first + layer.W.shape[1]] = layer.W
            parts.append(Neurons(W, layer.b))
        return sum(parts[1:], parts[0])


def _flattened(value: Any) -> list[Any]:
    """Return the values of all searches of all members; one may stand alone."""
    return [x for item in value for x in _flattened(item)] if isinstance(value, list) else [value]


def describe(choice: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines of a report, by name, on the rounds and corrections that were chosen."""
    rounds = _flattened(choice["round"])
    fewest, most = min(rounds), max(rounds)
    count = f"{most}" if fewest == most else f"{fewest} to {most}"
    drawn = "as drawn, since learning it did not help"
    lines = [("first layer", f"{count} round{'s' * (most != 1)} of new neurons" if most else drawn)]
    weights = {name: choice.get(f"{name}_weight") for name in ("ridge", *PART_KINDS)}
    if any(weights.values()):
        shown = (f"{name} {weight:.3g}" for name, weight in weights.items() if weight)
        lines.append(("weights", ", ".join(shown)))
    for name, kind in PART_KINDS.items():
        if name in choice:
            lines.append((name, kind.detail.format(listed("{}", choice[name]))))
    return lines
