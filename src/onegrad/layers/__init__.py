"""The map from a row to its features: scaling, one layer of neurons, and its gradients."""

from onegrad.layers.gradient import gradient_outer_product, weight_gradient
from onegrad.layers.layer import DeviceLayer, Layer
from onegrad.layers.rows import ScaledRows
from onegrad.layers.scaling import Scaling

__all__ = [
    "DeviceLayer",
    "Layer",
    "ScaledRows",
    "Scaling",
    "gradient_outer_product",
    "weight_gradient",
]
