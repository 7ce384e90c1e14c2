"""The look of results: one style of lines, bands, markers and tables for objects and reports.

Nothing heavy is loaded with this room: matplotlib and pandas come when something is drawn.
"""

from onegrad.pictures import style
from onegrad.pictures.style import RC, Curve, load_library

__all__ = ["RC", "Curve", "load_library", "style"]
