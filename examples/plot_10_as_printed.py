"""
A formula as printed, and as it is
==================================

The printed test error of the first stair lacks a factor. Real networks say which version is right;
``printed=True`` evaluates the other one.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

problem = og.Problem(n=3000, d=1500, N=2400, activation="tanh", teacher="H1", noise=1.0, ridge=0.1)
alpha = np.linspace(0.05, 0.24, 20)
untrained = og.predict(problem, "random-features").test
right = og.predict(problem, "staircase", alpha=alpha).test
printed = og.predict(problem, "staircase", alpha=alpha, printed=True).test
found = og.simulate(problem, seeds=2, alpha=[0.23]).test

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.axhline(untrained, color="0.5", label="no step")
ax.plot(alpha, right, color="#0072B2", label="staircase, corrected")
ax.plot(alpha, printed, color="#D55E00", ls="--", label="staircase, as printed")
ax.errorbar([0.23], found.mean, found.se, fmt="ko", label="2 networks")
ax.axhline(0, color="0.8", lw=0.8)
ax.set(xlabel=r"step exponent $\alpha$", ylabel="test error")
ax.legend(frameon=False)

print(f"drop printed {untrained - printed[-1]:.3f}, corrected {untrained - right[-1]:.3f}")
print(f"drop of two networks {untrained - found.mean[0]:.3f} ± {found.se[0]:.3f}")
