"""Save on request: what a person asks to be kept stands in today's log at once."""

from dataclasses import dataclass, replace

from langgraph_harness_memory.curation.progress import change_state, same_as_any
from langgraph_harness_memory.curation.provenance import CONTEXT_MESSAGES, speaker_of
from langgraph_harness_memory.curation.screening import Blocked, Screening
from langgraph_harness_memory.curation.tombs import change_tombstones
from langgraph_harness_memory.curation.wording import words
from langgraph_harness_memory.errors import SettingError, WriteRefused
from langgraph_harness_memory.formats import daily_log
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.steps import Failed, Steps, append_text, index_file, now, read_logged, read_unflushed


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """A text stands in the daily log."""

    path: str
    text: str
    """As it was written: redacted, on one line."""


def save(
    thread: ThreadRef, text: str, *, screening: Screening, key: str, source: str | None = None
) -> Steps[Saved | Failed]:
    """Append a text to today's log.

    What was forgotten or removed before is lifted: it was said again on purpose. Where the text repeats what a tool said in
    the conversation, and the user did not, it is the tool's: it is written down, and neither promoted nor a lift.

    Args:
        thread: The conversation it was said in, and whose memory it feeds.
        text: What to keep; line ends become blanks.
        screening: What it passes before it is written.
        key: Keys the tombstones of a memory that has none yet; random, hexadecimal.
        source: Whose words it is; `None` = told by the conversation.
    """
    flat = daily_log.bullet_text(daily_log.fact_line(text))
    if not flat:
        return Failed(error=SettingError.refused("memory_save.text", text, "say what should be kept"))
    passed = screening.screen(flat, "daily_log")
    if isinstance(passed, Blocked):
        return Failed(error=WriteRefused(f"this was not saved: {passed.reason}"))
    at = yield from now()
    source = source or (yield from _speaker(thread, passed))
    if source == "user":
        lifted = yield from _lift(thread.tenant, passed, key=key)
        if isinstance(lifted, Failed):
            return lifted
    heading = daily_log.BlockHeading(at=at, session=thread.thread_id, sources=(source,))
    path = daily_log.log_path(at.strftime("%Y-%m-%d"))
    failed = yield from append_text(thread.tenant, path, daily_log.render_block([(heading, (passed,))]))
    if failed is not None:
        return failed
    yield from index_file(thread.tenant, path)
    return Saved(path=path, text=passed)


def _speaker(thread: ThreadRef, text: str) -> Steps[str]:
    fresh = yield from read_unflushed(thread)
    if isinstance(fresh, Failed) or not fresh:
        return "user"
    first = fresh[0].position
    earlier = (yield from read_logged(thread, max(first - CONTEXT_MESSAGES, 0), first)) if first else ()
    return speaker_of(text, (*(() if isinstance(earlier, Failed) else earlier), *fresh))


def _lift(tenant: str | None, text: str, *, key: str) -> Steps[Failed | None]:
    stones = yield from change_tombstones(tenant, lambda old: old.lifted(words(text)), key=key)
    if isinstance(stones, Failed):
        return stones

    def without_removal(state: ConsolidationState) -> ConsolidationState:
        is_saved = same_as_any((text,))
        kept = tuple(fact for fact in state.removed if not is_saved(fact))
        return replace(state, removed=kept) if kept != state.removed else state

    state = yield from change_state(tenant, without_removal)
    return state if isinstance(state, Failed) else None
