"""Names of chat models lead to models, or to an error that says what to write."""

import sys

import pytest

from langgraph_harness_memory.errors import MissingExtra, SettingError
from langgraph_harness_memory.models import resolve_model
from langgraph_harness_memory.testing import ScriptedChatModel


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "unused")


@pytest.mark.parametrize("name", ["openai:gpt-5.5", "gpt-5.5", "o3-mini"])
def test_a_name_of_openai_needs_no_extra(name, monkeypatch) -> None:
    """With its provider or without, as OpenAI writes it."""
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    model = resolve_model(name)
    assert type(model).__name__ == "ChatOpenAI"
    assert model.model_name == name.removeprefix("openai:")


def test_a_model_is_taken_as_it_is() -> None:
    model = ScriptedChatModel(script=[])
    assert resolve_model(model) is model


def test_another_provider_comes_through_langchain() -> None:
    model = resolve_model("anthropic:claude-haiku-5")
    assert type(model).__name__ == "ChatAnthropic"


def test_another_provider_without_langchain_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(MissingExtra, match=r"'anthropic:claude-haiku-5' needs the extra 'agents'"):
        resolve_model("anthropic:claude-haiku-5")


@pytest.mark.parametrize("name", ["openai:", "claude-haiku-5", "", "llama"])
def test_half_a_name_is_refused_with_a_whole_one(name) -> None:
    with pytest.raises(SettingError, match=r"'openai:gpt-5\.5'"):
        resolve_model(name)
