"""Exact counting with tiktoken, only where its vocabulary already lies on this disk.

`tiktoken.get_encoding` downloads what it does not find, and offline it raises or hangs for seconds. It must never be able to
stop a run, so the vocabulary's file is looked for and checked here first.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.conversation.tokens import TextCounter, TokenCounter

VOCABULARIES: Mapping[str, tuple[str, str]] = {
    "o200k_base": (
        "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
"""Where tiktoken gets a vocabulary from, which names its cached file, and the SHA-256 that it insists on."""

NEWEST = "o200k_base"
"""Encoding of OpenAI models that the installed tiktoken does not know yet."""

OPENAI_CLASSES = frozenset({"ChatOpenAI", "AzureChatOpenAI"})
"""Chat models whose requests tiktoken counts; their subclasses for other providers are named differently."""

SLICE_CHARS = 20_000
"""Longest piece given to tiktoken at once: a megabyte without a space takes it minutes, a piece milliseconds."""


class Encoding(Protocol):
    """What is needed of a `tiktoken.Encoding`."""

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the tokens of a text; nothing in it is taken for a special token."""
        ...


def counter_for(kind: Literal["auto", "estimate"] | Callable[[list[BaseMessage]], int], model: Any) -> TokenCounter:
    """Build the counter that a setting asks for.

    Args:
        kind: `auto`, `estimate` or the user's own function of a list of messages.
        model: The agent's chat model, whatever it is wrapped in; `None` = not known.
    """
    if callable(kind):
        return TokenCounter(messages=kind)
    encoding = encoding_of(model) if kind == "auto" else None
    return TokenCounter() if encoding is None else TokenCounter(text=exact(encoding))


def exact(encoding: Encoding) -> TextCounter:
    """Return a counter of texts that asks an encoding; texts that look like special tokens are text."""

    def count(text: str, /) -> int:
        clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        pieces = (clean[start : start + SLICE_CHARS] for start in range(0, len(clean), SLICE_CHARS))
        return sum(len(encoding.encode_ordinary(piece)) for piece in pieces)

    return count


def encoding_of(model: Any) -> Encoding | None:
    """Find the encoding of an OpenAI chat model; `None` for another model or where its vocabulary is not on disk."""
    inner = unwrapped(model)
    if type(inner).__name__ not in OPENAI_CLASSES:
        return None
    return encoding_on_disk(_encoding_name(str(getattr(inner, "model_name", ""))))


def encoding_on_disk(name: str) -> Encoding | None:
    """Load an encoding without a download; `None` where that is not possible."""
    try:
        import tiktoken  # noqa: PLC0415  its import compiles patterns, and most runs never count with it
        from tiktoken.registry import ENCODINGS  # noqa: PLC0415
    except ImportError:
        return None
    if name in ENCODINGS:
        return ENCODINGS[name]
    if not has_vocabulary(name):
        return None
    try:
        return tiktoken.get_encoding(name)
    except (OSError, ValueError):
        return None


def has_vocabulary(name: str) -> bool:
    """Say whether the vocabulary of an encoding lies on disk, whole."""
    path = vocabulary_path(name)
    if path is None:
        return False
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == VOCABULARIES[name][1]
    except OSError:
        return False


def vocabulary_path(name: str) -> Path | None:
    """Return where tiktoken keeps the vocabulary of an encoding; `None` for an unknown one or with its cache switched off."""
    if name not in VOCABULARIES:
        return None
    # tiktoken's own rule: the first of the two variables that is set, also when it is empty.
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":
        return None
    root = Path(folder) if folder is not None else Path(tempfile.gettempdir()) / "data-gym-cache"
    return root / hashlib.sha1(VOCABULARIES[name][0].encode(), usedforsecurity=False).hexdigest()


def unwrapped(model: Any) -> Any:
    """Return the chat model inside bindings, retries and fallbacks."""
    for _ in range(8):
        inner = getattr(model, "bound", None) or getattr(model, "runnable", None)
        if inner is None:
            break
        model = inner
    return model


def window_of(model: Any) -> int | None:
    """Return how many tokens a chat model takes in, as its profile tells; `None` where it does not."""
    profile = getattr(unwrapped(model), "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    return window if isinstance(window, int) and not isinstance(window, bool) and window > 0 else None


def _encoding_name(model_name: str) -> str:
    try:
        from tiktoken.model import encoding_name_for_model  # noqa: PLC0415  see above

        return str(encoding_name_for_model(model_name))
    except (ImportError, KeyError):
        return NEWEST
