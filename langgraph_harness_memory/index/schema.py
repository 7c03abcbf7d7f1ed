"""The tables of the index file.

    tenant ─< file ─< line            rows, with their text and terms
                 └──< occurrence      in how many lines of a file a term stands: df, and the file's own score
    fts_<tenant>                      FTS5 over the terms of that tenant's lines, so that no statistics are shared

The terms are cut in Python and joined by blanks; FTS5 only splits at blanks. Whatever changes how terms are cut must
raise `VERSION`, so that an older file is rebuilt; so does another Unicode table.
"""

import unicodedata

APPLICATION = 0x4C48_4D49
"""`application_id` of our index files ("LHMI"): another SQLite file that lies at our path is left alone."""

VERSION = 1
"""Raised by any change of tables or of the way terms are cut."""

STAMP = f"{VERSION}/unicode-{unicodedata.unidata_version}"
"""What an index file must say of itself to be used as it is."""

TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE tenant (id INTEGER PRIMARY KEY, root TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL DEFAULT 0)",
    """CREATE TABLE file (
        id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, path TEXT NOT NULL,
        fingerprint TEXT NOT NULL, checked REAL NOT NULL, on_disk INTEGER NOT NULL,
        size INTEGER NOT NULL, prefix TEXT NOT NULL, whole TEXT NOT NULL,
        number INTEGER NOT NULL, heading TEXT NOT NULL, day TEXT NOT NULL, source TEXT NOT NULL,
        lines INTEGER NOT NULL, terms INTEGER NOT NULL,
        UNIQUE (tenant, path))""",
    """CREATE TABLE line (
        id INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, file INTEGER NOT NULL, number INTEGER NOT NULL,
        text TEXT NOT NULL, terms TEXT NOT NULL, heading TEXT NOT NULL, day TEXT NOT NULL, source TEXT NOT NULL,
        is_heading INTEGER NOT NULL)""",
    "CREATE INDEX line_of_file ON line (file, number)",
    "CREATE INDEX line_of_day ON line (tenant, day)",
    """CREATE TABLE occurrence (
        tenant INTEGER NOT NULL, term TEXT NOT NULL, file INTEGER NOT NULL, lines INTEGER NOT NULL,
        PRIMARY KEY (tenant, term, file)) WITHOUT ROWID""",
    "CREATE TABLE vector (line INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, hash TEXT NOT NULL, value BLOB NOT NULL)",
)

TOKENIZER = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
"""Everything but white space belongs to a term: `c++`, `.net`, an emoji."""


def tenant_tables(tenant: int) -> tuple[str, ...]:
    """Return the statements that make one tenant's full-text table."""
    tokenizer = TOKENIZER.replace("'", "''")
    options = f"content='line_{tenant}', content_rowid='id', tokenize='{tokenizer}'"
    return (
        f"CREATE VIEW line_{tenant} AS SELECT id, terms FROM line WHERE tenant = {tenant}",
        f"CREATE VIRTUAL TABLE fts_{tenant} USING fts5(terms, {options})",
    )


def drop_tenant(tenant: int) -> tuple[str, ...]:
    """Return the statements that remove every trace of a tenant from the tables."""
    return (
        f"DROP TABLE IF EXISTS fts_{tenant}",
        f"DROP VIEW IF EXISTS line_{tenant}",
        f"DELETE FROM vector WHERE tenant = {tenant}",
        f"DELETE FROM occurrence WHERE tenant = {tenant}",
        f"DELETE FROM line WHERE tenant = {tenant}",
        f"DELETE FROM file WHERE tenant = {tenant}",
        f"DELETE FROM tenant WHERE id = {tenant}",
    )
