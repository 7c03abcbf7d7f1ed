"""What a model sees of its memory, and what it cannot reach."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from langgraph_harness_memory import HarnessMemory, MemoryConfig, ToolResultEvictionConfig
from langgraph_harness_memory.identifiers import ThreadRef, tenant_root
from langgraph_harness_memory.tools import PAGE_CHARS


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Preferences\n\n- Likes tea with lemon\n- Uses PostgreSQL\n", encoding="utf-8")
    (root / "memory" / "2026-03-04.md").write_text("- Chose Alembic for database migration\n", encoding="utf-8")
    bob = root / tenant_root("bob")
    bob.mkdir(parents=True)
    (bob / "MEMORY.md").write_text("- Bob drinks coffee\n", encoding="utf-8")
    (tmp_path / "secret.md").write_text("- outside\n", encoding="utf-8")
    (root / "memory" / "link.md").symlink_to(tmp_path / "secret.md")
    return root


@pytest.fixture
def memory(root: Path) -> Iterator[HarnessMemory]:
    with HarnessMemory(root) as opened:
        yield opened


@pytest.fixture
def tools(memory: HarnessMemory) -> dict[str, BaseTool]:
    return {tool.name: tool for tool in memory.tools_for(write=True)}


def _as(user: str | None, thread: str = "t1") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread} | ({"user_id": user} if user else {})}


def test_a_hit_is_cited_and_dated(tools: dict[str, BaseTool]) -> None:
    """A hit reads `path#line · day`, and the citation can be given to `memory_get` as it is."""
    told = tools["memory_search"].invoke({"query": "database migration"})
    assert told.splitlines() == ["memory/2026-03-04.md#1 · 2026-03-04", "- Chose Alembic for database migration"]
    assert "1: - Chose Alembic" in tools["memory_get"].invoke({"path": "memory/2026-03-04.md#1"})


async def _ask(tool: BaseTool, arguments: dict[str, Any], config: Any = None) -> str:
    told: str = await tool.ainvoke(arguments, config)
    return told


@pytest.mark.asyncio
async def test_async_says_the_same(tools: dict[str, BaseTool]) -> None:
    """Each tool gives the same answer sync and async."""
    asked: dict[str, dict[str, Any]] = {
        "memory_search": {"query": "tea"},
        "memory_get": {"path": "MEMORY.md", "start_line": 3, "end_line": 3},
        "session_search": {"query": "tea"},
        "read_file": {"path": "MEMORY.md"},
        "memory_forget": {"query": "no such words"},
    }
    for name, arguments in asked.items():
        assert await _ask(tools[name], arguments) == tools[name].invoke(arguments)


def test_the_tenant_of_the_run(tools: dict[str, BaseTool]) -> None:
    """Each run reads its own user's memory, and a named user never the shared root."""
    search, get = tools["memory_search"], tools["memory_get"]
    assert "MEMORY.md#1" in search.invoke({"query": "coffee"}, _as("bob"))
    assert "No memory matches" in search.invoke({"query": "coffee"}, _as(None))
    assert "No memory matches" in search.invoke({"query": "lemon"}, _as("bob"))
    assert "Bob drinks coffee" in get.invoke({"path": "MEMORY.md"}, _as("bob"))
    assert "no file" in get.invoke({"path": "memory/2026-03-04.md"}, _as("bob"))


@pytest.mark.parametrize(
    "path",
    [
        "../secret.md",
        "/etc/passwd",
        "memory/../../secret.md",
        "memory/link.md",
        "memory/2026-13-45.md",
        "users/bob/MEMORY.md",
        "memory/.tombstones",
        "AGENTS.md/",
        "",
        "\0",
        "C:\\x.md",
        "~/x.md",
        "memory",
        "https://example.com/x.md",
    ],
)
@pytest.mark.parametrize("name", ["memory_get", "read_file"])
def test_paths_that_lead_elsewhere(tools: dict[str, BaseTool], name: str, path: str) -> None:
    """A path out of the tree, into another tenant or to nothing is answered with a message, never with content."""
    message = tools[name].invoke({"args": {"path": path}, "id": "1", "name": name, "type": "tool_call"})
    assert isinstance(message, ToolMessage)
    assert message.status == "error"
    assert "outside" not in message.text
    assert "coffee" not in message.text


def test_errors_do_not_tell_where_the_machine_keeps_things(tools: dict[str, BaseTool], root: Path) -> None:
    """No answer names a folder of the machine."""
    for path in ("../secret.md", "memory/link.md", "nope.md"):
        assert str(root) not in tools["read_file"].invoke({"path": path})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("memory_search", {}),
        ("memory_search", {"query": "x", "since": "soon"}),
        ("memory_search", {"query": "x", "max_results": "many"}),
        ("memory_get", {"path": "MEMORY.md", "start_line": 3, "end_line": 1}),
        ("read_file", {"path": "MEMORY.md", "offset": 10_000}),
        ("read_file", {"path": "MEMORY.md", "offset": -1}),
        ("memory_forget", {}),
        ("memory_forget", {"path": "MEMORY.md"}),
        ("memory_forget", {"path": "MEMORY.md", "lines": "all"}),
        ("memory_forget", {"query": "a", "path": "MEMORY.md", "lines": "1"}),
        ("memory_save", {"text": "  "}),
    ],
)
def test_wrong_arguments_are_explained(tools: dict[str, BaseTool], name: str, arguments: dict[str, Any]) -> None:
    """A wrong argument gives a message that can be acted on, never an exception."""
    assert 10 < len(tools[name].invoke(arguments)) < 500


def test_days_bound_a_search(tools: dict[str, BaseTool]) -> None:
    """`since` and `until` keep lines of those days."""
    search = tools["memory_search"]
    assert "Alembic" in search.invoke({"query": "migration", "since": "2026-03-04", "until": "2026-03-04"})
    assert "No memory matches" in search.invoke({"query": "migration", "since": "2026-03-05"})


def test_answers_are_bounded(memory: HarnessMemory, tools: dict[str, BaseTool], root: Path) -> None:
    """Bullets of 70,000 characters and hundreds of hits stay within a page; a long line is cut around the word."""
    long = "x" * 35_000 + " walrus " + "y" * 35_000
    text = f"- {long}\n" + "".join(f"- walrus number {n} {'z' * 300}\n" for n in range(200))
    (root / "knowledge").mkdir()
    (root / "knowledge" / "animals.md").write_text(text, encoding="utf-8")
    told = tools["memory_search"].invoke({"query": "walrus", "max_results": 1_000})
    assert len(told) <= PAGE_CHARS
    assert "knowledge/animals.md#1 " not in told or "walrus" in told
    read = tools["memory_get"].invoke({"path": "knowledge/animals.md"})
    assert len(read) <= PAGE_CHARS
    assert "line 1 of 201, cut" in read
    assert "start_line=" in tools["memory_get"].invoke({"path": "knowledge/animals.md", "start_line": 2})


def test_pages_join_to_the_whole(tools: dict[str, BaseTool], root: Path) -> None:
    """Following the given offsets reads every character once, emoji at the borders included."""
    text = "".join(f"{n}🚀é\n" for n in range(20_000))
    (root / "notes.md").write_text(text, encoding="utf-8", newline="")
    read, offset, pages = "", 0, 0
    while True:
        page = tools["read_file"].invoke({"path": "notes.md", "offset": offset})
        assert len(page) <= PAGE_CHARS
        body, _, said = page.rpartition("\n[")
        read += body
        pages += 1
        if "offset=" not in said:
            break
        offset = int(said.split("offset=")[1].rstrip("]"))
    assert read == text
    assert pages > 5


def test_a_page_is_never_evicted_itself(root: Path) -> None:
    """Answers of the readers stay within a small eviction limit."""
    (root / "notes.md").write_text("word " * 2_000, encoding="utf-8")
    with HarnessMemory(root, config=MemoryConfig(eviction=ToolResultEvictionConfig(max_result_chars=1_000))) as memory:
        for tool in memory.tools:
            if tool.name in {"read_file", "memory_get"}:
                assert len(tool.invoke({"path": "notes.md" if tool.name == "read_file" else "MEMORY.md"})) <= 1_000


def test_evicted_results_belong_to_a_tenant(memory: HarnessMemory, tools: dict[str, BaseTool], root: Path) -> None:
    """A result that was put aside is read by its thread and its tenant's other threads, by nobody else."""
    memory.sessions.append(ThreadRef(thread_id="t-bob", tenant="bob"), [HumanMessage("hello", id="1")])
    path = "large_tool_results/t-bob/result.txt"
    (root / path).parent.mkdir(parents=True)
    (root / path).write_text("bob's result", encoding="utf-8")
    read = tools["read_file"]
    assert "bob's result" in read.invoke({"path": path}, _as("bob", "t-bob"))
    assert "bob's result" in read.invoke({"path": path}, _as("bob", "another"))
    for config in (_as("eve", "t-bob"), _as("eve", "t"), _as(None, "t")):
        assert "bob's result" not in read.invoke({"path": path}, config)
    log = "sessions/t-bob.log.jsonl"
    assert "hello" in read.invoke({"path": log}, _as("bob"))
    assert "hello" not in read.invoke({"path": log}, _as("eve"))


def test_sessions_of_a_tenant(memory: HarnessMemory, tools: dict[str, BaseTool]) -> None:
    """`session_search` finds the tenant's own messages, with thread, role and time."""
    memory.sessions.append(
        ThreadRef(thread_id="t-bob", tenant="bob"), [HumanMessage("my walrus is called Ivo", id="1")]
    )
    told = tools["session_search"].invoke({"query": "walrus"}, _as("bob"))
    assert "thread t-bob · message 0 · human" in told
    assert "Ivo" in told
    assert "Ivo" not in tools["session_search"].invoke({"query": "walrus"}, _as("eve"))


def test_saved_text_is_found_at_once(tools: dict[str, BaseTool]) -> None:
    """What is saved stands in today's log and in the index before the tool returns."""
    assert "Saved to memory/" in tools["memory_save"].invoke({"text": "Bikes to work"}, _as("bob"))
    assert "Bikes to work" in tools["memory_search"].invoke({"query": "bike"}, _as("bob"))
    assert "No memory matches" in tools["memory_search"].invoke({"query": "bike"}, _as("eve"))


def _graph(tool: BaseTool) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([tool]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize(
    ("answer", "is_gone"),
    [
        (True, True),
        ("yes", True),
        ({"type": "approve"}, True),
        ({"decisions": [{"type": "approve"}]}, True),
        (False, False),
        ("no", False),
        ({"type": "reject"}, False),
        (42, False),
    ],
)
def test_forgetting_waits_for_a_person(tools: dict[str, BaseTool], root: Path, answer: Any, is_gone: bool) -> None:
    """The run is interrupted with the lines that would go; only an agreement removes them."""
    graph = _graph(tools["memory_forget"])
    call = {"name": "memory_forget", "args": {"query": "tea lemon"}, "id": "c1", "type": "tool_call"}
    state = graph.invoke({"messages": [AIMessage("", tool_calls=[call])]}, _as(None))
    (asked,) = state["__interrupt__"]
    (line,) = asked.value["lines"]
    assert line.startswith("MEMORY.md#3")
    assert line.endswith("Likes tea with lemon")
    assert "lemon" in (root / "MEMORY.md").read_text(encoding="utf-8")
    told = graph.invoke(Command(resume=answer), _as(None))["messages"][-1]
    assert told.status == "success"
    assert ("lemon" not in (root / "MEMORY.md").read_text(encoding="utf-8")) == is_gone
    assert told.text.startswith("Forgot 1 line") == is_gone
    assert ("No memory matches" in tools["memory_search"].invoke({"query": "lemon"})) == is_gone


def test_forgetting_lines_of_a_file(tools: dict[str, BaseTool], root: Path) -> None:
    """A citation names the line to forget."""
    graph = _graph(tools["memory_forget"])
    call = {"name": "memory_forget", "args": {"path": "MEMORY.md#4"}, "id": "c1", "type": "tool_call"}
    graph.invoke({"messages": [AIMessage("", tool_calls=[call])]}, _as(None))
    graph.invoke(Command(resume=True), _as(None))
    assert (root / "MEMORY.md").read_text(encoding="utf-8") == "# Preferences\n\n- Likes tea with lemon\n"


def test_nobody_can_be_asked(tools: dict[str, BaseTool], root: Path) -> None:
    """Outside a run that can be interrupted nothing is forgotten, and the model is told why."""
    assert "A person must agree" in tools["memory_forget"].invoke({"query": "tea"})
    assert "lemon" in (root / "MEMORY.md").read_text(encoding="utf-8")


def test_schemas_are_small(memory: HarnessMemory) -> None:
    """The schemas of the default tools cost at most 600 tokens together, and require only what is required."""
    schemas = [convert_to_openai_tool(tool) for tool in memory.tools]
    assert {schema["function"]["name"] for schema in schemas} == {
        "memory_search",
        "memory_get",
        "session_search",
        "read_file",
    }
    assert len(json.dumps(schemas)) / 3.5 <= 600
    required = {schema["function"]["name"]: schema["function"]["parameters"]["required"] for schema in schemas}
    assert required == {
        "memory_search": ["query"],
        "memory_get": ["path"],
        "session_search": ["query"],
        "read_file": ["path"],
    }
