"""A server whose replicas lose their disks gets no folder for a memory."""

from pathlib import Path

import pytest

from langgraph_harness_memory.deploy import memory_from
from langgraph_harness_memory.errors import SettingError


@pytest.mark.parametrize("workspace", [{}, {"HARNESS_MEMORY_WORKSPACE": "/data/workspace"}])
def test_a_local_path_on_a_stateless_host_is_refused(workspace: dict[str, str]) -> None:
    """The error names the variable and both ways out, before anything is remembered and lost."""
    with pytest.raises(SettingError, match=r"HARNESS_MEMORY_WORKSPACE=.*postgresql://.*HARNESS_MEMORY_DISK=kept"):
        memory_from({"LANGGRAPH_RUNTIME_EDITION": "postgres", **workspace})


@pytest.mark.parametrize(
    "host",
    [
        {},
        {"LANGGRAPH_RUNTIME_EDITION": "inmem"},
        {"LANGGRAPH_RUNTIME_EDITION": "postgres", "HARNESS_MEMORY_DISK": "kept"},
    ],
)
def test_a_local_path_is_fine_where_the_disk_is_kept(host: dict[str, str], tmp_path: Path) -> None:
    """Under `langgraph dev`, outside a server, and on a mounted volume."""
    with memory_from({**host, "HARNESS_MEMORY_WORKSPACE": str(tmp_path / "w")}) as memory:
        assert memory.workspace.name == str(tmp_path / "w")
