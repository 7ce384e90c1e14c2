r"""The alternating family: ridge, first-layer update with the trained readout, ridge, and so on.

Neurons are looked for in several *searches* of some hundreds each (:mod:`.neuron_search`), which
cost less than one search for all of them and find more; each has random numbers of its own, and one
ridge readout goes over the neurons of all searches.

Then gradient steps move all neurons together (:mod:`.joint_training`). Everything is judged on
held-out rows. Inputs come on two scales, and searches take turns on them: where one scale is wrong
for a table, ridge leaves its neurons alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from onegrad.estimators.fitting.candidates import Candidate, Candidates, evaluate_layer, lowest
from onegrad.estimators.fitting.corrections import mixed_score
from onegrad.estimators.fitting.first_layer.alternating_settings import (
    SEARCH_ROWS,
    AlternatingSettings,
)
from onegrad.estimators.fitting.first_layer.joint_training import EPOCH_PATIENCE, train_jointly
from onegrad.estimators.fitting.first_layer.neuron_search import NeuronSearch
from onegrad.estimators.fitting.first_layer.neurons import Neurons, NeuronSampler
from onegrad.estimators.fitting.settings import number_or_none
from onegrad.estimators.fitting.training_set import TrainingSet
from onegrad.estimators.model.report import listed
from onegrad.layers.layer import Layer
from onegrad.layers.scaling import Scaling
from onegrad.parallel.threads import thread_map


def learn(
    training_set: TrainingSet, settings: AlternatingSettings, rng: np.random.Generator
) -> Candidates:
    """Search for neurons on some rows of the sample, then train them together on all of them."""
    searched = training_set.first(SEARCH_ROWS[settings.budget])
    candidates = search(searched, settings, rng)
    if not settings.corrects:
        return candidates
    trained = train(training_set, searched, settings, candidates.best, rng)
    if trained is None:
        return candidates
    tried = [*candidates.tried, trained]
    return Candidates(candidates.untrained, tried, lowest([candidates.best, trained]))


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


def train(
    training_set: TrainingSet,
    searched: TrainingSet,
    settings: AlternatingSettings,
    best: Candidate,
    rng: np.random.Generator,
) -> Candidate | None:
    """Return the candidate that joint training makes of the best one, with a head for labels.

    None where no epoch is better. The score of a candidate with a head is that of the best mixture
    with ridge regression.
    """
    if not len(searched.held_out) or training_set.progress.stopped:
        return None
    rates = settings.training_rates(training_set.sample_rows)
    patience = settings.patience or EPOCH_PATIENCE
    trials = [train_jointly(training_set, best, rate, rng, patience) for rate in rates]
    networks = [network for network in trials if network is not None]
    if not networks:
        return None
    network = min(networks, key=lambda each: each.held_out_loss)
    candidate = evaluate_layer(
        searched,
        network.layer,
        {**best.label, "epochs": network.epoch},
        ridge=number_or_none(settings.ridge),
        first_ridge=best.ridge,
        fine=True,
        single=settings.in_single,
    )
    if settings.classes:
        candidate = replace(candidate, head=network.readout)
        candidate = replace(candidate, score=mixed_score(searched, candidate))
    return candidate


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
    layer = f"{count} round{'s' * (most != 1)} of {kinds}" if most else "as drawn: no round helped"
    lines = [("first layer", layer)]
    if "epochs" in choice:
        lines.append(("joint training", f"{listed('{}', choice['epochs'])} epochs"))
    parts = ("ridge", "head", "networks", "trees", "neighbours")
    weights = {name: choice.get(f"{name}_weight") for name in parts}
    if any(weights.values()):
        shown = (f"{name} {weight:.3g}" for name, weight in weights.items() if weight)
        lines.append(("weights", ", ".join(shown)))
    if "neighbours" in choice:
        lines.append(("neighbours", f"distance of number {listed('{}', choice['neighbours'])}"))
    return lines
