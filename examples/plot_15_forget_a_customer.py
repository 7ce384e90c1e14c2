"""
Forget a customer
=================

A customer asks to be forgotten. What has to change? A fitted model is what it has learned and sums
over rows. With `learn_from`, all that is learned comes from chosen rows, such as those of customers
who agreed for good. The rows of all others are in the sums alone: taking them out again leaves, to
the last bit, the model that never saw them.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og
from onegrad.pictures import RC

plt.rcParams.update(RC)

rng = np.random.default_rng(2)
X = rng.standard_normal((3000, 6))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(3000)
customer = np.arange(3000) % 100  # thirty rows each
agreed = customer < 30  # to be learned from
theirs = customer == 42
y[theirs] += 3.0  # one of them is different

settings = {"budget": "fast", "random_state": 0}
model = og.AlternatingRegressor(**settings).fit(X, y, learn_from=agreed)
before = model.predict(X[:300])
model.remove(X[theirs], y[theirs])
after = model.predict(X[:300])

never = og.AlternatingRegressor(**settings)
never.fit(X[~theirs], y[~theirs], learn_from=agreed[~theirs])
with tempfile.TemporaryDirectory() as folder:
    files = [Path(folder, "forgot.model"), Path(folder, "never.model")]
    model.save(files[0])
    never.save(files[1])
    same = files[0].read_bytes() == files[1].read_bytes()
print("rows in the model:", model.n_rows_)
print("the file of a model that never saw them, byte for byte:", same)

# %%
# Predictions change most for the customer's own rows:

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(after - before, ".", color="#0072B2")
ax.axhline(0, color="0.7", lw=0.8)
ax.set(xlabel="row", ylabel="change of the prediction")

# %%
# A row that has been removed cannot be removed again. One that was learned from can be removed from
# the sums; a warning names what stays.

try:
    model.remove(X[theirs], y[theirs])
except og.InvalidInput as refused:
    print(refused)
