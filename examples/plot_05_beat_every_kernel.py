"""
Below what kernels reach
========================

With rows in proportion to inputs, no rotation-invariant kernel learns more than the linear part of
the labels (dashed). One step of a large enough size goes below that line; the same network without
it does not.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

problem = og.Problem(n=4000, d=500, N=2000, activation="relu", teacher="H1 + H2/sqrt(2)", noise=0.2)
alpha = np.linspace(0, 0.6, 25)

trained = og.predict(problem, alpha=alpha)
untrained = og.predict(problem, eta=0)
simulated = og.simulate(problem, seeds=2, alpha=[0.2, 0.4, 0.55]).test

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(alpha, trained.test, color="#0072B2", label="one step, theory")
ax.errorbar([0.2, 0.4, 0.55], simulated.mean, simulated.se, fmt="o", color="k", label="2 networks")
ax.axhline(untrained.test, color="0.5", label="no step")
ax.axhline(untrained.kernel_bound, color="#D55E00", ls="--", label="bound for kernels")
ax.set(xlabel=r"step exponent $\alpha$", ylabel="test error")
ax.legend(frameon=False)

first = alpha[trained.test < trained.kernel_bound][0]
print(f"below the bound from alpha = {first:.3f} on")
