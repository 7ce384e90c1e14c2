r"""One prediction for every step size.

`predict` gives training and test error of one gradient step followed by ridge, with every spike at
its actual strength: the constant step, the staircase and the maximal step are one formula. It is a
deterministic equivalent (leave-one-out over samples, neurons and input directions), derived in
docs/uniform.md. `spectrum` gives the eigenvalues of the features from the same equations.
"""

from onegrad.theory.uniform.equations import Sizes
from onegrad.theory.uniform.prediction import errors, predict
from onegrad.theory.uniform.spectrum import spectrum

__all__ = ["Sizes", "errors", "predict", "spectrum"]
