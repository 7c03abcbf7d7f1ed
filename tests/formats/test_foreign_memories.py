"""Facts of other systems' memories are read, with the day that their file names."""

import json
from datetime import date
from typing import Any

import pytest

from langgraph_harness_memory.errors import ConversationUnreadable
from langgraph_harness_memory.formats.foreign_memories import is_wanted, read_memory

AGENTSCOPE = {
    "MEMORY.md": "# Memory\n\n## User\n- Likes tea\n- Works at Fernweh\n",
    "memory/2026-01-02.md": "## 10:00\n\n- Chose Alembic\n- Likes tea\n",
    "memory/archive/2025-12-31.md": "- Old fact\n",
    "AGENTS.md": "You are kind.\n",
    "knowledge/api/rest.md": "# REST\nUse PATCH.\n",
    "memory/.consolidation_state": "2026-01-02T10:00:00Z",
}
OPENCLAW = {
    "MEMORY.md": "- Prefers dark mode\n",
    "memory/2026-02-03-holiday.md": "---\ntags: x\n---\n# Holiday\n\nFlies to Oslo on the 5th.\n\n* Packs skis\n",
    "USER.md": "<!-- about -->\nName: Nora\n",
    "AGENTS.md": "Rules.\n",
    "src/readme.md": "no memory",
}
DEEPAGENTS = {"AGENTS.md": "# Learned\n- Uses uv, not pip\n", "memories/user/style.md": "- Short answers\n"}


def facts(system, files):
    wanted = {path: text for path, text in files.items() if is_wanted(system, path)}
    return [(f.text, f.day) for f in read_memory(system, wanted).facts]


def test_an_agentscope_workspace_gives_daily_facts_first_and_each_once():
    """A fact of a daily log keeps its day; the curated copy of it is the same fact."""
    assert facts("agentscope", AGENTSCOPE) == [
        ("Old fact", date(2025, 12, 31)),
        ("Chose Alembic", date(2026, 1, 2)),
        ("Likes tea", date(2026, 1, 2)),
        ("Works at Fernweh", None),
    ]


def test_persona_and_knowledge_come_as_whole_files():
    """They are nobody's facts."""
    notes = read_memory("agentscope", AGENTSCOPE).notes
    assert set(notes) == {"AGENTS.md", "knowledge/api/rest.md"}


def test_an_openclaw_workspace_is_read_with_its_named_days():
    """Names of days may carry a topic; front matter, comments and other folders are no facts."""
    assert facts("openclaw", OPENCLAW) == [
        ("Flies to Oslo on the 5th.", date(2026, 2, 3)),
        ("Packs skis", date(2026, 2, 3)),
        ("Prefers dark mode", None),
        ("Name: Nora", None),
    ]


def test_deepagents_learns_into_its_agents_file():
    """There it is memory, not persona."""
    assert facts("deepagents", DEEPAGENTS) == [("Uses uv, not pip", None), ("Short answers", None)]
    assert read_memory("deepagents", DEEPAGENTS).notes == {}


@pytest.mark.parametrize("as_lines", [False, True])
def test_langmem_items_are_read_in_each_of_their_shapes(as_lines):
    """A wrapped memory, a plain one, a text, and a schema of the user's own."""
    items = [
        {"namespace": ["m"], "key": "1", "value": {"kind": "M", "content": {"content": "Likes tea"}}, "updated_at": "2026-03-04T05:06:07+00:00"},
        {"namespace": ["m", "u"], "key": "2", "value": {"content": "Has a cat"}, "created_at": "2026-03-05T05:06:07+00:00"},
        {"key": "3", "value": "Runs"},
        {"key": "4", "value": {"kind": "Profile", "content": {"name": "Nora", "age": 41, "pet": None}}},
    ]  # fmt: skip
    text = "\n".join(map(json.dumps, items)) if as_lines else json.dumps(items)
    assert facts("langmem", {"store.json": text}) == [
        ("Likes tea", date(2026, 3, 4)),
        ("Has a cat", date(2026, 3, 5)),
        ("Runs", None),
        ("name: Nora; age: 41", None),
    ]


@pytest.mark.parametrize(
    ("system", "files", "reason"),
    [
        ("langmem", {"a.json": "{oops"}, r"^a\.json: is neither JSON"),
        ("langmem", {"a.json": "[1]"}, r"^a\.json: item 1 is no store item"),
        ("langmem", {"a.json": '[{"key": "x"}]'}, r"^a\.json: item 1 is no store item"),
        ("openclaw", {"MEMORY.md": "# Nothing\n"}, "none of the 1 files holds a fact"),
    ],
)
def test_what_holds_nothing_is_named(system, files, reason):
    """The message names the file or says that nothing was found."""
    with pytest.raises(ConversationUnreadable, match=reason):
        read_memory(system, files)


def found(system, files):
    """Every field of every fact."""
    return [(f.text, f.day, f.origin) for f in read_memory(system, files).facts]


def test_each_fact_says_where_it_stood():
    """Its file and line, after front matter and comments; quotes, tables and fences are no facts."""
    text = (
        "\ufeff---\r\ntitle: x\r\n---\r\n# T\n<!-- a\nb -->\n- one\n> quoted\n| a | b |\n```\n- two <!-- c --> more\n"
    )
    assert found(
        "openclaw", {"memory/2026-02-03_trip.md": text, "MEMORY.md": "- three\n---\nno front\n---\n- four"}
    ) == [
        ("one", date(2026, 2, 3), "memory/2026-02-03_trip.md#3"),
        ("two  more", date(2026, 2, 3), "memory/2026-02-03_trip.md#7"),
        ("three", None, "MEMORY.md#1"),
        ("no front", None, "MEMORY.md#3"),
        ("four", None, "MEMORY.md#5"),
    ]


def test_a_text_counts_once_for_its_oldest_day():
    """Facts of a day come before those of none; of one day, in the order of the files' names."""
    files = {
        "memory/b.md": "- x\n- y",
        "memory/2026-01-02.md": "- y\n- z",
        "memory/2026-01-01.md": "- z\n- w",
        "memory/a.md": "- v",
    }
    assert found("openclaw", files) == [
        ("z", date(2026, 1, 1), "memory/2026-01-01.md#1"),
        ("w", date(2026, 1, 1), "memory/2026-01-01.md#2"),
        ("y", date(2026, 1, 2), "memory/2026-01-02.md#1"),
        ("v", None, "memory/a.md#1"),
        ("x", None, "memory/b.md#1"),
    ]


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("memory/2026-01-02.md", date(2026, 1, 2)),
        ("memory/2026-01-02-trip.md", date(2026, 1, 2)),
        ("memory/2026-01-02_trip.md", date(2026, 1, 2)),
        ("memory/deep/2026-01-02.md", date(2026, 1, 2)),
        ("memory/2026-01-02trip.md", None),
        ("memory/2026-13-02.md", None),
        ("memory/trip-2026-01-02.md", None),
        ("USER.md", None),
    ],
)
def test_a_files_name_tells_the_day(name, day):
    """At its beginning, and only days that exist."""
    assert found("openclaw", {name: "- x"}) == [("x", day, f"{name}#1")]


@pytest.mark.parametrize(
    ("system", "facts", "notes"),
    [
        (
            "agentscope",
            ["memory/2026-01-02.md", "memory/archive/2026-01-01.md", "MEMORY.md"],
            ["AGENTS.md", "knowledge/a.md"],
        ),
        (
            "openclaw",
            ["memory/2026-01-02.md", "memory/archive/2026-01-01.md", "memory/notes.md", "memory.md", "MEMORY.md", "USER.md"],
            ["AGENTS.md", "knowledge/a.md"],
        ),
        (
            "deepagents",
            ["memory/2026-01-02.md", "memory/archive/2026-01-01.md", "memory/notes.md", "memory.md", "MEMORY.md", "USER.md",
             "AGENTS.md", "src/a.md"],
            ["knowledge/a.md"],
        ),
    ],
)  # fmt: skip
def test_which_files_hold_facts_and_which_are_taken_over(system, facts, notes):
    """Each system has its own; of knowledge, Markdown alone."""
    paths = [
        "MEMORY.md", "memory.md", "USER.md", "AGENTS.md", "src/a.md", "memory/2026-01-02.md", "memory/notes.md",
        "memory/archive/2026-01-01.md", "knowledge/a.md", "knowledge/a.txt", "my/knowledge/a.md", "my/AGENTS.md",
    ]  # fmt: skip
    if system == "deepagents":
        paths = [path for path in paths if not path.startswith("my/") and path.endswith(".md")]
    memory = read_memory(system, {path: f"- {path}\n" for path in paths})
    assert sorted(f.text for f in memory.facts) == sorted(facts)
    assert memory.notes == {path: f"- {path}\n" for path in notes}


def test_notes_alone_are_a_memory():
    """A workspace that learnt nothing yet may have a persona."""
    memory = read_memory("openclaw", {"AGENTS.md": "Be kind.\n"})
    assert (memory.facts, memory.notes) == ((), {"AGENTS.md": "Be kind.\n"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Runs", "Runs"),
        ("  Runs \n fast ", "Runs fast"),
        ({"content": "a"}, "a"),
        ({"memory": "a"}, "a"),
        ({"text": "a"}, "a"),
        ({"content": "a", "memory": "b", "text": "c"}, "a"),
        ({"memory": "b", "text": "c"}, "b"),
        ({"content": {"content": "a"}}, "a"),
        ({"content": {"content": {"content": {"content": "a"}}}}, "a"),
        ({"content": {"content": "a", "since": 2020}}, "content: a; since: 2020"),
        ({"content": {"name": "é", "tags": ["é", 1], "pet": None}}, 'name: é; tags: ["é", 1]'),
        ({"name": "Nora", "age": 41}, "name: Nora; age: 41"),
        ({"content": 5}, "5"),
        ({"content": ["é"]}, '["é"]'),
    ],
)
def test_the_words_of_a_store_item(value: Any, text: str):
    """Under one of three names, wrapped or not; fields of a schema are said one by one."""
    items = [{"value": value}]
    assert found("langmem", {"a.json": json.dumps(items)}) == [(text, None, "a.json#1")]


@pytest.mark.parametrize("value", ["", None, 5, ["a"], {}, {"content": {}}, {"content": {"a": None}}])
def test_an_item_without_words_is_named(value: Any):
    """With its file and place."""
    items = [{"value": "a"}, {"value": value}]
    with pytest.raises(ConversationUnreadable) as refused:
        read_memory("langmem", {"a.json": json.dumps(items)})
    assert str(refused.value) == "a.json: item 2 is no store item with a memory in its value"


def test_an_items_day_is_that_of_its_last_change():
    """Or of its creation; a moment that is none says nothing."""
    items = [
        {"value": "a", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T23:59:59+08:00"},
        {"value": "b", "created_at": "2026-01-03", "updated_at": None},
        {"value": "c", "created_at": "soon"},
    ]
    files = {"b.json": json.dumps(items[1]), "a.json": json.dumps(items[:1]), "c.jsonl": json.dumps(items[2]) + "\n\n"}
    assert found("langmem", files) == [
        ("a", date(2026, 1, 2), "a.json#1"),
        ("b", date(2026, 1, 3), "b.json#1"),
        ("c", None, "c.jsonl#1"),
    ]


@pytest.mark.parametrize(
    ("system", "files", "reason"),
    [
        (
            "langmem",
            {"a.json": '{"value": "a"}\noops'},
            "a.json: is neither JSON nor JSON lines (Extra data: line 2 column 1 (char 15))",
        ),
        ("langmem", {"a.json": "[]"}, "langmem: none of the 1 files holds a fact of its memory"),
        ("deepagents", {}, "deepagents: none of the 0 files holds a fact of its memory"),
    ],
)
def test_a_memory_that_cannot_be_read_says_why(system, files, reason):
    """The file, or how many were looked at."""
    with pytest.raises(ConversationUnreadable) as refused:
        read_memory(system, files)
    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ("system", "path", "is_one"),
    [
        ("langmem", "a.JSON", False),
        ("langmem", "a.jsonl", True),
        ("openclaw", "memory", False),
        ("openclaw", "memory/a.md", True),
        ("agentscope", "memory/2026-01-02.md", True),
        ("agentscope", "archive/2026-01-02.md", False),
        ("deepagents", "a/b.md", True),
        ("deepagents", "a/b.txt", False),
    ],
)
def test_a_path_can_belong_to_a_memory(system, path, is_one):
    """By its name alone."""
    assert is_wanted(system, path) is is_one
