"""Limits as n, d and N grow together: the papers' theorems."""
