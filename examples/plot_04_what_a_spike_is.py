"""
What a spike is
===============

You have seen spikes leave the bulk. What do they mean? The k-th one is the k-th Hermite polynomial
of the learned index :math:`u = \\tilde X \\beta/|\\beta|`, and the longer the step, the closer: its
squared cosine with :math:`He_k(u)` grows first for degree one, later for degree two.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og
from onegrad.networks import spectrum as measure
from onegrad.pictures import RC

plt.rcParams.update(RC)

problem = og.Problem(n=800, d=400, N=600, activation="softplus", teacher="H1 + H2/sqrt(2)")
alpha = np.linspace(0.05, 0.48, 30)
few = np.array([0.1, 0.2, 0.3, 0.4, 0.47])


def best(spectrum: og.Spectrum, degree: int) -> float:
    """Return the largest alignment of any spike with this degree."""
    return max((spike.alignment[degree] for spike in spectrum.spikes), default=0.0)


# %%
# Theory as lines, two networks per marker:

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
theory = [og.spectrum(problem.replace(alpha=a)) for a in alpha]
networks = [measure(problem.replace(alpha=a), seeds=2, distances=False) for a in few]
for degree, colour in ((1, "#0072B2"), (2, "#D55E00")):
    curve = [best(s, degree) for s in theory]
    ax.plot(alpha, curve, color=colour, label=f"degree {degree}, theory")
    found = [np.max(s.alignments[:, :4, degree - 1], axis=1).mean() for s in networks]
    ax.plot(few, found, "o", color=colour, label="2 networks")
ax.set(xlabel=r"step exponent $\alpha$", ylabel=r"largest squared cosine with $He_k(u)$")
ax.legend()
