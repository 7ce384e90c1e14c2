"""
How sure a prediction is
========================

How far may your network be from its prediction? A prediction says so, in two numbers: ``accuracy``
bounds its distance from the mean over many networks, and ``spread`` is the standard deviation of
single networks around that mean.
"""

import matplotlib.pyplot as plt

import onegrad as og
from onegrad.pictures import RC

plt.rcParams.update(RC)

problem = og.Problem(
    n=400, d=200, N=300, activation="softplus", teacher="H1 + H2/sqrt(2)", noise=0.3, alpha=0.35
)
p = og.predict(problem)
found = og.simulate(problem, seeds=300).test

# %%
# Three hundred networks, with the predicted accuracy and spread:

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.hist(found.values, 30, color="0.75", label="300 networks")
off = p.accuracy.test * p.test
ax.axvspan(p.test - off, p.test + off, color="#0072B2", alpha=0.3, label="accuracy of the mean")
ax.axvline(p.test, color="#0072B2", label="prediction")
for sign in (-2, 2):
    label = "two standard deviations of a network" if sign > 0 else None
    ax.axvline(p.test + sign * p.spread.test, color="#D55E00", ls="--", label=label)
ax.set(xlabel="test error", ylabel="networks")
ax.legend()

print(f"predicted {p.test:.4f} within {100 * p.accuracy.test:.1f} %, spread {p.spread.test:.4f}")
print(f"measured  {found.mean:.4f} ± {found.se:.4f}, spread {found.values.std(ddof=1):.4f}")
