"""Thumbnails of the gallery: pictures without words that would be too small to read."""

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx_gallery.scrapers import matplotlib_scraper

INCHES, DPI = (2.9, 1.9), 140
FOLDER = "pictograms"


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save all pictures of a block, and the first of the script also as a pictogram."""
    from matplotlib import pyplot as plt

    paths = block_vars["image_path_iterator"]
    first = plt.figure(plt.get_fignums()[0]) if plt.get_fignums() and not len(paths) else None
    text = matplotlib_scraper(block, block_vars, gallery_conf)
    if first is not None:
        script = Path(block_vars["src_file"]).stem
        draw_pictogram(first, Path(paths.image_path).parent / FOLDER / f"{script}.png")
    return text


def draw_pictogram(figure: Any, path: Path) -> None:
    """Make a figure small, keep its lines and colours only, and save it."""
    figure.set_size_inches(INCHES)
    for ax in figure.axes:
        if ax.get_legend() is not None:
            ax.get_legend().remove()
        for text in (*ax.texts, ax.title, ax.xaxis.label, ax.yaxis.label):
            text.set_visible(False)
        ax.tick_params(which="both", labelleft=False, labelbottom=False, labelright=False)
        ax.tick_params(which="minor", length=0)
    for legend in list(figure.legends):
        legend.remove()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=DPI)


def replace_thumbnails(app: Sphinx) -> None:
    """Put the pictograms in the place of the thumbnails that sphinx-gallery made."""
    images = Path(app.srcdir) / "gallery" / "images"
    for pictogram in (images / FOLDER).glob("*.png"):
        shutil.copy(pictogram, images / "thumb" / f"sphx_glr_{pictogram.stem}_thumb.png")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", replace_thumbnails, priority=900)  # after the gallery has run
    return {"parallel_read_safe": True}
