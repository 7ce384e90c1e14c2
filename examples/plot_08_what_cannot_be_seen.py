"""
What one step cannot see
========================

The step follows the linear part of the labels. A teacher without one, such as
:math:`He_2` or :math:`He_3`, gives it nothing to follow, however large the step.
"""

import warnings

import matplotlib.pyplot as plt

import onegrad as og

warnings.simplefilter("ignore", og.AssumptionWarning)
alpha = [0.0, 0.15, 0.3, 0.45]
teachers = ("H1", "H1/2 + H2", "H2", "H3")

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
problem = og.Problem(n=800, d=200, N=400, activation="relu")
unit = [f"{teacher}:unit" for teacher in teachers]
og.simulate(problem, seeds=6, teacher=unit, alpha=alpha).plot(ax, "test", linestyle="-")
ax.axhline(1, color="0.7", lw=0.8)
ax.set_ylabel("test error (a constant has 1)")

# %%
# The information exponent is the first degree of a teacher, the generative exponent the first that
# some function of its labels has: what more steps on the same rows could use.

for teacher in teachers:
    print(f"{teacher:10s} {og.exponents(teacher)}")
