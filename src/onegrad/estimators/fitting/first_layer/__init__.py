"""Learners of the first layer, one module per family."""
