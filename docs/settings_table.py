"""A Sphinx directive that lists every setting from where it is defined.

    ```{settings}
    ```

Name, default and explanation are read from the source of `config.py`, so that the page cannot fall behind it.
"""

import ast
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

CONFIG = Path(__file__).parents[1] / "langgraph_harness_memory" / "config.py"


def groups(source: str) -> list[tuple[str, str, list[tuple[str, str, str]]]]:
    """Read each group's name, purpose and settings (name, default, explanation) from the source of `config.py`."""
    found = []
    for node in ast.parse(source).body:
        if not (isinstance(node, ast.ClassDef) and node.name.endswith("Config")):
            continue
        settings = [
            (
                field.target.id,
                ast.unparse(field.value) if field.value else "required",
                " ".join(text.value.value.split()),
            )
            for field, text in zip(node.body, node.body[1:], strict=False)
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ]
        found.append((node.name, ast.get_docstring(node) or "", settings))
    return found


class Settings(SphinxDirective):
    """Puts a table for each group of settings into the page."""

    def run(self) -> list[nodes.Node]:
        """Return the tables."""
        self.env.note_dependency(str(CONFIG))
        lines: list[str] = []
        for name, purpose, settings in groups(CONFIG.read_text(encoding="utf-8")):
            lines += [f"**`{name}`** — {purpose}", "", "| setting | default | meaning |", "|---|---|---|"]
            lines += [
                f"| `{setting}` | `{default.replace('|', chr(92) + '|')}` | {text.replace('|', chr(92) + '|')} |"
                for setting, default, text in settings
            ]
            lines.append("")
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, source=str(CONFIG)), self.content_offset, holder)
        return list(holder.children)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("settings", Settings)
    return {"parallel_read_safe": True}
