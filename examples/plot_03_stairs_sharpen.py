"""
How slowly the stairs sharpen
=============================

The theorems are about infinitely many rows. The uniform theory can be asked at any size: at a
million rows the stair at :math:`\\alpha = 1/4` is still round.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

alpha = np.linspace(0.02, 0.48, 24)
inside = alpha[np.abs(alpha - 0.25) > 0.004]

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for shade, n in enumerate((10**3, 10**4, 10**6)):
    problem = og.Problem(
        n=n, d=n // 2, N=2 * n // 3, activation="softplus", teacher="H1 + H2/sqrt(2)"
    )
    colour = plt.get_cmap("viridis")(shade / 3)
    ax.plot(alpha, og.predict(problem, alpha=alpha).test, color=colour, label=f"n = {n:,}")
low = inside[inside < 1 / 3]  # two windows of the limit
limit = og.predict(problem, theory="staircase", alpha=low).test
for window in (low < 0.25, low > 0.25):
    ax.plot(low[window], limit[window], "k--", lw=1, label="limit" if window[0] else None)
ax.axvline(0.25, color="0.7", lw=0.8)
ax.set(xlabel=r"step exponent $\alpha$", ylabel="test error")
ax.legend(frameon=False)
