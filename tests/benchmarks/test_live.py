"""The benchmark of real models runs against any OpenAI-compatible endpoint, and its measures can fail."""

import pytest

from benchmarks import live
from benchmarks._live_texts import CHANGES, REPEATED, SURVIVORS, TALKS, tells
from langgraph_harness_memory import ExtractiveChatModel
from langgraph_harness_memory.testing import OpenAIServer, ScriptedChatModel


@pytest.fixture
def endpoint(monkeypatch):
    """Serve a model where OPENAI_BASE_URL points to."""

    def serve(model):
        server = OpenAIServer(model=model).start()
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "unused")
        servers.append(server)
        return server

    servers: list[OpenAIServer] = []
    yield serve
    for server in servers:
        server.stop()


def test_every_measure_is_taken_over_the_wire(endpoint):
    """A name without a provider means the endpoint; each figure comes back as a number."""
    server = endpoint(ExtractiveChatModel())
    outcome = live.main(["--model", "any-name", "--only-ours"])
    ours = outcome.figures["ours"]
    assert all(isinstance(value, float) for value in ours.values()), ours
    assert ours["fact recall"] >= 0.8
    assert ours["silent when nothing"] == 1.0
    assert ours["later value wins"] == 1.0
    assert ours["survive 3 compactions"] >= 0.75
    assert len(server.requests) > len(TALKS)


def test_a_model_that_keeps_nothing_scores_nothing(endpoint):
    """Silence is right where there is nothing, and wrong everywhere else."""
    endpoint(ScriptedChatModel(script=["NO_REPLY"], repeat=True))
    ours = live.main(["--model", "any-name", "--only-ours"]).figures["ours"]
    assert ours["fact recall"] == 0.0
    assert ours["silent when nothing"] == 1.0
    assert str(ours["later value wins"]).startswith("failed")
    assert str(ours["survive 3 compactions"]).startswith("failed")


def test_a_model_that_repeats_everything_is_not_precise(endpoint):
    """Small talk written down costs precision, and silence is never reached."""

    def everything(messages):
        return "- The weather is nice.\n- We talked for a while."

    endpoint(ScriptedChatModel(script=[everything], repeat=True))
    ours = live.main(["--model", "any-name", "--only-ours"]).figures["ours"]
    assert ours["precision"] == 0.0
    assert ours["silent when nothing"] == 0.0


def test_an_endpoint_that_is_down_is_told(monkeypatch):
    """The table says why there is no figure."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    monkeypatch.setattr(live, "TALKS", TALKS[:1])
    monkeypatch.setattr(live, "QUIET", live.QUIET[:1])
    outcome = live.main(["--model", "any-name", "--only-ours"])
    assert str(outcome.figures["ours"]["fact recall"]).startswith("failed")
    assert not outcome.met


def test_every_fact_is_told_by_its_conversation():
    """The gold facts are facts: each one's words stand in what was said."""
    for talk in TALKS:
        said = "\n".join(talk.turns)
        words = [choice for fact in talk.facts for keyword in fact for choice in [keyword.split("|")]]
        assert all(any(choice in said.casefold() for choice in choices) for choices in words)
    assert all(tells(said, fact) for said, fact in SURVIVORS)
    assert all(change.stale in change.earlier.lower() and change.current in change.later.lower() for change in CHANGES)
    assert all(keyword in text.lower() for keyword, texts in REPEATED for text in texts)
