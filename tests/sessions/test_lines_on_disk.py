"""Files of lines: read from their end, kept current, appended to; and what a session's files tell of themselves."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.base import SerializerProtocol

from langgraph_harness_memory.errors import TenantMismatch, UnreadableFile
from langgraph_harness_memory.formats import checkpoint_log, records, session_log
from langgraph_harness_memory.formats.checkpoint_log import CheckpointKey, FormKey, WritesKey
from langgraph_harness_memory.formats.session_log import LineKey, OwnerLine, SessionStart
from langgraph_harness_memory.sessions import lines as lines_module
from langgraph_harness_memory.sessions import thread_log as thread_log_module
from langgraph_harness_memory.sessions.checkpoint_file import CheckpointFile, Place
from langgraph_harness_memory.sessions.lines import Line, LineFile, News
from langgraph_harness_memory.sessions.thread_log import Entry, NewMessage, ThreadLog
from langgraph_harness_memory.workspace.local import LocalWorkspace

AT = datetime(2026, 4, 12, 3, 53, 10, tzinfo=UTC)


def record(number: int, size: int = 0) -> bytes:
    return records.render({"v": 1, "n": number, "pad": "x" * size})


@pytest.fixture
def workspace(tmp_path: Path) -> LocalWorkspace:
    return LocalWorkspace(tmp_path, fsync=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.jsonl"


def at(data: list[bytes], *numbers: int) -> list[Line]:
    """The lines of a file with these numbers, where they stand in it."""
    return [Line(sum(map(len, data[:n])), data[n].rstrip(b"\n")) for n in numbers]


# -- any file of lines ------------------------------------------------------------------------------------------------


def test_a_file_is_known_from_its_end_and_then_kept_current(workspace: LocalWorkspace, path: Path) -> None:
    """The first look says that it is new; then only what was appended is told, and only once."""
    data = [record(n) for n in range(3)]
    path.write_bytes(b"".join(data[:2]))
    file = LineFile(workspace, "a.jsonl")
    assert file.news() == News(True, ())
    size = path.stat().st_size
    assert (file.low, file.high) == (size, size)
    assert not file.is_whole
    assert file.news() == News(False, ())
    assert list(file.earlier()) == at(data, 0, 1)
    assert (file.low, file.high) == (0, size)
    assert file.is_whole
    assert file.earlier() == ()
    with path.open("ab") as out:
        out.write(data[2])
    assert file.news() == News(False, tuple(at(data, 2)))
    assert file.high == sum(map(len, data))
    assert file.news() == News(False, ())


def test_a_file_that_is_not_there_is_new_once(workspace: LocalWorkspace, path: Path) -> None:
    """And again when it was deleted; one that then appears is read like news of nothing."""
    file = LineFile(workspace, "a.jsonl")
    assert [file.news(), file.news()] == [News(True, ()), News(False, ())]
    assert file.earlier() == ()
    assert (file.low, file.high, file.next_offset()) == (0, 0, 0)
    path.write_bytes(record(0))
    assert file.news() == News(True, ())
    assert list(file.earlier()) == at([record(0)], 0)
    path.unlink()
    assert [file.news(), file.news()] == [News(True, ()), News(False, ())]
    assert (file.low, file.high) == (0, 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:10] + b"y" + data[11:],
        lambda data: data[:-5] + b"yyyyy" + b"and more\n",
        lambda data: b"y" * len(data) * 2,
    ],
    ids=["cut", "edited in place", "end changed and grown", "another"],
)
def test_a_file_that_was_changed_is_another_one(
    workspace: LocalWorkspace, path: Path, change: Callable[[bytes], bytes]
) -> None:
    """What was known of it is void."""
    data = b"".join(record(n) for n in range(3))
    path.write_bytes(data)
    file = LineFile(workspace, "a.jsonl")
    file.news()
    file.earlier()
    changed = change(data)
    path.unlink()
    path.write_bytes(changed)
    assert file.news() == News(True, ())
    assert (file.low, file.high) == (len(changed), len(changed))


def test_a_torn_line_is_no_line_until_it_is_whole(workspace: LocalWorkspace, path: Path) -> None:
    """One that lacks nothing but its newline is one; the next append gives it that."""
    data = [record(0), record(1)]
    path.write_bytes(data[0] + data[1][:-5])
    file = LineFile(workspace, "a.jsonl")
    file.news()
    assert list(file.earlier()) == at(data, 0)
    assert file.high == len(data[0])
    assert file.next_offset() == len(data[0])
    path.write_bytes(data[0] + data[1][:-1])
    news = file.news()
    assert news == News(False, tuple(at(data, 1)))
    assert file.high == len(data[0] + data[1]) - 1
    assert file.next_offset() == len(data[0] + data[1])
    with path.open("ab") as out:
        out.write(b"\n" + record(2))
    assert file.news() == News(False, tuple(at([*data, record(2)], 2)))


def test_an_append_is_known_without_reading_it(workspace: LocalWorkspace, path: Path) -> None:
    """It moves a torn line aside, and what another writer appends then is news."""
    path.write_bytes(record(0) + b'{"v":1,"torn')
    file = LineFile(workspace, "a.jsonl")
    file.news()
    file.earlier()
    assert file.append(record(1)) == len(record(0))
    assert path.read_bytes() == record(0) + record(1)
    assert file.high == file.next_offset() == len(record(0) + record(1))
    assert file.news() == News(False, ())
    assert file.low == 0
    with path.open("ab") as out:
        out.write(record(2))
    assert file.news() == News(False, tuple(at([record(0), record(1), record(2)], 2)))
    assert file.read_at(len(record(0)), 7) == record(1)[:7]
    assert file.read_at(file.high + 5, 7) == b""
    assert LineFile(workspace, "nothing").read_at(0, 5) == b""


def test_an_append_to_a_file_of_which_nothing_is_known(workspace: LocalWorkspace, path: Path) -> None:
    """Makes it, or begins what is known of it."""
    file = LineFile(workspace, "a.jsonl")
    file.news()
    assert file.append(record(0)) == 0
    assert (file.low, file.high, file.is_whole) == (0, len(record(0)), True)
    assert file.news() == News(False, ())
    other = LineFile(workspace, "a.jsonl")
    other.news()
    assert other.append(record(1)) == len(record(0))
    assert other.low == len(record(0))
    assert list(other.earlier()) == at([record(0)], 0)


def test_a_long_file_is_read_backwards_in_growing_steps(
    workspace: LocalWorkspace, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step gives whole lines, every line once; a line longer than a step is read whole."""
    monkeypatch.setattr(lines_module, "CHUNK", 100)
    monkeypatch.setattr(lines_module, "LARGEST_CHUNK", 400)
    data = [record(n, size=450 if n == 10 else n % 7) for n in range(60)]
    path.write_bytes(b"\n" + b"".join(data))
    file = LineFile(workspace, "a.jsonl")
    file.news()
    steps = []
    while step := file.earlier():
        assert file.low <= step[0].offset
        assert [line.offset for line in step] == sorted(line.offset for line in step)
        steps.append(step)
    assert [line for step in reversed(steps) for line in step] == at([b"\n", *data], *range(1, 61))
    lengths = [sum(len(line.data) + 1 for line in step) for step in steps]
    assert lengths[0] <= 100
    assert 100 < lengths[1] <= 200
    assert 200 < lengths[2] <= 400
    assert max(lengths) >= 450
    assert file.low == 0


# -- one thread's log -------------------------------------------------------------------------------------------------


class Damage(list[tuple[str, str]]):
    def __call__(self, path: str, reason: str) -> None:
        self.append((path, reason))


class Backwards:
    """A serializer that seals by turning bytes round."""

    def dumps_typed(self, value: Any) -> tuple[str, bytes]:
        assert isinstance(value, bytes)
        return "backwards", value[::-1]

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        assert data[0] == "backwards"
        return data[1][::-1]


SEALER: SerializerProtocol = Backwards()


def thread_log(
    workspace: LocalWorkspace, damage: Damage | None = None, sealer: SerializerProtocol | None = None
) -> ThreadLog:
    log = ThreadLog(workspace, "a.jsonl", "t1", sealer=sealer, report=damage if damage is not None else Damage())
    log.refresh()
    return log


def new(number: int, **more: Any) -> NewMessage:
    return NewMessage(
        message_id=f"m{number}",
        content_hash=f"{number:016x}",
        record={"type": "human", "content": f"text {number}"},
        **more,
    )


def test_a_log_says_where_its_messages_stand(workspace: LocalWorkspace, path: Path) -> None:
    """To whoever appended and to whoever reads, by position and by id and content."""
    log = thread_log(workspace)
    assert (log.exists(), log.next_position(), log.start(), log.owner()) == (False, 0, None, (None, False))
    log.begin("alice", AT, is_tentative=False)
    start = SessionStart(thread_id="t1", tenant="alice", begun_at=AT)
    later = AT + timedelta(days=1)
    assert log.append([], "alice", later) == []
    added = log.append([new(0), new(1, namespace="sub", logged_at=AT)], "alice", later)
    stored = path.read_bytes().split(b"\n")
    assert stored[0] + b"\n" == session_log.render_start(start)
    ends = [len(line) for line in stored]
    assert added == [
        Entry(LineKey(0, "m0", f"{0:016x}"), ends[0] + 1, ends[1]),
        Entry(LineKey(1, "m1", f"{1:016x}"), ends[0] + ends[1] + 2, ends[2]),
    ]
    again = thread_log(workspace)
    again.whole()
    for reader in (log, again):
        assert reader.entries == dict(enumerate(added))
        assert reader.next_position() == 2
        assert reader.find("m1", f"{1:016x}") == reader.entry("m1", f"{1:016x}") == added[1]
        assert reader.find("m1", f"{0:016x}") is None
        assert reader.find("m9", f"{0:016x}") is None
        assert (reader.exists(), reader.start(), reader.owner()) == (True, start, ("alice", True))
        first, second = (line for _, line in reader.read([0, 1, 7]))
        assert (first.message, first.logged_at, first.namespace, first.tenant) == (new(0).record, later, "", "alice")
        assert (second.message, second.logged_at, second.namespace) == (new(1).record, AT, "sub")
        assert reader.body(first) == new(0).record
        assert reader.bytes_at(added[1].offset, added[1].length) == stored[2]
        assert reader.damaged_lines == 0
        assert reader.salt() == b""


def test_a_log_is_known_as_far_back_as_it_was_asked_for(
    workspace: LocalWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end tells the next position; older lines are read when they are wanted."""
    monkeypatch.setattr(lines_module, "CHUNK", 400)
    log = thread_log(workspace)
    log.begin(None, AT, is_tentative=False)
    log.append([new(n) for n in range(100)], None, AT)
    again = thread_log(workspace)
    assert again.entries == {}
    assert again.next_position() == 100
    assert 0 < len(again.entries) < 10
    again.back_to(90)
    assert min(again.entries) <= 90
    known = len(again.entries)
    again.back_to(95)
    assert len(again.entries) == known < 100
    again.back_to(0)
    assert again.entries == log.entries


def test_an_earlier_line_keeps_its_position_and_its_content(workspace: LocalWorkspace, path: Path) -> None:
    """Lines that hands doubled, wherever they are met first."""
    log = thread_log(workspace)
    log.begin(None, AT, is_tentative=False)
    log.append([new(0), new(1)], None, AT)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[1]]))
    for reader in (thread_log(workspace), log):
        reader.refresh()
        reader.whole()
        assert reader.entries[0].offset == len(lines[0])
        assert reader.next_position() == 2
    same_content = session_log.render_message(
        session_log.MessageLine(
            position=2,
            message_id="m0",
            content_hash=f"{0:016x}",
            logged_at=AT,
            namespace="",
            tenant=None,
            message={},
        )
    )
    path.write_bytes(b"".join([*lines, same_content]))
    for reader in (thread_log(workspace), log):
        reader.refresh()
        reader.whole()
        assert reader.entry("m0", f"{0:016x}").key.position == 0
        assert reader.next_position() == 3


def test_a_tentative_log_is_settled_by_the_first_who_says_whose_it_is(workspace: LocalWorkspace, path: Path) -> None:
    """Later words do not count, and a second beginning changes nothing."""
    log = thread_log(workspace)
    log.begin(None, AT, is_tentative=True)
    assert log.owner() == (None, False)
    log.check_owner("bob")
    log.begin("x", AT, is_tentative=True)
    assert log.owner() == (None, False)
    log.begin("alice", AT, is_tentative=False)
    assert log.owner() == thread_log(workspace).owner() == ("alice", True)
    log.begin("bob", AT, is_tentative=False)
    with path.open("ab") as out:
        out.write(session_log.render_owner(OwnerLine(tenant="bob", at=AT)))
    assert thread_log(workspace).owner() == ("alice", True)
    log.refresh()
    assert log.owner() == ("alice", True)
    assert len(path.read_bytes().splitlines()) == 3


@pytest.mark.parametrize(
    ("owner", "asking", "message"),
    [
        ("alice", "bob", "thread 't1' belongs to tenant 'alice' and was asked for by tenant 'bob': use another thread_id"),
        ("alice", None, "thread 't1' belongs to tenant 'alice' and was asked for by the shared root: use another thread_id"),
        (None, "bob", "thread 't1' belongs to the shared root and was asked for by tenant 'bob': use another thread_id"),
        ("alice", "alice", None),
        (None, None, None),
    ],
)  # fmt: skip
def test_another_tenant_is_told_whose_a_thread_is(
    workspace: LocalWorkspace, owner: str | None, asking: str | None, message: str | None
) -> None:
    """And what to do."""
    log = thread_log(workspace)
    log.begin(owner, AT, is_tentative=False)
    if message is None:
        log.check_owner(asking)
        return
    with pytest.raises(TenantMismatch) as refused:
        log.check_owner(asking)
    assert str(refused.value) == message


def test_a_guess_of_a_tenant_counts_until_it_is_settled(workspace: LocalWorkspace) -> None:
    """Another one is refused; a log of which nothing is known yet belongs to nobody."""
    log = thread_log(workspace)
    log.check_owner("anybody")
    log.begin("alice", AT, is_tentative=True)
    assert log.owner() == ("alice", False)
    with pytest.raises(TenantMismatch, match="belongs to tenant 'alice'"):
        log.check_owner("bob")


def test_the_owner_of_a_log_without_its_first_line_is_whom_its_messages_name(
    workspace: LocalWorkspace, path: Path
) -> None:
    """Nobody, where none of them does."""
    log = thread_log(workspace)
    log.begin("alice", AT, is_tentative=False)
    log.append([new(0)], None, AT)
    first, message = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"#" + first[1:] + message)
    damaged = Damage()
    again = thread_log(workspace, damaged)
    assert (again.start(), again.owner()) == (None, (None, False))
    assert damaged == [("a.jsonl", "the line at byte 0 is damaged and was skipped")]
    again.append([new(1), new(2)], "bob", AT)
    assert thread_log(workspace).owner() == ("bob", True)


def test_a_first_line_of_any_length_is_read(workspace: LocalWorkspace) -> None:
    """Ids can be long."""
    log = ThreadLog(workspace, "a.jsonl", "t" * 50_000, sealer=None, report=Damage())
    log.refresh()
    log.begin("alice", AT, is_tentative=False)
    log.append([new(0)], "alice", AT)
    assert thread_log(workspace).start() == SessionStart(thread_id="t" * 50_000, tenant="alice", begun_at=AT)


def test_damage_is_told_once_with_its_place(workspace: LocalWorkspace, path: Path) -> None:
    """And how much of it could be read."""
    log = thread_log(workspace)
    log.begin(None, AT, is_tentative=False)
    log.append([new(n) for n in range(4)], None, AT)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], lines[1] + lines[2], b"oops", *lines[3:]]))
    damage = Damage()
    again = thread_log(workspace, damage)
    again.whole()
    glued = len(lines[0]) + 1
    torn = glued + len(lines[1] + lines[2]) + 1
    assert damage == [
        (
            "a.jsonl",
            f"the line at byte {glued} is damaged and was skipped; 2 whole records in it were read",
        ),
        ("a.jsonl", f"the line at byte {torn} is damaged and was skipped"),
    ]
    assert again.damaged_lines == 2
    assert sorted(again.entries) == [0, 1, 2, 3]
    assert [line.message for _, line in again.read([0, 1, 2, 3])] == [new(n).record for n in range(4)]
    again.refresh()
    again.whole()
    assert len(damage) == 2


def test_a_line_that_changes_under_its_reader_is_left_out(workspace: LocalWorkspace, path: Path) -> None:
    """And told."""
    damage = Damage()
    log = thread_log(workspace, damage)
    log.begin(None, AT, is_tentative=False)
    log.append([new(0), new(1), new(2)], None, AT)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"text 1", b"text X"))
    assert [line.position for _, line in log.read([0, 1, 2])] == [0, 2]
    assert damage == [("a.jsonl", "a message's line changed under its reader")]


@pytest.mark.parametrize(("near", "largest"), [(0, 10**6), (10**6, 0), (150, 300), (10**6, 10**6)])
def test_lines_far_apart_are_read_apart(
    workspace: LocalWorkspace, monkeypatch: pytest.MonkeyPatch, near: int, largest: int
) -> None:
    """Whatever is read at once, the messages are the same."""
    monkeypatch.setattr(thread_log_module, "NEAR", near)
    monkeypatch.setattr(thread_log_module, "LARGEST_READ", largest)
    log = thread_log(workspace)
    log.begin(None, AT, is_tentative=False)
    log.append([new(n) for n in range(20)], None, AT)
    for positions in ([0, 1, 2, 9, 19], [], [5], list(range(20)), [25]):
        found = [line.message for _, line in log.read(positions)]
        assert found == [new(n).record for n in positions if n < 20]
    read: list[tuple[int, int]] = []
    at = log._file.read_at
    monkeypatch.setattr(
        log._file, "read_at", lambda offset, length: read.append((offset, length)) or at(offset, length)
    )
    list(log.read([0, 1, 9]))
    one, two, ten = (log.entries[n] for n in (0, 1, 9))
    both = (one.offset, two.offset + two.length - one.offset)
    apart = [(each.offset, each.length) for each in (one, two, ten)]
    expected = {
        (0, 10**6): apart,
        (10**6, 0): apart,
        (150, 300): [both, apart[2]],
        (10**6, 10**6): [(one.offset, ten.offset + ten.length - one.offset)],
    }
    assert read == expected[near, largest]


def test_a_sealed_log_keeps_its_salt_in_its_first_line(workspace: LocalWorkspace, path: Path) -> None:
    """And nothing readable; without its serializer it says so."""
    log = thread_log(workspace, sealer=SEALER)
    log.begin(None, AT, is_tentative=False)
    salt = log.salt()
    assert len(salt) == 16
    log.append([new(0)], None, AT)
    assert b"text 0" not in path.read_bytes()
    again = thread_log(workspace, sealer=SEALER)
    assert again.salt() == salt
    again.whole()
    ((_, line),) = again.read([0])
    assert (line.message, again.body(line)) == (None, new(0).record)
    unsealed = thread_log(workspace)
    with pytest.raises(ValueError, match=r"^a\.jsonl is sealed and was opened without its serializer$"):
        unsealed.body(line)
    path.write_bytes(b"#" + path.read_bytes()[1:])
    with pytest.raises(UnreadableFile) as refused:
        thread_log(workspace, sealer=SEALER).salt()
    assert str(refused.value) == "a.jsonl: a sealed log without its salt; its first line is damaged"


def test_a_message_that_holds_nothing_is_refused(workspace: LocalWorkspace) -> None:
    """Its line has neither a message nor a sealed one."""
    line = session_log.MessageLine(
        position=3, message_id="m", content_hash="0" * 16, logged_at=AT, namespace="", tenant=None, message=None
    )
    with pytest.raises(ValueError, match=r"^a\.jsonl: message 3 holds nothing$"):
        thread_log(workspace).body(line)


# -- one thread's checkpoints -----------------------------------------------------------------------------------------


def checkpoint_file(
    workspace: LocalWorkspace, damage: Damage | None = None, sealer: SerializerProtocol | None = None
) -> CheckpointFile:
    file = CheckpointFile(workspace, "a.jsonl", sealer=sealer, report=damage if damage is not None else Damage())
    file.refresh()
    return file


def body(**more: Any) -> dict[str, Any]:
    return {"values": {"a": 1}, **more}


def test_a_file_of_checkpoints_knows_what_it_holds(workspace: LocalWorkspace, path: Path) -> None:
    """Whoever wrote it and whoever reads it, by namespace and id, newest first."""
    file = checkpoint_file(workspace)
    first = file.begin("t1", AT)
    assert first == checkpoint_log.render_start("t1", AT)
    assert (file.exists(), file.thread_id(), file.latest("")) == (False, None, None)
    keys: list[Any] = [
        CheckpointKey("", "c1", None),
        WritesKey("", "c1", "task"),
        FormKey("m", "0" * 16),
        CheckpointKey("", "c3", "c1"),
        CheckpointKey("", "c2", "c1", late="c3"),
        CheckpointKey("sub", "c9", None),
        CheckpointKey("", "c0", None, is_ancestor=True),
        WritesKey("", "c1", "task2"),
    ]
    pointers = file.append([(key, body(n=n)) for n, key in enumerate(keys)], first=first)
    assert file.begin("t1", AT) == b""
    data = path.read_bytes()
    assert [checkpoint_log.peek(data[o : o + n]) for o, n in pointers] == keys
    assert pointers[0][0] == len(first)
    again = checkpoint_file(workspace)
    for known in (file, again):
        assert known.exists()
        assert known.thread_id() == "t1"
        assert known.latest("") == Place(keys[3], pointers[3])
        assert known.latest("sub") == Place(keys[5], pointers[5])
        assert known.latest("other") is None
        assert known.find("", "c1") == Place(keys[0], pointers[0])
        assert known.find("", "c0") == Place(keys[6], pointers[6])
        assert known.find("sub", "c1") is None
        assert sorted(known.namespaces()) == ["", "sub"]
        assert [place.key.checkpoint_id for place in known.checkpoints("")] == ["c3", "c2", "c1"]
        assert known.checkpoints("other") == []
        assert known.ancestors() == [Place(keys[6], pointers[6])]
        assert [place.key.task_id for place in known.writes("", "c1")] == ["task", "task2"]
        assert known.writes_known("", "c1") == known.writes("", "c1")
        assert known.writes("", "c3") == []
        assert known.form(keys[2]) == pointers[2]
        assert known.form(FormKey("m", "1" * 16)) is None
        assert [known.body(pointer) for pointer in pointers] == [body(n=n) for n in range(8)]
    assert file.next_offset() == len(data)


def test_the_newest_checkpoint_is_the_one_of_the_largest_id(workspace: LocalWorkspace) -> None:
    """Though another one was written after it, in this process or another, or is damaged."""
    file = checkpoint_file(workspace)
    file.append([(CheckpointKey("", "c5", None), body())], first=file.begin("t1", AT))
    other = checkpoint_file(workspace)
    file.append([(CheckpointKey("", "c2", None, late="c5"), body())])
    other.refresh()
    for known in (file, other, checkpoint_file(workspace)):
        newest = known.latest("")
        assert newest is not None
        assert newest.key.checkpoint_id == "c5"


def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before(workspace: LocalWorkspace, path: Path) -> None:
    """A later line that names it as the newest does not hide the others."""
    file = checkpoint_file(workspace)
    (_, bad, _) = file.append(
        [
            (CheckpointKey("", "c1", None), body()),
            (CheckpointKey("", "c5", None), body()),
            (CheckpointKey("", "c2", None, late="c5"), body()),
        ],
        first=file.begin("t1", AT),
    )
    data = bytearray(path.read_bytes())
    data[bad[0] + 5] ^= 1
    path.write_bytes(bytes(data))
    damage = Damage()
    again = checkpoint_file(workspace, damage)
    newest = again.latest("")
    assert newest is not None
    assert newest.key.checkpoint_id == "c2"
    assert damage == [("a.jsonl", f"the line at byte {bad[0]} is damaged and was skipped")]


@pytest.mark.parametrize("step", [20, lines_module.CHUNK])
def test_writes_that_were_stored_before_their_checkpoint_are_found(
    workspace: LocalWorkspace, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """The checkpoint lists them, and those behind it are known by then, however little of the file was read."""
    monkeypatch.setattr(lines_module, "CHUNK", step)
    file = checkpoint_file(workspace)
    early, form = file.append(
        [(WritesKey("", "c1", "early"), body()), (FormKey("m", "0" * 16), body())], first=file.begin("t1", AT)
    )
    file.append([(CheckpointKey("", "c1", None), body(earlier=[list(early), list(form)]))])
    (late,) = file.append([(WritesKey("", "c1", "late"), body())])
    for known in (file, checkpoint_file(workspace)):
        assert [(place.key.task_id, place.pointer) for place in known.writes("", "c1")] == [
            ("early", early),
            ("late", late),
        ]


def test_a_line_that_is_read_again_is_not_parsed_again(
    workspace: LocalWorkspace, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as it is among the last ones; bodies are shared."""
    monkeypatch.setattr("langgraph_harness_memory.sessions.checkpoint_file.BODIES", 2)
    file = checkpoint_file(workspace)
    one, two, three = file.append([(CheckpointKey("", f"c{n}", None), body(n=n)) for n in range(3)])
    reader = checkpoint_file(workspace)
    first, second = reader.body(one), reader.body(two)
    assert reader.body(one) is first
    reader.body(three)
    assert reader.body(one) is first
    assert reader.body(two) == second
    assert reader.body(two) is not second


def test_a_body_that_cannot_be_read_is_none_and_told(workspace: LocalWorkspace, path: Path) -> None:
    """Damaged, or sealed for another serializer; once."""
    damage = Damage()
    file = checkpoint_file(workspace, damage)
    (pointer,) = file.append([(CheckpointKey("", "c1", None), body())])
    file.forget()
    file.refresh()
    wrong = (pointer[0] + 1, pointer[1])
    assert file.body(wrong) is None
    assert file.body(wrong) is None
    assert damage == [("a.jsonl", f"the line at byte {wrong[0]} is damaged")]
    sealed = checkpoint_file(workspace, sealer=SEALER)
    (hidden,) = sealed.append([(CheckpointKey("", "c2", None), body(secret="plum"))])
    assert b"plum" not in path.read_bytes()
    assert checkpoint_file(workspace, sealer=SEALER).body(hidden) == body(secret="plum")
    damage = Damage()
    assert checkpoint_file(workspace, damage).body(hidden) is None
    reason = f"the line at byte {hidden[0]} is sealed, and this saver's serializer seals nothing"
    assert damage == [("a.jsonl", reason)]


def test_a_rewritten_file_is_another_generation(workspace: LocalWorkspace, path: Path) -> None:
    """Pointers of before are void, and a line that is gone with it is no damage."""
    damage = Damage()
    file = checkpoint_file(workspace, damage)
    (pointer,) = file.append([(CheckpointKey("", "c1", None), body(pad="x" * 500))], first=file.begin("t1", AT))
    file.forget()
    file.refresh()
    generation = file.generation
    file.refresh()
    assert file.generation == generation
    path.unlink()
    path.write_bytes(checkpoint_log.render_start("t1", AT))
    assert file.body(pointer) is None
    assert damage == []
    assert file.generation == generation + 1
    assert file.find("", "c1") is None


def test_lines_rendered_for_an_offset_are_appended_as_they_are(workspace: LocalWorkspace) -> None:
    """And are known then."""
    file = checkpoint_file(workspace)
    key = CheckpointKey("", "c1", None)
    line = file.render(key, body())
    file.append_bytes(file.start_line("t1", AT) + line)
    offset = len(file.start_line("t1", AT))
    assert file.find("", "c1") == Place(key, (offset, len(line) - 1))
    assert file.next_offset() == offset + len(line)


def test_records_in_damaged_lines_of_checkpoints_are_read(workspace: LocalWorkspace, path: Path) -> None:
    """Two that were glued together, from the end and as news; the later one of an id counts."""
    watching = checkpoint_file(workspace, told := Damage())
    key = CheckpointKey("", "c1", None)
    one, two = (checkpoint_log.render(key, ("body", body(n=n)))[:-1] for n in (1, 2))
    start = checkpoint_log.render_start("t1", AT)
    path.write_bytes(start + one + two + b"\n")
    again = checkpoint_file(workspace, damage := Damage())
    watching.refresh()
    for known in (again, watching):
        place = known.find("", "c1")
        assert place == Place(key, (len(start) + len(one), len(two)))
        assert known.body(place.pointer) == body(n=2)
    reason = f"the line at byte {len(start)} is damaged and was skipped; 2 whole records in it were read"
    assert damage == told == [("a.jsonl", reason)]
    with path.open("ab") as out:
        out.write(two + one + b"\n")
    watching.refresh()
    place = watching.find("", "c1")
    assert place is not None
    assert watching.body(place.pointer) == body(n=1)
    fresh = checkpoint_file(workspace).find("", "c1")
    assert fresh == place
