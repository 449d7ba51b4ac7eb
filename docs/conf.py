"""The site: `make docs` builds it, with warnings as errors, and runs the gallery."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("MPLBACKEND", "Agg")

import discbayes  # noqa: E402

project = "discbayes"
author = "The discbayes developers"
copyright = author
version = release = discbayes.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "gallery_links",
    "sources",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "results/rows", "**/README.txt"]
suppress_warnings = ["config.cache"]  # the order of the gallery is a function
nitpicky = False

# ---- Markdown

myst_enable_extensions = [
    "attrs_block",
    "attrs_inline",
    "colon_fence",
    "deflist",
    "dollarmath",
    "fieldlist",
]
myst_heading_anchors = 3
html_math_renderer = "mathml"  # formulas need no script and nothing from elsewhere

# ---- the API reference

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # the docstrings have the types in words
templates_path = ["_templates"]
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_xref_param_type = False  # words such as "labels" are no links
toc_object_entries_show_parents = "hide"

# ---- the gallery

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "thumbnail_size": (720, 504),  # two in a row, so that their text can be read
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,  # it would be that of the machine that built the pages
    "remove_config_comments": True,
    "copyfile_regex": r".*\.rst",
}

# ---- the pages

html_theme = "pydata_sphinx_theme"
html_title = "discbayes"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "discbayes"},
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": True,
}
html_context = {"default_mode": "auto"}
_ALONE = (
    "index",
    "start",
    "overview",
    "performance",
    "faq",
    "security",
    "compatibility",
    "changes",
)
html_sidebars = {name: [] for name in (*_ALONE, "search", "genindex", "source/**")}
