r"""Adam's steps on the parameters of a network, or of a stack of networks.

.. math:: m \leftarrow \beta_1m + (1-\beta_1)g,\quad v \leftarrow \beta_2v + (1-\beta_2)g^2,\quad
    \theta \leftarrow (1-\eta\delta)\theta
    - \eta\,\frac{m}{1-\beta_1^t}\Big/\Big(\sqrt{\frac{v}{1-\beta_2^t}}+\epsilon\Big)

with the decay :math:`\delta` of the weights apart from the gradient, as in Loshchilov and Hutter
2019.
"""

from collections.abc import Sequence

from onegrad.arrays import Array, namespace

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # as Kingma and Ba 2015 suggest


class AdamSteps:
    """Adam's moments of some parameters; a step changes the parameters in place."""

    def __init__(self, parameters: Sequence[Array]) -> None:
        self.parameters = list(parameters)
        self.means = [0 * p for p in self.parameters]
        self.squares = [0 * p for p in self.parameters]
        self.count = 0

    def step(
        self,
        gradients: Sequence[Array],
        rate: float | Array,
        decay: float | Array | None = None,
        epsilon: float = EPSILON,
    ) -> None:
        """Move the parameters against their gradients; matrices also shrink by rate * decay.

        An array of rates has the leading axes of the stack: each network has its own.
        """
        self.count += 1
        stack_axes = getattr(rate, "ndim", 0)
        if not stack_axes:
            rate = float(rate)  # NumPy's own float64 would lift single precision to double
        mean_share, square_share = 1 - BETA1**self.count, 1 - BETA2**self.count
        shrunk = 1.0 if decay is None else 1 - rate * decay
        rate = rate / mean_share
        for i, gradient in enumerate(gradients):
            theta, mean, square = self.parameters[i], self.means[i], self.squares[i]
            # in place, with one array of work memory: fresh memory would cost more than the sums
            mean *= BETA1
            mean += (1 - BETA1) * gradient
            work = gradient * gradient
            work *= 1 - BETA2
            square *= BETA2
            square += work
            xp = namespace(square)
            xp.divide(square, square_share, out=work)
            xp.sqrt(work, out=work)
            work += epsilon
            xp.divide(mean, work, out=work)
            work *= _beside(rate, theta, stack_axes)
            if decay is not None and theta.ndim - stack_axes > 1:
                theta *= _beside(shrunk, theta, stack_axes)
            theta -= work


def _beside(number: Array, theta: Array, stack_axes: int) -> Array:
    """Return a number per network in a shape that broadcasts against their parameters."""
    return number[(..., *(theta.ndim - stack_axes) * (None,))] if stack_axes else number
