"""All that the theory knows of a problem: laws of inputs, rows, neurons, labels and updates."""
