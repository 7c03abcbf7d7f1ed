"""Session logs keep one contract on a folder, on Postgres and in a store."""

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_harness_memory.testing.session_contract import SessionContract
from langgraph_harness_memory.workspace.local import LocalWorkspace
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace
from langgraph_harness_memory.workspace.store import StoreWorkspace


class TestSessionsInAFolder(SessionContract):
    @pytest.fixture
    def workspace(self, tmp_path):
        return LocalWorkspace(tmp_path / "ws")

    def another(self, workspace):
        return LocalWorkspace(workspace.root)


class TestSessionsOnPostgres(SessionContract):
    @pytest.fixture
    def workspace(self, postgres_url, schema):
        self._others = []
        with PostgresWorkspace(postgres_url, schema=schema) as workspace:
            yield workspace
            for other in self._others:
                other.close()

    def another(self, workspace):
        other = PostgresWorkspace(workspace.connections.conninfo, schema=workspace.schema)
        self._others.append(other)
        return other


class TestSessionsInAStore(SessionContract):
    excludes_others = False

    @pytest.fixture
    def workspace(self):
        return StoreWorkspace(InMemoryStore())
