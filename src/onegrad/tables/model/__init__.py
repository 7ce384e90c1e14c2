"""A fitted model: what it predicts, how rows come and go, how it is saved, loaded and reported."""
