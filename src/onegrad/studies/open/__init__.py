"""Questions that the papers leave open, answered with data: the finding is said first."""
