"""The tables of the index in Postgres, beside the workspace's own; pure text.

    index_tenants ─< index_files ─< index_lines        rows, with their text, terms and lexemes
                               └──< index_occurrences   in how many lines of a file a term stands

The terms are cut in Python; `lexemes` holds them as they are, and with them one lexeme that names the tenant, so that
the GIN index itself finds one tenant's lines and no extension is needed for it.
"""

import unicodedata

VERSION = 1
"""Raised by any change in the way terms are cut: an older index is emptied and filled again."""

STAMP = f"{VERSION}/unicode-{unicodedata.unidata_version}"


def index_of_lines(schema: str) -> list[str]:
    """Create the index; it can be dropped at any time and is filled again from the files."""
    return [
        f"""
        CREATE TABLE {schema}.index_tenants (
            id serial PRIMARY KEY,
            root text COLLATE "C" NOT NULL UNIQUE,
            generation bigint NOT NULL DEFAULT 0,
            stamp text NOT NULL
        )
        """,
        f"""
        CREATE TABLE {schema}.index_files (
            id bigserial PRIMARY KEY,
            tenant integer NOT NULL REFERENCES {schema}.index_tenants ON DELETE CASCADE,
            path text COLLATE "C" NOT NULL,
            fingerprint text NOT NULL DEFAULT '',
            stored boolean NOT NULL DEFAULT false,
            size bigint NOT NULL DEFAULT 0,
            prefix text NOT NULL DEFAULT '',
            whole text NOT NULL DEFAULT '',
            number integer NOT NULL DEFAULT 0,
            heading text NOT NULL DEFAULT '',
            day text NOT NULL DEFAULT '',
            source text NOT NULL DEFAULT '',
            lines integer NOT NULL DEFAULT 0,
            terms bigint NOT NULL DEFAULT 0,
            UNIQUE (tenant, path)
        )
        """,
        f"""
        CREATE TABLE {schema}.index_lines (
            id bigserial PRIMARY KEY,
            tenant integer NOT NULL,
            file bigint NOT NULL REFERENCES {schema}.index_files ON DELETE CASCADE,
            number integer NOT NULL,
            text text NOT NULL,
            terms text NOT NULL,
            length integer NOT NULL,
            heading text NOT NULL,
            day text COLLATE "C" NOT NULL,
            source text NOT NULL,
            is_heading boolean NOT NULL,
            lexemes tsvector NOT NULL
        )
        """,
        f"CREATE INDEX index_lines_by_lexeme ON {schema}.index_lines USING gin (lexemes) WITH (fastupdate = off)",
        f"CREATE INDEX index_lines_by_file ON {schema}.index_lines (file, number)",
        f"CREATE INDEX index_lines_by_day ON {schema}.index_lines (tenant, day)",
        f"""
        CREATE TABLE {schema}.index_occurrences (
            tenant integer NOT NULL,
            term text COLLATE "C" NOT NULL,
            file bigint NOT NULL REFERENCES {schema}.index_files ON DELETE CASCADE,
            lines integer NOT NULL,
            PRIMARY KEY (tenant, term, file)
        )
        """,
        f"CREATE INDEX index_occurrences_by_file ON {schema}.index_occurrences (file)",
    ]
