"""Arrays on NumPy and torch, BLAS without Python's lock, threads."""
