"""
A table with text, dates and missing values
===========================================

Must a table be cleaned before a fit? Not this one: ``fit`` takes text, dates and missing values as
they are, and as many rows lie in the prediction intervals as it promises.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import onegrad as og
from onegrad.pictures import RC

plt.rcParams.update(RC)

rng = np.random.default_rng(0)
rows = 1500
table = pd.DataFrame(
    {
        "size": rng.uniform(30, 200, rows),
        "town": rng.choice(["Aachen", "Bonn", "Celle", "Dessau"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        "built": pd.to_datetime("1950-01-01") + pd.to_timedelta(rng.integers(0, 27000, rows), "D"),
    }
)
per_metre = table.town.map({"Aachen": 3.0, "Bonn": 4.0, "Celle": 2.0, "Dessau": 1.5})
age = (pd.Timestamp("2026-01-01") - table.built).dt.days / 365
price = table["size"] * per_metre * (1 - 0.3 * np.sin(age / 15)) + rng.normal(0, 25, rows)
table.loc[rng.random(rows) < 0.1, "size"] = np.nan  # gaps
train, test = slice(0, 1200), slice(1200, None)

# %%
# Fit on 1,200 rows, predict 300 others with intervals:

model = og.AlternatingRegressor(budget="fast", random_state=0).fit(table[train], price[train])
low, high = model.predict_interval(table[test], coverage=0.9)
predicted = model.predict(table[test])
covered = np.mean((price[test] >= low) & (price[test] <= high))
print(model.report())
print(f"{100 * covered:.0f} % of 300 new prices lie in their 90 % interval")

# %%
# Predictions are less accurate where the size is missing:

figure, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
gaps = table["size"][test].isna().to_numpy()
for which, colour, label in ((~gaps, "#0072B2", "size known"), (gaps, "#D55E00", "size missing")):
    ax.plot(price[test][which], predicted[which], ".", color=colour, label=label)
ax.axline((300, 300), slope=1, color="0.7", lw=0.8)
ax.set(xlabel="price", ylabel="predicted")
ax.legend()
