"""The exact tokenizer that estimates are held against, where the development tools bring one."""

import gzip
import importlib.resources
import os
from collections.abc import Callable
from pathlib import Path

from langgraph_harness_memory.conversation.vocabulary import encoding_on_disk, exact, vocabulary_path


def reference(name: str) -> Callable[[str], int]:
    """Return a function that counts exactly with an encoding of OpenAI's; needs the package `bpe-openai`."""
    import bpe_openai

    encoding = bpe_openai.get_encoding(name)
    return lambda text: len(encoding.encode(text))


def install(name: str, folder: Path) -> Callable[[str], int] | None:
    """Put a vocabulary where tiktoken looks for one, as `doctor` does with a download, and count with tiktoken itself.

    Args:
        name: The encoding.
        folder: An empty folder; tiktoken's cache is pointed at it.
    """
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    path = vocabulary_path(name)
    packed = importlib.resources.files("bpe_openai") / "data" / f"{name}.tiktoken.gz"
    if path is None or not packed.is_file():
        return None
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    encoding = encoding_on_disk(name)
    return None if encoding is None else exact(encoding)
