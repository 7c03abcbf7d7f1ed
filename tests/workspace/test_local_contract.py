"""The folder back end keeps the contract of every workspace."""

import pytest

from langgraph_harness_memory.testing.workspace_contract import WorkspaceContract
from langgraph_harness_memory.workspace.local import LocalWorkspace


class TestLocalWorkspace(WorkspaceContract):
    """A folder, with fsync on."""

    @pytest.fixture
    def workspace(self, tmp_path):
        return LocalWorkspace(tmp_path / "ws")

    def another(self, workspace):
        return LocalWorkspace(workspace.root)
