"""Steps preconditioned by the covariance of their rows: docs/preconditioned.md."""
