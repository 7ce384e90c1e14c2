"""
Below what kernels reach
========================

When rows and inputs grow in proportion, no rotation-invariant kernel learns more than the linear
part of the labels (dashed). One large enough step goes below that line; the same network without
the step does not.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

problem = og.Problem(n=2000, d=250, N=1000, activation="relu", teacher="H1 + H2/sqrt(2)", noise=0.2)
alpha = np.linspace(0, 0.6, 25)

trained = og.predict(problem, alpha=alpha)
untrained = og.predict(problem, eta=0)
simulated = og.simulate(problem, seeds=4, alpha=[0.2, 0.4, 0.55])

# %%
# The upper line is the untrained network:

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.axhline(untrained.test, color="0.5", label="no step")
trained.plot(ax, "test")
simulated.plot(ax, "test")

first = alpha[trained.test < trained.kernel_bound][0]
print(f"below the bound from alpha = {first:.3f} on")
