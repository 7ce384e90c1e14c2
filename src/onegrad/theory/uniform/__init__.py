r"""One prediction for every step size.

`predict` gives training and test error of one gradient step followed by ridge, with every spike at
its actual strength: the constant step, the staircase and the maximal step are one formula. It is a
deterministic equivalent (leave-one-out over samples, neurons and input directions), derived in
docs/uniform.md.
"""

from onegrad.theory.uniform.prediction import Errors, predict, predict_curve

__all__ = ["Errors", "predict", "predict_curve"]
