"""Sphinx's settings of the documentation; `make docs` builds it from build/docs/source."""

project = "dicast"
author = "the dicast authors"
html_title = "dicast"

extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # links such as compiling.md#the-split are checked

# Pygments has no lexer of these, and what a block shows may be shortened.
suppress_warnings = ["misc.highlighting_failure"]

# The site opens from the disk and asks no other server: Furo brings its own files, and no font is fetched.
html_theme = "furo"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f5f8b"},
    "dark_css_variables": {"color-brand-primary": "#7fb8dc", "color-brand-content": "#7fb8dc"},
}
html_static_path = ["_static"]
html_css_files = ["site.css"]
