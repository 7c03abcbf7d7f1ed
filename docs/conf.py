"""How the documentation is built: `sphinx-build -W docs docs/_build`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "langgraph_harness_memory"
author = "the langgraph_harness_memory contributors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "settings_table"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "langgraph_harness_memory"
exclude_patterns = ["_build", "_generated"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
# The base classes of LangChain and LangGraph refer to pages that are not here.
suppress_warnings = ["ref.python", "myst.xref_missing", "docutils"]
