"""Steps preconditioned by the covariance of their rows: docs/preconditioned.md."""

from onegrad.theory.uniform.preconditioned.step import preconditioned

__all__ = ["preconditioned"]
