"""
Forget a customer
=================

A fitted model is a first layer and sums over rows. Taking a customer's rows out of the sums gives,
to the last bit, the readout that would have been fitted without them.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og
from onegrad.pictures import RC

plt.rcParams.update(RC)

rng = np.random.default_rng(2)
X = rng.standard_normal((3000, 6))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(3000)
customer = np.arange(3000) % 100  # thirty rows each
theirs = customer == 42
y[theirs] += 3.0  # one of them is different

model = og.AlternatingRegressor(budget="fast", random_state=0).fit(X, y)
never = model.blank().partial_fit(X[~theirs], y[~theirs])  # same layer, without these rows
before = model.predict(X[:300])
model.remove(X[theirs], y[theirs])
after = model.predict(X[:300])

print("rows in the model:", model.n_rows_)
print("equal to a readout that never saw them:", np.array_equal(model.readout_, never.readout_))

# %%
# Predictions change most for the customer's own rows:

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(after - before, ".", color="#0072B2")
ax.axhline(0, color="0.7", lw=0.8)
ax.set(xlabel="row", ylabel="change of the prediction")

# %%
# The first layer does not change, so it may still depend on these rows.
# A row that has been removed cannot be removed again.

try:
    model.remove(X[theirs], y[theirs])
except og.InvalidInput as refused:
    print(refused)
