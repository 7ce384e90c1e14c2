"""Steps preconditioned by the covariance of their rows: docs/preconditioned.md."""

from onegrad.theory.uniform.preconditioned.covariance import preconditioned

__all__ = ["preconditioned"]
