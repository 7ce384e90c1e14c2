"""What can go wrong, by kind: the command line maps these to exit codes."""

from __future__ import annotations


class InvalidInput(ValueError):
    """An argument is not allowed. The message is one line: name, value, what is allowed."""


class OutOfScope(InvalidInput):
    """A theory was asked for a problem that it does not cover."""


class NotConverged(RuntimeError):
    """A solver stopped without an answer; the message has its residual and iteration count."""


class AssumptionWarning(UserWarning):
    """A result was computed outside the assumptions of its theorem; the message says which."""
