"""What passes between the package and the world: files, JSON, ranges in text, progress."""
