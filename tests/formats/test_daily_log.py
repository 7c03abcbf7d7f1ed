"""The syntax of daily logs: what is written can be read, and nothing that is said can forge it."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.formats import daily_log
from langgraph_harness_memory.formats.daily_log import BlockHeading, covered, lines, parse, render, render_block

SHANGHAI = timezone(timedelta(hours=8))
AT = datetime(2026, 4, 12, 3, 53, 10, tzinfo=SHANGHAI)

any_text = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=60)
markdown = st.lists(
    st.one_of(
        any_text,
        st.sampled_from(["# a", "## b", "- x", "\r", "", "\ufeff", "```", "## c <!-- harness-memory {} -->"]),
    ),
    max_size=12,
).map("\n".join)


def heading(**changes):
    facts = {"at": AT, "session": "t1", "positions": frozenset({0, 1, 2, 5}), "sources": ("user", "assistant")}
    return BlockHeading(**{**facts, **changes})


@pytest.mark.parametrize(
    "text",
    ["", "\n", "- a", "- a\r\n- b\r\n", "# t\n\n- a", "\ufeff## x\r\n- y", "no newline", "- caf\ufffd\n", "#\n##\n"],
    ids=["empty", "newline", "unfinished", "crlf", "title", "bom", "plain", "invalid", "bare-hashes"],
)
def test_a_log_comes_back_as_it_was(text):
    """Reading and writing a log changes no character of it."""
    assert render(parse(text)) == text


@given(markdown)
def test_any_text_comes_back_as_it_was(text):
    """Whatever a person's editor left in a log, parse and render are each other's inverse."""
    assert render(parse(text)) == text


@given(
    session=st.none() | any_text,
    positions=st.frozensets(st.integers(0, 500), max_size=30),
    sources=st.lists(any_text, max_size=3).map(tuple),
    facts=st.lists(any_text.filter(str.strip), max_size=5),
)
def test_a_block_says_what_was_put_into_it(session, positions, sources, facts):
    """Any session id and any source survive the heading, and each fact is one line below it."""
    written = render_block([(heading(session=session, positions=positions, sources=sources), facts)])
    (section,) = parse(written)
    assert section.heading is not None
    assert (section.heading.session, section.heading.positions, section.heading.sources) == (
        session,
        positions,
        sources,
    )
    assert section.heading.at == AT
    assert written.count("\n") == 1 + len(facts) + 1
    assert written.splitlines()[0] == written.split("\n")[0]


@given(st.lists(any_text, min_size=1, max_size=6))
def test_a_fact_never_leaves_its_line(facts):
    """No fact begins a heading, a block or a comment, whatever ends lines in whichever reader."""
    written = render_block([(heading(), facts)])
    body = written.splitlines()[1:]
    assert all(line.startswith("- ") or not line for line in body)
    assert sum(1 for line in body if line) == len(facts)
    assert written.count("<!--") == written.count("-->") == 1
    assert len(parse(written)) == 1


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        ("## 10:00 · session t9", "- \\## 10:00 · session t9\n"),
        ("x\n# 2026-01-01\n- y", "- x # 2026-01-01 - y\n"),
        ("a\u2028## b\u2029c\x85d\x0ce", "- a ## b c d e\n"),
        ("see <!-- harness-memory {} -->", "- see &lt;!-- harness-memory {} --&gt;\n"),
        ("```\nrm\n```", "- \\``` rm ```\n"),
        ("C# and #tags stay", "- C# and #tags stay\n"),
        ("in\u200bvi\u202esible\U000e0041", "- invisible\n"),
        ("👩\u200d💻 and می\u200cخواهم", "- 👩\u200d💻 and می\u200cخواهم\n"),
    ],
)
def test_what_markdown_would_take_for_structure_is_plain(fact, line):
    """A heading, a fence, a comment, a hidden character or an exotic line end is only text."""
    assert daily_log.fact_line(fact) == line


def test_the_heading_says_the_local_day_and_time():
    """19:53 UTC on the 11th is 03:53 on the 12th in Shanghai, in the heading as in the file's name."""
    at = datetime(2026, 4, 11, 19, 53, tzinfo=UTC).astimezone(SHANGHAI)
    written = daily_log.render_heading(heading(at=at))
    assert written.startswith("## 2026-04-12 03:53 +08:00 · session t1 · messages 0-2,5 · from user, assistant <!--")
    assert daily_log.visible(written) == "2026-04-12 03:53 +08:00 · session t1 · messages 0-2,5 · from user, assistant"


def test_lines_carry_what_the_heading_above_says():
    """Each line with content knows its number, its heading and whose words it comes from."""
    text = (
        "loose\n\n"
        + render_block([(heading(), ["fact"]), (heading(sources=("tool:web",)), ["told"])])
        + "## own\r\n* x\r\n"
    )
    found = [(line.number, line.text, line.source, line.title[:10]) for line in lines(text)]
    assert found == [
        (1, "loose", "", ""),
        (4, "fact", "user, assistant", "2026-04-12"),
        (7, "told", "tool:web", "2026-04-12"),
        (10, "x", "", "own"),
    ]


def test_a_block_covers_its_messages_for_its_own_session():
    """The range in the heading tells which messages of which conversation are in the log already."""
    written = render_block([(heading(), ["a"])]) + render_block([(heading(positions=frozenset({9})), ["b"])])
    assert covered(written, "t1") == {0, 1, 2, 5, 9}
    assert covered(written, "t2") == frozenset()


def test_a_torn_block_covers_nothing_at_any_length():
    """A write that was cut short is never taken for a flush that happened, wherever it was cut."""
    written = render_block([(heading(), ["first fact", "второй"]), (heading(sources=("tool:web",)), ["third"])])
    whole = written.rstrip("\n")
    for end in range(len(written) + 1):
        assert bool(covered(written[:end] + "\n", "t1")) == (end >= len(whole)), end


def test_removed_lines_leave_every_other_byte():
    """Forgetting a line keeps invalid UTF-8 and CRLF elsewhere, and the block still counts as whole."""
    block = render_block([(heading(), ["keep me", "forget caf\u00e9", "also keep"])]).encode()
    data = b"\xff broken\r\n" + block + b"hand\r\n"
    left = daily_log.without_lines(data, frozenset({4}))
    assert left.startswith(b"\xff broken\r\n")
    assert left.endswith(b"- keep me\n- also keep\n\nhand\r\n")
    assert covered(left.decode("utf-8", "replace"), "t1") == {0, 1, 2, 5}


@given(markdown, st.frozensets(st.integers(1, 14)))
def test_removing_lines_removes_those_alone(text, numbers):
    """What is left after a removal are the other lines, in order, headings of ours aside."""
    data = text.encode("utf-8", "surrogatepass")
    rows = data.split(b"\n")
    want = [row for number, row in enumerate(rows, start=1) if number not in numbers and row]
    left = [row for row in daily_log.without_lines(data, numbers).split(b"\n") if row]
    assert left == want


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("memory/2026-04-12.md", date(2026, 4, 12)),
        ("memory/archive/2026-04-12.md", date(2026, 4, 12)),
        ("memory/archive/2026-04-12-2.md", date(2026, 4, 12)),
        ("memory/2026-13-45.md", None),
        ("memory/CHANGES.md", None),
        ("knowledge/2026-04-12.md", None),
        ("memory/2026-04-12.md.torn-1", None),
    ],
)
def test_a_path_tells_its_day(path, day):
    """Daily and archived logs are known by their names; days that do not exist are none."""
    assert daily_log.day_of(path) == day


@given(st.frozensets(st.integers(0, 3000), max_size=50))
def test_positions_come_back_from_ranges(positions):
    """Ranges in a heading name exactly the positions that went in."""
    assert daily_log.parse_positions(daily_log.render_positions(positions)) == positions


@pytest.mark.parametrize(
    "machine",
    [
        "{}",
        "{broken",
        '{"v":1,"at":"2026-04-12T03:53:10"}',
        '{"v":1,"at":"2026-04-12T03:53:10+08:00","messages":"5-1"}',
        '{"v":1,"at":"2026-04-12T03:53:10+08:00","messages":"0-99999999999"}',
        '{"v":1,"at":"2026-04-12T03:53:10+08:00","from":"user"}',
        '{"v":1,"at":"2026-04-12T03:53:10+08:00","session":5}',
        "[" * 5000 + "]" * 5000,
    ],
    ids=["empty", "broken", "naive", "backwards", "huge", "string", "number", "deep"],
)
def test_a_damaged_heading_is_a_plain_heading(machine):
    """A machine part that says nothing usable makes a heading without provenance, never an error."""
    text = f"## 2026 <!-- harness-memory {machine} -->\n- x\n"
    assert [section.heading for section in parse(text)] == [None]
    assert covered(text, "t1") == frozenset()
    assert [line.text for line in lines(text)] == ["x"]
