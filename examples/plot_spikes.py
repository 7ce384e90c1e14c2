"""The bulk and the spikes of the feature matrix, before and after the step.

python examples/plot_spikes.py [FILE]
"""

import sys

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt

import onegrad as og
from onegrad.networks import spectrum as measure

problem = og.Problem(n=800, d=400, N=600, activation="softplus", teacher="H1 + H2/sqrt(2)")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, eta in zip(axes, (0.0, 12.0), strict=True):
    stepped = problem.replace(eta=eta)
    theory = og.spectrum(stepped)
    eigenvalues = np.concatenate([s**2 / problem.n for s in measure(stepped, seeds=3).F])
    counts, bins = np.histogram(eigenvalues, np.geomspace(0.02, 25, 90))
    density = counts / (3 * problem.n * np.diff(bins))  # of all n eigenvalues, zeros included
    ax.stairs(density, bins, fill=True, color="0.75", label="3 networks")
    ax.plot(theory.x, theory.rho, color="#0072B2", label="bulk, theory")
    for spike in theory.spikes:
        ax.axvline(spike.eigenvalue, color="#D55E00", lw=1)
    ax.set(xlabel=r"eigenvalue of $FF^\top/n$", title=rf"$\eta = {eta:g}$")
    ax.set(xscale="log", yscale="log", xlim=(0.02, 25), ylim=(2e-4, 30))
axes[0].legend(frameon=False)
path = sys.argv[1] if len(sys.argv) > 1 else "spikes.svg"
figure.savefig(path)
print(f"wrote {path}")
