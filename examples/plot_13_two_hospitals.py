"""
Two hospitals, one model
========================

Two hospitals that may not share rows can still train one model: each sends its sums, never its
rows. The merged model equals the one that all rows would have given.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og
from onegrad.pictures import RC

plt.rcParams.update(RC)

rng = np.random.default_rng(3)
X = rng.standard_normal((4000, 8))
y = np.maximum(X @ np.array([1, 1, 0, 0, 0, 0, 0, 0]), 0) + 0.3 * rng.standard_normal(4000)
here, there, new = slice(0, 300), slice(300, 3000), slice(3000, None)

first = og.AlternatingRegressor(budget="fast", random_state=0).fit(X[here], y[here])
alone = first.score(X[new], y[new])
second = first.blank().partial_fit(X[there], y[there])  # the layer travels, the rows do not
second_alone = second.score(X[new], y[new])
first.merge(second)
together = first.score(X[new], y[new])

# %%
# Merging is exact, and the merged model predicts better than the smaller hospital's own:

at_once = first.blank().partial_fit(X[:3000], y[:3000])
print("the same as from all rows:", np.array_equal(first.readout_, at_once.readout_))

figure, ax = plt.subplots(figsize=(5.4, 3.4), layout="constrained")
names = ("first, 300 rows", "second, 2,700 rows", "merged")
ax.barh(names, (alone, second_alone, together), color=["0.75", "0.75", "#0072B2"])
ax.invert_yaxis()
ax.set(xlabel="R² on new rows", xlim=(0.5, 1))
