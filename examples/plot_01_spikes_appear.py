"""
Spikes appear
=============

Before the step, the singular values of the features fill the bulk, here two humps. One large
gradient step pushes two of them out: the network has learned two functions of one direction. Theory
(lines) predicts their positions, and three networks (grey, and ticks at the bottom) agree.
"""

import matplotlib.pyplot as plt

import onegrad as og
from onegrad.networks import spectrum as measure

problem = og.Problem(n=800, d=400, N=600, activation="softplus", teacher="H1 + H2/sqrt(2)")

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey=True)
for ax, eta in zip(axes, (0.0, 25.0), strict=True):
    stepped = problem.replace(eta=eta)
    theory = og.spectrum(stepped)
    theory.plot(ax)
    measure(stepped, seeds=3, edge=theory.edge).plot(ax)
    ax.text(0.03, 0.93, rf"$\eta = {eta:g}$", transform=ax.transAxes)

# %%
# Their singular vectors are functions of one index :math:`u`, the learned direction: the first is
# :math:`He_1(u)`, the second mostly :math:`He_2(u)`.

for spike in og.spectrum(problem.replace(eta=25.0)).spikes:
    cosines = ", ".join(f"He_{k}: {spike.alignment[k]:.3f}" for k in (1, 2, 3))
    print(f"eigenvalue {spike.eigenvalue:6.3f}; squared cosines {cosines}")
