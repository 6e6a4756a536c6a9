"""The configuration of Sphinx for the documentation site (`make docs`)."""

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "dfslab"
author = "The dfslab authors"
extensions = ["myst_parser"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
exclude_patterns = ["_built", "scenarios"]
html_theme = "alabaster"
html_theme_options = {
    "description": "A performance laboratory for distributed file systems",
    "page_width": "72rem",
    "fixed_sidebar": True,
}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_show_sphinx = False
myst_heading_anchors = 3
man_pages = [
    ("docs/reference/commands", "dfslab", "performance laboratory for file systems", "", 1)
]
# Sphinx must not warn of pages whose headings skip a level or begin below the first level, because
# warnings are treated as errors.
suppress_warnings = ["myst.header"]
# Languages of code blocks that Pygments does not colour.
PLAIN = ("mermaid", "promela")


def setup(app: Sphinx) -> None:
    """Makes Sphinx show code blocks in the languages PLAIN as plain text."""
    for language in PLAIN:
        app.add_lexer(language, TextLexer)
