"""Which model gets which call: nothing is curated by rules when a model is there."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_harness_memory import CompactionConfig, ExtractiveChatModel, HarnessMemory
from langgraph_harness_memory.testing import ScriptedChatModel
from tests.front_doors.conftest import SUMMARY, settings, thread

AT_LENGTH = " and here is what I have to say about it at some length, with names and numbers" * 3


class Known(ScriptedChatModel):
    """Answers by what it is asked and notes what that was."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(script=[_by_question], repeat=True, **kwargs)

    @property
    def asked(self) -> list[str]:
        return [_question(request.messages) for request in self.requests]


def _question(messages: list[Any]) -> str:
    text = "\n".join(str(m.text) for m in messages)
    if '"task": "flush"' in text:
        return "flush"
    if '"task": "consolidation"' in text:
        return "consolidation"
    return "summary" if "<messages>" in text else "turn"


def _by_question(messages: list[Any]) -> str:
    return {
        "flush": "- Ann plans a trip to Oslo on May 3rd",
        "consolidation": "# Memory\n\n- Ann plans a trip to Oslo on May 3rd",
        "summary": SUMMARY,
        "turn": "fine",
    }[_question(messages)]


def talk(agent: Any, memory: HarnessMemory) -> None:
    for n in range(5):
        agent.invoke({"messages": [HumanMessage(f"question {n}{AT_LENGTH}", id=f"q{n}")]}, thread())
    memory.consolidate()


def config(model: Any = None) -> Any:
    return settings(compaction=CompactionConfig(trigger_messages=8, keep_messages=3, model=model))


def test_agents_own_model_does_it_all_where_none_is_given(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """Without a model of its own a memory uses the agent's for summaries, flushes and consolidation."""
    agent_model = Known()
    memory = build(model=None, config=config())
    talk(door(agent_model, [], memory), memory)
    assert {"turn", "summary", "flush", "consolidation"} == set(agent_model.asked)


def test_given_model_curates_and_the_agents_own_summarises(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """`HarnessMemory.model` flushes and consolidates, `compaction.model` defaults to the agent's."""
    agent_model, curator = Known(), Known()
    memory = build(model=curator, config=config())
    talk(door(agent_model, [], memory), memory)
    assert set(agent_model.asked) == {"turn", "summary"}
    assert set(curator.asked) == {"flush", "consolidation"}


def test_summary_model_summarises_alone(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """A cheaper summary model gets the summaries and nothing else."""
    agent_model, curator, summariser = Known(), Known(), Known()
    memory = build(model=curator, config=config(summariser))
    talk(door(agent_model, [], memory), memory)
    assert set(agent_model.asked) == {"turn"}
    assert set(curator.asked) == {"flush", "consolidation"}
    assert set(summariser.asked) == {"summary"}


def test_two_agents_on_one_memory_curate_with_their_own_models(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """A thread's facts are taken out of it by the model that spoke there."""
    first, second = Known(), Known()
    memory = build(model=None, config=config())
    one, two = door(first, [], memory), door(second, [], memory)
    one.invoke({"messages": [HumanMessage("first")]}, thread("one"))
    two.invoke({"messages": [HumanMessage("second")]}, thread("two"))
    assert first.asked == ["turn", "flush"]
    assert second.asked == ["turn", "flush"]


@pytest.mark.parametrize("given", [None, ExtractiveChatModel()], ids=["no model", "the extractor"])
def test_rules_curate_where_no_model_exists_or_they_are_asked_for(
    build: Callable[..., HarnessMemory], given: Any
) -> None:
    """A memory alone, for example in a notebook, works offline."""
    memory = build(model=given)
    said = [HumanMessage("My name is Ann and I decided to move to Oslo on 3 May 2026.")]
    assert memory.flush(said, "t1").facts == 1
    memory.consolidate()
    context = memory.context_message()
    assert context is not None
    assert "Oslo" in str(context.text)


def test_wrapped_model_binds_the_users_own(build: Callable[..., HarnessMemory]) -> None:
    """Around a model inside the user's own node, memory curates with that model, bindings or not."""
    from langgraph.graph import END, START, MessagesState, StateGraph

    mine = Known()
    memory = build(model=None, config=config())
    model = memory.wrap_model(mine.bind_tools(memory.tools))

    graph = StateGraph(MessagesState)
    graph.add_node("compaction", memory.compaction_node())
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("flush", memory.flush_node())
    graph.add_edge(START, "compaction")
    graph.add_edge("compaction", "model")
    graph.add_edge("model", "flush")
    graph.add_edge("flush", END)
    talk(graph.compile(checkpointer=memory.checkpointer), memory)
    assert {"turn", "summary", "flush", "consolidation"} == set(mine.asked)
