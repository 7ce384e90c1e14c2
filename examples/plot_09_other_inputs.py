"""
Inputs that are not Gaussian
============================

Theory is for Gaussian inputs. Bounded and two-valued ones behave alike; heavy tails do not, and one
sees from where on they matter.
"""

import matplotlib.pyplot as plt
import numpy as np

import onegrad as og

problem = og.Problem(n=600, d=300, N=400, activation="tanh", teacher="H1", noise=0.5)
alpha = np.linspace(0, 0.5, 26)
few = [0.0, 0.12, 0.25, 0.37, 0.5]

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(alpha, og.predict(problem, alpha=alpha).test, "k", label="theory, Gaussian inputs")
for law, colour in (
    ("gaussian", "#0072B2"),
    ("rademacher", "#009E73"),
    ("student-t(3)", "#D55E00"),
):
    found = og.simulate(problem.replace(inputs=law), seeds=12, alpha=few).test
    ax.errorbar(few, found.mean, found.se, fmt="o", color=colour, label=law)
ax.set(xlabel=r"step exponent $\alpha$", ylabel="test error")
ax.legend(frameon=False)
