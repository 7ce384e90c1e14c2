"""Predictors beside the network and its readout, learned on the sample and chosen by its rows."""
