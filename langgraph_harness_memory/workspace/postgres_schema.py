"""The tables of a Postgres workspace and how an older schema becomes the present one; pure, no connection.

Each migration is a function that is named after what it brings. Those that a schema lacks run in order, in one
transaction under one lock, so that replicas that start together agree. A migration that was released never changes.
"""

from collections.abc import Callable, Sequence

from langgraph_harness_memory.errors import WorkspaceError
from langgraph_harness_memory.workspace.postgres_sql import Begin, Query, Work, advisory_key

Migration = Callable[[str], list[str]]
"""Takes the quoted name of the schema and gives the statements that bring what it is named after."""


def files_chunks_and_leases(schema: str) -> list[str]:
    """Create the tree of files and the leases."""
    return [
        f"CREATE SEQUENCE IF NOT EXISTS {schema}.contents",
        f"""
        CREATE TABLE IF NOT EXISTS {schema}.files (
            path text COLLATE "C" PRIMARY KEY,
            content bigint NOT NULL,
            size bigint NOT NULL,
            ends_whole boolean NOT NULL,
            token text NOT NULL,
            modified timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """,
        f"""
        CREATE TABLE IF NOT EXISTS {schema}.chunks (
            content bigint NOT NULL,
            start bigint NOT NULL,
            data bytea NOT NULL,
            token text NOT NULL,
            PRIMARY KEY (content, start)
        )
        """,
        f"CREATE UNIQUE INDEX IF NOT EXISTS files_by_content ON {schema}.files (content)",
        f"""
        CREATE TABLE IF NOT EXISTS {schema}.leases (
            name text PRIMARY KEY,
            owner text NOT NULL,
            until timestamptz NOT NULL
        )
        """,
    ]


MIGRATIONS: tuple[Migration, ...] = (files_chunks_and_leases,)
"""In the order they were released."""


def migrate(schema: str, migrations: Sequence[Migration]) -> Work[list[str]]:
    """Run the migrations that a schema lacks; a role that may not create anything can use a schema that lacks none.

    Args:
        schema: A checked identifier, unquoted.
        migrations: Oldest first.

    Returns:
        The names of those that ran.

    Raises:
        WorkspaceError: The database does not hold text as UTF-8.
    """
    quoted = f'"{schema}"'
    yield Begin()
    yield _ask("SELECT pg_advisory_xact_lock(%(key)s)", key=advisory_key(schema, "migrations"))
    rows = yield _ask("SHOW server_encoding")
    if rows[0][0] != "UTF8":
        raise WorkspaceError(f"the database holds text as {rows[0][0]}, not as UTF8: create one with ENCODING 'UTF8'")
    rows = yield _ask("SELECT to_regclass(%(table)s) IS NOT NULL", table=f"{quoted}.migrations")
    if not rows[0][0]:
        rows = yield _ask("SELECT to_regnamespace(%(schema)s) IS NOT NULL", schema=quoted)
        if not rows[0][0]:
            yield _ask(f"CREATE SCHEMA {quoted}")
        yield _ask(
            f"CREATE TABLE {quoted}.migrations (name text PRIMARY KEY, applied timestamptz NOT NULL DEFAULT clock_timestamp())"
        )
    rows = yield _ask(f"SELECT name FROM {quoted}.migrations")
    done = {row[0] for row in rows}
    missing = [migration for migration in migrations if migration.__name__ not in done]
    for migration in missing:
        for statement in migration(quoted):
            yield _ask(statement)
        yield _ask(f"INSERT INTO {quoted}.migrations (name) VALUES (%(name)s)", name=migration.__name__)
    return [migration.__name__ for migration in missing]


def _ask(text: str, **values: object) -> Query:
    return Query(text=text, values=values)
