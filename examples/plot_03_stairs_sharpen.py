"""
How slowly the stairs sharpen
=============================

How many rows does it take before the limit is a good guide? More than you may think: at a million
rows the stair at :math:`\\alpha = 1/4` is still round. The theorems hold for infinitely many rows,
the uniform theory at every size.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

alpha = np.linspace(0.02, 0.48, 24)

# %%
# One curve per size, and the limit:

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for shade, n in enumerate((10**3, 10**4, 10**6)):
    problem = og.Problem(
        n=n, d=n // 2, N=2 * n // 3, activation="softplus", teacher="H1 + H2/sqrt(2)"
    )
    colour = plt.get_cmap("viridis")(shade / 3)
    og.predict(problem, alpha=alpha).plot(ax, "test", color=colour, label=f"n = {n:,}")
inside = alpha[alpha < 1 / 3]  # two windows of the limit
og.predict(problem, "staircase", alpha=inside).plot(ax, "test", color="k", label="limit")
