"""Activations and teachers: functions of one number, their Hermite coefficients, their names."""
