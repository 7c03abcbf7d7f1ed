"""The extractor as a memory's curator: what it writes passes the guards that models pass, for as long as it runs."""

from datetime import timedelta

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_harness_memory import (
    CompactionConfig,
    ConsolidationConfig,
    ExtractiveChatModel,
    HarnessMemory,
    MemoryConfig,
    StorageConfig,
    create_memory_agent,
)
from langgraph_harness_memory.formats.memory_md import facts
from langgraph_harness_memory.testing import FrozenClock


@pytest.fixture
def lived(tmp_path):
    """Hold one chat a day and consolidate after each."""
    clock = FrozenClock("2026-04-01T09:00:00+00:00")
    opened: list[HarnessMemory] = []

    def live(*days: tuple[str, ...], budget: int = 4_000) -> str:
        config = MemoryConfig(
            maintenance=None,
            consolidation=ConsolidationConfig(max_memory_tokens=budget),
            storage=StorageConfig(timezone="UTC", fsync=False),
        )
        memory = HarnessMemory(tmp_path / "w", model=ExtractiveChatModel(), config=config, clock=clock)
        opened.append(memory)
        for said in days:
            talk = [m for text in said for m in (HumanMessage(text), AIMessage("I see."))]
            assert memory.flush(talk, f"day-{clock.now():%Y%m%d}").failed is None
            assert memory.consolidate().failed is None
            clock.advance(timedelta(days=1))
        return (tmp_path / "w" / "MEMORY.md").read_text(encoding="utf-8")

    yield live
    for memory in opened:
        memory.close()


def test_a_later_fact_takes_the_place_of_an_earlier_one(lived):
    """Day by day, through the files."""
    memory = lived(
        ("The launch date is April 10.", "I live in Graz."), ("The launch date is April 24.",), ("I moved to Linz.",)
    )
    assert [fact.text for fact in facts(memory)] == [
        "User: The launch date is April 24. (2026-04-02)",
        "User: I moved to Linz. (2026-04-03)",
    ]


def test_the_change_log_tells_that_it_did(lived, tmp_path):
    """Which line went, and which came."""
    lived(("The launch date is April 10.",), ("The launch date is April 24.",))
    changes = (tmp_path / "w" / "memory" / "CHANGES.md").read_text(encoding="utf-8")
    assert "April 10" in changes
    assert "April 24" in changes


def test_what_a_person_deleted_stays_deleted(lived, tmp_path):
    """Also when it is said again in the same words on another day."""
    lived(("I like green tea.", "I live in Graz."))
    path = tmp_path / "w" / "MEMORY.md"
    kept = [line for line in path.read_text(encoding="utf-8").splitlines() if "green tea" not in line]
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    assert "green tea" not in lived(("My sister Ada builds boats in Bergen.",), ("I like green tea.",))


def test_a_year_under_a_small_budget_is_never_refused(lived):
    """No guard against floods, shrinking or length stops it, and the budget holds on every day."""
    places = ["Oslo", "Bergen", "Graz", "Linz", "Turin", "Split", "Bern"]
    days = [
        tuple(
            f"On 2026-{n % 12 + 1:02}-{k + 1:02} I visited {places[(n + k) % 7]} with Ada and paid {n * 7 + k} euros."
            for k in range(6)
        )
        for n in range(60)
    ]
    memory = lived(*days, budget=300)
    assert len(memory) <= 1_200
    assert len(facts(memory)) >= 5


def test_an_agent_lives_on_it_alone(tmp_path):
    """Conversation, compaction, memory and recall without a model: what was said in one thread is answered in another."""
    config = MemoryConfig(
        maintenance=None,
        compaction=CompactionConfig(trigger_messages=12, keep_messages=4),
        storage=StorageConfig(fsync=False),
    )
    with HarnessMemory(tmp_path / "w", model=ExtractiveChatModel(), config=config) as memory:
        agent = create_memory_agent(ExtractiveChatModel(), memory=memory)

        def say(text: str, thread: str) -> str:
            state = agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}})
            return state["messages"][-1].text

        say("The deadline of the Heron project is May 3rd.", "one")
        for n in range(12):
            say(f"Let us talk about number {n} for a while.", "one")
        memory.flush(thread_id="one")
        assert "May 3rd" in say("When is the deadline of the Heron project?", "two")
        state = agent.get_state({"configurable": {"thread_id": "one"}}).values["messages"]
        assert len(state) < 26
        assert "May 3rd" in "\n".join(message.text for message in state)
