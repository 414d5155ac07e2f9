"""How Sphinx makes the pages: `make docs`, with warnings as errors."""

from importlib.metadata import version as installed_version

project = "feldspar"
author = "the feldspar authors"
release = version = installed_version("feldspar")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"feldspar {release}"

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name the types in words
napoleon_google_docstring = False
napoleon_use_ivar = True
