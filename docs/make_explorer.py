"""Write docs/extra/moving.html, the explorer as one page.

    python docs/make_explorer.py

Presets and curves are those of `onegrad explore --export`. Networks take most of its time: here
three are trained instead of four, and one is shown at half as many steps.
"""

from pathlib import Path

from onegrad.explorer.api import CURVE_ALPHAS
from onegrad.explorer.export import Grids, write_page
from onegrad.parallel.cores import core_count

PAGE = Path(__file__).parent / "extra" / "moving.html"

if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    write_page(PAGE, Grids(network_alphas=CURVE_ALPHAS[::6], networks=3), core_count())
