"""The map from a row to its features, and its gradients."""
