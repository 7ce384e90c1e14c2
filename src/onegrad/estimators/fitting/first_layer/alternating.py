r"""The alternating family: first layers made of the neurons of several searches.

A search (:mod:`.search`) is ridge, first-layer update with the trained readout, ridge, and so on.
A wide layer is made of the neurons of several searches, each with random numbers of its own; one
ridge readout goes over all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from onegrad.estimators.fitting.candidates import Candidates, evaluate_layer, lowest
from onegrad.estimators.fitting.first_layer.alternating_settings import AlternatingSettings
from onegrad.estimators.fitting.first_layer.neurons import NeuronSampler
from onegrad.estimators.fitting.first_layer.search import NeuronSearch
from onegrad.estimators.fitting.settings import number_or_none
from onegrad.estimators.fitting.training_set import TrainingSet
from onegrad.estimators.model.report import listed
from onegrad.layers.layer import Layer
from onegrad.parallel import thread_map


def learn(
    training_set: TrainingSet, settings: AlternatingSettings, rng: np.random.Generator
) -> Candidates:
    """Pool the neurons of all searches, which run in parallel, and go on at full width."""
    capacity = settings.capacity_for(training_set)
    sampler = NeuronSampler.of(training_set.update, float(settings.clip))
    wide = NeuronSearch(training_set, settings, capacity, capacity.width, sampler, rng)
    if capacity.searches == 1:
        return wide.run()
    widths = [len(part) for part in np.array_split(range(capacity.width), capacity.searches)]
    one_thread = replace(training_set, threads=1)
    generators = (rng, *rng.spawn(capacity.searches - 1))
    searches = [
        replace(wide, training_set=one_thread, width=width, rng=generator)
        for width, generator in zip(widths, generators, strict=True)
    ]
    results = [*thread_map(lambda search: search.run(), searches, training_set.threads)]
    best = [result.best for result in results]
    pooled = evaluate_layer(
        training_set,
        pool([candidate.layer for candidate in best]),
        {key: [candidate.label[key] for candidate in best] for key in ("update", "round")},
        ridge=number_or_none(settings.ridge),
        first_ridge=min(candidate.ridge for candidate in best),
        fine=True,  # many neurons, few rows: a decade of the ridge is coarse
        worth=True,
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
    untrained = pool([result.untrained for result in results])
    return Candidates(untrained, [*of_searches, pooled, *more], lowest([pooled, *more]))


def pool(layers: Sequence[Layer]) -> Layer:
    """Return the layer of all their neurons."""
    W, b = (np.concatenate([getattr(layer, name) for layer in layers]) for name in ("W", "b"))
    return replace(layers[0], W=W, b=b, step=None)


def describe(choice: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines of a report, by name, on the rounds that were chosen."""
    update, rounds = (listed("{}", choice[key]) for key in ("update", "round"))
    return [("first layer", f"{update}, round {rounds}")]
