"""`CHANGES.md` word for word: what a person reads there, and what is read back of it."""

from datetime import datetime, timedelta, timezone

import pytest

from langgraph_harness_memory.formats import changes
from langgraph_harness_memory.formats.changes import Change, Entry

AT = datetime(2026, 4, 12, 3, 53, 10, tzinfo=timezone(timedelta(hours=8)))
HEAD = "## 2026-04-12 03:53 +08:00 · consolidation <!-- harness-memory-change 5f0c -->\n"

LINES = [
    (Change(kind="added", text="Likes tea"), "- added: Likes tea\n"),
    (
        Change(kind="added", text="Likes tea", origin="memory/2026-04-12.md#7, user"),
        "- added: Likes tea (from: memory/2026-04-12.md#7, user)\n",
    ),
    (
        Change(kind="changed", text="Lives in Oslo", before="Lives in Rome", origin="x.md#1", supersedes=True),
        "- changed: Lives in Rome → Lives in Oslo (later: x.md#1)\n",
    ),
    (
        Change(kind="changed", text="Lives in Oslo", before="Lives in Rome", origin="x.md#1"),
        "- changed: Lives in Rome → Lives in Oslo (from: x.md#1)\n",
    ),
    (
        Change(kind="changed", text="Oslo → Bergen", before="Oslo"),
        "- changed: Oslo → Oslo → Bergen\n",
    ),
    (Change(kind="dropped", text="Has a cold"), "- dropped: Has a cold\n"),
    (Change(kind="left", text="A → B"), "- left: A → B\n"),
    (Change(kind="refused", text="Knows (from: work) Bob"), "- refused: Knows (from: work) Bob\n"),
    (Change(kind="note", text="all (of it)"), "- note: all (of it)\n"),
]


@pytest.mark.parametrize(("change", "line"), LINES)
def test_a_line_says_what_became_of_a_fact(change: Change, line: str) -> None:
    """Written, read back, and quoted for the search of what was forgotten."""
    entry = Entry(at=AT, what="consolidation", id="5f0c", changes=(change,))
    assert changes.render(entry) == f"{HEAD}{line}\n"
    (again,) = changes.parse(HEAD + line)
    assert again.changes == (change,)
    assert (again.what, again.id, again.at) == ("consolidation", "5f0c", AT.replace(second=0))
    assert changes.said(line) == ((change.text, change.before) if change.before else (change.text,))


def test_brackets_of_an_origin_do_not_end_it() -> None:
    """They are written as square ones."""
    change = Change(kind="added", text="x", origin="tool:web (beta)")
    entry = Entry(at=AT, what="save", id="1", changes=(change,))
    assert "- added: x (from: tool:web [beta])\n" in changes.render(entry)


@pytest.mark.parametrize(
    ("offset", "written"),
    [
        (None, "+00:00"),
        (timedelta(0), "+00:00"),
        (timedelta(hours=-3, minutes=-30), "-03:30"),
        (timedelta(hours=5, minutes=45), "+05:45"),
    ],
)
def test_the_moment_stands_in_its_own_zone(offset: timedelta | None, written: str) -> None:
    """To the minute; without a zone it counts as UTC."""
    at = datetime(2026, 1, 2, 9, 5, 59, tzinfo=None if offset is None else timezone(offset))
    text = changes.render(Entry(at=at, what="a\n## b", id="7", changes=()))
    assert text == f"## 2026-01-02 09:05 {written} · a ## b <!-- harness-memory-change 7 -->\n\n"
    (again,) = changes.parse(text)
    assert again.at.utcoffset() == (offset or timedelta(0))
    assert again.at.replace(tzinfo=None) == at.replace(tzinfo=None, second=0)


def test_a_log_that_a_person_edited_is_read_as_far_as_it_is_ours() -> None:
    """Lines above the first entry, unknown kinds and notes between are skipped; line ends may be those of Windows."""
    text = (
        "- added: above\n"
        + HEAD.replace("\n", "\r\n")
        + "- added: tea\r\nmy own note\n- moved: x\n - added: indented\n\n- changed: only one wording\n"
        + HEAD.replace("5f0c", "60aa").replace("consolidation", "forget")
        + "- dropped: milk (later: y)"
    )
    first, second = changes.parse(text)
    assert first.changes == (Change(kind="added", text="tea"), Change(kind="changed", text="only one wording"))
    assert second.changes == (Change(kind="dropped", text="milk", origin="y", supersedes=True),)
    assert (first.id, second.id, second.what) == ("5f0c", "60aa", "forget")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("- changed: Rome → Oslo (later: x)\r\n", ("Oslo", "Rome")),
        ("- added: Uses Mac OS X\r\n", ("Uses Mac OS X",)),
        ("- added: ", ("",)),
        ("- moved: tea", ()),
        ("added: tea", ()),
        (HEAD, ()),
        ("", ()),
    ],
)
def test_a_lines_facts_are_quoted_without_where_they_came_from(line: str, said: tuple[str, ...]) -> None:
    """The wording that stands now comes first."""
    assert changes.said(line) == said


def test_changes_are_counted_by_kind() -> None:
    """Others do not count."""
    made = [change for change, _ in LINES]
    assert [changes.count(made, kind) for kind in ("added", "changed", "dropped", "note")] == [2, 3, 1, 1]
    assert changes.count([], "added") == 0
