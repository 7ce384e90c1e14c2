"""
Which inputs matter
===================

Twenty columns, and the labels depend on two of them: which? The alternating estimators learn a
metric, the average gradient outer product of the fitted function. It finds the two, and shows that
they interact.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og
from onegrad.pictures import RC

plt.rcParams.update(RC)

rng = np.random.default_rng(1)
X = rng.standard_normal((2000, 20))
y = np.tanh(2 * (X[:, 3] + X[:, 7])) + 0.1 * rng.standard_normal(2000)

model = og.AlternatingRegressor(budget="fast", random_state=0).fit(X[:1500], y[:1500])
plain = og.OneStepRegressor(eta=0, random_state=0).fit(X[:1500], y[:1500])
print(f"R2 of random features {plain.score(X[1500:], y[1500:]):.3f}")
print(f"R2 of learned ones    {model.score(X[1500:], y[1500:]):.3f}")

# %%
# Importances are one number per input; the metric also shows pairs:

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
axes[0].bar(range(20), model.feature_importances_, color="#0072B2")
axes[0].set(xlabel="input", ylabel="importance")
scale = np.abs(model.metric_).max()
image = axes[1].imshow(model.metric_, cmap="RdBu_r", vmin=-scale, vmax=scale)
axes[1].set(title="metric", xlabel="input", ylabel="input")
figure.colorbar(image)
