"""A workspace is opened by what a person types, and moved whole."""

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_harness_memory.errors import SettingError, VersionConflict
from langgraph_harness_memory.workspace.copying import copy_workspace
from langgraph_harness_memory.workspace.local import LocalWorkspace
from langgraph_harness_memory.workspace.opening import is_postgres_url, open_workspace
from langgraph_harness_memory.workspace.store import StoreWorkspace

FILES = {
    "MEMORY.md": b"# Memory\n- likes tea\n",
    "memory/2026-01-01.md": b"- a fact without its newline",
    "memory/.tombstones": b"{}\n",
    "sessions/a~0123.log.jsonl": bytes(range(256)) * 2000,
    "users/alice/MEMORY.md": b"",
    "large_tool_results/t/x.txt": "日本語 👩‍🚀\n".encode(),
}


@pytest.fixture
def source(tmp_path):
    workspace = LocalWorkspace(tmp_path / "source")
    for path, data in FILES.items():
        workspace.replace(path, data)
    with workspace.lock("some"):
        pass
    return workspace


def contents(workspace):
    return {info.path: workspace.read(info.path).data for info in workspace.files()}


def test_folder_is_opened_by_its_path(tmp_path):
    """A path opens a folder, with the settings that a folder has."""
    opened = open_workspace(str(tmp_path / "ws"), fsync=False, max_connections=3)
    assert isinstance(opened, LocalWorkspace)
    assert opened.root == tmp_path / "ws"
    assert open_workspace(opened) is opened


def test_other_urls_are_refused():
    """A URL of another kind is no folder name."""
    with pytest.raises(SettingError, match="postgresql://"):
        open_workspace("s3://bucket/memory")


def test_postgres_urls_are_recognised():
    """Both spellings of the scheme count."""
    assert is_postgres_url("postgres://h/d")
    assert is_postgres_url("postgresql://h/d")
    assert not is_postgres_url("postgres")


def test_copy_takes_everything_and_nothing_else(source):
    """Every file arrives byte by byte; lock files stay behind."""
    target = StoreWorkspace(InMemoryStore())
    copied = copy_workspace(source, target)
    assert contents(target) == FILES
    assert (copied.files, copied.bytes, copied.skipped) == (len(FILES), sum(map(len, FILES.values())), 0)


def test_copy_back_is_the_same(source, tmp_path):
    """There and back again changes nothing."""
    between = StoreWorkspace(InMemoryStore())
    copy_workspace(source, between)
    back = LocalWorkspace(tmp_path / "back")
    copy_workspace(between, back)
    assert contents(back) == FILES


def test_copy_never_mixes_two_memories(source, tmp_path):
    """A target that holds files is refused, and not touched."""
    target = LocalWorkspace(tmp_path / "target")
    target.replace("MEMORY.md", b"another person's\n")
    with pytest.raises(SettingError, match="empty workspace"):
        copy_workspace(source, target)
    with pytest.raises(VersionConflict, match=r"MEMORY\.md"):
        copy_workspace(source, target, resume=True)
    assert contents(target) == {"MEMORY.md": b"another person's\n"}


def test_copy_can_be_resumed(source, tmp_path):
    """What arrived before a copy was cut off is left where it is."""
    target = LocalWorkspace(tmp_path / "target")
    target.replace("MEMORY.md", FILES["MEMORY.md"])
    copied = copy_workspace(source, target, resume=True)
    assert contents(target) == FILES
    assert copied.skipped == 1


def test_copy_onto_itself_is_refused(source):
    """Source and target must be two places."""
    with pytest.raises(SettingError, match="another place"):
        copy_workspace(source, LocalWorkspace(source.root))


def test_copy_follows_a_source_that_is_written_to(source, tmp_path):
    """What changes or goes under the copy is right at its end."""
    target = LocalWorkspace(tmp_path / "target")
    changes = iter([lambda: source.append("MEMORY.md", b"- new\n"), lambda: source.delete("memory/.tombstones")])

    def meanwhile(path):
        next(changes, lambda: None)()

    copy_workspace(source, target, progress=meanwhile)
    assert contents(target) == contents(source)


def test_copy_gives_up_on_a_source_that_never_rests(source, tmp_path):
    """A source that changes at every look ends in an error, not in a copy that is nobody's."""
    target = LocalWorkspace(tmp_path / "target")
    with pytest.raises(VersionConflict, match="kept changing"):
        copy_workspace(source, target, progress=lambda path: source.append("busy", b"x\n"))
