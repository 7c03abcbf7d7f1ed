"""The Postgres index keeps the contract of every index and finds what the SQLite index finds."""

import asyncio

import psycopg
import pytest

from langgraph_harness_memory.index.postgres import PostgresMemoryIndex
from langgraph_harness_memory.index.sqlite import MemoryIndex
from langgraph_harness_memory.testing.index_contract import LOG, MEMORY, IndexContract
from langgraph_harness_memory.workspace.local import LocalWorkspace
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace


@pytest.fixture
def index(postgres_url, schema):
    with PostgresWorkspace(postgres_url, schema=schema) as workspace:
        yield PostgresMemoryIndex(workspace)


class TestPostgresMemoryIndex(IndexContract):
    """Beside the files, in the same schema."""

    @pytest.fixture
    def index(self, postgres_url, schema):
        with PostgresWorkspace(postgres_url, schema=schema) as workspace:
            yield PostgresMemoryIndex(workspace)


class TestMemoryIndex(IndexContract):
    """The SQLite index over a folder, through the same suite."""

    @pytest.fixture
    def index(self, tmp_path):
        self._workspace = LocalWorkspace(tmp_path / "ws", fsync=False)
        index = MemoryIndex(self._workspace)
        yield index
        index.close()

    def index_workspace(self, index):
        return self._workspace


QUERIES = [
    "tea",
    "database migration",
    "What did we choose for the database?",
    "getUserById",
    "C++",
    "数据库",
    "deploy cluster",
    "postgres",
    "tea lemon coffee database",
]


@pytest.mark.parametrize("query", QUERIES)
def test_same_hits_as_sqlite(index, tmp_path, query):
    """Both back ends give the same lines, in the same order, with the same ranks."""
    local = LocalWorkspace(tmp_path / "ws", fsync=False)
    for workspace in (local, index.workspace):
        workspace.replace("MEMORY.md", MEMORY.encode())
        workspace.replace("memory/2026-03-04.md", LOG.encode())
    with MemoryIndex(local) as sqlite:
        expected = sqlite.search(query, 20)
    found = index.search(query, 20)
    assert [(h.path, h.line_number, round(h.rank, 6)) for h in found] == [
        (h.path, h.line_number, round(h.rank, 6)) for h in expected
    ]


def test_index_is_a_cache(index):
    """Its tables can be emptied at any time; the next search fills them again."""
    index.workspace.replace("MEMORY.md", MEMORY.encode())
    assert index.search("lemon")
    import psycopg

    with psycopg.connect(index.workspace.connections.conninfo, autocommit=True) as connection:
        connection.execute(f'TRUNCATE "{index.workspace.schema}".index_tenants CASCADE')
    assert index.search("lemon")[0].line_number == 3


def test_index_of_another_version_is_filled_again(index):
    """Rows that were cut another way are not searched."""
    index.workspace.replace("MEMORY.md", MEMORY.encode())
    assert index.search("lemon")
    import psycopg

    with psycopg.connect(index.workspace.connections.conninfo, autocommit=True) as connection:
        connection.execute(f"UPDATE \"{index.workspace.schema}\".index_tenants SET stamp = '0'")
        connection.execute(f"UPDATE \"{index.workspace.schema}\".index_lines SET terms = '', lexemes = ''")
    assert index.search("lemon")[0].line_number == 3


def test_tenant_is_filtered_by_the_index(index):
    """The query plan finds a tenant's lines in the GIN index, whatever the others hold."""
    import psycopg

    for user in range(40):
        lines = "".join(f"- fact {n} of the common topic number {n * user}\n" for n in range(100))
        index.workspace.replace(f"users/u{user}/MEMORY.md", lines.encode())
        index.for_tenant(f"u{user}").search("topic")
    schema = index.workspace.schema
    with psycopg.connect(index.workspace.connections.conninfo, autocommit=True) as connection:
        connection.execute(f'ANALYZE "{schema}".index_lines')
        connection.execute("SET enable_seqscan = off")
        (number,) = connection.execute(f"SELECT id FROM \"{schema}\".index_tenants WHERE root = 'users/u7'").fetchone()
        plan = connection.execute(
            f'EXPLAIN (ANALYZE, FORMAT JSON) SELECT 1 FROM "{schema}".index_lines WHERE lexemes @@ '
            f"$$' {number}' & 'topic'$$::tsquery"
        ).fetchone()[0][0]["Plan"]
    scans = [node for node in _nodes(plan) if "Index Name" in node]
    assert [scan["Index Name"] for scan in scans] == ["index_lines_by_lexeme"]
    assert scans[0]["Actual Rows"] == 100


def _nodes(plan):
    yield plan
    for inner in plan.get("Plans", []):
        yield from _nodes(inner)


def test_reindex_of_some_lines(index):
    """With a limit the rows of drawn files are compared, and every file that changed is read."""
    workspace = index.workspace
    for n in range(5):
        workspace.replace(f"knowledge/{n}.md", f"- walrus {n}\n- narwhal {n}\n".encode())
    assert len(index.search("walrus", 20)) == 5
    lie = f"UPDATE \"{workspace.schema}\".index_lines SET text = '- a lie' WHERE text LIKE '- walrus%%'"
    index._run(lambda: index._queries.ask(lie))

    def lies() -> int:
        return sum(hit.content == "- a lie" for hit in index.search("walrus", 20))

    index.reindex(lines=0)
    assert lies() == 5
    index.reindex(lines=2)
    assert 0 < lies() < 5
    index.reindex(lines=10_000)
    assert lies() == 0
    workspace.replace("knowledge/0.md", b"- a dolphin\n")
    index.reindex(lines=0)
    assert index.search("dolphin")


@pytest.mark.asyncio
async def test_areindex_of_some_lines(index):
    """The twin compares too."""
    index.workspace.replace("knowledge/0.md", b"- walrus\n")
    await index.areindex(lines=1)
    assert await index.asearch("walrus")


def _pages(index):
    """Bytes that the index's lines take in the server's files."""
    with psycopg.connect(index.workspace.connections.conninfo) as connection:
        found = connection.execute(f"SELECT pg_relation_size('\"{index.workspace.schema}\".index_lines')").fetchone()
    return found[0]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_what_is_purged_leaves_the_pages_of_the_table(index, is_async):
    """Forgetting reaches the bytes here too: a deleted row's page is given back, not only marked."""
    index.workspace.replace("knowledge/secret.md", b"- the launch code is 00000000\n")
    index.reindex()
    assert _pages(index) > 0
    index.workspace.delete("knowledge/secret.md")
    if is_async:

        async def purge():
            await index.aindex_text("knowledge/secret.md", "", purge=True)
            await index.workspace.aclose()

        asyncio.run(purge())
    else:
        index.index_text("knowledge/secret.md", "", purge=True)
    assert _pages(index) == 0


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_purged_tenant_has_no_rows_and_others_keep_theirs(index, is_async):
    """Deleting a user takes the user's rows and nobody else's."""
    index.workspace.replace("users/ann/MEMORY.md", b"- Ann likes tea\n")
    index.workspace.replace("users/bob/MEMORY.md", b"- Bob likes tea\n")
    index.reindex()
    index.workspace.delete("users/ann")
    if is_async:

        async def purge():
            await index.apurge(tenant="ann")
            await index.workspace.aclose()

        asyncio.run(purge())
    else:
        index.purge(tenant="ann")
    assert index.for_tenant("ann").search("tea") == []
    assert [hit.content for hit in index.for_tenant("bob").search("tea")] == ["- Bob likes tea"]


def test_an_index_is_opened_and_closed_like_the_one_on_disk(index):
    """As a context manager, sync and async; what it is shows whose memory it looks at, and a closed one is usable again."""
    index.workspace.replace("MEMORY.md", b"- Likes tea\n")
    with index as opened:
        assert len(opened.search("tea")) == 1

    async def use():
        async with index as opened:
            hits = await opened.asearch("tea")
        await index.workspace.aclose()
        return hits

    assert len(asyncio.run(use())) == 1
    assert len(index.search("tea")) == 1
    assert index.search("tea", 0) == []
    assert "tenant_root='users/ann'" in repr(index.for_tenant("ann"))
    assert "tenant_root='.'" in repr(index)


def test_hidden_files_and_other_tenants_have_no_rows(index):
    """Whoever hands over their text by name changes nothing."""
    index.index_text("memory/.tombstones", "- buried tea\n")
    index.index_text("users/ann/MEMORY.md", "- Ann likes tea\n")
    assert index.search("tea") == []
