"""Ridge regression from sums over rows."""
