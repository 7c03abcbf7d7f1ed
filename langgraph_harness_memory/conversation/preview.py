"""Head and tail of a text that does not fit, by characters, and what the model is told about the rest."""

from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

LARGEST_PART = 0.5
"""What stands in for a text is at most this part of it, so that it is always much shorter."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Whereabouts:
    """Where the whole text can be had."""

    path: str | None = None
    """The file it lies in; `None` = in none."""
    reader: str | None = None
    """A bound tool that opens the path; `None` = none is bound."""
    logged: bool = False
    """It stands in the session log."""

    def sentence(self) -> str:
        """Tell the model how to go on."""
        if self.path is not None and self.reader is not None:
            return f'Whole text: {self.path} (read on with {self.reader}(path="{self.path}")).'
        if self.path is not None:
            return f"Whole text: {self.path} (no tool here can open it)."
        if self.logged:
            return "It could not be written to a file; the whole text is in the session log, out of your reach here."
        return "The rest is out of your reach here."


def preview(text: str, *, where: Whereabouts, side: int, most: int | None = None) -> str | None:
    """Build what stands in for a long text: how long it is, where it lies, its head and its tail.

    Args:
        text: The whole text.
        where: Where it can be had.
        side: Characters of the head and of the tail, each.
        most: Characters that the result may have; `None` = half of the text.

    Returns:
        The placeholder; `None` where it would not be much shorter than the text.
    """
    notice = f"[{len(text):,} characters. {where.sentence()}"
    limit = int(len(text) * LARGEST_PART) if most is None else min(most, int(len(text) * LARGEST_PART))
    frame = len(notice) + len(_frame("", 0, "")) + 3 * len(f"{len(text):,}")
    if frame > limit:
        short = f"[{len(text):,} characters: {where.path}]" if where.path else f"[{len(text):,} characters left out]"
        return short if len(short) <= limit else None
    side = min(side, (limit - frame) // 2)
    if side == 0:
        return notice + "]"
    return notice + _frame(text[:side], len(text) - 2 * side, text[-side:])


def _frame(head: str, left_out: int, tail: str) -> str:
    said = f" First {len(head):,} and last {len(tail):,} follow.]"
    return f"{said}\n{head}\n[… {left_out:,} characters left out …]\n{tail}"


def text_of(message: BaseMessage) -> str:
    """Return all text of a message, its blocks joined; images and other media have none."""
    content = message.content
    if isinstance(content, str):
        return content
    return "\n".join(part for part in map(block_text, content) if part is not None)


def block_text(block: Any) -> str | None:
    """Return the text of a content block; `None` for a block that is none."""
    if isinstance(block, str):
        return block
    if isinstance(block, dict) and block.get("type") in ("text", "output_text", "input_text"):
        return str(block.get("text") or "")
    return None


def with_text(content: str | list[Any], text: str) -> str | list[Any]:
    """Return a content whose text is replaced, in the place of its first text block; other blocks stay as they are."""
    if isinstance(content, str):
        return text
    replaced: list[Any] = []
    placed = False
    for block in content:
        if block_text(block) is None:
            replaced.append(block)
        elif not placed:
            replaced.append(text if isinstance(block, str) else {"type": "text", "text": text})
            placed = True
    return replaced
