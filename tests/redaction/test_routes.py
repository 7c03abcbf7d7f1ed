"""Fake credentials along every route to the disk: none reaches what is hidden, and session logs keep what was said unless asked not to."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from langgraph_harness_memory import (
    CompactionConfig,
    FlushConfig,
    HarnessMemory,
    MemoryConfig,
    PrivacyConfig,
    StorageConfig,
    ToolResultEvictionConfig,
    create_memory_agent,
)
from langgraph_harness_memory.curation.requests import material
from langgraph_harness_memory.events import Event, as_dict
from langgraph_harness_memory.testing import Reply, ScriptedChatModel, fake_credentials

FAKES = [fake for fake in fake_credentials() if fake.kind != "chinese password"]
"""One of the two that are called `hunter2` is enough."""
SHORT = {"hunter2", "482913"}
"""Secrets so short that bytes of a database may hold them by chance; they are looked for in text files alone."""


def repeat_everything(messages):
    """A curator that copies whatever it is shown."""
    fields = material(messages)
    if fields is None:
        return "## SESSION INTENT\n" + messages[-1].text[-20_000:]
    if fields["task"] == "flush":
        return "\n".join("- " + " ".join(message["text"].split()) for message in fields["messages"])
    return "\n".join([fields["memory"], *(f"- {line['text']}" for line in fields["new"])])


@tool
def read_vault() -> str:
    """Return every credential."""
    return "\n".join(fake.text for fake in FAKES) + "\n" + "padding " * 2_000


def memory_of(root, events: list[Event], *, redact_sessions: bool = False) -> HarnessMemory:
    model = ScriptedChatModel(script=[repeat_everything], repeat=True)
    config = MemoryConfig(
        compaction=CompactionConfig(trigger_messages=0, trigger_tokens=0, keep_messages=2, model=model),
        eviction=ToolResultEvictionConfig(max_result_chars=4_000, preview_chars=200),
        flush=FlushConfig(mode="inline"),
        maintenance=None,
        privacy=PrivacyConfig(redact_sessions=redact_sessions),
        storage=StorageConfig(timezone="UTC", fsync=False),
    )
    return HarnessMemory(root, model=model, config=config, on_event=events.append)


def leaked(*files) -> list[str]:
    """Return the kinds of which the credential stands in one of the files."""
    found: set[str] = set()
    for file in files:
        data = file.read_bytes()
        is_text = file.suffix != ".db"
        found |= {fake.kind for fake in FAKES if fake.secret.encode() in data and (is_text or fake.secret not in SHORT)}
    return sorted(found)


def files_of(root, *patterns):
    return [path for pattern in patterns for path in sorted(root.glob(pattern)) if path.is_file()]


def test_layers_index_and_events_hold_no_credential(tmp_path):
    """At least 36 of 41 is the promise; of our own set none gets through."""
    root, events = tmp_path / "workspace", []
    with memory_of(root, events) as memory:
        for n, fake in enumerate(FAKES):
            memory.flush([HumanMessage(fake.text), AIMessage("Noted.")], f"t{n}")
        assert memory.consolidate().failed is None
        assert memory.index.search("password") != []
    (log,) = files_of(root, "memory/20*.md")
    assert log.read_text(encoding="utf-8").count("[REDACTED:") >= len(FAKES)
    assert (root / "MEMORY.md").read_text(encoding="utf-8").count("[REDACTED:") > 10
    assert leaked(*files_of(root, "memory/**/*", "MEMORY.md"), *files_of(tmp_path, "*.db*")) == []
    assert not any(fake.secret in str(as_dict(event)) for event in events for fake in FAKES)
    assert len(leaked(*files_of(root, "sessions/*.log.jsonl"))) > len(FAKES) // 2


def test_summaries_hold_no_credential(tmp_path):
    """Neither the request of the summary nor the summary itself."""
    events: list[Event] = []
    with memory_of(tmp_path / "workspace", events) as memory:
        talk = [m for fake in FAKES for m in (HumanMessage(fake.text), AIMessage("Noted, and what else?"))]
        view = memory.compact([*talk, HumanMessage("Go on."), AIMessage("Gladly.")], thread_id="t")
    assert len(view) < len(talk)
    text = view[0].text
    assert [fake.kind for fake in FAKES if fake.secret in text] == []


@pytest.mark.parametrize("redact_sessions", [False, True])
def test_sessions_checkpoints_and_evicted_files_hide_them_on_request(tmp_path, redact_sessions):
    """With `redact_sessions` no file of the workspace holds a credential; without it the session stays as it was."""
    root, events = tmp_path / "workspace", []
    with memory_of(root, events, redact_sessions=redact_sessions) as memory:
        model = ScriptedChatModel(script=[Reply(calls=[("read_vault", {})]), "I have read it."])
        agent = create_memory_agent(model, [read_vault], memory=memory)
        agent.invoke({"messages": [HumanMessage(FAKES[0].text)]}, {"configurable": {"thread_id": "t"}})
    assert files_of(root, "large_tool_results/**/*")
    everything = files_of(root, "**/*")
    if redact_sessions:
        assert leaked(*everything) == []
    else:
        assert len(leaked(*files_of(root, "sessions/*.log.jsonl", "large_tool_results/**/*"))) > len(FAKES) // 2
        assert leaked(*files_of(root, "memory/**/*", "MEMORY.md")) == []


def test_saving_on_request_hides_them(tmp_path):
    """What a model is asked to remember is no exception."""
    root, events = tmp_path / "workspace", []
    with memory_of(root, events) as memory:
        for fake in FAKES:
            memory.save(fake.text)
    assert leaked(*files_of(root, "memory/**/*"), *files_of(tmp_path, "*.db*")) == []
