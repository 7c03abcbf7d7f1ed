"""The files around `MEMORY.md`: what is written can be read, and damage is never taken for emptiness."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.formats import changes, consolidation_state, daily_log, memory_md, tombstones
from langgraph_harness_memory.formats.changes import Change, Entry
from langgraph_harness_memory.formats.consolidation_state import ConsolidationState, Pending, Written
from langgraph_harness_memory.formats.tombstones import Stone, Tombstones

AT = datetime(2026, 4, 12, 3, 53, tzinfo=timezone(timedelta(hours=8)))

any_text = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=40)
keys = st.frozensets(st.binary(min_size=8, max_size=8), max_size=20)
pendings = st.builds(
    Pending,
    text=any_text,
    writer=st.sampled_from(["model", "rules", "person"]),
    keys=keys,
    changes=any_text,
    entry_id=st.text("abc0", max_size=5),
    base=st.text("abc0", max_size=5),
)
states = st.builds(
    ConsolidationState,
    merged=keys,
    files=st.dictionaries(any_text, any_text, max_size=3),
    memory=st.none() | st.builds(Written, text=any_text, writer=st.sampled_from(["model", "rules", "person"])),
    removed=st.lists(any_text, max_size=3).map(tuple),
    pending=st.none() | pendings,
    proposal=st.none() | pendings,
    by_hand=st.lists(any_text, max_size=3).map(tuple),
    is_lost=st.booleans(),
    merged_before=st.none() | st.just(datetime(2026, 4, 12, tzinfo=UTC)),
)


@given(states)
def test_a_state_comes_back_as_it_was(state):
    """Marks, texts and what is pending survive the file, lone surrogates included."""
    assert consolidation_state.parse(consolidation_state.render(state)) == state


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"v": 1}',
        '{"v": 1, "files": {}, "merged": "AAA="}',
        '{"v":1,"files":{},"merged":"!"}',
        "yesterday",
        "{}",
        "[]x",
    ],
)
def test_a_damaged_state_is_an_error(text):
    """It is never taken for one in which nothing was merged."""
    with pytest.raises(ValueError, match="consolidation_state"):
        consolidation_state.parse(text)


def test_a_blank_state_is_a_new_one():
    """A file of no bytes says that nothing was merged."""
    assert consolidation_state.parse("") == ConsolidationState()


def test_a_fixture_of_version_1_is_read():
    """The released form of the file stays readable."""
    text = (
        '{"v": 1, "files": {"memory/2026-04-12.md": "97132896e5d11535ca2ce2e3"}, "memory": {"text": "- a\\n", "writer": "model"}, '
        '"removed": ["b"], "pending": {"text": "- c", "writer": "rules", "merges": "AAAAAAAAAAE=", "changes": "", "entry": "e", '
        '"base": "f"}, "merged": "AAAAAAAAAAE="}'
    )
    state = consolidation_state.parse(text)
    assert state.merged == {b"\x00" * 7 + b"\x01"}
    assert state.memory == Written(text="- a\n", writer="model")
    assert (state.removed, state.pending.text) == (("b",), "- c")


def test_a_lines_key_is_its_block_and_its_words():
    """The same words in another block are another line; the same block in another file is the same line."""
    heading = daily_log.BlockHeading(at=AT, session="t1", positions=frozenset({1}), sources=("user",))
    (one,) = daily_log.lines(daily_log.render_block([(heading, ["likes tea"])]))
    (copy,) = daily_log.lines("\n\n" + daily_log.render_block([(heading, ["likes tea"])]))
    later = daily_log.BlockHeading(at=AT + timedelta(days=1), session="t1", positions=frozenset({1}), sources=("user",))
    (again,) = daily_log.lines(daily_log.render_block([(later, ["likes tea"])]))
    assert consolidation_state.line_key(one) == consolidation_state.line_key(copy)
    assert consolidation_state.line_key(one) != consolidation_state.line_key(again)


def test_forgetting_a_line_leaves_the_keys_of_its_neighbours():
    """A heading whose size changed still names the same block."""
    heading = daily_log.BlockHeading(at=AT, session="t1", positions=frozenset({1}), sources=("user",))
    block = daily_log.render_block([(heading, ["likes tea", "plays chess"])])
    left = daily_log.without_lines(block.encode(), frozenset({2})).decode()
    before = [consolidation_state.line_key(line) for line in daily_log.lines(block)]
    assert [consolidation_state.line_key(line) for line in daily_log.lines(left)] == before[1:]


plain = (
    st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="→()"), min_size=1)
    .map(lambda text: " ".join(text.split()))
    .filter(bool)
)


@given(
    st.lists(
        st.builds(
            Change,
            kind=st.sampled_from(["added", "dropped", "left", "refused", "note"]),
            text=plain.filter(lambda text: daily_log.fact_line(text) == f"- {text}\n"),
            origin=st.sampled_from(["", "memory/2026-04-12.md#7, user"]),
        ),
        max_size=5,
    )
)
def test_an_entry_of_the_change_log_comes_back(said):
    """What an entry says can be read again, also between other text."""
    entry = Entry(at=AT, what="consolidation", id="5f0c", changes=tuple(said))
    text = "# my notes\n- not ours\n" + changes.render(entry)
    assert changes.parse(text) == (entry,)
    assert changes.has_entry(text, "5f0c")
    assert not changes.has_entry(text, "5f0")


def test_a_changed_line_says_both_wordings_and_which_is_later():
    """The earlier wording, the later one, and where that came from."""
    change = Change(kind="changed", text="Oslo", before="Rome", origin="memory/2026-04-12.md#7, user", supersedes=True)
    entry = Entry(at=AT, what="consolidation", id="a1", changes=(change,))
    text = changes.render(entry)
    assert "- changed: Rome → Oslo (later: memory/2026-04-12.md#7, user)\n" in text
    assert changes.parse(text) == (entry,)
    assert changes.said(text.split("\n")[1]) == ("Oslo", "Rome")


@given(any_text, any_text)
def test_no_text_forges_an_entry(text, before):
    """Whatever a fact holds, it is one line of its entry."""
    hostile = f"{text}\n## 2026-01-01 00:00 +00:00 · x <!-- harness-memory-change ff -->\n{before}"
    entry = Entry(at=AT, what=hostile, id="a1", changes=(Change(kind="changed", text=hostile, before=hostile),))
    written = changes.render(entry)
    assert len(changes.parse(written)) == 1
    assert not changes.has_entry(written, "ff")
    assert len(written.splitlines()) == 3


words = st.frozensets(st.text(min_size=1, max_size=8), max_size=6)


@given(st.lists(st.tuples(words, st.booleans()), max_size=5))
def test_tombstones_come_back_as_they_were(stones):
    """Stones survive the file, and what they cover stays covered."""
    held = Tombstones(key="ab" * 8)
    for said, before in stones:
        held = held.with_stone(said, at=AT, said_before=before)
    again = tombstones.parse(tombstones.render(held))
    assert again == held
    for said, before in stones:
        if said:
            assert again.covers(said, said_at=AT if before else None)


@pytest.mark.parametrize(
    ("said", "is_covered"),
    [
        ({"partner", "bob"}, True),
        ({"partner", "bob", "cook", "well"}, True),
        ({"bob"}, False),
        ({"partner", "carol"}, False),
        ({"one", "two", "three", "four", "other"}, True),
        ({"one", "two", "three", "other"}, False),
        ({"tea"}, True),
        ({"tea", "party"}, False),
    ],
)
def test_what_falls_under_a_stone(said, is_covered):
    """Below four words all must be there, from four on four fifths; a single word must be all that is said."""
    held = Tombstones(key="00")
    for buried in ({"partner", "bob"}, {"one", "two", "three", "four", "five"}, {"tea"}):
        held = held.with_stone(buried, at=AT)
    assert held.covers(said) == is_covered


def test_a_querys_stone_holds_for_what_was_said_before_it():
    """What is said later is new, and what nobody can date does not fall under it."""
    held = Tombstones(key="00").with_stone({"bob"}, at=AT, said_before=True)
    assert held.covers({"bob", "cooks"}, said_at=AT - timedelta(seconds=1))
    assert not held.covers({"bob", "cooks"}, said_at=AT + timedelta(seconds=1))
    assert not held.covers({"bob", "cooks"})


def test_lifting_a_stone_leaves_the_others():
    """What is saved again is no longer buried; everything else is."""
    held = Tombstones(key="00").with_stone({"a", "b"}, at=AT).with_stone({"c", "d"}, at=AT)
    assert held.lifted({"a", "b", "x"}).stones == held.stones[1:]


def test_the_same_stone_is_set_once_and_no_words_set_none():
    """Forgetting twice does not grow the file; a query's stone moves to the later moment."""
    held = (
        Tombstones(key="00").with_stone({"a"}, at=AT).with_stone({"a"}, at=AT + timedelta(days=1)).with_stone((), at=AT)
    )
    assert held.stones == (Stone(at=AT, words=held.hashed({"a"})),)
    moved = held.with_stone({"a"}, at=AT, said_before=True).with_stone(
        {"a"}, at=AT + timedelta(days=1), said_before=True
    )
    assert [stone.at for stone in moved.stones] == [AT, AT + timedelta(days=1)]


def test_another_key_hashes_differently():
    """Stones of one memory say nothing about another's."""
    assert Tombstones(key="00").hashed({"bob"}) != Tombstones(key="01").hashed({"bob"})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"key": "zz", "stones": []}',
        '{"key": "00", "stones": [{"at": "2026-04-12T03:53:00", "words": []}]}',
    ],
)
def test_damaged_tombstones_are_an_error(text):
    """They are never taken for none, or what was forgotten would come back."""
    with pytest.raises(ValueError, match="tombstones"):
        tombstones.parse(text)


def test_the_facts_of_a_memory_are_its_lines():
    """Headings, rules and blanks say nothing; bullets of every kind, plain lines and tables do."""
    text = "\ufeff# Memory\r\n\r\n- a\r\n* b\n1. c\n---\nplain\n\n## Sub\n| x | y |\n\x00\n-"
    found = [(fact.number, fact.text, fact.heading) for fact in memory_md.facts(text)]
    assert found == [
        (3, "a", "Memory"),
        (4, "b", "Memory"),
        (5, "c", "Memory"),
        (7, "plain", "Memory"),
        (10, "| x | y |", "Sub"),
        (12, "-", "Sub"),
    ]


def test_a_memory_is_cut_at_line_ends():
    """A cut keeps whole lines, and never more characters than the budget."""
    text = "- one\n- two\n- three"
    assert [memory_md.cut(text, size) for size in (0, 5, 6, 11, 12, 18, 19)] == [
        "",
        "",
        "- one\n",
        "- one\n",
        "- one\n- two\n",
        "- one\n- two\n",
        text,
    ]


@given(any_text, st.integers(0, 50))
def test_a_cut_holds_its_budget(text, budget):
    """Whatever the text, what is left is its beginning and fits."""
    left = memory_md.cut(text, budget)
    assert len(left) <= budget
    assert text.startswith(left)


def test_versions_are_known_by_their_names():
    """Newest first; other files of the folder are none."""
    names = ["MEMORY-20260412T093000000000Z-0a1b2c3d", "MEMORY-20260413T093000000001Z-0a1b2c3d"]
    paths = [f"memory/.backups/{name}.md" for name in names] + [
        "memory/.backups/note.md",
        "memory/.backups/MEMORY-x.md",
    ]
    found = memory_md.versions(paths)
    assert [version.name for version in found] == names[::-1]
    assert found[1].at == datetime(2026, 4, 12, 9, 30, tzinfo=UTC)
    assert memory_md.version_path(names[0]) == paths[0]
    assert memory_md.version_path("../../x") is None
