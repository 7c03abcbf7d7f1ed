"""Facts of other systems' memories are read, with the day that their file names."""

import json
from datetime import date

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
