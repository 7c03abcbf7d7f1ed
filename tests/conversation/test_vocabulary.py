"""Exact counting where a vocabulary is on disk, and never a download."""

import hashlib
import socket
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from langchain_core.messages import HumanMessage
from langchain_openai import AzureChatOpenAI, ChatOpenAI
from tiktoken import registry

from langgraph_harness_memory.conversation import vocabulary
from langgraph_harness_memory.conversation.estimate import estimate_tokens
from langgraph_harness_memory.conversation.vocabulary import (
    counter_for,
    encoding_of,
    encoding_on_disk,
    exact,
    has_vocabulary,
    vocabulary_path,
    window_of,
)
from langgraph_harness_memory.testing import ScriptedChatModel

ENCODING = tiktoken.Encoding(
    name="small",
    pat_str=r"\w+|\s|[^\w\s]",
    mergeable_ranks={**{bytes([i]): i for i in range(256)}, b"wo": 256, b"rd": 257, b"word": 258},
    special_tokens={"<|endoftext|>": 259},
)
"""A real encoding of tiktoken's with 258 merges."""


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Point tiktoken's cache at an empty folder and make any connection an error."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(registry, "ENCODINGS", {})
    return tmp_path


def openai(name: str = "gpt-4o") -> ChatOpenAI:
    return ChatOpenAI(model=name, api_key="none")


def test_without_a_vocabulary_the_estimate_counts() -> None:
    """Offline, `auto` neither raises nor waits."""
    counter = counter_for("auto", openai())
    assert counter.text("some words of a text") == estimate_tokens("some words of a text")


def test_a_real_encoding_counts_where_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """tiktoken's own registry is asked first."""
    monkeypatch.setitem(registry.ENCODINGS, "o200k_base", ENCODING)
    counter = counter_for("auto", openai())
    assert counter.text("word word") == 3
    assert counter.message(HumanMessage("word word")) == 3 + 4


def test_a_whole_vocabulary_on_disk_is_used(monkeypatch: pytest.MonkeyPatch, no_cache: Path) -> None:
    """The cached file under tiktoken's own name is found and loaded."""
    import base64

    lines = b"".join(base64.b64encode(token) + b" " + str(rank).encode() + b"\n" for token, rank in RANKS.items())
    url = vocabulary.VOCABULARIES["o200k_base"][0]
    digest = hashlib.sha256(lines).hexdigest()
    monkeypatch.setattr(vocabulary, "VOCABULARIES", {"o200k_base": (url, digest)})
    path = vocabulary_path("o200k_base")
    assert path is not None
    assert path.parent == no_cache
    path.write_bytes(lines)
    assert has_vocabulary("o200k_base")


RANKS = {bytes([i]): i for i in range(256)}


def test_a_damaged_vocabulary_is_not_given_to_tiktoken(no_cache: Path) -> None:
    """tiktoken deletes a file with another hash and downloads it again."""
    path = vocabulary_path("o200k_base")
    assert path is not None
    path.write_bytes(b"damaged")
    assert encoding_on_disk("o200k_base") is None
    assert path.read_bytes() == b"damaged"


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_cached_files_name_is_tiktokens(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The name is the SHA-1 of the address, in the folder that tiktoken's variables name."""
    known = {
        "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    }
    assert vocabulary_path(name) == tmp_path / known[name]
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", "/elsewhere")
    assert vocabulary_path(name) == Path("/elsewhere") / known[name]
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert vocabulary_path(name) is None


def test_an_unknown_encoding_is_on_no_disk() -> None:
    """Nothing is asked of tiktoken that it would have to fetch."""
    assert encoding_on_disk("p50k_base") is None
    assert vocabulary_path("p50k_base") is None


def test_only_openais_own_models_are_counted_with_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another provider's model, a fake one or none has no encoding; a wrapped one and Azure's have."""
    monkeypatch.setitem(registry.ENCODINGS, "o200k_base", ENCODING)
    azure = AzureChatOpenAI(
        model="gpt-4o", azure_endpoint="https://example.invalid", api_version="2026-01-01", api_key="none"
    )
    for model in (openai(), openai().bind(stop=["x"]), openai().with_retry(), openai("gpt-99-new"), azure):
        assert encoding_of(model) is ENCODING
    for model in (None, object(), ScriptedChatModel()):
        assert encoding_of(model) is None


def test_exact_counting_takes_any_text() -> None:
    """Special tokens are text, lone surrogates do not raise, and a long line does not stall."""
    count = exact(ENCODING)
    assert count("<|endoftext|>") > 1
    assert count("\ud800") > 0
    assert count("word" * 50_000) > 0


def test_a_users_counter_takes_the_place_of_both() -> None:
    """A function given as the setting counts messages."""
    assert (
        counter_for(lambda messages: 7 * len(messages), openai()).messages([HumanMessage("a"), HumanMessage("b")]) == 14
    )


@pytest.mark.parametrize(
    ("profile", "window"),
    [({"max_input_tokens": 8_192}, 8_192), ({}, None), (None, None), ({"max_input_tokens": 0}, None)],
)
def test_the_window_is_what_the_profile_tells(profile: Any, window: int | None) -> None:
    """A model without a profile has no known window."""
    model = openai()
    model.profile = profile
    assert window_of(model) == window
    assert window_of(model.bind(stop=["x"])) == window
    assert window_of(None) is None
