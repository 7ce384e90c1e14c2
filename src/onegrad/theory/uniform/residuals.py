r"""The law of the residuals of the step, as nodes with the indices that they depend on.

A residual is a label, or a label minus the initial output. Its law matters as a whole: M weighs
rows by r and S by :math:`r^2`, and the resolvents of both average functions of r. The indices
given r enter by their first two moments.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions.hermite import gauss_hermite
from onegrad.theory.uniform.laws.labels import LabelLaw
from onegrad.theory.uniform.rules import (
    NOISE_NODES,
    ONE_NODE,
    cut_gaussian,
    noise_nodes,
    normal_cutoff,
    product_rule,
)

NODES_PER_INDEX = {1: 32, 2: 24, 3: 14, 4: 8, 5: 5, 6: 4}  # by the number of indices
MIN_NODES_PER_INDEX = 3  # of more indices
RESIDUAL_BINS = 256  # where there are many more nodes than these


@dataclass(frozen=True)
class RowConstraint:
    """The rows satisfy X^T q = 0 off the indices: means given the node of q, q^2 and q tau."""

    q: Floats  # (J,)
    q_q: Floats  # (J,)
    q_tau: Floats  # (k, J)


@dataclass(frozen=True)
class ResidualLaw:
    """Nodes of the law of a residual, with the indices it depends on."""

    r: Floats  # (J,)
    p: Floats  # (J,) probabilities
    # (k, J) means given the node of the indices; the labels' come first, then that of the initial
    # output
    tau: Floats
    tau_tau: Floats  # (k, k, J) the same of their products
    # what the rows satisfy beyond that, where a fit to them is taken off
    constraint: RowConstraint | None = None


def residual_law(
    labels: LabelLaw, noise: float, rows: int, output: float, mean: float = 0.0
) -> ResidualLaw:
    """Return nodes of label + Gaussian noise + mean, cut at probability 1/rows.

    noise : deviation of all but the teacher. The part of it beyond the labels' own noise is
        Gaussian and contains -output t with a standard normal t: given the noise, t is Gaussian.
    """
    if labels.fit.has_direction:
        return _law_on_fitted_rows(labels, noise, rows, output, mean)
    mean -= labels.fit.mean
    edge = normal_cutoff(rows)
    gaussian = labels.law.name == "gaussian"
    own = 0.0 if gaussian else labels.noise
    rest = float(np.sqrt(max(noise**2 - own**2, 0.0)))
    z, pz = _index_nodes(labels.indices, edge)
    e, pe = noise_nodes(labels.law, rows) if own else ONE_NODE
    g, pg = cut_gaussian(NOISE_NODES, edge) if rest else ONE_NODE
    clean = labels.at_indices(z)
    shape = (len(pz), len(pe), len(pg))
    r = (mean + clean[:, None, None] + own * e[:, None] + rest * g).ravel()
    p = (pz[:, None, None] * pe[:, None] * pg).ravel()
    share = -output / rest if output else 0.0
    t = np.broadcast_to(share * g, shape).ravel() if output else None
    z = np.repeat(z, len(pe) * len(pg), axis=1)
    law = _means(r, (1 - labels.replaced) * p, z, t, share)
    if labels.replaced:  # a replaced label is independent of the indices
        law = concatenated([law, _means(r, labels.replaced * p, None, t, share, len(z))])
    return law if len(law.r) <= 4 * RESIDUAL_BINS else binned(law)


def _law_on_fitted_rows(
    labels: LabelLaw, noise: float, rows: int, output: float, mean: float
) -> ResidualLaw:
    """Return the law of label - fit + Gaussian noise + mean on the rows of the fit (`laws.labels`).

    Nodes are indices, labels' noise that is not Gaussian, and one standard normal g for all that
    is: given g its parts are jointly Gaussian.
    """
    edge = normal_cutoff(rows)
    gaussian = labels.law.name == "gaussian"
    own, own_gaussian = (0.0, labels.noise) if gaussian else (labels.noise, 0.0)
    z, pz = _index_nodes(labels.teacher_indices, edge)
    e, pe = noise_nodes(labels.law, rows) if own else ONE_NODE
    g, pg = cut_gaussian(NOISE_NODES, edge)
    clean = labels.at_indices(z)
    shape = (len(pz), len(pe), len(pg))
    noiseless = np.broadcast_to(clean[:, None, None] + own * e[:, None], shape).ravel()
    p = (pz[:, None, None] * pe[:, None] * pg).ravel()
    z, g = np.repeat(z, len(pe) * len(pg), axis=1), np.broadcast_to(g, shape).ravel()
    other = float(np.sqrt(max(noise**2 - labels.noise**2 - output**2, 0.0)))
    laws = [
        _fitted_mixture(
            labels, share * p, noiseless, z, g, (own_gaussian, output, other, mean), replaced
        )
        for replaced, share in ((False, 1 - labels.replaced), (True, labels.replaced))
        if share
    ]
    return laws[0] if len(laws) == 1 else concatenated(laws)


def _fitted_mixture(
    labels: LabelLaw,
    p: Floats,
    noiseless: Floats,  # labels without Gaussian noise
    z: Floats,  # their indices, which replaced labels do not know
    g: Floats,
    # deviation of the Gaussian label noise, c_1 and deviation of the rest of the initial output,
    # and mean of the residual beyond the labels'
    numbers: tuple[float, float, float, float],
    replaced: bool,
) -> ResidualLaw:
    """Return the law at nodes of labels that belong to their rows, or of replaced ones."""
    own, output, other, mean = numbers
    fit, phi, t, J = labels.fit, labels.phi, len(z), len(p)
    # every quantity is a number at the node plus coefficients on the Gaussians
    # (label noise, t', index of the output, rest of the output, indices of a replaced label)
    gaussians = np.eye(4 + t * replaced)
    label_noise, fresh, row, rest = gaussians[:4]
    z_at, z_on = (np.zeros((t, J)), gaussians[4:]) if replaced else (z, np.zeros((t, 4)))
    y_at, y_on = noiseless, own * label_noise
    rest_at, rest_on = y_at - fit.mean - fit.linear @ z_at, y_on - fit.linear @ z_on
    fitted_at, fitted_on = (rest_at, rest_on) if fit.least_squares else (y_at, y_on)
    share, fresh_share = phi / fit.noise, 1 - phi * fit.least_squares
    e_at, e_on = share * fitted_at, fresh_share * fresh + share * fitted_on
    r_at, r_on = rest_at - fit.noise * e_at, rest_on - fit.noise * e_on
    q_at, q_on = (r_at, r_on) if fit.least_squares else (y_at, y_on)
    node_part = np.vstack([z_at, e_at, np.zeros(J), q_at])  # indices, then the constraint
    gaussian_part = np.vstack([z_on, e_on, row, q_on])
    load = r_on - output * row - other * rest
    size = float(np.linalg.norm(load))
    along = gaussian_part @ load / size
    spread_part = gaussian_part @ gaussian_part.T - np.outer(along, along)  # given g
    x = node_part + np.outer(along, g)
    products = x[:, None] * x + spread_part[:, :, None]
    k = t + 1 + bool(output)
    return ResidualLaw(
        mean + r_at + size * g,
        p,
        x[:k],
        products[:k, :k],
        RowConstraint(x[-1], products[-1, -1], products[-1, :k]),
    )


def concatenated(laws: Sequence[ResidualLaw]) -> ResidualLaw:
    """Return a mixture of laws as one; either all or none of them have a constraint."""

    def joined(parts: Iterable[Floats]) -> Floats:
        return np.concatenate(list(parts), axis=-1)

    constraints = [law.constraint for law in laws if law.constraint is not None]
    names = "r", "p", "tau", "tau_tau"
    r, p, tau, tau_tau = (joined(getattr(law, name) for law in laws) for name in names)
    columns = (joined(getattr(q, k) for q in constraints) for k in ("q", "q_q", "q_tau"))
    return ResidualLaw(r, p, tau, tau_tau, RowConstraint(*columns) if constraints else None)


def _means(
    r: Floats, p: Floats, z: Floats | None, t: Floats | None, share: float, indices: int = 1
) -> ResidualLaw:
    """Return the law at nodes where z and the known part t of the output's index are given.

    z : None where the residual does not depend on the indices: they are standard normal.
    """
    if z is None:
        tau = np.zeros((indices, len(r)))
        tau_tau = np.broadcast_to(np.eye(indices)[:, :, None], (indices, indices, len(r)))
    else:
        tau, tau_tau = z, z[:, None] * z
    if t is None:
        return ResidualLaw(r, p, tau, tau_tau)
    both = np.concatenate([tau, t[None]])
    products = both[:, None] * both
    products[:-1, :-1] = tau_tau
    products[-1, -1] += 1 - share**2
    return ResidualLaw(r, p, both, products)


def binned(law: ResidualLaw) -> ResidualLaw:
    """Merge nodes of nearly equal residuals in bins that are narrow where residuals are small."""
    scale = float(np.sqrt(law.p @ law.r**2))
    x = np.arcsinh(law.r / scale)
    position = (x - x.min()) / max(np.ptp(x), 1e-300)  # from 0 to 1
    place = (position * RESIDUAL_BINS).astype(int).clip(0, RESIDUAL_BINS - 1)
    p: Floats = np.bincount(place, law.p, RESIDUAL_BINS).astype(float)
    filled = p > 0

    def mean(f: Floats) -> Floats:
        rows = f.reshape(-1, len(place))
        sums = np.array([np.bincount(place, law.p * row, RESIDUAL_BINS)[filled] for row in rows])
        return (sums / p[filled]).reshape(*f.shape[:-1], -1)

    return ResidualLaw(mean(law.r), p[filled], mean(law.tau), mean(law.tau_tau))


def _index_nodes(indices: int, edge: float) -> tuple[Floats, Floats]:
    """Return a grid over the indices, (indices, J), and its probabilities."""
    k = NODES_PER_INDEX.get(indices, MIN_NODES_PER_INDEX)
    return product_rule([cut_gaussian(k, edge) if k >= NOISE_NODES else gauss_hermite(k)] * indices)
