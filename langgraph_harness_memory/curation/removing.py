"""Take lines out of a file while others may write to it."""

from collections.abc import Callable

from langgraph_harness_memory.curation.finding import Found, said_lines
from langgraph_harness_memory.curation.tombs import ATTEMPTS
from langgraph_harness_memory.errors import WorkspaceError
from langgraph_harness_memory.steps import (
    Conflict,
    Failed,
    RemoveLines,
    Steps,
    WriteText,
    read_text,
    remove_lines,
    write_text,
)


def remove_where(
    tenant: str | None, path: str, gone: Callable[[Found], bool], *, backup: bool = False
) -> Steps[tuple[Found, ...] | Failed]:
    """Remove the lines of a file that a test takes, whoever else changes it meanwhile, and return them.

    Args:
        tenant: Whose file.
        path: The file.
        gone: Judges a line.
        backup: Keep the version before.
    """
    for _ in range(ATTEMPTS):
        text = yield from read_text(tenant, path)
        if text is None or isinstance(text, Failed):
            return text or ()
        taken = tuple(line for line in said_lines(path, text.text) if gone(line))
        if not taken:
            return ()
        numbers = frozenset(line.number for line in taken)
        if backup:
            left = "".join(line for number, line in enumerate(lines_of(text.text), start=1) if number not in numbers)
            done = yield from write_text(
                WriteText(tenant=tenant, path=path, text=left, expect=text.version, backup=True)
            )
        else:
            done = yield from remove_lines(
                RemoveLines(tenant=tenant, path=path, numbers=numbers, expect=text.version, text=text.text)
            )
        if not isinstance(done, Conflict):
            return done if isinstance(done, Failed) else taken
    return Failed(error=WorkspaceError(f"{path} changed {ATTEMPTS} times while lines were removed; try again"))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their endings."""
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [text.rsplit("\n", 1)[-1]]
