"""Reading and changing what was forgotten, from within rules."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from langgraph_harness_memory.errors import UnreadableFile, WorkspaceError
from langgraph_harness_memory.formats import tombstones
from langgraph_harness_memory.formats.tombstones import Tombstones
from langgraph_harness_memory.steps import Conflict, Failed, Steps, WriteText, read_text, write_text

ATTEMPTS = 5
"""How often a small file is read and written again when somebody else was faster."""


def read_tombstones(tenant: str | None) -> Steps[Tombstones | Failed]:
    """Read what was forgotten; a damaged file is a failure, since what it names would come back."""
    found = yield from read_text(tenant, tombstones.PATH)
    if isinstance(found, Failed):
        return found
    if found is None:
        return Tombstones(key="00")
    try:
        return tombstones.parse(found.text)
    except ValueError as error:
        return Failed(error=UnreadableFile(f"{error}; mend or remove it, and forget again what it named"))


def forgotten_since(known: Tombstones, now: Tombstones, *, said_at: datetime) -> Callable[[Iterable[str]], bool]:
    """Return a test whether a fact of a stretch was forgotten, told by its words.

    A stone of a query holds for what was said before it. One that was not known when the stretch was read holds for all
    of the stretch: every message had been said when it was laid, whatever moment it bears.

    Args:
        known: The stones as they were after the stretch was read and before it was parted at their moments.
        now: The stones as they are.
        said_at: When the last of the stretch was said.
    """
    old = Tombstones(key=now.key, stones=tuple(stone for stone in now.stones if stone in known.stones))
    late = Tombstones(key=now.key, stones=tuple(stone for stone in now.stones if stone not in known.stones))

    def is_forgotten(fact: Iterable[str]) -> bool:
        return old.covers(fact, said_at=said_at) or late.covers(fact, said_at=datetime.min.replace(tzinfo=UTC))

    return is_forgotten


def change_tombstones(
    tenant: str | None, change: Callable[[Tombstones], Tombstones], *, key: str
) -> Steps[Tombstones | Failed]:
    """Change what was forgotten, whoever else changes it meanwhile.

    Args:
        tenant: Whose memory.
        change: Returns the new stones.
        key: Keys the hashes where this is the first stone; hexadecimal.
    """
    for _ in range(ATTEMPTS):
        found = yield from read_text(tenant, tombstones.PATH)
        if isinstance(found, Failed):
            return found
        try:
            old = tombstones.parse(found.text) if found else Tombstones(key=key)
        except ValueError as error:
            return Failed(error=UnreadableFile(f"{error}; mend or remove it, and forget again what it named"))
        new = change(old)
        if new == old:
            return new
        done = yield from write_text(
            WriteText(
                tenant=tenant,
                path=tombstones.PATH,
                text=tombstones.render(new),
                expect=found.version if found else None,
            )
        )
        if not isinstance(done, Conflict):
            return done if isinstance(done, Failed) else new
    return Failed(error=WorkspaceError(f"{tombstones.PATH} changed {ATTEMPTS} times while it was written; try again"))
