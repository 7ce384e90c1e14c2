"""Tables: scikit-learn estimators that learn features from any amount of data in two passes.

The folders are the way of a row. `rows` reads it from anywhere, `fitting` takes a sample and leads
through the rest, `first_layer` scales the sample and learns the neurons, `parts` adds what corrects
the network. The readout comes from exact sums over all rows, and `model` is the outcome: it
predicts, adds, merges and removes rows, saves and loads. `sklearn_api` has scikit-learn's classes,
and `families` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
