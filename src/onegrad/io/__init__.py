"""Exchange with the world: files that appear whole, JSON values, ranges in text, progress."""
