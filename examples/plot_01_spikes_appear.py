"""
Spikes appear
=============

Before the step the eigenvalues of the features fill one bulk. One large gradient step pushes a few
of them out: the network has learned directions. Theory (lines) says where they go, and three
networks (grey) agree.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og
from onegrad.networks import spectrum as measure

problem = og.Problem(n=800, d=400, N=600, activation="softplus", teacher="H1 + H2/sqrt(2)")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for ax, eta in zip(axes, (0.0, 25.0), strict=True):
    stepped = problem.replace(eta=eta)
    theory = og.spectrum(stepped)
    eigenvalues = np.concatenate([s**2 / problem.n for s in measure(stepped, seeds=3).F])
    counts, bins = np.histogram(eigenvalues, np.geomspace(0.02, 100, 100))
    density = counts / (3 * problem.n * np.diff(bins))  # of all n eigenvalues, zeros included
    ax.stairs(density, bins, fill=True, color="0.75", label="3 networks")
    ax.plot(theory.x, theory.rho, color="#0072B2", label="bulk, theory")
    for spike in theory.spikes:
        ax.axvline(spike.eigenvalue, color="#D55E00", lw=1)
    ax.set(xlabel=r"eigenvalue of $FF^\top/n$", title=rf"$\eta = {eta:g}$")
    ax.set(xscale="log", yscale="log", xlim=(0.02, 100), ylim=(2e-4, 30))
axes[0].set_ylabel("density")
axes[0].legend(frameon=False)

# %%
# Their eigenvectors are functions of one index :math:`u`, the learned direction: the first is
# :math:`He_1(u)`, the second mostly :math:`He_2(u)`.

for spike in og.spectrum(problem.replace(eta=25.0)).spikes:
    cosines = ", ".join(f"He_{k}: {spike.alignment[k]:.3f}" for k in (1, 2, 3))
    print(f"eigenvalue {spike.eigenvalue:6.3f}; squared cosines {cosines}")
