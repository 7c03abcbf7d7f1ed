"""A provider that refuses a request for its length: the turn goes on, whichever way it is run."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from openai import BadRequestError

from langgraph_harness_memory import CompactionConfig, HarnessMemory
from langgraph_harness_memory.testing import OpenAIServer, ScriptedChatModel
from langgraph_harness_memory.testing.scripted import Failure, Reply
from tests.front_doors.conftest import SUMMARY, says, settings, thread

QUESTION = "And what shall we do on the last day of the trip?"
LONG = "Ann tells of her trip to Oslo with many names and numbers. " * 20

WAYS = ["invoke", "stream", "ainvoke", "astream"]
WINDOW = 4_000


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(model=says("We go home."), context_window=WINDOW, overflow="vllm") as running:
        yield running


def client(server: OpenAIServer) -> ChatOpenAI:
    return ChatOpenAI(model="some-model", base_url=server.url, api_key="unused", max_retries=0, profile={})  # type: ignore[arg-type]


def history(pairs: int) -> list[Any]:
    said = []
    for n in range(pairs):
        said += [HumanMessage(f"{n}: {LONG}", id=f"h{n}"), ("ai", f"Noted {n}.")]
    return [*said, HumanMessage(QUESTION, id="last")]


def run(agent: Any, way: str, given: Any) -> list[Any]:
    match way:
        case "invoke":
            agent.invoke(given, thread())
        case "ainvoke":
            asyncio.run(agent.ainvoke(given, thread()))
        case "stream":
            list(agent.stream(given, thread(), stream_mode="messages"))
        case _:

            async def collect() -> None:
                async for _ in agent.astream(given, thread(), stream_mode="messages"):
                    pass

            asyncio.run(collect())
    messages: list[Any] = agent.get_state(thread()).values["messages"]
    return messages


def roomy() -> Any:
    """Triggers that never fire by themselves."""
    return settings(compaction=CompactionConfig(trigger_messages=0, trigger_tokens=0, model=says(SUMMARY)))


@pytest.mark.parametrize("way", WAYS)
def test_refused_request_is_compacted_and_sent_again(
    door: Any, build: Callable[..., HarnessMemory], server: OpenAIServer, way: str
) -> None:
    """The user gets an answer; the question stands once, in the request and in the saved state."""
    events: list[Any] = []
    memory = build(config=roomy(), on_event=events.append)
    messages = run(door(client(server), [], memory), way, {"messages": history(20)})
    assert len(server.refused) >= 1
    assert server.requests[-1].status == 200
    assert server.requests[-1].tokens <= WINDOW
    assert [message.text for message in messages].count(QUESTION) == 1
    assert messages[-1].text == "We go home."
    assert len(messages) < 41
    sent = [m["content"] for m in server.requests[-1].body["messages"] if m["role"] == "user"]
    assert str(sent).count(QUESTION) == 1
    kinds = [type(event).__name__ for event in events]
    assert "Recovered" in kinds
    assert len(memory.sessions.read("t1")) == 42


@pytest.mark.parametrize("way", WAYS)
def test_without_compaction_the_providers_error_is_rethrown(
    door: Any, build: Callable[..., HarnessMemory], server: OpenAIServer, way: str
) -> None:
    """Who switched compaction off sees what the provider said, unchanged."""
    memory = build(config=settings(compaction=None))
    with pytest.raises(BadRequestError, match="maximum context length"):
        run(door(client(server), [], memory), way, {"messages": history(20)})
    assert len(server.requests) == 1


def test_what_cannot_shrink_ends_in_the_providers_error(
    door: Any, build: Callable[..., HarnessMemory], server: OpenAIServer
) -> None:
    """A question that alone is too long is refused as the provider refuses it, after few tries."""
    given = {"messages": [HumanMessage("word " * 20_000, id="last")]}
    with pytest.raises(BadRequestError, match="maximum context length"):
        run(door(client(server), [], build(config=roomy())), "invoke", given)
    assert len(server.requests) <= 4


@pytest.mark.parametrize("way", ["stream", "astream"])
def test_error_after_the_first_token_is_rethrown(door: Any, build: Callable[..., HarnessMemory], way: str) -> None:
    """A user who has seen half an answer does not see another one begin."""
    error = ValueError("maximum context length is 8192 tokens")
    model = ScriptedChatModel(script=[Failure(error=error, text="We go"), "never said"])
    with pytest.raises(ValueError, match="maximum context length"):
        run(door(model, [], build(config=roomy())), way, {"messages": history(3)})
    assert model.calls == 1


def test_rate_limit_is_no_overflow(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """A quota is told to whoever can do something about it, and nothing is compacted for it."""
    events: list[Any] = []
    model = ScriptedChatModel(script=[Failure(error=ValueError("Rate limit reached: 30000 tokens per min"))])
    memory = build(config=roomy(), on_event=events.append)
    with pytest.raises(ValueError, match="Rate limit"):
        run(door(model, [], memory), "invoke", {"messages": history(5)})
    assert not [event for event in events if type(event).__name__ in ("Compacted", "Recovered")]


def test_same_question_asked_again_after_a_failure_stands_once(door: Any, build: Callable[..., HarnessMemory]) -> None:
    """A turn that the model ended with an error can be tried again under the same message id."""
    model = ScriptedChatModel(script=[Failure(error=ValueError("no connection")), Reply(text="here I am")])
    agent = door(model, [], build())
    given = {"messages": [HumanMessage(QUESTION, id="last")]}
    with pytest.raises(ValueError, match="no connection"):
        agent.invoke(given, thread())
    messages = run(agent, "invoke", given)
    assert [message.text for message in messages] == [QUESTION, "here I am"]
