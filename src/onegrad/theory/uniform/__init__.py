r"""One prediction for every step size.

`uniform_errors` gives training and test error of one gradient step followed by ridge, with every
spike at its actual strength: the constant step, the staircase and the maximal step are one formula.
It is a deterministic equivalent (leave-one-out over samples, neurons and input directions), derived
in docs/uniform.md. `uniform_spectrum` gives the eigenvalues of the features from the same
equations, and `learned_coefficients` those of the mean fitted function.
"""

from onegrad.theory.uniform.learned_coefficients import LearnedCoefficients as LearnedCoefficients
from onegrad.theory.uniform.learned_coefficients import learned_coefficients as learned_coefficients
from onegrad.theory.uniform.moving_spectrum import uniform_spectrum as uniform_spectrum
from onegrad.theory.uniform.preparation import NodeCounts as NodeCounts
from onegrad.theory.uniform.routes import uniform_errors as uniform_errors
