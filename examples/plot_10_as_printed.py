"""
A printed formula and its correction
====================================

How do you notice that a printed formula lacks a factor? Ask networks: they agree with the corrected
test error of the first stair. ``printed=True`` evaluates it as printed.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

problem = og.Problem(n=1500, d=750, N=1200, activation="tanh", teacher="H1", noise=1.0, ridge=0.1)
alpha = np.linspace(0.05, 0.24, 20)
untrained = og.predict(problem, "random-features").test
right = og.predict(problem, "staircase", alpha=alpha)
printed = og.predict(problem, "staircase", alpha=alpha, printed=True)
found = og.simulate(problem, seeds=4, alpha=[0.23])

# %%
# The corrected formula, the printed one, and four networks:

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.axhline(untrained, color="0.5", label="no step")
right.plot(ax, "test", color="#0072B2")
printed.plot(ax, "test", color="#D55E00")
found.plot(ax, "test", color="k")
ax.axhline(0, color="0.8", lw=0.8)

drops = [untrained - value for value in (printed.test[-1], right.test[-1], found.test.mean[0])]
print(f"drop printed {drops[0]:.3f}, corrected {drops[1]:.3f}")
print(f"drop of four networks {drops[2]:.3f} ± {found.test.se[0]:.3f}")
