"""The whole agent with the client that users have, against a server that enforces what providers enforce."""

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from langgraph_harness_memory import (
    CompactionConfig,
    FlushConfig,
    HarnessMemory,
    MaintenanceConfig,
    MemoryConfig,
    create_memory_agent,
)
from langgraph_harness_memory.curation.extractor import ExtractiveChatModel
from langgraph_harness_memory.events import Compacted, Recovered
from langgraph_harness_memory.testing import OpenAIServer, Rejected, Reply, ScriptedChatModel

STYLES = ["openai", "openai-new", "vllm", "llama.cpp", "dashscope", "anthropic", "bedrock", "gemini"]
RULES = ExtractiveChatModel()


@tool
def read_page(number: int) -> str:
    """Read a page of a book."""
    return f"Page {number}: " + "the sea was calm and the ship sailed on. " * 30


def reader(messages):
    """Read a page for each question about one, then answer; curate by rules."""
    last = messages[-1]
    if '"task"' in str(last.text) or "SESSION INTENT" in str(last.text):
        return str(RULES.invoke(messages).text)
    if last.type == "tool":
        return "That page tells of the sea."
    if "page" in last.text:
        return Reply(calls=[("read_page", {"number": int("".join(c for c in last.text if c.isdigit()) or 1)})])
    return "The harbour is called Lerwick, as you said."


def client(server, **options):
    return ChatOpenAI(model="gpt-5.5", base_url=server.url, api_key="unused", max_retries=0, **options)


def settings(**compaction):
    """Everything inline, no triggers unless they are asked for, so that the server's own limit decides."""
    off = {"trigger_messages": 0, "trigger_tokens": 0, "trigger_fraction": 0.0}
    return MemoryConfig(
        compaction=CompactionConfig(**{**off, **compaction}),
        flush=FlushConfig(mode="inline"),
        maintenance=MaintenanceConfig(autostart=False),
    )


def served(**options):
    return OpenAIServer(model=ScriptedChatModel(script=[reader], repeat=True), **options)


@pytest.mark.parametrize("style", STYLES)
def test_a_window_that_the_server_enforces_is_recovered_from(tmp_path, style):
    """In whoever's words it is refused: the turn goes on, the user's words arrive once, nothing is lost."""
    events = []
    memory = HarnessMemory(tmp_path / "w", model=RULES, config=settings(), on_event=events.append)
    with served(context_window=4_000, overflow=style) as server, memory:
        agent = create_memory_agent(client(server), [read_page], memory=memory)
        config = {"configurable": {"thread_id": "t"}}
        agent.invoke({"messages": [("user", "The harbour is called Lerwick.")]}, config)
        for number in range(1, 13):
            agent.invoke({"messages": [("user", f"Read page {number}.")]}, config)
        answer = agent.invoke({"messages": [("user", "What is the harbour called?")]}, config)
        logged = [e.message.text for e in memory.sessions.read("t")]
    assert answer["messages"][-1].text.startswith("The harbour is called Lerwick")
    assert any(r.status == 400 for r in server.requests)
    assert any(isinstance(e, Recovered) for e in events)
    assert all(r.tokens <= 4_000 for r in server.requests if r.status == 200)
    for number in range(1, 13):
        assert logged.count(f"Read page {number}.") == 1
        assert sum(text.startswith(f"Page {number}: ") for text in logged) == 1
    assert len(logged) == 2 + 12 * 4 + 2


@pytest.mark.parametrize("how", ["invoke", "stream"])
def test_compaction_keeps_requests_under_the_window_by_itself(tmp_path, how):
    """With a trigger below the window the server refuses nothing."""
    events = []
    config_ = settings(trigger_tokens=3_000, keep_messages=4)
    memory = HarnessMemory(tmp_path / "w", model=RULES, config=config_, on_event=events.append)
    with served(context_window=4_500) as server, memory:
        agent = create_memory_agent(client(server), [read_page], memory=memory)
        config = {"configurable": {"thread_id": "t"}}
        for number in range(1, 15):
            asked = {"messages": [("user", f"Read page {number}.")]}
            if how == "invoke":
                agent.invoke(asked, config)
            else:
                list(agent.stream(asked, config, stream_mode="messages"))
    assert [r.status for r in server.requests] == [200] * len(server.requests)
    assert any(isinstance(e, Compacted) for e in events)


@pytest.mark.asyncio
async def test_a_stream_shows_the_answer_alone_while_memory_works(tmp_path):
    """Tokens of summaries and flushes, made by the same model, never reach the user's stream; sync and async agree."""
    config_ = settings(trigger_messages=6, keep_messages=2)
    shown = {}
    for how in ("sync", "async"):
        with served() as server:
            model = client(server)
            memory = HarnessMemory(tmp_path / how, config=config_)
            agent = create_memory_agent(model, memory=memory)
            config = {"configurable": {"thread_id": "t"}}
            texts = []
            for number in range(6):
                asked = {"messages": [HumanMessage(f"My cabin number is {number}, remember it.")]}
                if how == "sync":
                    parts = list(agent.stream(asked, config, stream_mode="messages"))
                else:
                    parts = [part async for part in agent.astream(asked, config, stream_mode="messages")]
                assert all(isinstance(message, AIMessage | AIMessageChunk) for message, _ in parts)
                texts.append("".join(message.text for message, _ in parts))
            await memory.aclose()
        shown[how] = texts
        # Some requests were memory's own: the model curates where it is the only one.
        assert any('"task"' in str(r.body["messages"]) for r in server.requests)
    assert shown["sync"] == shown["async"] == ["The harbour is called Lerwick, as you said."] * 6


def test_a_rate_limit_is_no_overflow(tmp_path):
    """Its text speaks of tokens; the turn fails as it would without memory, and nothing is folded for it."""
    import openai

    events = []
    memory = HarnessMemory(tmp_path / "w", model=RULES, config=settings(), on_event=events.append)
    with served(faults=[Rejected()]) as server, memory:
        agent = create_memory_agent(client(server), memory=memory)
        config = {"configurable": {"thread_id": "t"}}
        with pytest.raises(openai.RateLimitError, match="tokens per min"):
            agent.invoke({"messages": [("user", "The harbour is called Lerwick.")]}, config)
    assert not any(isinstance(e, Compacted | Recovered) for e in events)
    assert len(server.requests) == 1


def test_a_window_that_nothing_can_fit_ends_in_the_servers_own_error(tmp_path):
    """After everything was tried the original error comes out, and the message is in the log."""
    import openai

    with served(context_window=40) as server, HarnessMemory(tmp_path / "w", model=RULES, config=settings()) as memory:
        agent = create_memory_agent(client(server), memory=memory)
        with pytest.raises(openai.BadRequestError, match="maximum context length is 40 tokens"):
            agent.invoke({"messages": [("user", "hello there")]}, {"configurable": {"thread_id": "t"}})
        assert [e.message.text for e in memory.sessions.read("t")] == ["hello there"]
    assert len(server.requests) <= 12
