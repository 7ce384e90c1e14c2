r"""One prediction for every step size.

`uniform_errors` gives training and test error of one gradient step followed by ridge, with every
spike at its actual strength: the constant step, the staircase and the maximal step are one formula.
It is a deterministic equivalent (leave-one-out over samples, neurons and input directions), derived
in docs/uniform.md. `uniform_spectrum` gives the eigenvalues of the features from the same
equations, and `learned_coefficients` those of the mean fitted function.

The engine, in the order in which it runs:

* `laws`: a problem as laws, equally likely cases of them (`laws.table.laws_of`);
* `rules`: quadrature; `step`: numbers and special directions of a step;
* `features`: Gaussian equivalent of features;
* `pencil`: fields, forms, and one pass of the equations, real or complex;
* `solver`: their fixed point; `fit`: the labels; `response`: derivatives by complex steps;
* `evaluation.errors(laws, nodes, start)`: errors of one case, which a driver calls;
* `spectrum`: the same equations at a complex penalty; `learned`: the mean of the fit.
"""

from onegrad.theory.uniform.learned import LearnedCoefficients as LearnedCoefficients
from onegrad.theory.uniform.learned import learned_coefficients as learned_coefficients
from onegrad.theory.uniform.refine import uniform_errors as uniform_errors
from onegrad.theory.uniform.spectrum import uniform_spectrum as uniform_spectrum
