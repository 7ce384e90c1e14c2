"""The attacks on this software, as a program: ``make soak`` or ``python -m soak --help``."""
