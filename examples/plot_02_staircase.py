"""
The staircase, and what it looks like at n = 500
================================================

With a step of size :math:`\\eta = n^\\alpha` the test error falls by a stair at each threshold
(vertical lines) as n grows without bound. At n = 500 the stairs are a slope. The uniform theory
follows the networks; the asymptotic theories hold in their windows.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

warnings.simplefilter("ignore", og.AssumptionWarning)  # alpha = 0 lies on a threshold

problem = og.Problem(n=500, d=250, N=333, activation="softplus", teacher="H1 + H2/sqrt(2)")
alpha = np.linspace(0, 0.49, 50)
markers = np.linspace(0, 0.48, 7)

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for theory, colour, style in (
    ("uniform", "#0072B2", "-"),
    ("staircase", "#D55E00", "--"),
    ("small-step", "#009E73", ":"),
):
    curve = og.predict(problem, theory=theory, alpha=alpha)
    ax.plot(alpha, curve.test, style, color=colour, label=f"{theory} theory")
measured = og.simulate(problem, seeds=20, alpha=markers).test
ax.errorbar(markers, measured.mean, measured.se, fmt="o", color="k", label="20 networks")
for threshold in og.thresholds(3):
    ax.axvline(threshold, color="0.7", lw=0.8)
ax.set(xlabel=r"step exponent $\alpha$", ylabel="test error")
ax.legend(frameon=False)
