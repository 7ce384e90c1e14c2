"""
Inputs that are not Gaussian
============================

The theory assumes Gaussian inputs. What if yours are not? Two-valued inputs behave in the same way.
Inputs with heavy tails do not, and you will see from which step on.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

problem = og.Problem(n=600, d=300, N=400, activation="tanh", teacher="H1", noise=0.5)
alpha = np.linspace(0, 0.5, 26)
few = [0.0, 0.12, 0.25, 0.37, 0.5]

# %%
# Theory as one line, and twelve networks for each distribution of the inputs:

figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
og.predict(problem, alpha=alpha).plot(ax, "test", color="k", label="theory, Gaussian inputs")
laws = ["gaussian", "rademacher", "student-t(3)"]
og.simulate(problem, seeds=12, inputs=laws, alpha=few).plot(ax, "test")
