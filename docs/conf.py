"""The site: `make docs` builds it into site/, without a network, warnings as errors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import onegrad

project = "onegrad"
author = "the onegrad developers"
release = version = onegrad.__version__
copyright = author

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "pictograms",
    "typeset",
    "scripts",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "report/*.md"]

# pages
myst_enable_extensions = [
    "attrs_block",
    "attrs_inline",
    "dollarmath",
    "amsmath",
    "colon_fence",
    "deflist",
]
myst_heading_anchors = 3
myst_links_external_new_tab = False
html_math_renderer = "mathml"

# reference
autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

# gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "min_reported_time": 1000,
    "show_memory": False,
    "download_all_examples": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "copyfile_regex": r".*\.css",
    "capture_repr": (),
    "image_scrapers": ("pictograms.scrape",),
    "image_srcset": ["2x"],
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("onegrad",),
    "prefer_full_module": [],
}

# looks
html_theme = "pydata_sphinx_theme"
html_title = f"onegrad {version}"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": f"onegrad {version.removesuffix('.dev0')}", "alt_text": "onegrad: home"},
    "icon_links": [],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "search_bar_text": "Search",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["papers"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
