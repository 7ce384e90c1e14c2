"""Figures of the papers, with theory and simulation side by side."""
