"""Whatever system call fails, a file is old or new, and what was acknowledged is there."""

import errno
import json
import os
import stat
import subprocess
import sys
import textwrap
from datetime import timedelta
from pathlib import Path

import pytest

from langgraph_harness_memory.errors import PathRefused, WorkspaceError
from langgraph_harness_memory.testing.faults import FaultyCalls
from langgraph_harness_memory.workspace.local import LocalWorkspace
from langgraph_harness_memory.workspace.paths import TEMPORARY

OLD = b"old line\n" * 50
NEW = b"new line\n" * 800

OPERATIONS = {
    "append": lambda ws: ws.append("memory/log.md", NEW),
    "append to a new file": lambda ws: ws.append("memory/new/log.md", NEW),
    "append after a torn line": lambda ws: ws.append("sessions/torn", NEW, is_whole_line=lambda line: False),
    "replace": lambda ws: ws.replace("MEMORY.md", NEW),
    "create": lambda ws: ws.replace("memory/new/MEMORY.md", NEW, create=True),
    "move": lambda ws: ws.move("memory/log.md", "memory/archive/log.md"),
    "delete a file": lambda ws: ws.delete("memory/log.md"),
}

ALLOWED = {
    "append": {"memory/log.md": [OLD, OLD + NEW]},
    "append to a new file": {"memory/new/log.md": [None, NEW]},
    "append after a torn line": {"sessions/torn": [b"ok\ntorn", b"ok\n", b"ok\n" + NEW]},
    "replace": {"MEMORY.md": [OLD, NEW]},
    "create": {"memory/new/MEMORY.md": [None, NEW]},
    "move": {"memory/log.md": [OLD, None], "memory/archive/log.md": [None, OLD]},
    "delete a file": {"memory/log.md": [OLD, None]},
}


def filled(root):
    ws = LocalWorkspace(root)
    ws.replace("MEMORY.md", OLD)
    ws.append("memory/log.md", OLD)
    ws.replace("sessions/torn", b"ok\ntorn")
    return ws


def data_of(ws, path):
    stored = ws.read(path)
    return None if stored is None else stored.data


def litter(root):
    return [name for _, _, names in os.walk(root) for name in names if TEMPORARY.fullmatch(name) or ".before-" in name]


def assert_whole(root, operation, note):
    """Every file of the operation is old or new, and nothing is in neither place."""
    ws = LocalWorkspace(root)
    for path, versions in ALLOWED[operation].items():
        assert data_of(ws, path) in versions, (note, path)
    if operation == "move":
        assert [data_of(ws, p) for p in ALLOWED["move"]].count(None) == 1, note
    if operation == "append after a torn line" and data_of(ws, "sessions/torn") != b"ok\ntorn":
        assert data_of(ws, "sessions/torn.torn-1") == b"torn", note


def assert_nothing_lost(root, operation, note):
    """What was there before an append is there, whatever a disk that fails at everything left behind it."""
    for path, versions in ALLOWED[operation].items():
        before = versions[-1].removesuffix(NEW)
        assert (data_of(LocalWorkspace(root), path) or b"").startswith(before), (note, path)


@pytest.mark.parametrize("forever", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize(
    "error", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS], ids=lambda e: errno.errorcode[e]
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_call_may_fail(tmp_path, operation, error, forever):
    """The n-th system call fails, for every n: an error is told, the old content stands, and a retry goes through."""
    for n in range(1, 200):
        root = tmp_path / str(n)
        filled(root)
        faulty = FaultyCalls(nth=n, error=error, forever=forever, keep=1500)
        try:
            OPERATIONS[operation](LocalWorkspace(root, system_calls=faulty))
        except WorkspaceError:
            if forever and operation.startswith("append"):
                assert_nothing_lost(root, operation, n)
            else:
                assert_whole(root, operation, n)
            if not forever:
                assert litter(root) == [], n
                _retry(root, operation)
        else:
            assert_new(root, operation, n)
        if not faulty.failed:
            break
    else:
        pytest.fail("the operation never ran through")
    assert n > 3


def assert_new(root, operation, note):
    ws = LocalWorkspace(root)
    for path, versions in ALLOWED[operation].items():
        assert data_of(ws, path) == versions[-1], (note, path)


def _retry(root, operation):
    ws = LocalWorkspace(root)
    if all(data_of(ws, path) == versions[-1] for path, versions in ALLOWED[operation].items()):
        return  # it had happened, and only the folder's sync failed
    OPERATIONS[operation](ws)
    assert_new(root, operation, "retry")


@pytest.mark.parametrize("keep", [0, 1, 1500], ids=lambda k: f"{k} bytes written")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_process_may_end_at_every_call(tmp_path, operation, keep):
    """The process is killed before the n-th system call, for every n: the next one finds whole files and goes on."""
    program = textwrap.dedent(f"""
        import os, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from pathlib import Path
        from test_local_faults import OPERATIONS, assert_whole, filled, _retry, litter
        from langgraph_harness_memory.testing.faults import FaultyCalls
        from langgraph_harness_memory.workspace.local import LocalWorkspace
        for n in range(1, 100):
            root = Path({str(tmp_path)!r}) / str(n)
            filled(root)
            child = os.fork()
            if child == 0:
                calls = FaultyCalls(nth=n, ends_process=True, keep={keep})
                OPERATIONS[{operation!r}](LocalWorkspace(root, system_calls=calls))
                os._exit(0)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if {operation!r}.startswith("append"):
                found = LocalWorkspace(root).read("memory/log.md").data
                # a torn tail may stand; what was there before it does
                assert found.startswith({OLD!r}), n
            else:
                assert_whole(root, {operation!r}, n)
            if status == 0:
                print(n)
                break
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 3


@pytest.mark.parametrize("cut", range(126))
def test_log_cut_anywhere_goes_on(tmp_path, cut):
    """A log of five records that ends at any byte keeps its whole records and takes the next one."""
    records = [json.dumps({"n": n, "t": "é€😀"}, ensure_ascii=False).encode() for n in range(5)]
    whole = b"".join(record + b"\n" for record in records)
    if cut > len(whole):
        pytest.skip("the log is shorter")
    ws = LocalWorkspace(tmp_path, fsync=False)
    ws.replace("log", whole[:cut])
    told = []
    ws = LocalWorkspace(tmp_path, fsync=False, on_event=told.append)
    ws.append("log", b'{"n":"new"}\n', is_whole_line=is_json)
    expected = [
        record
        for record in records
        if whole[:cut].startswith(b"".join(r + b"\n" for r in records[: records.index(record)]) + record)
    ]
    assert ws.read("log").data == b"".join(record + b"\n" for record in expected) + b'{"n":"new"}\n'
    fragment = whole[:cut][len(b"".join(record + b"\n" for record in expected)) :]
    assert data_of(ws, "log.torn-1") == (fragment or None)
    assert len(told) == (1 if fragment else 0)


def is_json(line):
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def test_short_writes_are_continued(tmp_path):
    """A system that takes seven bytes at a time still gets the whole file."""
    ws = LocalWorkspace(tmp_path, system_calls=FaultyCalls(nth=0, short=7))
    ws.append("a", NEW[:2000])
    ws.replace("b", NEW[:2000])
    assert (ws.read("a").data, ws.read("b").data) == (NEW[:2000], NEW[:2000])


@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
def test_failed_sync_is_no_acknowledgement(tmp_path, call):
    """What could not be synced was not written, and the file says so."""
    filled(tmp_path)
    ws = LocalWorkspace(tmp_path, system_calls=FaultyCalls(call, error=errno.EIO))
    with pytest.raises(WorkspaceError, match="Input/output error") as failure:
        ws.append("memory/log.md", NEW) if call == "fdatasync" else ws.replace("MEMORY.md", NEW)
    assert failure.value.errno == errno.EIO
    assert data_of(LocalWorkspace(tmp_path), "memory/log.md") == OLD
    assert data_of(LocalWorkspace(tmp_path), "MEMORY.md") == OLD


def test_full_disk_keeps_the_old_log(tmp_path):
    """A file-size limit tears a write in the middle: the half is cut off again."""
    filled(tmp_path)
    program = textwrap.dedent(f"""
        import resource
        from langgraph_harness_memory.errors import WorkspaceError
        from langgraph_harness_memory.workspace.local import LocalWorkspace
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        ws = LocalWorkspace({str(tmp_path)!r})
        for act in (lambda: ws.append("memory/log.md", b"x" * 9000 + b"\\n"), lambda: ws.replace("MEMORY.md", b"x" * 9000)):
            try:
                act()
            except WorkspaceError as error:
                print(error.errno)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [str(errno.EFBIG)] * 2
    ws = LocalWorkspace(tmp_path)
    assert (data_of(ws, "memory/log.md"), data_of(ws, "MEMORY.md")) == (OLD, OLD)
    assert litter(tmp_path) == []


def test_interrupted_append_is_rolled_back(tmp_path):
    """A keyboard interrupt in the middle of a write leaves the old file."""
    filled(tmp_path)

    class Interrupting(FaultyCalls):
        def _fail(self, name, call, *args):
            call(args[0], args[1][:100])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LocalWorkspace(tmp_path, system_calls=Interrupting("write")).append("memory/log.md", NEW)
    assert data_of(LocalWorkspace(tmp_path), "memory/log.md") == OLD


@pytest.mark.parametrize("attempts", [1, 3, 5])
def test_rename_is_tried_again_where_a_scanner_holds_the_file(tmp_path, attempts):
    """A rename that is refused for a moment goes through."""

    class Held(FaultyCalls):
        def _fail(self, name, call, *args):
            if self.count <= attempts:
                super()._fail(name, call, *args)

    filled(tmp_path)
    calls = Held("replace", nth=1, forever=True, error=errno.EACCES)
    LocalWorkspace(tmp_path, system_calls=calls).replace("MEMORY.md", NEW)
    assert calls.failed == attempts
    assert data_of(LocalWorkspace(tmp_path), "MEMORY.md") == NEW


def test_bind_mounted_file_is_written_in_place(tmp_path):
    """A file that cannot be renamed over is overwritten, keeps its inode, and leaves no copy behind."""
    filled(tmp_path)
    inode = (tmp_path / "MEMORY.md").stat().st_ino
    ws = LocalWorkspace(tmp_path, system_calls=FaultyCalls("replace", forever=True, error=errno.EBUSY))
    ws.replace("MEMORY.md", NEW)
    assert (tmp_path / "MEMORY.md").read_bytes() == NEW
    assert (tmp_path / "MEMORY.md").stat().st_ino == inode
    assert litter(tmp_path) == []


def test_failed_write_in_place_is_undone(tmp_path):
    """Where the new content of a bind-mounted file does not fit, the old one is written back."""
    filled(tmp_path)

    class Busy(FaultyCalls):
        writes = 0

        def _call(self, name, call, *args, **kwargs):
            if name == "replace":
                raise OSError(errno.EBUSY, "busy")
            if name == "write":
                self.writes += 1
                if self.writes == 3:  # the temporary file, the backup, then the file itself
                    call(args[0], args[1][:10])
                    raise OSError(errno.ENOSPC, "full")
            return call(*args, **kwargs)

    with pytest.raises(WorkspaceError, match="full"):
        LocalWorkspace(tmp_path, system_calls=Busy()).replace("MEMORY.md", NEW)
    assert (tmp_path / "MEMORY.md").read_bytes() == OLD
    assert litter(tmp_path) == []


def test_move_across_file_systems_copies(tmp_path):
    """Where a rename cannot, a move copies, syncs and then deletes."""
    filled(tmp_path)
    ws = LocalWorkspace(tmp_path, system_calls=FaultyCalls("rename", error=errno.EXDEV))
    ws.move("memory/log.md", "memory/archive/log.md")
    assert data_of(ws, "memory/archive/log.md") == OLD
    assert data_of(ws, "memory/log.md") is None


def test_stale_temporary_files_are_removed(tmp_path):
    """Only our own pattern, only after an hour, never a user's file."""
    filled(tmp_path)
    names = {
        ".hm-0123456789abcdef.tmp": 7200,
        ".hm-fedcba9876543210.tmp": 60,
        "mine.tmp": 7200,
        ".hm-short.tmp": 7200,
    }
    for name, age in names.items():
        path = tmp_path / name
        path.write_text("x")
        os.utime(path, (path.stat().st_atime - age, path.stat().st_mtime - age))
    ws = LocalWorkspace(tmp_path)
    ws.replace("MEMORY.md", NEW)
    left = {p.name for p in tmp_path.iterdir() if p.name in names}
    assert left == set(names) - {".hm-0123456789abcdef.tmp"}
    assert {f.path for f in ws.files(recursive=False)} == {"MEMORY.md", "mine.tmp", ".hm-short.tmp"}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277, 0o777])
def test_modes_whatever_the_umask(tmp_path, umask):
    """Files are 0600 and folders 0700, whatever the umask says."""
    before = os.umask(umask)
    try:
        ws = LocalWorkspace(tmp_path / "ws")
        ws.append("memory/a.md", b"x\n")
        ws.replace("users/u/MEMORY.md", b"x\n")
        with ws.lock("name"):
            pass
        assert ws.acquire_lease("x", ttl=timedelta(seconds=1)) is not None
    finally:
        os.umask(before)
    found = [tmp_path / "ws", *(tmp_path / "ws").rglob("*")]
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in found}
    assert len(found) > 8
    assert modes == {(True, 0o700), (False, 0o600)}


def test_existing_modes_are_kept(tmp_path):
    """A file that its owner opened to others stays open to them."""
    filled(tmp_path)
    (tmp_path / "MEMORY.md").chmod(0o644)
    (tmp_path / "memory/log.md").chmod(0o640)
    ws = LocalWorkspace(tmp_path)
    ws.replace("MEMORY.md", NEW)
    ws.append("memory/log.md", NEW)
    assert stat.S_IMODE((tmp_path / "MEMORY.md").stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "memory/log.md").stat().st_mode) == 0o640


def test_read_only_workspace_is_told(tmp_path):
    """Without the right to write, reading works and writing says why; nothing changes."""
    filled(tmp_path)
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    program = textwrap.dedent(f"""
        import os
        from langgraph_harness_memory.errors import WorkspaceError
        from langgraph_harness_memory.workspace.local import LocalWorkspace
        if os.geteuid() == 0:
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
        ws = LocalWorkspace({str(tmp_path)!r})
        try:
            found = ws.read("MEMORY.md")
        except WorkspaceError as error:
            print("hidden"); raise SystemExit(0)
        print(len(found.data))
        for act in (lambda: ws.append("memory/log.md", b"x\\n"), lambda: ws.replace("MEMORY.md", b"x"), lambda: ws.delete("MEMORY.md")):
            try:
                act()
            except WorkspaceError as error:
                print(str(error))
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(0o700)
    if done.stdout.startswith("hidden"):
        pytest.skip("an unprivileged user cannot reach the temporary folder here")
    lines = done.stdout.splitlines()
    assert lines[0] == str(len(OLD))
    assert len(lines) == 4
    assert all("Permission denied" in line or "Read-only" in line for line in lines[1:])
    assert (tmp_path / "MEMORY.md").read_bytes() == OLD


def test_root_that_is_a_file_is_told(tmp_path):
    """A workspace whose place is taken by a file says so and does not touch it."""
    (tmp_path / "ws").write_text("mine")
    ws = LocalWorkspace(tmp_path / "ws")
    for act in (lambda: ws.read("a"), lambda: ws.append("a", b"x\n"), ws.files):
        with pytest.raises(PathRefused, match="Not a directory"):
            act()
    assert (tmp_path / "ws").read_text() == "mine"
