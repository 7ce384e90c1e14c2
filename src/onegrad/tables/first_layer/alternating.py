r"""The alternating family: ridge, first-layer update with the trained readout, ridge, and so on.

Neurons are looked for in several *searches* of some hundreds each, which cost less than one search
for all of them and find more; each has random numbers of its own, and one ridge readout goes over
the neurons of all searches. A round of a search looks at the fitted function f and at what it
leaves unexplained:

1. the metric :math:`M = \frac1n\sum_i \nabla f(x_i)\,\nabla f(x_i)^\top` says in which directions f
   varies;
2. the neurons whose removal would cost most stay: :math:`|a_i|^2/[(G+\lambda)^{-1}]_{ii}` is what
   the penalised loss grows by without neuron i;
3. the others make room for new ones, drawn with the metric in several ways (:mod:`.neurons`); of
   every few entrants the one that fits the residual best comes in.

A search for classes that is alone makes a few long steps after the rounds,
:math:`W \leftarrow W + s\,\frac{\|W\|}{\|G\|}\,G`.

Everything is judged on held-out rows. Inputs come on two scales, and searches take turns on them:
where one scale is wrong for a table, ridge leaves its neurons alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onegrad.arrays import Floats, get_ops, to_numpy
from onegrad.functions import resolve_activation
from onegrad.parallel.threads import thread_map
from onegrad.tables.first_layer.alternating_settings import (
    SEARCH_ROWS,
    AlternatingSettings,
    Capacity,
)
from onegrad.tables.first_layer.gradient import gradient_outer_product, weight_gradient
from onegrad.tables.first_layer.layer import Layer
from onegrad.tables.first_layer.neurons import Metric, Neurons, NeuronSampler
from onegrad.tables.first_layer.scaling import ScaledRows, Scaling
from onegrad.tables.fitting.candidates import (
    FIRST_RIDGE,
    MIN_SINGLE_RIDGE,
    Candidate,
    Candidates,
    choose,
    evaluate_layer,
    lowest,
)
from onegrad.tables.fitting.settings import number_or_none
from onegrad.tables.fitting.training_set import TrainingSet, metric_rows
from onegrad.tables.model.report import listed
from onegrad.tables.model.targets import NumericTargets, Targets
from onegrad.tables.parts.table import PART_KINDS

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
STEP_LENGTHS = (0.3, 1.0)  # relative lengths of the gradient step


def learn(
    training_set: TrainingSet, settings: AlternatingSettings, rng: np.random.Generator
) -> Candidates:
    """Search for neurons on some rows of the sample."""
    return search(training_set.first(SEARCH_ROWS[settings.budget]), settings, rng)


def search(
    training_set: TrainingSet, settings: AlternatingSettings, rng: np.random.Generator
) -> Candidates:
    """Pool the neurons of all searches, which run in parallel, and go on at full width."""
    capacity = settings.capacity(training_set.sample_rows, training_set.targets.outputs)
    sampler = NeuronSampler.of(training_set.update, float(settings.clip), training_set.ops)
    wide = NeuronSearch(training_set, settings, capacity, capacity.width, sampler, rng)
    if capacity.searches == 1:
        return wide.run()
    widths = [len(part) for part in np.array_split(range(capacity.width), capacity.searches)]
    one_thread = replace(training_set, threads=1)
    copies = range(training_set.scaling.copies)
    on_scale = [one_thread.on_scale(number) for number in copies]
    samplers = [NeuronSampler.of(each.update, float(settings.clip), each.ops) for each in on_scale]
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
    pooled = evaluate_layer(
        training_set,
        pool([candidate.layer for candidate in best], training_set.scaling, turns),
        {key: [candidate.label[key] for candidate in best] for key in ("update", "round")},
        ridge=number_or_none(settings.ridge),
        first_ridge=min(candidate.ridge for candidate in best),
        fine=True,  # many neurons, few rows: half decades have 0.989 of the error of decades
        worth=True,
        single=settings.in_single,
    )
    more = [
        replace(candidate, label={"update": ["neurons"], "round": [candidate.label["round"]]})
        for candidate in replace(wide, fine=True).continue_from(pooled)
    ]
    of_searches = [
        replace(candidate, label={"search": number, **candidate.label})
        for number, result in enumerate(results)
        for candidate in result.tried
    ]
    untrained = pool([result.untrained for result in results], training_set.scaling, turns)
    return Candidates(untrained, [*of_searches, pooled, *more], lowest([pooled, *more]))


@dataclass(frozen=True)
class NeuronSearch:
    """Everything that the rounds of one search share; a round maps a candidate to the next one.

    Settings and capacity are those of the whole layer.
    """

    training_set: TrainingSet
    settings: AlternatingSettings
    capacity: Capacity
    width: int  # neurons that are looked for
    sampler: NeuronSampler
    rng: np.random.Generator
    fine: bool = False  # whether the ridge is chosen by half decades

    def run(self) -> Candidates:
        """Try all rounds and steps, the untrained layer first, and let held-out rows choose."""
        untrained = self.draw(self.width, np.eye(self.training_set.inputs))
        tried = [self.evaluate(untrained, FIRST_RIDGE, {"update": "none", "round": 0})]
        held_out = self.training_set.held_out
        if len(held_out):
            tried += self.rounds(tried[0])
            tried += self.gradient_steps(lowest(tried))
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
        patience = self.settings.patience or patience
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
        if self.settings.in_single and large and ops.device == "cpu":
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

    def gradient_steps(self, candidate: Candidate) -> Iterator[Candidate]:
        """Make gradient steps on the first layer, each of the better length, with new kinks."""
        kinks = self.sampler.z[self.sampler.draw_rows(self.rng.random(self.width))]
        for number in range(1, self.capacity.steps + 1 if self.capacity.rounds else 1):
            W = candidate.layer.W
            G = loss_gradient(self.training_set.update, candidate, self.training_set.targets)
            length = np.linalg.norm(G)
            if length == 0 or self.training_set.progress.stopped:
                return
            tried = []
            for step in STEP_LENGTHS:
                moved = self.sampler.place(W + step * np.linalg.norm(W) / length * G, kinks)
                label = {"update": "gradient", "round": number, "step": step}
                tried.append(self.evaluate(moved, candidate.ridge, label, worth=False))
            yield from tried
            candidate = lowest(tried)

    def draw(self, count: int, M: Floats) -> Neurons:
        """Draw new neurons of all kinds, for a metric M."""
        classes = self.settings.classes
        metric = Metric(M, METRIC_POWER[classes, self.capacity.searches > 1])
        return self.sampler.draw(NEURON_SHARES[classes], count, metric, self.rng)

    def evaluate(
        self, neurons: Neurons, first_ridge: float, label: Mapping[str, Any], worth: bool = True
    ) -> Candidate:
        """Evaluate the layer of these neurons."""
        clip, scaling = float(self.settings.clip), self.training_set.scaling
        return evaluate_layer(
            self.training_set,
            Layer(scaling, neurons.W, neurons.b, RELU, True, clip),
            label,
            ridge=number_or_none(self.settings.ridge),
            first_ridge=first_ridge,
            fine=self.fine,
            worth=worth,
            single=self.settings.in_single,
        )


def loss_gradient(rows: ScaledRows, candidate: Candidate, targets: Targets) -> Floats:
    r"""Return minus the (N, d) gradient of the logistic loss in W.

    .. math:: r_i = 1_{y_i} - \mathrm{softmax}(2 f(z_i)) \quad\text{is its residual.}
    """
    layer, readout = candidate.layer, candidate.readout
    assert not isinstance(targets, NumericTargets)

    def residual(block: ScaledRows, _: Floats) -> Floats:
        f = layer.features(block.z) @ readout.coef + readout.intercept
        return targets.residual(f, block.t)

    return weight_gradient(rows, layer, readout.coef[layer.width - len(layer.W) :], residual)


def pool(layers: Sequence[Layer], scaling: Scaling, turns: Sequence[int]) -> Layer:
    """Return the layer of all their neurons, each on the scale whose turn it was."""
    d = scaling.columns
    parts = []
    for layer, turn in zip(layers, turns, strict=True):
        W = np.zeros((len(layer.W), len(scaling.centre)))
        W[:, turn * d : turn * d + layer.W.shape[1]] = layer.W
        parts.append(Neurons(W, layer.b))
    neurons = sum(parts[1:], parts[0])
    return replace(layers[0], scaling=scaling, W=neurons.W, b=neurons.b, step=None)


def _flattened(value: Any) -> list[Any]:
    """Return the values of all searches of all members; one may stand alone."""
    return [x for item in value for x in _flattened(item)] if isinstance(value, list) else [value]


def describe(choice: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines of a report, by name, on the rounds and corrections that were chosen."""
    updates, rounds = (_flattened(choice[key]) for key in ("update", "round"))
    names = {"neurons": "new neurons", "gradient": "gradient steps"}
    kinds = " or ".join(name for key, name in names.items() if key in updates)
    fewest, most = min(rounds), max(rounds)
    count = f"{most}" if fewest == most else f"{fewest} to {most}"
    layer = (
        f"{count} round{'s' * (most != 1)} of {kinds}"
        if most
        else "as drawn, since learning it did not help"
    )
    lines = [("first layer", layer)]
    weights = {name: choice.get(f"{name}_weight") for name in ("ridge", *PART_KINDS)}
    if any(weights.values()):
        shown = (f"{name} {weight:.3g}" for name, weight in weights.items() if weight)
        lines.append(("weights", ", ".join(shown)))
    for name, kind in PART_KINDS.items():
        if name in choice:
            lines.append((name, kind.detail.format(listed("{}", choice[name]))))
    return lines
