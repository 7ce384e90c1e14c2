"""The map from a row to its features: scaling, one layer of neurons, and what learns it."""
