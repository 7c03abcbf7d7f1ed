"""Large tool results: small in the model's view and in the saved checkpoint, whole in a file that a bound tool opens."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from langgraph_harness_memory import HarnessMemory, ToolResultEvictionConfig
from langgraph_harness_memory.testing import ScriptedChatModel, assert_valid_request
from langgraph_harness_memory.testing.scripted import Reply
from tests.front_doors.conftest import DOORS, settings, thread

OURS = [door for door in DOORS if door != "deepagents"]


@pytest.fixture(params=OURS)
def own_door(request: pytest.FixtureRequest) -> Any:
    """The ways to build an agent whose results we evict; deepagents' file system evicts its own."""
    return DOORS[request.param]


@tool
def dump(size: int) -> str:
    """Return a long text."""
    return f"HEAD{'x' * size}TAIL"


def calling(*calls: tuple[str, dict[str, Any]]) -> ScriptedChatModel:
    return ScriptedChatModel(script=[Reply(calls=calls), "done", "done again"])


def test_large_result_is_small_in_view_and_in_the_checkpoint(
    own_door: Any, build: Callable[..., HarnessMemory]
) -> None:
    """One line of 100 000 characters: the preview shows head and tail, the log and the file hold it all."""
    memory = build()
    model = calling(("dump", {"size": 100_000}))
    agent = own_door(model, [dump], memory)
    result = agent.invoke({"messages": [HumanMessage("go")]}, thread())
    shown = next(m for m in result["messages"] if isinstance(m, ToolMessage))
    assert len(shown.text) < 6_000
    assert "HEAD" in shown.text
    assert "TAIL" in shown.text
    assert model.requests[-1].tokens < 5_000
    saved = agent.get_state(thread()).values["messages"]
    assert next(m for m in saved if isinstance(m, ToolMessage)).text == shown.text
    logged = [entry.message.text for entry in memory.sessions.read("t1")]
    assert f"HEAD{'x' * 100_000}TAIL" in logged
    path = shown.additional_kwargs["harness_memory"]["path"]
    stored = memory.workspace.read(path)
    assert stored is not None
    assert stored.data.decode() == f"HEAD{'x' * 100_000}TAIL"


def test_reader_in_the_placeholder_opens_the_path(own_door: Any, build: Callable[..., HarnessMemory]) -> None:
    """What the placeholder says works word for word: the named tool is bound and reads the next page."""
    pages: list[str] = []

    def read(messages: list[Any]) -> Any:
        placeholder = next(m for m in messages if isinstance(m, ToolMessage))
        path = placeholder.additional_kwargs["harness_memory"]["path"]
        assert f'read_file(path="{path}")' in placeholder.text
        return Reply(calls=[("read_file", {"path": path})])

    def done(messages: list[Any]) -> str:
        pages.append(str(messages[-1].text))
        return "done"

    model = ScriptedChatModel(script=[Reply(calls=[("dump", {"size": 100_000})]), read, done])
    own_door(model, [dump], build()).invoke({"messages": [HumanMessage("go")]}, thread())
    names = [schema["function"]["name"] for schema in model.requests[0].tools]
    assert names.count("read_file") == 1
    assert "HEADxxx" in pages[0]
    assert len(pages[0]) < 25_000


def test_reader_of_somebody_else_is_left_alone(own_door: Any, build: Callable[..., HarnessMemory]) -> None:
    """A `read_file` of the user's own stays, and ours comes along under another name."""

    @tool
    def read_file(path: str) -> str:
        """Read a file of the project."""
        return f"the project's {path}"

    def read(messages: list[Any]) -> Any:
        placeholder = next(m for m in messages if isinstance(m, ToolMessage))
        path = placeholder.additional_kwargs["harness_memory"]["path"]
        assert f'read_evicted_file(path="{path}")' in placeholder.text
        return Reply(calls=[("read_evicted_file", {"path": path}), ("read_file", {"path": "a.txt"})])

    seen: list[str] = []

    def done(messages: list[Any]) -> str:
        seen.extend(str(m.text) for m in messages[-2:])
        return "done"

    model = ScriptedChatModel(script=[Reply(calls=[("dump", {"size": 100_000})]), read, done])
    own_door(model, [dump, read_file], build()).invoke({"messages": [HumanMessage("go")]}, thread())
    assert "HEADxxx" in seen[0]
    assert seen[1] == "the project's a.txt"


def test_many_parallel_results_fit_a_step(own_door: Any, build: Callable[..., HarnessMemory]) -> None:
    """40 results just under the limit of one are together far over the limit of a step."""
    memory = build(config=settings(compaction=None))
    calls = [("dump", {"size": 79_000 + n}) for n in range(40)]
    model = calling(*calls)
    agent = own_door(model, [dump], memory)
    result = agent.invoke({"messages": [HumanMessage("go")]}, thread())
    results = [m for m in result["messages"] if isinstance(m, ToolMessage)]
    assert sum(len(m.text) for m in results) <= 200_000
    assert [m.tool_call_id for m in results] == [c["id"] for c in result["messages"][1].tool_calls]
    assert model.requests[-1].tokens < 60_000
    assert len([entry for entry in memory.sessions.read("t1") if len(entry.message.text) > 79_000]) == 40


def test_command_artifact_and_error_stay(own_door: Any, build: Callable[..., HarnessMemory]) -> None:
    """A `Command` keeps its other updates, a message its artifact and its status."""
    from typing import Annotated

    from langchain_core.tools import InjectedToolCallId

    @tool
    def commanding(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Return a command."""
        message = ToolMessage("c" * 90_000, tool_call_id=tool_call_id, artifact={"kept": 1}, name="commanding")
        return Command(update={"messages": [message]})

    @tool
    def failing() -> str:
        """Fail at length."""
        raise ValueError("e" * 90_000)

    model = calling(("commanding", {}))
    agent = own_door(model, [commanding], build())
    result = agent.invoke({"messages": [HumanMessage("go")]}, thread())
    shown = next(m for m in result["messages"] if isinstance(m, ToolMessage))
    assert len(shown.text) < 6_000
    assert shown.artifact == {"kept": 1}


def test_folder_that_cannot_be_written_ends_no_turn(
    own_door: Any, build: Callable[..., HarnessMemory], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is clipped in view, the log has it, and the model is told."""
    memory = build(name="blocked")
    assert memory.workspace.replace("large_tool_results", b"a file stands where the folder should be")
    events: list[Any] = []
    memory._parts.teller._on_event = events.append
    result = own_door(calling(("dump", {"size": 100_000})), [dump], memory).invoke(
        {"messages": [HumanMessage("go")]}, thread()
    )
    shown = next(m for m in result["messages"] if isinstance(m, ToolMessage))
    assert len(shown.text) < 6_000
    assert "could not be written" in shown.text
    assert result["messages"][-1].text == "done"
    assert "EvictionFailed" in {type(event).__name__ for event in events}
    assert f"HEAD{'x' * 100_000}TAIL" in [entry.message.text for entry in memory.sessions.read("t1")]


def test_same_call_id_in_two_threads_meets_nowhere(own_door: Any, build: Callable[..., HarnessMemory]) -> None:
    """`call_0` of one conversation never shows the other's text."""
    memory = build()
    paths = []
    for name, size in (("one", 90_000), ("two", 95_000)):
        reply = AIMessage(
            "", tool_calls=[{"name": "dump", "args": {"size": size}, "id": "call_0", "type": "tool_call"}]
        )
        agent = own_door(ScriptedChatModel(script=[reply, "done"]), [dump], memory)
        result = agent.invoke({"messages": [HumanMessage("go")]}, thread(name))
        message = next(m for m in result["messages"] if isinstance(m, ToolMessage))
        paths.append(message.additional_kwargs["harness_memory"]["path"])
    for path, size in zip(paths, (90_000, 95_000), strict=True):
        stored = memory.workspace.read(path)
        assert stored is not None
        assert len(stored.data) == size + 8


def test_eviction_that_is_off_changes_nothing(own_door: Any, build: Callable[..., HarnessMemory]) -> None:
    """Without eviction a long result stays as it is."""
    agent = own_door(
        calling(("dump", {"size": 100_000})), [dump], build(config=settings(eviction=None, compaction=None))
    )
    result = agent.invoke({"messages": [HumanMessage("go")]}, thread())
    assert next(m for m in result["messages"] if isinstance(m, ToolMessage)).text == f"HEAD{'x' * 100_000}TAIL"


def test_eviction_node_serves_a_tool_node_of_ones_own(build: Callable[..., HarnessMemory]) -> None:
    """A plain `ToolNode` with the eviction node behind it saves small results."""
    memory = build()
    tools = [dump, *memory.tools]
    model = calling(("dump", {"size": 100_000})).bind_tools(tools)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_node("eviction", memory.eviction_node(tools=tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda s: "tools" if s["messages"][-1].tool_calls else END, ["tools", END])
    graph.add_edge("tools", "eviction")
    graph.add_edge("eviction", "model")
    agent = graph.compile(checkpointer=memory.checkpointer)
    agent.invoke({"messages": [HumanMessage("go")]}, thread())
    shown = next(m for m in agent.get_state(thread()).values["messages"] if isinstance(m, ToolMessage))
    assert len(shown.text) < 6_000
    assert "read_file" in shown.text


def test_deepagents_evicts_through_its_own_backend(build: Callable[..., HarnessMemory]) -> None:
    """In deepagents the text lies where its own `read_file` finds it; our log has the original."""
    memory = build()
    model = calling(("dump", {"size": 100_000}))
    agent = DOORS["deepagents"](model, [dump], memory)
    result = agent.invoke({"messages": [HumanMessage("go")]}, thread())
    shown = next(m for m in result["messages"] if isinstance(m, ToolMessage))
    assert len(shown.text) < 20_000
    assert any("large_tool_results" in path for path in result["files"])
    assert memory.workspace.files("large_tool_results") == []
    assert f"HEAD{'x' * 100_000}TAIL" in [entry.message.text for entry in memory.sessions.read("t1")]
    names = [schema["function"]["name"] for schema in model.requests[0].tools]
    assert names.count("read_file") == 1
    for request in model.requests:
        assert_valid_request(request.messages)


def test_limits_are_the_settings(own_door: Any, build: Callable[..., HarnessMemory]) -> None:
    """A result at the limit stays, one character more is evicted, and never becomes longer."""
    for size, is_evicted in ((992, False), (993, True)):
        config = settings(eviction=ToolResultEvictionConfig(max_result_chars=1_000, preview_chars=2_000))
        agent = own_door(calling(("dump", {"size": size})), [dump], build(name=f"limit-{size}", config=config))
        result = agent.invoke({"messages": [HumanMessage("go")]}, thread())
        shown = next(m for m in result["messages"] if isinstance(m, ToolMessage))
        assert len(shown.text) <= size + 8
        assert (len(shown.text) < size + 8) == is_evicted
