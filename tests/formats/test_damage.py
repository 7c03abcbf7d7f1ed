"""Damage that fuzzing found, each the representative of its kind."""

import pytest

from langgraph_harness_memory.formats import changes, marks


def test_a_range_without_end_is_no_mark() -> None:
    """JSON's 1e999 is infinite; the file is refused like any other garbage."""
    with pytest.raises(ValueError, match="not a file of marks"):
        marks.parse(b'{"v":1,"flushed":[[0,1e999]]}')


def test_an_entry_of_a_moment_that_does_not_exist_is_skipped() -> None:
    """A hand edit of one heading does not hide the other entries."""
    good = "## 2026-01-05 09:00 +00:00 · consolidation <!-- harness-memory-change abc123 -->\n- added: tea\n"
    bad = good.replace("09:00", "09:80").replace("abc123", "def456")
    assert [entry.id for entry in changes.parse(good + bad + good)] == ["abc123", "abc123"]
