"""How often `og.compare` says "differ" where nothing does: fresh networks, cut into small groups.

    python benchmarks/verdict.py [--networks 400]

Beside the uniform theory there is one that is right by construction: the mean over all other
networks. A group of two to four networks never says "agree"; "differ" is to be rare in every one.
"""

import argparse
from dataclasses import replace

import numpy as np

import onegrad as og
from onegrad.comparison import LEVEL, Comparison
from onegrad.networks.sample_mean import SampleMean

GROUPS = (2, 3, 5, 10)
PROBLEMS = {
    "tanh, H1, n = 400": og.Problem(n=400, d=100, N=150, alpha=0.4),
    "softplus, H1 + H2, n = 800": og.Problem(
        n=800, d=200, N=300, activation="softplus", teacher="H1 + H2/sqrt(2)", alpha=0.4
    ),
    "relu, noise 0.5, n = 1000": og.Problem(
        n=1000, d=200, N=300, activation="relu", noise=0.5, alpha=0.4
    ),
}


def share_that_differs(whole: Comparison, size: int, known: bool) -> float:
    """Return the share of groups of so many networks that say "differ".

    known : the theory is the mean over the networks outside the group, instead of its own.
    """
    count = len(whole.simulation.seeds)
    verdicts = []
    for start in range(0, count - size + 1, size):
        chosen = np.arange(start, start + size)
        seeds = tuple(whole.simulation.seeds[i] for i in chosen)
        errors, truth = {}, {}
        for name in ("train", "test"):
            values = getattr(whole.simulation, name).values
            errors[name] = SampleMean.over_seeds(values[chosen], seeds)
            truth[name] = np.delete(values, chosen, axis=0).mean(0)
        prediction = whole.prediction
        if known:
            prediction = replace(prediction, **truth, accuracy=type(prediction.accuracy)())
        simulation = replace(whole.simulation, seeds=seeds, **errors)
        verdicts.append(replace(whole, prediction=prediction, simulation=simulation).agrees)
    return float(np.mean([verdict is False for verdict in verdicts]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=int, default=400)
    args = parser.parse_args()
    print(f'share of groups that say "differ"; nominal: at most {LEVEL:.0%}\n')
    heads = " | ".join(f"{size} networks" for size in GROUPS)
    print(f"| problem | theory | {heads} |\n|---|---|{'--:|' * len(GROUPS)}")
    for name, problem in PROBLEMS.items():
        whole = og.compare(problem, seeds=args.networks)
        for theory, known in (("uniform", False), ("mean of the others", True)):
            shares = (share_that_differs(whole, size, known) for size in GROUPS)
            print(f"| {name} | {theory} | {' | '.join(f'{s:.1%}' for s in shares)} |", flush=True)


if __name__ == "__main__":
    main()
