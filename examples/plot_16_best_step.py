"""
The best step, penalty and split of the rows
============================================

Theory is fast enough to choose with. Left: the least test error over step and penalty against the
width, for three numbers of rows. Right: of a budget of rows, how many the step should have.
"""

import matplotlib.pyplot as plt

import onegrad as og
from onegrad.pictures import RC

plt.rcParams.update(RC)

problem = og.Problem(
    n=1000, d=300, N=400, activation="relu", teacher="H1 + H2/sqrt(2)", noise=0.3, alpha=0.45
)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
colours = ("#56B4E9", "#0072B2", "#003A5D")
for rows, colour in zip((500, 1000, 2000), colours, strict=True):
    best = og.optimum(problem.replace(n=rows), over=("alpha", "ridge"), N=[75, 150, 300, 600, 1200])
    best.plot(left, color=colour, label=f"n = {rows}")
left.set(title="A wider network is better at every n", xscale="log", ylabel="least test error")

totals = (500, 1000, 2000, 4000)
bests = [og.optimum(problem, over=("n_step", "ridge"), total=total) for total in totals]
shares = [100 * best.values["n_step"] / best.total for best in bests]
right.plot(totals, shares, "o-", color="#D55E00")
right.set(
    title="More than half of the rows belong to the step", xlabel="all rows", xscale="log",
    ylabel="rows of the step (%)", ylim=(0, 100),
)  # fmt: skip
for best in bests:
    print(f"{best.total} rows: {best.problem.n_step} for the step, test error {best.test:.3f}")
