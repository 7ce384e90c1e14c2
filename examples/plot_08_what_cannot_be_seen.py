"""
What one step cannot see
========================

Does a longer step help with every teacher? No: it follows the linear part of the labels. A teacher
without one, such as :math:`He_2` or :math:`He_3`, gives it nothing to follow, however long it is.
The activation, ELU, has parts of every degree: the network could represent all four teachers.
"""

import warnings

import matplotlib.pyplot as plt

import onegrad as og

warnings.simplefilter("ignore", og.AssumptionWarning)
alpha = [0.0, 0.15, 0.3, 0.45]
teachers = ("H1", "H1 + H2/sqrt(2)", "H2", "H3")

# %%
# Six networks per point, labels scaled to variance one:

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
problem = og.Problem(n=800, d=200, N=400, activation="elu")
unit = [f"{teacher}:unit" for teacher in teachers]
og.simulate(problem, seeds=6, teacher=unit, alpha=alpha).plot(ax, "test", linestyle="-")
ax.axhline(1, color="0.7", lw=0.8)
ax.set(yscale="linear", ylim=(0, None), ylabel="test error (a constant has 1)")

# %%
# The information exponent is the first degree of the teacher. The generative exponent is the first
# degree of any function of its labels: further steps on the same rows could use it.

for teacher in teachers:
    found = og.exponents(teacher, activation="elu")
    print(f"{teacher:16s} information {found.information}, generative {found.generative}")
