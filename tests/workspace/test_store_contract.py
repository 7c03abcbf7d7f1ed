"""The store back end keeps the contract of every workspace but for what takes two writing processes."""

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_harness_memory.testing.workspace_contract import WorkspaceContract
from langgraph_harness_memory.workspace.store import TAIL, StoreWorkspace


class TestStoreWorkspace(WorkspaceContract):
    """LangGraph's own in-memory store."""

    excludes_others = False

    @pytest.fixture
    def workspace(self):
        return StoreWorkspace(InMemoryStore())

    def test_long_log_is_read_back_whole(self, ws):
        """A log that outgrows its item goes on in parts and reads as one, also across their borders."""
        line = b"x" * 9_999 + b"\n"
        for _ in range(20):
            ws.append("log", line)
        whole = line * 20
        assert ws.read("log").data == whole
        for border in (TAIL, 2 * TAIL, 3 * TAIL):
            assert ws.read("log", start=border - 5, end=border + 5).data == whole[border - 5 : border + 5]
        assert ws.read("log", start=len(whole) - 7).data == whole[-7:]

    def test_deleted_files_leave_nothing(self, workspace):
        """Deleting and replacing take the parts along: the store holds no byte of what is gone."""
        workspace.append("s/log", b"secret\n" * 30_000)
        workspace.replace("s/log", b"short\n")
        workspace.delete("s")
        assert workspace.store.search((), limit=100) == []

    def test_two_namespaces_do_not_meet(self):
        """Two workspaces of one store see their own files alone."""
        store = InMemoryStore()
        one, two = StoreWorkspace(store, ("one",)), StoreWorkspace(store, ("two",))
        one.append("a", b"1\n")
        assert two.read("a") is None
        assert two.files() == []
