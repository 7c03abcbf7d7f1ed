"""A schema of its own for every test, on `HARNESS_TEST_POSTGRES` or the local server; dropped afterwards."""

import os
import secrets

import psycopg
import pytest

URL = os.environ.get("HARNESS_TEST_POSTGRES") or "postgresql://postgres@127.0.0.1:5432/test"


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """Return the server's URL; without a server skip, and fail in CI, where one is promised."""
    try:
        psycopg.connect(URL, connect_timeout=3).close()
    except psycopg.OperationalError as error:
        if os.environ.get("CI") or os.environ.get("HARNESS_TEST_POSTGRES"):
            pytest.fail(f"no Postgres for the tests: {error}")
        pytest.skip(f"no Postgres for the tests (set HARNESS_TEST_POSTGRES): {error}")
    return URL


@pytest.fixture
def schema(postgres_url):
    """Name a schema that does not exist yet, and drop it at the end."""
    name = f"hm_test_{os.getpid()}_{secrets.token_hex(4)}"
    yield name
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')
