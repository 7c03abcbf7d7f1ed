"""Messages are shared objects: whoever changes one changes neither what is stored nor what is read next."""

import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_harness_memory.sessions.saver import SessionSaver
from tests.sessions.conftest import T1, chat, say, texts

CHANGES = {
    "content": lambda m: setattr(m, "content", "changed"),
    "metadata": lambda m: m.response_metadata.update(seen=True),
    "nested": lambda m: m.additional_kwargs["deep"]["list"].append(3),
    "extra": lambda m: setattr(m, "mood", "bad"),
    "id": lambda m: setattr(m, "id", "another"),
    "calls": lambda m: m.tool_calls[0]["args"].update(q="changed"),
}


def _rich(state: Any) -> dict[str, Any]:
    calls = [{"name": "t", "args": {"q": "as it was"}, "id": "c", "type": "tool_call"}]
    return {"messages": [AIMessage("as it was", tool_calls=calls, additional_kwargs={"deep": {"list": [1, 2]}})]}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_of_a_returned_message_is_not_read_again(folder: Path, saver: SessionSaver, change: Any) -> None:
    """A caller changes a message of a result, of a read state, and of a tuple; the next readers see it as it was."""
    graph = chat(saver, _rich)
    say(graph, "one")
    expected = chat(SessionSaver(folder, fsync=False)).get_state(T1).values["messages"]
    for read in (
        lambda: graph.get_state(T1).values["messages"],
        lambda: saver.get_tuple(T1).checkpoint["channel_values"]["messages"],  # type: ignore[union-attr]
    ):
        messages = read()
        assert messages == expected
        change(messages[1])
        messages.clear()
        assert read() == expected
    assert say(graph, "two")[:2] == expected
    assert chat(SessionSaver(folder, fsync=False)).get_state(T1).values["messages"][:2] == expected


def test_a_message_that_a_node_changes_and_returns_is_a_write(folder: Path, saver: SessionSaver) -> None:
    """The changed text is in the next state, in a new process too, and the log has both versions."""

    def shout(state: Any) -> Any:
        state["messages"][0].content = state["messages"][0].content.upper()
        return {"messages": [state["messages"][0], AIMessage("done")]}

    assert texts(say(chat(saver, shout), "one", durability="sync")) == ["ONE", "done"]
    other = SessionSaver(folder, fsync=False)
    assert texts(chat(other).get_state(T1).values["messages"]) == ["ONE", "done"]
    assert texts(chat(saver).get_state(T1).values["messages"]) == ["ONE", "done"]
    assert sorted(texts([e.message for e in other.log.read("t1")])) == ["ONE", "done", "one"]


def _stored(saver: SessionSaver) -> list[Any]:
    found = saver.get_tuple(T1)
    return found.checkpoint["channel_values"].get("messages", []) if found else []


def test_a_message_that_a_node_changes_and_does_not_return_is_none(folder: Path, saver: SessionSaver) -> None:
    """What was changed for a model call alone is as it was in the next state, once its checkpoint is written."""

    def hide(state: Any) -> Any:
        # LangGraph stores the input beside the first node and waits for it afterwards: only what is stored by now is safe.
        deadline = time.monotonic() + 10
        while len(_stored(saver)) < len(state["messages"]):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        state["messages"][0].content = "hidden"
        return {"messages": [AIMessage("done")]}

    graph = chat(saver, hide)
    say(graph, "one", durability="sync")
    assert texts(graph.get_state(T1).values["messages"]) == ["one", "done"]
    assert texts(say(graph, "two", durability="sync"))[1:] == ["done", "two", "done"]
    assert texts(chat(SessionSaver(folder, fsync=False)).get_state(T1).values["messages"]) == [
        "one",
        "done",
        "two",
        "done",
    ]
    assert "hidden" not in texts([e.message for e in saver.log.read("t1")])


def test_with_exit_durability_a_returned_change_is_stored(folder: Path, saver: SessionSaver) -> None:
    """Where LangGraph tells no single writes, what a run ended with is what is stored."""

    def shout(state: Any) -> Any:
        state["messages"][0].content = state["messages"][0].content.upper()
        return {"messages": [state["messages"][0], AIMessage("done")]}

    graph = chat(saver, shout)
    say(graph, "one", durability="exit")
    say(graph, "two", durability="exit")
    assert texts(chat(SessionSaver(folder, fsync=False)).get_state(T1).values["messages"])[0] == "ONE"


def test_an_input_message_that_its_caller_changes_later_stays_as_it_was(folder: Path, saver: SessionSaver) -> None:
    """A caller uses one message object for two turns, with another text and id."""
    graph = chat(saver)
    mine = HumanMessage("one", id="a")
    graph.invoke({"messages": [mine]}, T1)
    mine.content, mine.id = "two", "b"
    state = graph.invoke({"messages": [mine]}, T1)
    assert texts(state["messages"]) == ["one", "re: one", "two", "re: two"]
    assert texts(chat(SessionSaver(folder, fsync=False)).get_state(T1).values["messages"]) == texts(state["messages"])


def test_values_that_are_no_messages_are_not_shared(saver: SessionSaver) -> None:
    """A dict in a state comes back as a new one each time."""
    config = saver.put(
        {"configurable": {"thread_id": "t1", "checkpoint_ns": ""}},
        {
            "v": 4,
            "id": "1",
            "ts": "",
            "channel_values": {"files": {"a": [1]}, "last": AIMessage("x", id="m")},
            "channel_versions": {"files": 1, "last": 1},
            "versions_seen": {},
            "updated_channels": None,
        },
        {},
        {"files": 1, "last": 1},
    )
    first = saver.get_tuple(config)
    assert first is not None
    first.checkpoint["channel_values"]["files"]["a"].append(2)
    first.checkpoint["channel_values"]["last"].content = "y"
    first.checkpoint["channel_versions"]["files"] = 9
    again = saver.get_tuple(config)
    assert again is not None
    assert again.checkpoint["channel_values"] == {"files": {"a": [1]}, "last": AIMessage("x", id="m")}
    assert again.checkpoint["channel_versions"] == {"files": 1, "last": 1}
