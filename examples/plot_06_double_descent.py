"""
Double descent, and the ridge that removes it
=============================================

Untrained features of growing width: with a small ridge the test error explodes where neurons are as
many as rows, with a larger one nothing happens.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

widths = np.unique(np.geomspace(60, 2400, 41).astype(int))
few = np.array([100, 200, 300, 400, 800, 1600])
base = og.Problem(n=400, d=200, N=400, activation="relu", teacher="H1", noise=0.5)

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for ridge, colour in ((1e-4, "#D55E00"), (1e-2, "#009E73"), (1.0, "#0072B2")):
    problem = base.replace(ridge=ridge)
    curve = og.predict(problem, "random-features", N=widths.tolist())
    ax.plot(widths / 400, curve.test, color=colour, label=rf"$\lambda$ = {ridge:g}")
    found = og.simulate(problem, seeds=10, N=few.tolist()).test
    ax.errorbar(few / 400, found.mean, found.se, fmt="o", ms=4, color=colour)
ax.axvline(1, color="0.7", lw=0.8)
ax.set(xscale="log", xlabel="neurons per row, N/n", ylabel="test error", ylim=(0, 4))
ax.legend(frameon=False)
