"""The scikit-learn classes, and what people may pass to them."""
