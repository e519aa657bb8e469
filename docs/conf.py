"""The site: the pages of this folder, the gallery (examples/gallery), and a reference made from the docstrings.

sphinx-build --fail-on-warning docs docs/_build/html
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]

import gasla  # noqa: E402

project = "gasla"
author = copyright = "The gasla developers"
release = version = gasla.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "edge_semantics",
    "laws_table",
    "link_names",
    "mermaid_svg",
    "repository_files",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.zip", "gallery/*.py", "gallery/*.json"]
default_role = "literal"

# As on GitHub, headings can be linked to.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autosummary_generate = True
autodoc_typehints = "none"  # docstrings give types, with shapes
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "image_scrapers": ("matplotlib",),
    "show_signature": False,
    "abort_on_example_error": True,
    "write_computation_times": False,  # its page would load scripts from another site
    "show_memory": False,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = "gasla"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
templates_path = ["_templates"]
if (measured := ROOT / ".asv" / "site").exists():  # the history of speed, if `asv publish` ran before
    html_extra_path = [str(measured)]
    html_theme_options["navbar_end"] = ["benchmarks-link", "theme-switcher"]
html_sidebars = {"*": []}  # pages in folders (guide, reference, gallery) have a sidebar with their neighbors
