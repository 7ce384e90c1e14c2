r"""Directions that the labels read, where inputs have a covariance.

x is white: a direction has a part in each group of eigenvalues s. The indices
:math:`B^\top\Sigma^{1/2}x` of a teacher are made orthonormal: :math:`B^\top\Sigma^{1/2} = Lu`
with :math:`LL^\top = B^\top\Sigma B`, and its labels are a function of u.

The fit :math:`X^\top y/n_0` is the direction :math:`f = s\circ(cu + \tau n)` with isotropic noise n
(least squares: without s). Labels less a fit have one more index, e of f off u,

.. math:: f\cdot x = (f\cdot u)\,u\cdot x + T\,e\cdot x,

and the part of n off u and e stays special: rows of the fit know it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from onegrad.arrays import Floats
from onegrad.functions import index_calculus
from onegrad.functions.function import Function
from onegrad.theory.uniform.laws.inputs import Inputs, stretched
from onegrad.theory.uniform.laws.labels import FitForms, LabelLaw

MIN_LENGTH = 1e-6  # of what is left of a direction: below, the others span it


@dataclass(frozen=True)
class Slots:
    """The explicit space: a direction for each primitive one in each group of eigenvalues."""

    inputs: Inputs
    count: int

    @property
    def size(self) -> int:
        """Number of explicit directions."""
        return self.count * len(self.inputs.s)

    @property
    def s(self) -> Floats:
        """Eigenvalue of each explicit direction."""
        return np.tile(self.inputs.s, self.count)

    def vector(self, slot: int, parts: Floats) -> Floats:
        """Return the vector with these parts in the groups."""
        v = np.zeros((self.count, len(self.inputs.s)))
        v[slot] = parts
        return v.ravel()

    def teacher(self, indices: int) -> tuple[Floats, Floats]:
        """Return the orthonormal directions of a teacher, (t, E), and the root L."""
        betas = [self.vector(0, np.sqrt(self.inputs.draw.shares))]
        for k in range(1, indices):
            beta = self.off(k, np.array(betas))
            betas.append(beta / np.linalg.norm(beta))
        moved = np.sqrt(self.s) * np.array(betas)
        root = np.linalg.cholesky(moved @ moved.T)
        return np.linalg.solve(root, moved), root

    def off(self, slot: int, vectors: Floats) -> Floats:
        """Return a random direction off orthonormal ones: of a teacher, or the noise n of a fit."""
        n = self.random(slot, np.sqrt(self.inputs.omega), self.inputs.draw.others[slot - 1])
        return n - (vectors @ n) @ vectors

    def readout_row(self, slot: int) -> Floats:
        """Return W_0^T a, whose part along a single direction is a number of the draw."""
        sizes = np.sqrt(self.inputs.s * self.inputs.omega)
        return self.random(slot, sizes, self.inputs.draw.row)

    def noise(self) -> Floats:
        """Return the noise of the step, of unit length."""
        slot = self.count - 1 - (self.inputs.mean is not None)
        return self.random(slot, np.sqrt(self.inputs.omega), self.inputs.draw.noise)

    def random(self, slot: int, sizes: Floats, along: Floats) -> Floats:
        """Return a random direction: `along` single directions, and in its own slot elsewhere."""
        single = self.inputs.single
        return self.vector(slot, np.where(single, 0.0, sizes)) + self.vector(
            0, np.where(single, sizes * along, 0.0)
        )


@dataclass(frozen=True)
class LabelDirections:
    """Directions of the labels, (m, E), and of the noise of a fit."""

    indices: Floats
    noise: Floats | None = None  # what is left of n off the indices, unit; None where they span it
    remainder: float = 0.0  # its length, relative to tau


def label_directions(slots: Slots, labels: LabelLaw) -> LabelDirections:
    """Return the directions that the labels read."""
    t, fit = labels.teacher_indices, labels.fit
    vectors, _ = slots.teacher(t)
    if not fit.has_direction:
        return LabelDirections(vectors)
    n = slots.off(t, vectors)
    load = n if fit.least_squares else slots.s * (labels.linear @ vectors + labels.noise_of_fit * n)
    load = load - (vectors @ load) @ vectors
    vectors = np.vstack([vectors, load / np.linalg.norm(load)])
    rest = n - (vectors @ n) @ vectors
    length = float(np.linalg.norm(rest))
    if length < MIN_LENGTH:
        return LabelDirections(vectors)
    return LabelDirections(vectors, rest / length, length / float(np.linalg.norm(n)))


def off_directions(vectors: Floats, basis: list[Floats]) -> Floats:
    """Return what an orthonormal basis leaves of vectors, (..., D)."""
    for _ in range(2):  # twice is enough
        vectors = vectors - (vectors @ np.array(basis).T) @ np.array(basis)
    return vectors


def labels_on(inputs: Inputs, labels: LabelLaw, scale: float, shift: float) -> LabelLaw:
    """Return labels as functions of orthonormal indices.

    scale : deviation of the inputs.
    shift : index of their mean.
    """
    t = labels.teacher_indices
    slots = Slots(inputs, t + 1)
    vectors, root = slots.teacher(t)
    f = labels.teacher
    if isinstance(f, Function):
        labels = replace(labels, teacher=stretched(f, scale * float(root[0, 0]), shift))
    else:
        labels = replace(labels, teacher=index_calculus.of_other_indices(f, scale * root))
    if not labels.fit.has_direction:
        return labels
    n = slots.off(t, vectors)
    loads = np.vstack([vectors, n])
    if not labels.fit.least_squares:
        loads = slots.s * loads
    along = loads @ vectors.T
    off = loads - along @ vectors
    return replace(labels, forms=FitForms(along, off @ off.T))
