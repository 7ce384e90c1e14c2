"""Limits as n, d and N grow in proportion: the papers' theorems."""
