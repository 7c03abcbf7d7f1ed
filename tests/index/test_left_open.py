"""An index that nobody closes gives its file back without a word."""

import gc
import warnings

from langgraph_harness_memory import MemoryIndex


def test_an_index_that_is_let_go_of_closes_its_file(tmp_path) -> None:
    """Since Python 3.13 SQLite warns of a connection that is collected while open, and users saw it on stderr."""
    folder = tmp_path / "w" / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("- Likes tea\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        index = MemoryIndex(folder)
        assert index.search("tea")
        del index
        gc.collect()
    with MemoryIndex(folder) as again:
        assert again.search("tea")
