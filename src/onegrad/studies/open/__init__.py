"""Questions that the papers leave open, answered with data: each starts with its finding."""
