"""What every back end of the index must do: inherit `IndexContract` and say how to open one over an empty workspace.

    class TestMine(IndexContract):
        @pytest.fixture
        def index(self, tmp_path):
            return MyIndex(LocalWorkspace(tmp_path))

The index has its workspace as `index_workspace(index)` says. Every search runs through `search` and through `asearch`.
"""

import asyncio
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from langgraph_harness_memory.index.hits import SearchHit

MEMORY = """\
# Memory

- Likes tea with lemon
- The primary database is PostgreSQL 16
- getUserById is slow; apply_secrets and __init__ were rewritten
- Works with C++ and C#, and on node.js and .NET
- POL-358 is the open policy ticket; src/main.py holds the entry point
- 用PostgreSQL作为主数据库
- 今日は成語しりとりをした
- 오늘 끝말잇기 게임을 했다
- Café at Alice's corner
- ship it 🚀
"""

LOG = """\
# 2026-03-04

## 10:00 | session t1

- Chose Alembic for database migration
- Deployed the staging cluster
"""

ANY_QUERY = [
    "",
    " ",
    "\0",
    '"',
    '"unbalanced',
    "foo(bar",
    "*",
    "^x",
    "-prod",
    "AND",
    "NOT",
    "NEAR(a b)",
    "a:b",
    "foo:bar",
    "'",
    "\\",
    "'quoted' & | !",
    "<->",
    "a & ! b",
    "%",
    "_",
    "{}",
    "%s %(x)s",
    "\ud800",
    "x " * 10_000,
    "🚀🚀",
    "2026-13-45",
]
"""Queries that have broken one search language or another."""


class IndexContract:
    """The contract; see the module."""

    @pytest.fixture
    def index(self) -> Any:
        """Return an index over an empty workspace."""
        raise NotImplementedError("say which back end is tested")

    def index_workspace(self, index: Any) -> Any:
        """Return the workspace that an index reads."""
        return index.workspace

    @pytest.fixture(params=["sync", "async"])
    def search(self, request: pytest.FixtureRequest, index: Any) -> Iterator[Any]:
        """Search sync and async."""
        if request.param == "sync":
            yield index.search
            return
        with asyncio.Runner() as runner:

            def search(*args: Any, **kwargs: Any) -> list[SearchHit]:
                async def call() -> list[SearchHit]:
                    found: list[SearchHit] = await index.asearch(*args, **kwargs)
                    return found

                return runner.run(call())

            yield search
            close = getattr(self.index_workspace(index), "aclose", None)
            if close is not None:
                runner.run(close())

    @pytest.fixture
    def memory(self, index: Any) -> Any:
        """Fill the workspace with a small memory."""
        workspace = self.index_workspace(index)
        workspace.replace("MEMORY.md", MEMORY.encode())
        workspace.replace("memory/2026-03-04.md", LOG.encode())
        workspace.replace("users/bob/MEMORY.md", b"- Bob drinks coffee, never tea\n")
        return workspace

    @pytest.mark.usefixtures("memory")
    @pytest.mark.parametrize(
        ("query", "line"),
        [
            ("tea", 3),
            ("what does the user drink with lemon?", 3),
            ("primary database", 4),
            ("getUserById", 5),
            ("getUser", 5),
            ("apply_secrets", 5),
            ("__init__", 5),
            ("C++", 6),
            ("node.js", 6),
            (".NET", 6),
            ("POL-358", 7),
            ("src/main.py", 7),
            ("数据库", 8),
            ("库", 8),
            ("しりとり", 9),
            ("끝말잇기", 10),
            ("cafe", 11),
            ("Alice", 11),
            ("🚀", 12),
        ],
    )
    def test_finds_the_line(self, search: Any, query: str, line: int) -> None:
        """Words, identifiers and scripts without spaces find their line first."""
        best = search(query, 3)[0]
        assert (best.path, best.line_number) == ("MEMORY.md", line)
        assert best.content == MEMORY.splitlines()[line - 1]

    @pytest.mark.usefixtures("memory")
    def test_question_finds_the_log(self, search: Any) -> None:
        """A question in natural language finds the line that answers it, with its day and heading."""
        best = search("What did the user say about the database migration?")[0]
        assert best.content == "- Chose Alembic for database migration"
        assert best.date == date(2026, 3, 4)
        assert best.line_number == 5

    @pytest.mark.usefixtures("memory")
    def test_stem_finds_other_forms(self, search: Any) -> None:
        """`deploy` finds `Deployed`."""
        assert search("deploy")[0].content == "- Deployed the staging cluster"

    @pytest.mark.usefixtures("memory")
    def test_order_and_limit(self, search: Any) -> None:
        """Hits come best first, and no more than asked for."""
        found = search("database PostgreSQL migration", 3)
        assert len(found) == 3
        assert [hit.rank for hit in found] == sorted(hit.rank for hit in found)
        assert search("database", 0) == []

    @pytest.mark.usefixtures("memory")
    def test_days_bound_a_search(self, search: Any) -> None:
        """`since` and `until` keep lines of those days alone."""
        day = date(2026, 3, 4)
        assert {hit.path for hit in search("database", 10, since=day)} == {"memory/2026-03-04.md"}
        assert search("database", 10, since=date(2026, 3, 5)) == []
        assert search("database", 10, until=date(2026, 3, 3)) == []
        assert len(search("database", 10, since=day, until=day)) == 1

    @pytest.mark.usefixtures("memory")
    @pytest.mark.parametrize("query", ANY_QUERY, ids=lambda q: repr(q[:12]))
    def test_any_string_is_a_query(self, search: Any, query: str) -> None:
        """No string makes a search fail."""
        assert isinstance(search(query), list)

    @pytest.mark.usefixtures("memory")
    def test_paths_and_numbers_are_not_content(self, search: Any) -> None:
        """A word of a file's name does not match every line of it."""
        assert len(search("2026", 10)) <= 2
        assert all("emory" in hit.content for hit in search("memory", 10))

    @pytest.mark.usefixtures("memory")
    def test_tenants_do_not_meet(self, index: Any) -> None:
        """Each tenant finds its own lines alone, by paths relative to its root."""
        bob = index.for_tenant("bob")
        assert [(h.path, h.content) for h in bob.search("tea")] == [("MEMORY.md", "- Bob drinks coffee, never tea")]
        assert all("Bob" not in hit.content for hit in index.search("tea coffee", 50))
        assert index.for_tenant("eve").search("tea") == []
        assert bob.search("lemon database Alembic") == []

    def test_sees_hand_edits(self, search: Any, memory: Any) -> None:
        """What is written, moved or deleted in the workspace is right at the next search."""
        search("tea")
        memory.append("memory/2026-03-04.md", b"- Prefers espresso\n")
        assert search("espresso")[0].line_number == 7
        memory.replace("MEMORY.md", MEMORY.replace("tea with lemon", "matcha").encode())
        assert search("lemon") == []
        assert search("matcha")[0].line_number == 3
        memory.move("memory/2026-03-04.md", "memory/archive/2026-03-04.md")
        assert {hit.path for hit in search("espresso")} == {"memory/archive/2026-03-04.md"}
        memory.delete("memory")
        assert search("espresso") == []

    def test_line_that_was_not_ended(self, search: Any, memory: Any) -> None:
        """A last line that grows is one line, not two."""
        memory.replace("MEMORY.md", b"- knows Haskell")
        assert [h.content for h in search("Haskell")] == ["- knows Haskell"]
        memory.replace("MEMORY.md", b"- knows Haskell and Elm\n- new\n")
        assert [h.content for h in search("Haskell")] == ["- knows Haskell and Elm"]

    def test_lines_that_move_keep_their_numbers_right(self, search: Any, memory: Any) -> None:
        """A line inserted above moves the others down."""
        search("lemon")
        memory.replace("MEMORY.md", b"- first\n" + MEMORY.encode())
        assert search("lemon")[0].line_number == 4
        memory.replace("MEMORY.md", MEMORY.encode())
        assert search("lemon")[0].line_number == 3

    @pytest.mark.usefixtures("memory")
    def test_text_that_is_handed_in(self, index: Any) -> None:
        """`index_text` adds, changes and removes the rows of one path."""
        index.index_text("notes/x.md", "a walrus\n")
        assert index.search("walrus")[0].path == "notes/x.md"
        index.index_text("notes/x.md", "a narwhal\n")
        assert index.search("walrus") == []
        index.index_text("notes/x.md", "")
        assert index.search("narwhal") == []

    def test_hidden_files_have_no_rows(self, index: Any, memory: Any) -> None:
        """Tombstones, backups and change logs hold what was dropped and are never found."""
        for path in ("memory/.tombstones", "memory/.backups/MEMORY.1.md", "memory/CHANGES.md", "sessions/t.log.jsonl"):
            memory.replace(path, b"- a dropped secretword\n")
            index.index_text(path, "- a dropped secretword\n")
        assert index.search("secretword") == []

    @pytest.mark.usefixtures("memory")
    def test_reindex_repairs(self, index: Any) -> None:
        """Reindexing again changes nothing, and finds what there is."""
        before = index.search("database", 20)
        index.reindex()
        index.reindex()
        assert index.search("database", 20) == before

    def test_purge_removes_a_tenant(self, index: Any, memory: Any) -> None:
        """A purged tenant whose files are gone has no rows."""
        assert index.for_tenant("bob").search("coffee")
        memory.delete("users/bob")
        index.purge(tenant="bob")
        assert index.for_tenant("bob").search("coffee") == []
        assert index.search("tea")

    def test_bytes_that_are_no_text(self, search: Any, memory: Any) -> None:
        """Invalid UTF-8, NUL and a line of 70,000 characters are searched as well as they can be."""
        memory.replace("knowledge/odd.md", b"- caf\xe9 walrus\n- nul \0 narwhal\n- " + b"word " * 14_000 + b"dolphin\n")
        assert search("walrus")[0].path == "knowledge/odd.md"
        assert search("narwhal")[0].line_number == 2
        assert search("dolphin")[0].line_number == 3

    def test_duplicates_leave_room(self, search: Any, memory: Any) -> None:
        """Nine copies of one fact on nine days do not hide another one."""
        for day in range(1, 10):
            memory.replace(f"memory/2026-05-0{day}.md", b"- The gateway timeout is 30 seconds\n")
        memory.replace("memory/2026-05-10.md", b"- The gateway runs in Frankfurt\n")
        assert any("Frankfurt" in hit.content for hit in search("gateway", 5))
