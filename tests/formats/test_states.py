"""The small files beside a memory, written and read field by field; what is damaged is told, or counts as never written."""

import base64
import hashlib
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from langgraph_harness_memory.formats import consolidation_state, daily_log, marks, memory_md, tombstones, usage
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState, Pending, Written
from langgraph_harness_memory.formats.daily_log import BlockHeading, LogLine
from langgraph_harness_memory.formats.marks import Marks
from langgraph_harness_memory.formats.tombstones import Stone, Tombstones
from langgraph_harness_memory.formats.usage import Spent, Usage

AT = datetime(2026, 4, 12, 3, 53, 10, tzinfo=timezone(timedelta(hours=8)))


# -- what consolidation has merged ------------------------------------------------------------------------------------

PENDING: dict[str, Any] = {
    "text": "- c",
    "writer": "rules",
    "merges": "AAAAAAAAAAE=",
    "changes": "## x",
    "entry": "e1",
    "base": "b1",
}
STATE: dict[str, Any] = {
    "v": 1,
    "files": {"memory/2026-04-11.md": "11", "memory/2026-04-12.md": "22"},
    "memory": {"text": "- a\n", "writer": "model"},
    "removed": ["r"],
    "by_hand": ["h"],
    "pending": PENDING,
    "proposal": {**PENDING, "writer": "person", "base": ""},
    "lost": True,
    "merged_before": "2026-04-12T03:53:10+08:00",
    "merged": base64.b64encode(b"aaaaaaaa" + b"bbbbbbbb").decode(),
}


def test_a_state_of_consolidation_stands_field_by_field() -> None:
    """Keys and paths sorted, so that equal states are equal files."""
    pending = Pending(
        text="- c", writer="rules", keys=frozenset({b"\0" * 7 + b"\1"}), changes="## x", entry_id="e1", base="b1"
    )
    proposal = Pending(text="- c", writer="person", keys=pending.keys, changes="## x", entry_id="e1")
    state = ConsolidationState(
        merged=frozenset({b"bbbbbbbb", b"aaaaaaaa"}),
        files={"memory/2026-04-12.md": "22", "memory/2026-04-11.md": "11"},
        memory=Written(text="- a\n", writer="model"),
        removed=("r",),
        by_hand=("h",),
        pending=pending,
        proposal=proposal,
        is_lost=True,
        merged_before=AT,
    )
    assert consolidation_state.render(state) == json.dumps(STATE) + "\n"
    assert consolidation_state.parse(" \n" + json.dumps(STATE)) == state


def test_a_new_state_of_consolidation_holds_nothing() -> None:
    """What is not there is not written."""
    assert consolidation_state.render(ConsolidationState()) == '{"v": 1, "files": {}, "merged": ""}\n'
    assert consolidation_state.parse('{"v": 1, "files": {}, "merged": ""}') == ConsolidationState()
    assert consolidation_state.parse(" \n\t") == ConsolidationState()


def test_merged_lines_are_added_to_those_before() -> None:
    """And nothing else changes."""
    state = ConsolidationState(merged=frozenset({b"aaaaaaaa"}), removed=("r",))
    assert state.with_merged([b"bbbbbbbb"]) == ConsolidationState(
        merged=frozenset({b"aaaaaaaa", b"bbbbbbbb"}), removed=("r",)
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"merged": "AAAA"}, "the marks are cut off"),
        ({"merged": "AAAA!AAAAAE="}, "Only base64 data is allowed"),
        ({"memory": {"text": "x", "writer": "robot"}}, "'robot' writes no memory"),
        ({"pending": {**PENDING, "writer": ""}}, "'' writes no memory"),
        ({"proposal": {**PENDING, "merges": "AAAA"}}, "the marks are cut off"),
        ({"merged_before": "soon"}, "memory/.consolidation_state cannot be read: 'soon' is no moment"),
        ({"pending": {k: v for k, v in PENDING.items() if k != "entry"}}, "'entry'"),
        ({"files": []}, "'list' object has no attribute 'items'"),
    ],
)
def test_a_damaged_state_of_consolidation_says_what_is_wrong(change: dict[str, Any], reason: str) -> None:
    """With the file's path."""
    with pytest.raises(ValueError, match="cannot be read") as refused:
        consolidation_state.parse(json.dumps({**STATE, **change}))
    assert str(refused.value) == f"memory/.consolidation_state cannot be read: {reason}"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-04-12T03:53:10+08:00", AT),
        (' "2026-04-12T03:53:10+08:00"\n', AT),
        ("2026-04-11T19:53:10", AT),
        ("2026-04-11T19:53:10Z", AT),
        ("2026-04-11T19:53:10.123456789Z", AT + timedelta(microseconds=123456)),
        ("2026-04-11T19:53:10.5Z", AT + timedelta(seconds=0.5)),
        ("1775937190", AT),
        ("1775937190.5", AT + timedelta(seconds=0.5)),
        ("1775937190000", AT),
        ("1775937190500", AT + timedelta(seconds=0.5)),
        ("100000000", datetime(1973, 3, 3, 9, 46, 40, tzinfo=UTC)),
        ("100000000000", datetime(5138, 11, 16, 9, 46, 40, tzinfo=UTC)),
        ("100000000001", datetime(1973, 3, 3, 9, 46, 40, 1000, tzinfo=UTC)),
        ("20260412", datetime(2026, 4, 12, tzinfo=UTC)),
        ('{"lastConsolidatedAt": "2026-04-11T19:53:10Z"}', AT),
        ('{"at": 1775937190, "n": 2}', AT),
    ],
)
def test_the_single_instant_of_earlier_systems_is_read(text: str, moment: datetime) -> None:
    """ISO, with or without zone, or seconds or milliseconds since the epoch."""
    state = consolidation_state.parse(text)
    assert state == ConsolidationState(merged_before=moment)
    assert state.merged_before is not None
    assert state.merged_before.tzinfo is not None


def test_what_is_no_instant_is_shown_by_its_beginning() -> None:
    """Forty characters of it."""
    with pytest.raises(ValueError, match="is no moment") as refused:
        consolidation_state.parse("X" * 50)
    assert str(refused.value) == f"memory/.consolidation_state cannot be read: {'X' * 40!r} is no moment"


def line(content: str, heading: BlockHeading | None = None, title: str = "mine") -> LogLine:
    return LogLine(number=1, content=content, title=title, heading=heading)


def test_a_lines_key_does_not_change_between_releases() -> None:
    """It is a hash of the block's heading, or of a person's, and of the line without outer blanks."""
    heading = BlockHeading(at=AT, session="t1", positions=frozenset({0, 1, 5}), part=2, parts=3, size=7)
    for given, said in [
        (line(" - tea \ud800 ", heading), "2026-04-12T03:53:10+08:00|t1|0-1,5|2\n- tea \ud800"),
        (line("- tea\t", BlockHeading(at=AT, session=None)), "2026-04-12T03:53:10+08:00|None||1\n- tea"),
        (line("- tea"), "mine\n- tea"),
    ]:
        whole = hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        assert consolidation_state.line_key(given) == whole
    assert consolidation_state.text_hash("\ud800") == hashlib.blake2b(b"\xed\xa0\x80", digest_size=12).hexdigest()


@pytest.mark.parametrize(
    ("heading", "day", "is_before"),
    [
        (BlockHeading(at=AT, session=None), None, True),
        (BlockHeading(at=AT - timedelta(seconds=1), session=None), date(2026, 5, 1), True),
        (BlockHeading(at=AT + timedelta(seconds=1), session=None), date(2026, 1, 1), False),
        (None, date(2026, 4, 11), True),
        (None, date(2026, 4, 12), False),
        (None, date(2026, 4, 13), False),
        (None, None, False),
    ],
)
def test_what_was_written_before_an_instant(heading: BlockHeading | None, day: date | None, is_before: bool) -> None:
    """By the heading's moment; a hand-written line by the day of its log."""
    assert consolidation_state.is_from_before(line("x", heading), day, AT) is is_before


# -- what was forgotten -----------------------------------------------------------------------------------------------


def test_a_words_hash_is_keyed() -> None:
    """BLAKE2 of six bytes; a key that is too long counts by its beginning, and any text is a word."""
    for key in ("00", "ab" * 64, "cd" * 80):
        expected = hashlib.blake2b(b"\xed\xa0\x80", digest_size=6, key=bytes.fromhex(key)[:64]).hexdigest()
        assert Tombstones(key=key).hashed(["\ud800"]) == {expected}


def test_a_querys_stone_and_a_lines_stone_of_the_same_words_stand_beside_each_other() -> None:
    """A query's stone that is set again takes the later moment and the last place."""
    later = AT + timedelta(days=1)
    held = Tombstones(key="00").with_stone(["a", "b"], at=AT)
    held = held.with_stone(["a", "b"], at=AT, said_before=True).with_stone(["c"], at=AT)
    held = held.with_stone(["a", "b"], at=later, said_before=True)
    ab, c = held.hashed(["a", "b"]), held.hashed(["c"])
    assert held.stones == (
        Stone(at=AT, words=ab),
        Stone(at=AT, words=c),
        Stone(at=later, words=ab, said_before=True),
    )
    assert held.with_stone(["a", "b"], at=later) is held
    assert held.with_stone([], at=later, said_before=True) is held


def test_what_was_said_at_the_very_moment_falls_under_a_querys_stone() -> None:
    """All its words must be there, and it must be known when they were said."""
    held = Tombstones(key="00").with_stone(["a", "b"], at=AT, said_before=True)
    assert held.covers(["a", "b", "c"], said_at=AT)
    assert not held.covers(["a", "c"], said_at=AT)
    assert not held.covers(["a", "b"])
    assert not held.covers(["a", "b"], said_at=AT + timedelta(microseconds=1))
    assert not Tombstones(key="00").covers(["a"], said_at=AT)
    assert not Tombstones(key="00", stones=(Stone(at=AT, words=frozenset()),)).covers([])


@pytest.mark.parametrize(
    ("buried", "said", "is_covered"),
    [
        ("a", "a", True),
        ("a", "a b", False),
        ("a b", "a", False),
        ("a b c", "a b", False),
        ("a b c", "a b c d", True),
        ("a b c d", "a b c", False),
        ("a b c d", "a b c d", True),
        ("a b c d e", "a b c d", True),
        ("a b c d e f g h i j", "a b c d e f g h", True),
        ("a b c d e f g h i j", "a b c d e f g", False),
    ],
)
def test_how_much_of_a_forgotten_line_a_text_must_hold(buried: str, said: str, is_covered: bool) -> None:
    """Saving it on purpose lifts the stone of a line, and never that of a query."""
    held = Tombstones(key="00").with_stone(buried.split(), at=AT)
    assert held.covers(said.split()) is is_covered
    assert held.lifted(said.split()).stones == (() if is_covered else held.stones)
    query = Tombstones(key="00").with_stone(buried.split(), at=AT, said_before=True)
    assert query.lifted(said.split()) == query


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "list indices must be integers or slices, not str"),
        ('{"stones": []}', "'key'"),
        ('{"key": "00"}', "'stones'"),
        ('{"key": "00", "stones": [{"at": "2026-04-12T03:53:00", "words": []}]}', "a stone lacks its zone or its words"),
        ('{"key": "00", "stones": [{"at": "2026-04-12T03:53:00Z", "words": [5]}]}', "a stone lacks its zone or its words"),
        ('{"key": "00", "stones": [{"at": "2026-04-12T03:53:00Z"}]}', "'words'"),
    ],
)  # fmt: skip
def test_damaged_tombstones_say_what_is_wrong(text: str, reason: str) -> None:
    """With the file's path."""
    with pytest.raises(ValueError, match="cannot be read") as refused:
        tombstones.parse(text)
    assert str(refused.value) == f"memory/.tombstones cannot be read: {reason}"


def test_tombstones_are_a_file_that_people_can_compare() -> None:
    """A line for each thing."""
    held = Tombstones(key="00", stones=(Stone(at=AT, words=frozenset({"b", "a"})),))
    assert tombstones.render(held) == (
        '{\n "v": 1,\n "key": "00",\n "stones": [\n  {\n   "at": "2026-04-12T03:53:10+08:00",\n   "words": [\n'
        '    "a",\n    "b"\n   ]\n  }\n ]\n}\n'
    )


# -- what was asked of models -----------------------------------------------------------------------------------------

SPENT = {
    "2026-01-05": {"summary": Spent(calls=2, failures=1, tokens=50), "flush": Spent(calls=3)},
    "2026-01-04": {"flush": Spent(failures=4, tokens=5)},
}


def test_usage_stands_by_day_and_purpose() -> None:
    """Sorted, with every sum named."""
    text = usage.render(Usage(days=SPENT, succeeded_at=AT))
    assert text == (
        '{"v": 1, "days": {"2026-01-04": {"flush": {"calls": 0, "failures": 4, "tokens": 5}}, '
        '"2026-01-05": {"flush": {"calls": 3, "failures": 0, "tokens": 0}, '
        '"summary": {"calls": 2, "failures": 1, "tokens": 50}}}, "succeeded_at": "2026-04-12T03:53:10+08:00"}\n'
    )
    assert usage.parse(text) == Usage(days=SPENT, succeeded_at=AT)
    assert usage.render(Usage()) == '{"v": 1, "days": {}, "succeeded_at": null}\n'


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"days": []}', '{"days": null}', "[" * 100_000])
def test_damaged_usage_counts_as_none(text: str) -> None:
    """Nothing depends on it."""
    assert usage.parse(text) == Usage()


def test_what_is_damaged_in_usage_is_left_out() -> None:
    """Days that do not exist, purposes that are none, sums that are no numbers."""
    text = json.dumps(
        {
            "days": {
                "2026-02-30": {"flush": {"calls": 1}},
                "2026-01-01": {"flush": {"calls": "many", "failures": 2, "tokens": None}, "x": 5},
                "2026-01-02": [],
                "2026-01-03": {"x": 5},
                "2026-01-04": {"flush": {"calls": 1}},
            },
            "succeeded_at": "2026-04-12T03:53:10",
        }
    )
    assert usage.parse(text) == Usage(
        days={"2026-01-01": {"flush": Spent(failures=2)}, "2026-01-04": {"flush": Spent(calls=1)}}
    )
    assert usage.parse('{"days": {}, "succeeded_at": 5}') == Usage()
    assert usage.parse('{"days": {}, "succeeded_at": "soon"}') == Usage()


def test_usage_of_two_processes_is_added_up() -> None:
    """Day by day, purpose by purpose; the later answer counts."""
    one = Usage(days=SPENT, succeeded_at=AT)
    two = Usage(
        days={"2026-01-05": {"flush": Spent(calls=10, tokens=7)}, "2026-01-06": {"x": Spent(calls=1)}},
        succeeded_at=AT - timedelta(days=1),
    )
    both = Usage(
        days={
            "2026-01-04": SPENT["2026-01-04"],
            "2026-01-05": {
                "summary": Spent(calls=2, failures=1, tokens=50),
                "flush": Spent(calls=13, tokens=7),
            },
            "2026-01-06": {"x": Spent(calls=1)},
        },
        succeeded_at=AT,
    )
    assert one.plus(two) == two.plus(one) == both
    assert one.plus(Usage()) == Usage().plus(one) == one
    assert SPENT["2026-01-05"]["flush"] == Spent(calls=3)


def test_usage_is_kept_for_ninety_days() -> None:
    """The day itself included."""
    days = {day: {"flush": Spent(calls=1)} for day in ("2026-01-01", "2026-01-02", "2026-01-03")}
    held = Usage(days=days, succeeded_at=AT)
    assert list(held.since(date(2026, 1, 2)).days) == ["2026-01-02", "2026-01-03"]
    assert held.since(date(2026, 1, 2)).succeeded_at == AT
    assert list(held.recent(date(2026, 1, 2) + timedelta(days=90)).days) == ["2026-01-02", "2026-01-03"]


# -- which messages are flushed ---------------------------------------------------------------------------------------


def test_marks_stand_as_ranges() -> None:
    """With both ends, and with the moment at which their log was begun."""
    held = Marks(((0, 2), (5, 5)))
    assert marks.render(held, log_begun="x") == b'{"v": 1, "log": "x", "flushed": [[0, 2], [5, 5]]}\n'
    assert marks.render(Marks(), log_begun=None) == b'{"v": 1, "log": null, "flushed": []}\n'
    assert marks.parse(b'{"flushed": [[5, 5], [0, 1], [2, 2], [1, 1]]}') == (held, None)
    assert marks.parse(b'{"flushed": [], "log": "x"}') == (Marks(), "x")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"{}", "'flushed'"),
        (b"[]", "list indices must be integers or slices, not str"),
        (b'{"flushed": [[1]]}', "not enough values to unpack (expected 2, got 1)"),
        (b'{"flushed": [[-1, 1]]}', "a range ends before it begins"),
        (b'{"flushed": [[0, 0], [3, 2]]}', "a range ends before it begins"),
    ],
)
def test_damaged_marks_say_what_is_wrong(data: bytes, reason: str) -> None:
    """They are never taken for none, or everything would be flushed again."""
    with pytest.raises(ValueError, match="not a file of marks") as refused:
        marks.parse(data)
    assert str(refused.value) == f"not a file of marks: {reason}"


def test_marks_are_counted_and_joined() -> None:
    """Neighbours become one range; what is no position is not in them."""
    held = Marks().including([4, 1, 2, 7, 2])
    assert held == Marks(((1, 2), (4, 4), (7, 7)))
    assert held.including([3]) == Marks(((1, 4), (7, 7)))
    assert held.including([0, 5, 6]) == Marks(((0, 2), (4, 7)))
    assert Marks(((0, 9),)).including([3, 10]) == Marks(((0, 10),))
    assert [position in held for position in range(9)] == [False, True, True, False, True, False, False, True, False]
    assert "1" not in held
    assert None not in held
    assert len(held) == 4
    assert [held.below(position) for position in range(9)] == [0, 0, 1, 2, 2, 3, 3, 3, 4]


# -- MEMORY.md --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("\ufeff# A\n- x", [(2, "x", "A")]),
        ("\ufeff- x\r\n", [(1, "x", "")]),
        ("x\n####### not a heading", [(1, "x", ""), (2, "####### not a heading", "")]),
        ("# A #\n## \ny", [(3, "y", "")]),
        ("# A #\r\ny", [(2, "y", "A #")]),
        ("# XA#\ny\u2028z", [(2, "y\u2028z", "XA#")]),
        ("***\n* * *\n- - -\n===\n---x", [(5, "---x", "")]),
        ("---\r\n-- \n", [(2, "--", "")]),
        ("#tag\n  3) c  \n\x00", [(1, "#tag", ""), (2, "c", "")]),
        ("XX\n", [(1, "XX", "")]),
    ],
)
def test_which_lines_of_a_memory_say_something(text: str, found: list[tuple[int, str, str]]) -> None:
    """Neither headings nor rules nor blanks; each with its number and the heading above."""
    assert [(fact.number, fact.text, fact.heading) for fact in memory_md.facts(text)] == found


@pytest.mark.parametrize(
    ("is_gone", "left"),
    [
        (lambda fact: fact == "b", "# b\r\n- a\n\n- c\n"),
        (lambda fact: True, "# b\r\n\n"),
        (lambda fact: False, "# b\r\n- a\n* b \n\n- c\n"),
    ],
)
def test_facts_are_taken_out_of_a_memory(is_gone: Callable[[str], bool], left: str) -> None:
    """Headings stay, and every other line as it was."""
    assert memory_md.without("# b\r\n- a\n* b \n\n- c\n", is_gone) == left


@pytest.mark.parametrize(
    ("text", "budget", "left"),
    [
        ("ab\ncd", 5, "ab\ncd"),
        ("ab\ncd", 4, "ab\n"),
        ("ab\ncd", 3, "ab\n"),
        ("ab\ncd", 2, ""),
        ("\nab", 1, "\n"),
        ("\nab", 0, ""),
        ("ab\n", -1, ""),
        ("", 0, ""),
    ],
)
def test_whole_lines_from_the_top_fit_a_budget(text: str, budget: int, left: str) -> None:
    """A line's own end counts."""
    assert memory_md.cut(text, budget) == left


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ("\ufeff\n\r\n- a \r\n  - b\t\n\nc\n\n\n", "- a\n  - b\n\nc\n"),
        ("  a", "  a\n"),
        ("", "\n"),
        ("Xa\nbX", "Xa\nbX\n"),
    ],
)
def test_a_memory_ends_with_one_newline(text: str, tidied: str) -> None:
    """Without blanks at the ends of lines; indentation stays."""
    assert memory_md.tidy(text) == tidied


def test_earlier_memories_are_found_by_their_names() -> None:
    """Newest first, to the microsecond; a name is a version's only in full."""
    old, new = "MEMORY-20260412T093000000001Z-0a1b2c3d", "MEMORY-20260412T093000000002Z-00000000"
    found = memory_md.versions([f"memory/.backups/{old}.md", "MEMORY.md", f"memory/.backups/{new}.md"])
    assert found == (
        memory_md.Version(
            name=new, path=f"memory/.backups/{new}.md", at=datetime(2026, 4, 12, 9, 30, 0, 2, tzinfo=UTC)
        ),
        memory_md.Version(
            name=old, path=f"memory/.backups/{old}.md", at=datetime(2026, 4, 12, 9, 30, 0, 1, tzinfo=UTC)
        ),
    )
    assert memory_md.version_path(old) == f"memory/.backups/{old}.md"
    for name in (f"{old}.md", old.lower(), f"x{old}", "", "MEMORY"):
        assert memory_md.version_path(name) is None


def test_a_refused_memory_lies_under_its_moment_and_hash() -> None:
    """In UTC, so that names sort by time."""
    path = memory_md.rejected_path(AT, "\ud800")
    assert path.startswith("memory/.rejected/20260411T195310000000Z-")
    assert path.endswith(".md")
    assert len(path) == len("memory/.rejected/20260411T195310000000Z-") + 8 + 3
    assert path != memory_md.rejected_path(AT, "x")


# -- daily logs -------------------------------------------------------------------------------------------------------

HEADING = BlockHeading(at=AT, session="t1", positions=frozenset({0, 1, 2, 5}), sources=("user", "tool:web"))


def test_a_block_stands_word_for_word() -> None:
    """Its heading for people, its machine part for us, a bullet for each fact, and a blank line."""
    text = daily_log.render_block([(HEADING, ["likes tea", "# é"]), (BlockHeading(at=AT, session="t1"), ["x"])])
    assert text == (
        "## 2026-04-12 03:53 +08:00 · session t1 · messages 0-2,5 · from user, tool:web <!-- harness-memory "
        '{"v":1,"at":"2026-04-12T03:53:10+08:00","session":"t1","messages":"0-2,5","from":["user","tool:web"],'
        '"size":18,"part":1,"parts":2} -->\n'
        "- likes tea\n"
        "- \\# é\n"
        "\n"
        "## 2026-04-12 03:53 +08:00 · session t1 <!-- harness-memory "
        '{"v":1,"at":"2026-04-12T03:53:10+08:00","session":"t1","from":[],"size":3,"part":2,"parts":2} -->\n'
        "- x\n"
        "\n"
    )
    assert daily_log.render_block([]) == ""


def test_what_a_session_and_a_source_are_called_cannot_end_a_heading() -> None:
    """Strange ids are shown as their files are named; what HTML would take for a comment's end is escaped."""
    heading = BlockHeading(at=AT.replace(tzinfo=None), session="a/<!-- -->", sources=("x · y\n<b>",))
    line = daily_log.render_heading(heading)
    shown, _, machine = line.partition(" <!-- harness-memory ")
    assert shown.startswith("## 2026-04-12 03:53 +00:00 · session a")
    assert shown.endswith(" · from x - y <b>")
    assert "<" not in shown.partition(" · from ")[0]
    assert " · session con <!--" in daily_log.render_heading(BlockHeading(at=AT, session="con"))
    assert machine == (
        '{"v":1,"at":"2026-04-12T03:53:10","session":"a/\\u003c!-\\u002d -\\u002d\\u003e",'
        '"from":["x \\u00b7 y\\n\\u003cb\\u003e"],"size":0} -->\n'
    )


MACHINE: dict[str, Any] = {"v": 1, "at": "2026-04-12T03:53:10+08:00"}


@pytest.mark.parametrize(
    ("fields", "heading"),
    [
        ({}, BlockHeading(at=AT, session=None)),
        ({"v": 2, "new": True}, BlockHeading(at=AT, session=None)),
        ({"session": "s"}, BlockHeading(at=AT, session="s")),
        ({"messages": "0-1"}, BlockHeading(at=AT, session=None, positions=frozenset({0, 1}))),
        ({"from": ["user"]}, BlockHeading(at=AT, session=None, sources=("user",))),
        ({"size": 0, "part": 2, "parts": 3}, BlockHeading(at=AT, session=None, part=2, parts=3)),
        ({"size": 999_999_999}, BlockHeading(at=AT, session=None, size=999_999_999)),
        ({"size": 1_000_000_000}, None),
        ({"size": -1}, None),
        ({"part": "1"}, None),
        ({"parts": 1.5}, None),
        ({"v": "1"}, None),
        ({"at": "2026-04-12T03:53:10"}, None),
        ({"at": 5}, None),
        ({"session": 5}, None),
        ({"from": "user"}, None),
        ({"from": ["user", 5]}, None),
        ({"messages": 5}, None),
        ({"messages": "2-1"}, None),
    ],
)
def test_a_machine_part_is_read_as_a_whole_or_not_at_all(fields: dict[str, Any], heading: BlockHeading | None) -> None:
    """What is left out has its default; one field that cannot be makes the heading a person's."""
    machine = f"<!-- harness-memory {json.dumps({**MACHINE, **fields})} -->"
    assert daily_log.parse_heading(f"## 10:00 {machine}") == heading
    assert daily_log.parse_heading(f"\ufeff## 10:00 {machine} \r\n") == heading
    assert daily_log.parse_heading(f"### 10:00 {machine}") is None
    assert daily_log.parse_heading(f"## 10:00 {machine} and more") is None


def test_the_paths_of_a_day() -> None:
    """Its log, and its places in the archive."""
    assert daily_log.log_path("2026-04-12") == "memory/2026-04-12.md"
    assert daily_log.archive_path("2026-04-12") == "memory/archive/2026-04-12.md"
    assert daily_log.archive_path("2026-04-12", 1) == "memory/archive/2026-04-12.md"
    assert daily_log.archive_path("2026-04-12", 2) == "memory/archive/2026-04-12-2.md"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("- a ", "a"),
        ("  * a", "a"),
        ("+\ta", "a"),
        ("• a", "a"),
        ("12. a", "a"),
        ("3) a", "a"),
        ("1234. a", "1234. a"),
        ("-a", "-a"),
        (" a - b ", "a - b"),
        ("- ", ""),
        ("", ""),
    ],
)
def test_a_line_without_its_bullet(line: str, text: str) -> None:
    """Of every kind, and only with a blank behind it."""
    assert daily_log.bullet_text(line) == text


def test_a_log_is_read_section_by_section() -> None:
    """What stands above the first heading has no title; every byte is in one of them."""
    text = "loose\n# A\n\n## B\r\n- b\n#\nlast"
    found = [(s.title, s.lines, s.first_line, s.heading) for s in daily_log.parse(text)]
    assert found == [
        ("", ("loose\n",), 1, None),
        ("# A\n", ("\n",), 2, None),
        ("## B\r\n", ("- b\n",), 4, None),
        ("#\n", ("last",), 6, None),
    ]
    assert daily_log.parse("") == ()
    assert [(s.title, s.lines) for s in daily_log.parse("# A")] == [("# A", ())]


def test_lines_with_content_are_given_with_their_numbers() -> None:
    """Blank ones, marks of byte order and NULs are no content."""
    text = "\ufeff\n- a\r\n \t\v\f\n\x00\n# T\nX\n\n  b  \n"
    found = [(line.number, line.content, line.text, line.title, line.source) for line in daily_log.lines(text)]
    assert found == [(2, "- a", "a", "", ""), (6, "X", "X", "T", ""), (8, "  b  ", "b", "T", "")]


def part(number: int, of: int, *, size: int = 3, at: datetime = AT, session: str = "t1", at_most: int = 1) -> str:
    heading = BlockHeading(at=at, session=session, positions=frozenset({0, at_most}), size=size, part=number, parts=of)
    return daily_log.render_heading(heading) + "- x\r\n"


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        (part(1, 1), {0, 1}),
        (part(1, 1, size=4), set()),
        (part(1, 1, size=2), {0, 1}),
        (part(1, 2), set()),
        (part(2, 2), set()),
        (part(1, 2) + part(2, 2), {0, 1}),
        (part(2, 2) + part(1, 2), {0, 1}),
        (part(1, 2) + part(1, 2), set()),
        (part(1, 2) + part(2, 2, at=AT + timedelta(seconds=1)), set()),
        (part(1, 2) + part(2, 2, at_most=2), set()),
        (part(1, 2) + part(2, 2, size=9), set()),
        (part(1, 1, session="t2") + part(1, 1), {0, 1}),
        (part(1, 1, size=9) + part(1, 1, at_most=7), {0, 7}),
        (part(1, 1) + part(1, 1, at_most=7), {0, 1, 7}),
        ("# mine\n" + daily_log.render_heading(BlockHeading(at=AT, session="t1")) + part(1, 1), {0, 1}),
        (part(1, 3) + part(2, 3) + part(3, 3), {0, 1}),
    ],
)
def test_only_whole_blocks_cover_their_messages(text: str, positions: set[int]) -> None:
    """All parts of one moment and of the same messages, each as long as its heading says."""
    assert daily_log.covered(text, "t1") == positions


def test_removed_lines_take_their_bytes_off_the_headings_size() -> None:
    """A person's heading can go, one of ours stays; line ends and everything else stay as they are."""
    ours = daily_log.render_heading(BlockHeading(at=AT, session="t1", size=10)).removesuffix("\n")
    text = f"a\nb\n# mine\nc\n{ours}\r\n- x\r\nyy\n\n- zzz"
    smaller = ours.replace('"size":10', '"size":5')
    none_left = ours.replace('"size":10', '"size":0')

    def left(*numbers: int) -> str:
        return daily_log.without_lines(text.encode("latin-1"), frozenset(numbers)).decode("latin-1")

    assert left() == text
    assert left(1, 4) == f"b\n# mine\n{ours}\r\n- x\r\nyy\n\n- zzz"
    assert left(3, 5, 8) == f"a\nb\nc\n{ours}\r\n- x\r\nyy\n- zzz"
    assert left(6, 7) == f"a\nb\n# mine\nc\n{smaller}\r\n\n- zzz"
    assert left(6, 7, 9, 8) == f"a\nb\n# mine\nc\n{none_left}\r\n"


@pytest.mark.parametrize(
    ("positions", "text"),
    [
        (set(), ""),
        ({3}, "3"),
        ({3, 4}, "3-4"),
        ({5, 0, 2, 1}, "0-2,5"),
        ({0, 2, 4}, "0,2,4"),
    ],
)
def test_positions_are_written_as_ranges(positions: set[int], text: str) -> None:
    """Sorted, with both ends; read back as they were."""
    assert daily_log.render_positions(frozenset(positions)) == text
    assert daily_log.parse_positions(text) == positions


@pytest.mark.parametrize("span", ["3-1", "0-1000001"])
def test_a_range_that_cannot_be_is_shown(span: str) -> None:
    """The one that is wrong."""
    with pytest.raises(ValueError, match="range") as refused:
        daily_log.parse_positions(f"0-1000000,,{span}")
    assert str(refused.value) == f"{span!r} is no range of log positions"
