"""From rows to a fitted model: a sample, a first layer chosen on held-out rows, a readout."""
