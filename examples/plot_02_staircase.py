"""
The staircase, and what it looks like at n = 500
================================================

Is there a staircase at n = 500? As n grows without bound, the test error after a step of size
:math:`\\eta = n^\\alpha` falls by a stair at each threshold (vertical lines). At n = 500 the stairs
are a slope. The uniform theory agrees with the networks; each asymptotic theory holds for certain
step sizes only.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

warnings.simplefilter("ignore", og.AssumptionWarning)  # alpha = 0 lies on a threshold

problem = og.Problem(n=500, d=250, N=333, activation="softplus", teacher="H1 + H2/sqrt(2)")

# %%
# Three theories as lines, forty networks as markers with thin lines:

alpha = np.linspace(0, 0.49, 50)
markers = np.linspace(0, 0.48, 7)

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
for theory, colour in (("uniform", "#0072B2"), ("staircase", "#D55E00"), ("small-step", "#009E73")):
    og.predict(problem, theory=theory, alpha=alpha).plot(ax, "test", color=colour)
og.simulate(problem, seeds=40, alpha=markers).plot(ax, "test", color="k")
