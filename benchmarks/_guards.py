"""The guards of the promises, each with what takes it away and with tests that must fail without it.

The package has no switch for it: a guard is a function or a constant that is exchanged here, in the process of the tests.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

PACKAGE = "langgraph_harness_memory"

NEVER = re.compile(r"(?!)")
"""Matches nothing."""


@dataclass(frozen=True, kw_only=True)
class Guard:
    """Something without which a promise is broken."""

    name: str
    keeps: str
    """The promise: guarantees of `docs/reference/guarantees.md`."""
    remove: Callable[[], None]
    tests: tuple[str, ...]
    """Those that must fail without it."""


def _of(place: str) -> Any:
    """Return a module of the package, or a class of one (`workspace.files:Files`)."""
    module, _, attribute = place.partition(":")
    found = import_module(f"{PACKAGE}.{module}")
    return getattr(found, attribute) if attribute else found


def put(place: str, name: str, value: Any) -> Callable[[], None]:
    """Exchange an attribute that is there."""

    def remove() -> None:
        target = _of(place)
        assert hasattr(target, name), f"{place} has no {name}: the table of guards is out of date"
        setattr(target, name, value)

    return remove


def both(*removals: Callable[[], None]) -> Callable[[], None]:
    """Take away what stands in several places."""

    def remove() -> None:
        for removal in removals:
            removal()

    return remove


def nothing(*_: Any, **__: Any) -> None:
    """Takes the place of something that acts."""


@contextlib.contextmanager
def _unlocked(*_: Any, **__: Any) -> Iterator[None]:
    yield


def _append_without_rollback(files: Any, fd: int, data: bytes, size: int, made: Any) -> None:
    files._write_all(fd, data)
    files._sync_data(fd)


def _write_in_place(files: Any, place: Any, data: bytes, mode: int, old: int | None) -> None:
    fd = files.calls.open(place.name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode, dir_fd=place.fd)
    try:
        files._write_all(fd, data)
        files._sync(fd)
    finally:
        os.close(fd)


def _without_version(files: Any, step: Any, *, now: Any, backups: int) -> str:
    from langgraph_harness_memory.workspace import text_bytes

    version: str = files.replace(step.path, text_bytes(step.text))
    return version


def _follow_links() -> None:
    """Open through links, as `open` does."""
    for module in ("workspace.descent", "workspace.files", "workspace.reading"):
        target = _of(module)
        for name in ("READ", "APPEND", "FOLDER"):
            if hasattr(target, name):
                setattr(target, name, getattr(target, name) & ~os.O_NOFOLLOW)
    for module in ("workspace.descent",):
        _of(module).link_target = lambda *_: None


def _linked_anywhere(parts: Any, at: int, target: str, **_: Any) -> Any:
    return (*parts[:at], *[p for p in target.split("/") if p], *parts[at + 1 :])


def _name_allowed(path: object, name: str) -> None:
    """Any component will do."""


def _same_for_all(index: Any, tenant: str | None) -> Any:
    return index


def _allow(screening: Any, text: str, destination: str) -> str:
    return text


def _redact_only(screening: Any, text: str, destination: str) -> str:
    return screening.redact(text) if screening.redact else text


def _any_summary(answer: Any, *, source_tokens: int, settings: Any, counter: Any) -> Any:
    return _of("conversation.summary").Summary(text=answer.text, by_rules=answer.by_rules)


def _ask_without_end(deadline: Any, function: Callable[[], Any]) -> Any:
    return function()


def _raise_failures(performer: Any, step: Any, error: Exception) -> Any:
    raise error


def _visible_config(models: Any, step: Any) -> dict[str, Any]:
    return {}


def _nobody_buried(tenant: str | None) -> Any:
    yield from ()
    return _of("formats.tombstones").Tombstones(key="00")


def _logged_without_log(turn: Any, messages: Any) -> Any:
    yield from ()


def _whole_looking(line: bytes) -> bool:
    return line.endswith(b'"}') and line.startswith(b"{")


def _placed_anew(log: Any, thread_log: Any, new: Any) -> Any:
    thread_log.whole()
    return thread_log.append(list(new), thread_log.owner()[0], log.clock.now())


async def _outcome_unknown(work: Any) -> Any:
    return await work


def _unguarded(call: Callable[..., Any]) -> Callable[..., Any]:
    return call


def _on_loop() -> None:
    async def at_once(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    _of("performers.performer").finish_in_thread = at_once


def _strict_bytes(text: str) -> bytes:
    return text.encode()


def _left_by_the_clock(last: Any, gap: Any, now: Any) -> Any:
    return gap * 0 if last is None else max(gap * 0, gap - (now - last))


def _unmeasured(old: str, new: str) -> float:
    return 0.0


GUARDS: tuple[Guard, ...] = (
    Guard(
        name="fsync before an append is acknowledged",
        keeps="G1 G6",
        remove=put("workspace.descent:Descent", "_sync_data", nothing),
        tests=(
            "tests/proof/test_guards.py::test_an_append_is_on_the_disk_before_it_is_acknowledged",
            "tests/workspace/test_local_faults.py::test_failed_sync_is_no_acknowledgement[fdatasync]",
        ),
    ),
    Guard(
        name="fsync before a rename",
        keeps="G2",
        remove=put("workspace.descent:Descent", "_sync", nothing),
        tests=(
            "tests/proof/test_guards.py::test_a_new_version_is_on_the_disk_before_it_has_its_name",
            "tests/workspace/test_local_faults.py::test_failed_sync_is_no_acknowledgement[fsync]",
        ),
    ),
    Guard(
        name="fsync of the folder",
        keeps="G1 G2",
        remove=put("workspace.descent:Descent", "_sync_folder", nothing),
        tests=(
            "tests/proof/test_guards.py::test_a_moved_file_has_its_new_name_on_the_disk",
            "tests/proof/test_guards.py::test_what_is_deleted_is_gone_from_the_disk",
        ),
    ),
    Guard(
        name="loop over short writes",
        keeps="G1",
        remove=put("workspace.descent:Descent", "_write_all", lambda files, fd, data: files.calls.write(fd, data)),
        tests=("tests/workspace/test_local_faults.py::test_short_writes_are_continued",),
    ),
    Guard(
        name="rollback of a torn append",
        keeps="G5",
        remove=put("workspace.files:Files", "_write_or_cut", _append_without_rollback),
        tests=(
            "tests/workspace/test_local_faults.py::test_interrupted_append_is_rolled_back",
            "tests/workspace/test_local_faults.py::test_every_call_may_fail[append-EIO-once]",
        ),
    ),
    Guard(
        name="repair of a torn tail",
        keeps="G3",
        remove=put("workspace.files:Files", "_mended", lambda _files, fd, *_: (os.fstat(fd).st_size, None, b"")),
        tests=("tests/workspace/test_local_faults.py::test_log_cut_anywhere_goes_on",),
    ),
    Guard(
        name="a torn tail is kept aside",
        keeps="G3",
        remove=put("workspace.files:Files", "_keep_aside", lambda _files, place, _fragment: f"{place.name}.torn-1"),
        tests=("tests/workspace/test_local_faults.py::test_log_cut_anywhere_goes_on",),
    ),
    Guard(
        name="checksum of each line",
        keeps="G10",
        remove=put("formats.records", "is_whole", _whole_looking),
        tests=("tests/sessions/test_damage.py::test_a_flipped_bit_never_gives_a_message_that_was_not_said",),
    ),
    Guard(
        name="glued records are taken apart",
        keeps="G4",
        remove=put("formats.records", "pieces", lambda _line: iter(())),
        tests=("tests/sessions/test_damage.py::test_lines_that_are_whole_inside_a_damaged_file_are_all_read",),
    ),
    Guard(
        name="replacement through a temporary file",
        keeps="G2",
        remove=put("workspace.files:Files", "_write_aside_and_swap", _write_in_place),
        tests=("tests/workspace/test_local_faults.py::test_every_call_may_fail[replace-EIO-once]",),
    ),
    Guard(
        name="only stale temporary files are swept",
        keeps="G11",
        remove=put("workspace.files", "STALE_AFTER", -3600.0),
        tests=("tests/workspace/test_local_faults.py::test_stale_temporary_files_are_removed",),
    ),
    Guard(
        name="compare-and-swap of the local workspace",
        keeps="G14",
        remove=put("workspace.files", "_version_like", lambda expect, _fd: expect),
        tests=("tests/workspace/test_local_contract.py::TestLocalWorkspace::test_replace_if_version",),
    ),
    Guard(
        name="compare-and-swap of MEMORY.md",
        keeps="G14",
        remove=put("performers.files", "write", _without_version),
        tests=("tests/performers/test_flushing.py::test_file_steps_answer_as_their_rules_expect",),
    ),
    Guard(
        name="backup before a rewrite",
        keeps="G22",
        remove=put("performers.files", "_back_up", nothing),
        tests=("tests/performers/test_flushing.py::test_backups_are_kept_and_the_oldest_go",),
    ),
    Guard(
        name="flock",
        keeps="G12",
        remove=put("workspace.locks", "_try_lock", lambda _fd, _where: True),
        tests=("tests/workspace/test_local_locks.py::test_lock_of_another_program_is_waited_for_no_longer_than_asked",),
    ),
    Guard(
        name="a lock file that was exchanged is noticed",
        keeps="G12 G13",
        remove=put("workspace.files:Files", "is_current", lambda *_: True),
        tests=("tests/workspace/test_local_locks.py::test_removed_lock_files_split_nobody",),
    ),
    Guard(
        name="a forked child drops its parent's locks",
        keeps="G13",
        remove=put("workspace.locks:FileLocks", "forget_parent", nothing),
        tests=("tests/proof/test_guards.py::test_a_lock_ends_with_its_section_though_a_child_was_forked_within",),
    ),
    Guard(
        name="lease of maintenance",
        keeps="G15",
        remove=both(
            put("workspace.leases", "holds", lambda *_: False), put("workspace.local", "holds", lambda *_: False)
        ),
        tests=("tests/maintenance/test_graph.py::test_claim_keeps_a_second_process_out_and_expires",),
    ),
    Guard(
        name="a claim from the future is taken as made now",
        keeps="G15 G34",
        remove=both(
            put("workspace.leases", "clamped", lambda claim, _now: claim),
            put("workspace.local", "clamped", lambda claim, _now: claim),
        ),
        tests=("tests/workspace/test_local_locks.py::test_lease_from_the_future_does_not_hold_for_ever",),
    ),
    Guard(
        name="flush mark after the block",
        keeps="G8",
        remove=put("sessions.log:SessionLog", "mark_flushed", nothing),
        tests=("tests/performers/test_flushing.py::test_block_is_written_and_marked_together",),
    ),
    Guard(
        name="a block that stands is recognised by its range",
        keeps="G8",
        remove=put("performers.flushing", "_standing", lambda *_, **__: (frozenset(), None)),
        tests=("tests/performers/test_flushing.py::test_crash_between_block_and_mark_is_recognised",),
    ),
    Guard(
        name="a message is logged once",
        keeps="G7",
        remove=put("sessions.log:SessionLog", "place", _placed_anew),
        tests=("tests/sessions/test_session_log.py::test_positions_are_given_in_order_and_again_for_known_messages",),
    ),
    Guard(
        name="the log comes before the fold",
        keeps="G8",
        remove=put("conversation.compaction:Turn", "log", _logged_without_log),
        tests=(
            "tests/conversation/test_turn.py::test_the_log_is_written_and_the_flush_queued_before_a_model_is_asked",
        ),
    ),
    Guard(
        name="tombstones",
        keeps="G14",
        remove=both(
            put("curation.consolidation", "read_tombstones", _nobody_buried),
            put("curation.review", "read_tombstones", _nobody_buried),
        ),
        tests=("tests/curation/test_consolidation.py::test_forgotten_lines_are_no_input_and_no_output",),
    ),
    Guard(
        name="judgement of summaries",
        keeps="G19",
        remove=put("conversation.summary", "judge", _any_summary),
        tests=("tests/conversation/test_turn.py::test_a_useless_summary_leaves_the_history",),
    ),
    Guard(
        name="deadline of a model's answer",
        keeps="G20",
        remove=put("performers.asking", "_within", _ask_without_end),
        tests=("tests/performers/test_asking.py::test_model_that_never_answers_is_abandoned_in_time",),
    ),
    Guard(
        name="a failing step is an answer to its rule",
        keeps="G20 G36",
        remove=put("performers.performer:Performer", "_failed", _raise_failures),
        tests=("tests/performers/test_flushing.py::test_file_steps_answer_as_their_rules_expect",),
    ),
    Guard(
        name="interrupts and a foreign tenant propagate",
        keeps="G20",
        remove=both(put("performers.performer", "PROPAGATED", ()), put("performers.attempting", "PROPAGATED", ())),
        tests=(
            "tests/proof/test_guards.py::test_an_interrupt_in_an_internal_call_ends_the_run",
            "tests/performers/test_flushing.py::test_thread_of_another_tenant_is_no_failure",
        ),
    ),
    Guard(
        name="internal calls stay out of the stream",
        keeps="promise 8",
        remove=put("performers.asking:Models", "config", _visible_config),
        tests=("tests/front_doors/test_streams.py::test_messages_stream_shows_the_agent_alone",),
    ),
    Guard(
        name="form of a consolidated memory",
        keeps="G22",
        remove=put("curation.validation", "_form", nothing),
        tests=("tests/curation/test_consolidation.py::test_an_answer_that_is_not_sane_replaces_nothing",),
    ),
    Guard(
        name="shrink guard",
        keeps="G22",
        remove=put("curation.validation", "_dropped", _unmeasured),
        tests=("tests/curation/test_consolidation.py::test_an_answer_that_is_not_sane_replaces_nothing",),
    ),
    Guard(
        name="requests are repaired",
        keeps="promise 4",
        remove=put("conversation.turn", "repair", lambda messages, **_: list(messages)),
        tests=("tests/conversation/test_turn.py::test_the_request_is_repaired_and_the_state_is_not",),
    ),
    Guard(
        name="O_NOFOLLOW",
        keeps="G25",
        remove=_follow_links,
        tests=("tests/workspace/test_local_containment.py::test_nothing_leads_out",),
    ),
    Guard(
        name="a link out of the workspace is refused",
        keeps="G25",
        remove=put("workspace.descent", "linked", _linked_anywhere),
        tests=("tests/workspace/test_local_containment.py::test_nothing_leads_out",),
    ),
    Guard(
        name="only regular files with one name are written",
        keeps="G25",
        remove=both(
            put("workspace.descent", "check_regular", nothing), put("workspace.reading", "check_regular", nothing)
        ),
        tests=("tests/workspace/test_local_containment.py::test_hard_links_are_read_and_not_written",),
    ),
    Guard(
        name="'..' and control characters are refused",
        keeps="G25",
        remove=put("workspace.paths", "_check_name", _name_allowed),
        tests=("tests/workspace/test_local_contract.py::TestLocalWorkspace::test_paths_out_of_the_tree",),
    ),
    Guard(
        name="ids are escaped",
        keeps="G26",
        remove=put("identifiers", "PLAIN", re.compile(".*", re.DOTALL)),
        tests=("tests/foundation/test_identifiers.py::test_any_string_becomes_a_name_that_every_file_system_takes",),
    ),
    Guard(
        name="injected memory cannot leave its block",
        keeps="G28",
        remove=put("conversation.context", "_OWN_TAGS", NEVER),
        tests=("tests/conversation/test_context.py::test_no_file_closes_its_element",),
    ),
    Guard(
        name="texts in prompts are disarmed",
        keeps="G28",
        remove=both(put("conversation.rendering", "disarm", str), put("conversation.summary", "disarm", str)),
        tests=("tests/conversation/test_rendering.py::test_no_text_opens_or_closes_a_block",),
    ),
    Guard(
        name="what a tool said is known again",
        keeps="G29",
        remove=put("curation.provenance:_Heard", "repeats", nothing),
        tests=("tests/trust/test_routes.py::test_what_the_assistant_repeats_from_a_tool_is_not_promoted[verbatim]",),
    ),
    Guard(
        name="redaction before a write",
        keeps="G30",
        remove=put("curation.screening:Screening", "screen", _allow),
        tests=("tests/redaction/test_routes.py::test_layers_index_and_events_hold_no_credential",),
    ),
    Guard(
        name="the user's scanner",
        keeps="G30",
        remove=put("curation.screening:Screening", "screen", _redact_only),
        tests=("tests/curation/test_flush.py::test_a_scanner_that_fails_has_allowed_nothing",),
    ),
    Guard(
        name="redaction of events",
        keeps="G30",
        remove=put("performers.telling:Teller", "_clean", lambda _teller, event: event),
        tests=("tests/performers/test_telling.py::test_secrets_do_not_reach_an_event",),
    ),
    Guard(
        name="what is deleted leaves the index file",
        keeps="G30",
        remove=put("index.database:Database", "scrub", nothing),
        tests=("tests/curation/test_on_disk.py::test_forgetting_reaches_the_bytes",),
    ),
    Guard(
        name="files are for their owner",
        keeps="G31",
        remove=both(
            put("workspace.descent", "FILE_MODE", 0o644),
            put("workspace.files", "FILE_MODE", 0o644),
            put("workspace.descent", "FOLDER_MODE", 0o755),
        ),
        tests=("tests/workspace/test_local_faults.py::test_modes_whatever_the_umask",),
    ),
    Guard(
        name="half characters are written as U+FFFD",
        keeps="G32",
        remove=both(
            *(
                put(m, "text_bytes", _strict_bytes)
                for m in ("performers.files", "performers.flushing", "performers.performer")
            )
        ),
        tests=("tests/proof/test_guards.py::test_half_a_character_is_saved_as_a_question",),
    ),
    Guard(
        name="tenant filter of the index",
        keeps="promise 7",
        remove=put("index.sqlite:MemoryIndex", "for_tenant", _same_for_all),
        tests=("tests/tools/test_tools.py::test_the_tenant_of_the_run",),
    ),
    Guard(
        name="a thread belongs to its tenant",
        keeps="promise 7",
        remove=put("sessions.thread_log:ThreadLog", "check_owner", nothing),
        tests=("tests/sessions/test_session_log.py::test_a_thread_belongs_to_who_began_it",),
    ),
    Guard(
        name="a damaged index is made anew",
        keeps="G9",
        remove=put("index.engine:Engine", "_repair", nothing),
        tests=("tests/index/test_damage.py::test_damaged_while_closed",),
    ),
    Guard(
        name="an exchanged index is noticed",
        keeps="G9",
        remove=put("index.database:Database", "_check_identity", nothing),
        tests=("tests/proof/test_guards.py::test_an_index_that_was_removed_while_open_is_back_at_its_place",),
    ),
    Guard(
        name="a tool's error is a message",
        keeps="G25",
        remove=both(put("tools.calling", "_guarded", _unguarded), put("tools.calling", "_aguarded", _unguarded)),
        tests=("tests/tools/test_tools.py::test_paths_that_lead_elsewhere",),
    ),
    Guard(
        name="a moment in the future counts as never",
        keeps="G34",
        remove=put("maintenance.due", "_left", _left_by_the_clock),
        tests=("tests/maintenance/test_due.py::test_moment_in_the_future_does_not_stop_maintenance_for_years",),
    ),
    Guard(
        name="the outcome of a cancelled write is waited for",
        keeps="G17",
        remove=put("outcome", "_outcome_of", _outcome_unknown),
        tests=("tests/sessions/test_session_log.py::test_a_cancelled_append_is_done_when_the_cancellation_arrives",),
    ),
    Guard(
        name="blocking work leaves the event loop",
        keeps="G18",
        remove=_on_loop,
        tests=("tests/proof/test_async_surface.py::test_nothing_blocks_the_event_loop[local]",),
    ),
)
