"""The place that `source` of `onegrad.tables` had in 0.3."""

from onegrad.estimators import __getattr__  # noqa: F401
