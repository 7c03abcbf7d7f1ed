"""The Postgres back end keeps the contract of every workspace."""

import pytest

from langgraph_harness_memory.testing.workspace_contract import WorkspaceContract
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace


class TestPostgresWorkspace(WorkspaceContract):
    """A schema of its own."""

    @pytest.fixture
    def workspace(self, postgres_url, schema):
        self._others = []
        with PostgresWorkspace.from_conn_string(postgres_url, schema=schema) as workspace:
            yield workspace
            for other in self._others:
                other.close()

    def another(self, workspace):
        other = PostgresWorkspace(workspace.connections.conninfo, schema=workspace.schema)
        self._others.append(other)
        return other
