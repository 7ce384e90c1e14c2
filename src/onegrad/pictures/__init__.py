"""The look of results: one style of lines, bands, markers and tables for objects and reports.

Nothing heavy is loaded with this package: matplotlib and pandas come when something is drawn.
"""

from onegrad.pictures import style as style
from onegrad.pictures.style import RC as RC
from onegrad.pictures.style import Curve as Curve
from onegrad.pictures.style import load_library as load_library
