"""What `create_memory_agent` builds: its end, its tools, and what a run shows of its state."""

import asyncio
from typing import Annotated, Any, NotRequired

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph.message import add_messages
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_harness_memory import HarnessMemory, MemoryConfig, create_memory_agent
from langgraph_harness_memory.testing import Reply, ScriptedChatModel, assert_valid_request
from tests.front_doors.conftest import QUIET, says, settings, thread


class Trip(BaseModel):
    """Where somebody goes."""

    city: str


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It rains in {city}."


@tool(return_direct=True)
def invoice(number: int) -> str:
    """Show an invoice."""
    return f"Invoice {number}"


@pytest.fixture
def memory(tmp_path):
    with HarnessMemory(tmp_path / "w" / "memory", model=says("NO_REPLY"), config=settings()) as memory:
        yield memory


def ask(agent: Any, text: str, *, is_async: bool = False, thread_id: str = "t1") -> dict[str, Any]:
    given = {"messages": [HumanMessage(text)]}
    if is_async:
        return asyncio.run(agent.ainvoke(given, thread(thread_id)))
    return agent.invoke(given, thread(thread_id))


@pytest.mark.parametrize("is_async", [False, True])
def test_a_schema_is_filled_in_at_the_end(memory, is_async) -> None:
    """After the loop, from the whole conversation; what the run shows holds the value and none of memory's own state."""
    model = ScriptedChatModel(
        script=[
            Reply(calls=[("weather", {"city": "Oslo"})]),
            "You go to Oslo.",
            Reply(calls=[("Trip", {"city": "Oslo"})]),
        ]
    )
    agent = create_memory_agent(model, [weather], memory=memory, response_format=Trip)
    shown = ask(agent, "I go to Oslo", is_async=is_async)
    assert shown["structured_response"] == Trip(city="Oslo")
    assert set(shown) == {"messages", "structured_response"}
    assert [type(message) for message in shown["messages"]] == [HumanMessage, AIMessage, ToolMessage, AIMessage]
    last = model.requests[-1].messages
    assert_valid_request(last)
    assert last[-1].text == "You go to Oslo."


def test_a_state_that_has_a_place_for_the_response_keeps_its_own(memory) -> None:
    """The user's schema is taken as it is."""

    class Mine(TypedDict):
        messages: Annotated[list, add_messages]
        structured_response: NotRequired[Trip]
        mood: NotRequired[str]

    model = ScriptedChatModel(script=["Fine.", Reply(calls=[("Trip", {"city": "Bergen"})])])
    agent = create_memory_agent(model, memory=memory, response_format=Trip, state_schema=Mine)
    shown = agent.invoke({"messages": [HumanMessage("Hi")], "mood": "good"}, thread())
    assert shown["structured_response"] == Trip(city="Bergen")
    assert shown["mood"] == "good"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_that_answers_the_user_itself_ends_the_run(memory, is_async) -> None:
    """The model is not asked again."""
    model = ScriptedChatModel(script=[Reply(calls=[("invoice", {"number": 7})])])
    shown = ask(create_memory_agent(model, [invoice], memory=memory), "Invoice 7, please", is_async=is_async)
    assert shown["messages"][-1].text == "Invoice 7"
    assert len(model.requests) == 1


def test_a_tool_beside_it_sends_the_run_back_to_the_model(memory) -> None:
    """Only where every tool that ran answers by itself is the run over."""
    both = Reply(calls=[("invoice", {"number": 7}), ("weather", {"city": "Oslo"})])
    model = ScriptedChatModel(script=[both, "Rain, and invoice 7."])
    shown = ask(create_memory_agent(model, [invoice, weather], memory=memory), "Both, please")
    assert shown["messages"][-1].text == "Rain, and invoice 7."


def test_a_call_that_names_no_tool_is_answered_so_that_the_model_can_do_better(memory) -> None:
    model = ScriptedChatModel(script=[Reply(calls=[("whether", {"city": "Oslo"})]), "Sorry."])
    shown = ask(create_memory_agent(model, [invoice], memory=memory), "Weather?")
    (result,) = [message for message in shown["messages"] if isinstance(message, ToolMessage)]
    assert result.status == "error"
    assert "whether" in result.text
    assert shown["messages"][-1].text == "Sorry."


def test_the_prompt_is_told_first_and_is_no_part_of_the_history(memory) -> None:
    """As text or as a message; what memory knows stands behind it."""
    memory.save("Speaks Norwegian")
    for prompt in ("Be brief.", SystemMessage("Be brief.")):
        model = says("Ok.")
        shown = ask(create_memory_agent(model, memory=memory, system_prompt=prompt), "Hi", thread_id=str(type(prompt)))
        (system,) = [message for message in model.requests[0].messages if isinstance(message, SystemMessage)]
        assert system.text.startswith("Be brief.")
        assert not any(isinstance(message, SystemMessage) for message in shown["messages"])


def test_without_a_checkpointer_each_run_stands_alone(memory) -> None:
    agent = create_memory_agent(says("Ok."), memory=memory, checkpointer=False)
    assert len(ask(agent, "One")["messages"]) == 2
    assert len(ask(agent, "Two")["messages"]) == 2
    assert len(memory.sessions.read("t1")) == 4


def test_its_name_stands_on_its_replies_and_its_store_reaches_its_tools(memory) -> None:
    """As with LangChain's own agents."""
    from langgraph.config import get_store

    @tool
    def note(text: str) -> str:
        """Note a text."""
        get_store().put(("notes",), "1", {"text": text})
        return "noted"

    store = InMemoryStore()
    model = ScriptedChatModel(script=[Reply(calls=[("note", {"text": "tea"})]), "Done."])
    agent = create_memory_agent(model, [note], memory=memory, name="butler", store=store)
    shown = ask(agent, "Note tea")
    assert agent.name == "butler"
    assert shown["messages"][-1].name == "butler"
    assert store.get(("notes",), "1").value == {"text": "tea"}


def test_a_run_stops_before_a_node_and_goes_on(memory) -> None:
    model = ScriptedChatModel(script=[Reply(calls=[("weather", {"city": "Oslo"})]), "Rain."])
    agent = create_memory_agent(model, [weather], memory=memory, interrupt_before=["tools"])
    ask(agent, "Weather?")
    assert len(model.requests) == 1
    shown = agent.invoke(Command(resume=True), thread())
    assert shown["messages"][-1].text == "Rain."


def test_with_every_part_off_it_is_a_plain_agent(tmp_path) -> None:
    """No file is written but the session's, and the graph holds no node of memory."""
    off = MemoryConfig(compaction=None, flush=None, consolidation=None, eviction=None, context=None, maintenance=QUIET)
    with HarnessMemory(tmp_path / "w" / "memory", config=off) as memory:
        model = ScriptedChatModel(script=[Reply(calls=[("weather", {"city": "Oslo"})]), "Rain."])
        agent = create_memory_agent(model, [weather], memory=memory)
        assert set(agent.get_graph().nodes) == {"__start__", "model", "tools", "__end__"}
        assert ask(agent, "Weather?")["messages"][-1].text == "Rain."
        assert memory.workspace.files("memory") == []
