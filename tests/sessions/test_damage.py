"""Files that were torn, flipped, glued, cut, edited or removed: what is whole is read, what is not is told and left."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_harness_memory.errors import DamagedSession, TenantMismatch, UnreadableFile, WorkspaceError
from langgraph_harness_memory.events import Damaged, Event
from langgraph_harness_memory.formats import records
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.saver import SessionSaver
from langgraph_harness_memory.workspace.local import LocalWorkspace
from tests.sessions.conftest import T1, THREAD, chat, say, texts

FIVE = [HumanMessage(f"message {n} \N{SNOWMAN}", id=f"m{n}") for n in range(5)]


def _filled(folder: Path) -> tuple[Path, bytes]:
    SessionLog(LocalWorkspace(folder, fsync=False)).append(THREAD, FIVE)
    path = folder / "sessions" / "t1.log.jsonl"
    return path, path.read_bytes()


def _open(folder: Path, events: list[Event] | None = None) -> SessionLog:
    return SessionLog(
        LocalWorkspace(folder, fsync=False, on_event=None if events is None else events.append),
        on_event=None if events is None else events.append,
    )


def _ids(log: SessionLog) -> list[str | None]:
    return [e.message.id for e in log.read("t1")]


def test_a_log_cut_at_any_byte_loses_nothing_that_is_whole(tmp_path: Path) -> None:
    """Whole lines are read, the torn one is moved aside by the next append, and the new message stands alone."""
    path, data = _filled(tmp_path)
    ends = [i + 1 for i, byte in enumerate(data) if byte == ord("\n")]
    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        # The header's line ends first; a line that lacks nothing but its newline is whole.
        whole = sum(cut >= end - 1 for end in ends[1:])
        log = _open(tmp_path)
        assert _ids(log) == [f"m{n}" for n in range(whole)]
        log.append(THREAD, [AIMessage("new", id="new")])
        assert _ids(log) == [*(f"m{n}" for n in range(whole)), "new"]
        assert _ids(_open(tmp_path)) == _ids(log)
    torn = list(path.parent.glob("*.torn-*"))
    assert torn
    assert all(p.read_bytes() in data for p in torn)


def test_checkpoints_cut_at_any_byte_give_the_last_whole_one(folder: Path) -> None:
    """After a cut the newest whole checkpoint is the state, and the thread goes on from it."""
    say(chat(SessionSaver(folder, fsync=False)), "one", "two", durability="sync")
    path = folder / "t1.jsonl"
    data = path.read_bytes()
    step = 7
    for cut in range(0, len(data), step):
        path.write_bytes(data[:cut])
        saver = SessionSaver(folder, fsync=False)
        graph = chat(saver)
        found = saver.get_tuple(T1)
        state = [] if found is None else found.checkpoint["channel_values"].get("messages", [])
        assert texts(state) == ["one", "re: one", "two", "re: two"][: len(state)]
        graph.update_state(T1, {"messages": [HumanMessage("on", id="on")]}, as_node="chat")
        again = chat(SessionSaver(folder, fsync=False)).get_state(T1).values["messages"]
        assert again == [*state, HumanMessage("on", id="on")]


def test_a_flipped_bit_never_gives_a_message_that_was_not_said(tmp_path: Path) -> None:
    """Each bit of a log is flipped once: every message that is read is one of those that were logged."""
    path, data = _filled(tmp_path)
    for index in range(len(data)):
        flipped = bytearray(data)
        flipped[index] ^= 1 << (index % 8)
        path.write_bytes(bytes(flipped))
        read = [e.message for e in _open(tmp_path).read("t1")]
        assert [m for m in read if m not in FIVE] == []
        assert len(read) >= 3


def test_damage_in_the_middle_is_skipped_told_once_and_left_on_disk(tmp_path: Path) -> None:
    """The other messages keep their positions, appends go on, and not a byte of the damage is touched."""
    path, data = _filled(tmp_path)
    lines = data.split(b"\n")
    lines[3] = b"\x00" * 40 + lines[3][40:]
    path.write_bytes(b"\n".join(lines))
    events: list[Event] = []
    log = _open(tmp_path, events)
    assert [(e.position, e.message.id) for e in log.read("t1")] == [(0, "m0"), (1, "m1"), (3, "m3"), (4, "m4")]
    log.read("t1")
    assert [e.path for e in events if isinstance(e, Damaged)] == ["sessions/t1.log.jsonl"]
    assert log.append(THREAD, [AIMessage("new", id="n")]) == {"n": 5}
    assert path.read_bytes().startswith(b"\n".join(lines)[:-1])
    # The lost one can be logged again, under a position of its own.
    assert log.append(THREAD, FIVE)["m2"] == 6


CORPUS: dict[str, Callable[[list[bytes]], bytes]] = {
    "glued": lambda ls: b"\n".join([*ls[:2], ls[2] + ls[3], *ls[4:]]),
    "torn then glued": lambda ls: b"\n".join([*ls[:2], ls[2][:50] + ls[2], *ls[3:]]),
    "other line ends": b"\r\n".join,
    "blank lines": b"\n\n\n".join,
    "byte order mark": lambda ls: b"\xef\xbb\xbf" + b"\n".join(ls),
    "no end": lambda ls: b"\n".join(ls).rstrip(b"\n"),
    "text before": lambda ls: b"\n".join([ls[0], b"see below: " + ls[1], *ls[2:]]),
}
LOSING: dict[str, bytes] = {
    "invalid utf-8": b'{"v":1,"n":9,"id":"x","h":"0123456789abcdef","message":{"content":"\xff"}}',
    "deep": b'{"v":1,"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "long number": b'{"v":1,"n":' + b"9" * 5000 + b"}",
    "binary": bytes(range(256)) * 20,
    "html": b"<html>502 Bad Gateway</html>",
    "null": b"null",
    "an array": records.render({"v": 1})[:-1].replace(b"{", b"["),
    "huge": b"x" * 3_000_000,
    "unknown kind": records.render({"v": 1, "kind": "hologram", "n": "x"})[:-1],
    "newer version": records.render({"v": 9, "n": 7, "id": "z", "h": "0123456789abcdef", "shape": "new"})[:-1],
    "wrong fields": records.render({"v": 1, "n": -3, "id": [1], "h": 5, "at": "never", "message": {}})[:-1],
}


@pytest.mark.parametrize("change", CORPUS.values(), ids=CORPUS)
def test_lines_that_are_whole_inside_a_damaged_file_are_all_read(
    tmp_path: Path, change: Callable[[list[bytes]], bytes]
) -> None:
    """Lost newlines, other line ends and text around records lose no message."""
    path, data = _filled(tmp_path)
    path.write_bytes(change(data.split(b"\n")))
    log = _open(tmp_path)
    assert _ids(log) == [f"m{n}" for n in range(5)]
    assert [e.message for e in log.read("t1")] == FIVE
    log.append(THREAD, [AIMessage("new", id="n")])
    assert _ids(_open(tmp_path)) == [*(f"m{n}" for n in range(5)), "n"]


@pytest.mark.parametrize("line", LOSING.values(), ids=LOSING)
def test_a_line_that_is_no_record_is_skipped(tmp_path: Path, line: bytes) -> None:
    """Whatever stands between two records, reading gives the records, and an append leaves the line where it is."""
    path, data = _filled(tmp_path)
    lines = data.split(b"\n")
    path.write_bytes(b"\n".join([*lines[:3], line, *lines[3:]]))
    log = _open(tmp_path)
    assert _ids(log) == [f"m{n}" for n in range(5)]
    log.append(THREAD, [AIMessage("new", id="n")])
    assert _ids(_open(tmp_path))[-1] == "n"
    assert line in path.read_bytes()
    assert _open(tmp_path).threads()[0].thread_id == "t1"


@settings(max_examples=60)
@given(st.data())
def test_no_damage_makes_a_reader_raise(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Bytes are cut, doubled and replaced at random; reading, listing and searching go on, appends are kept."""
    folder = tmp_path_factory.mktemp("damaged")
    path, whole = _filled(folder)
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 300)))
        content[start:end] = data.draw(st.binary(max_size=40) | st.just(bytes(content[start:end]) * 2))
    path.write_bytes(bytes(content))
    log = _open(folder)
    assert all(e.message in FIVE for e in log.read("t1"))
    log.threads()
    log.search("message", tenant=None)
    log.append(ThreadRef(thread_id="t1"), [AIMessage("after", id="after")])
    assert [e.message.text for e in _open(folder).read("t1") if e.message.id == "after"] == ["after"]


def test_a_damaged_first_line_does_not_open_a_thread_to_others(tmp_path: Path) -> None:
    """The owner is known from the messages, and another tenant is still refused."""
    alice = ThreadRef(thread_id="t1", tenant="alice")
    SessionLog(LocalWorkspace(tmp_path)).append(alice, FIVE)
    path = tmp_path / "sessions" / "t1.log.jsonl"
    path.write_bytes(b"#" + path.read_bytes()[1:])
    log = _open(tmp_path)
    with pytest.raises(TenantMismatch, match="belongs to tenant 'alice'"):
        log.append(ThreadRef(thread_id="t1", tenant="bob"), [HumanMessage("hi")])
    with pytest.raises(TenantMismatch, match="asked for by the shared root"):
        log.append(THREAD, [HumanMessage("hi")])
    assert len(log.append(alice, [HumanMessage("hi")])) == 1


def test_a_checkpoint_that_is_damaged_is_left_out(folder: Path) -> None:
    """The newest checkpoint's line is damaged: the one before it is the state; others are read as before."""
    say(chat(SessionSaver(folder, fsync=False)), "one", "two", durability="sync")
    path = folder / "t1.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[-2] = lines[-2].replace(b'"loop"', b'"lopp"')
    path.write_bytes(b"\n".join(lines))
    events: list[Event] = []
    saver = SessionSaver(folder, fsync=False, on_event=events.append)
    found = saver.get_tuple(T1)
    assert found is not None
    assert texts(found.checkpoint["channel_values"]["messages"]) == ["one", "re: one", "two"]
    assert [e.path for e in events if isinstance(e, Damaged)] == ["t1.jsonl"]


def test_a_value_that_is_lost_is_an_error_that_says_what_to_do(folder: Path) -> None:
    """A later checkpoint that points at a damaged line says so; the ones before, and the log, are read."""
    saver = SessionSaver(folder, fsync=False)
    graph = chat(saver)
    say(graph, "one", durability="sync")
    old = graph.get_state(T1).config
    say(graph, "two", durability="sync")
    # The input's checkpoint of the second turn takes its messages from the line before.
    listed = [t.config for t in saver.list(T1)]
    path = folder / "t1.jsonl"
    lines = path.read_bytes().split(b"\n")
    target = next(i for i, line in enumerate(lines) if old["configurable"]["checkpoint_id"].encode() in line)
    assert json.loads(lines[target])["kind"] == "checkpoint"
    lines[target] = lines[target][:30] + b"~" + lines[target][31:]
    path.write_bytes(b"\n".join(lines))
    again = SessionSaver(folder, fsync=False)
    with pytest.raises(DamagedSession, match=r"t1\.jsonl: the value of channel 'messages' .* cannot be read"):
        again.get_tuple(listed[2])
    assert again.get_tuple(listed[-1]) is not None
    assert texts(chat(again).get_state(T1).values["messages"]) == ["one", "re: one", "two", "re: two"]
    assert len(again.log.read("t1")) == 4


def test_messages_whose_lines_are_damaged_are_missing_and_told(folder: Path) -> None:
    """A state of four messages loses the one whose line in the log is damaged; the other three are there."""
    state = say(chat(SessionSaver(folder, fsync=False)), "one", "two", durability="sync")
    path = folder / "t1.log.jsonl"
    path.write_bytes(path.read_bytes().replace(b"re: one", b"re: eno"))
    events: list[Event] = []
    saver = SessionSaver(folder, fsync=False, on_event=events.append)
    graph = chat(saver)
    assert graph.get_state(T1).values["messages"] == [state[0], *state[2:]]
    assert any(isinstance(e, Damaged) and e.path == "t1.log.jsonl" for e in events)
    assert len(say(graph, "three")) == 5


def test_a_log_that_was_removed_by_hand_is_told_and_begun_anew(folder: Path) -> None:
    """The checkpoints' messages are gone with the log; what is said from then on is kept, and old marks say nothing."""
    saver = SessionSaver(folder, fsync=False)
    say(chat(saver), "one", "two", durability="sync")
    saver.log.mark_flushed(THREAD, range(4))
    (folder / "t1.log.jsonl").unlink()
    events: list[Event] = []
    again = SessionSaver(folder, fsync=False, on_event=events.append)
    assert chat(again).get_state(T1).values["messages"] == []
    assert any(isinstance(e, Damaged) for e in events)
    assert len(say(chat(again), "three")) == 2
    assert texts([e.message for e in again.log.unflushed("t1")]) == ["three", "re: three"]


def test_an_edit_by_hand_is_seen_and_refused_by_its_checksum(tmp_path: Path) -> None:
    """A line that was changed in an editor does not pass for what was said; a reader that had the file open notices."""
    path, data = _filled(tmp_path)
    log = _open(tmp_path)
    assert len(log.read("t1")) == 5
    path.write_bytes(data.replace(b"message 2", b"message X"))
    assert _ids(log) == ["m0", "m1", "m3", "m4"]


def test_unreadable_marks_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    """Marks are never taken for none: that would flush everything again."""
    _filled(tmp_path)
    path = tmp_path / "sessions" / "t1.marks.json"
    for content in ("", "{", "[]", '{"flushed": [[3, 1]]}', '{"flushed": "x"}'):
        path.write_text(content)
        log = _open(tmp_path)
        with pytest.raises(UnreadableFile, match=r"sessions/t1\.marks\.json: not a file of marks"):
            log.unflushed("t1")
        assert log.threads()[0].unflushed == 5


def test_a_folder_in_the_place_of_a_log_is_an_error(tmp_path: Path) -> None:
    """It is not taken for an empty log."""
    (tmp_path / "sessions" / "t1.log.jsonl").mkdir(parents=True)
    log = _open(tmp_path)
    with pytest.raises((WorkspaceError, Exception), match=r"t1\.log\.jsonl"):
        log.append(THREAD, FIVE)
