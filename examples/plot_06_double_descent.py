"""
Double descent, and the ridge that removes it
=============================================

Can more neurons make a network worse? With untrained features and a small ridge they can: the test
error peaks where there are as many neurons as rows. With a larger ridge the peak is gone.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

widths = np.unique(np.geomspace(60, 2400, 41).astype(int))
few = [100, 200, 300, 400, 800, 1600]
ridges = [1e-4, 1e-2, 1.0]
problem = og.Problem(n=400, d=200, N=400, activation="relu", teacher="H1", noise=0.5)

# %%
# Theory as lines, ten networks per marker, one colour per ridge:

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
og.predict(problem, "random-features", N=widths, ridge=ridges).plot(ax, "test")
og.simulate(problem, seeds=10, N=few, ridge=ridges).plot(ax, "test")
ax.axvline(400, color="0.7", lw=0.8)
