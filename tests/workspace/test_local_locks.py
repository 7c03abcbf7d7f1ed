"""Locks and leases of a folder workspace: of the kernel, never stale, never waited for too long."""

import fcntl
import json
import logging
import os
import subprocess
import sys
import textwrap
import threading
import time
from datetime import timedelta

import pytest

from langgraph_harness_memory.errors import LockTimeout, WorkspaceError
from langgraph_harness_memory.testing import FrozenClock
from langgraph_harness_memory.workspace.local import LocalWorkspace
from langgraph_harness_memory.workspace.mounts import file_system, is_remote

SHORT = timedelta(seconds=0.15)
TTL = timedelta(seconds=30)


def child(tmp_path, program, *, wait=False):
    """Run a program over the same workspace; without `wait`, return when it has printed a line."""
    code = f"ROOT = {str(tmp_path)!r}\n" + textwrap.dedent(program)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    if wait:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        return out
    assert process.stdout.readline()
    return process


HOLDER = """
    import time
    from langgraph_harness_memory.workspace.local import LocalWorkspace
    with LocalWorkspace(ROOT).lock("flush"):
        print("held", flush=True)
        time.sleep(60)
"""


def test_killed_holder_leaves_no_lock(tmp_path):
    """After `kill -9` of the holder the lock is free at once."""
    holder = child(tmp_path, HOLDER)
    ws = LocalWorkspace(tmp_path)
    with pytest.raises(LockTimeout, match="'flush'"), ws.lock("flush", timeout=SHORT):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    began = time.perf_counter()
    with ws.lock("flush", timeout=SHORT):
        assert time.perf_counter() - began < 0.1


def test_forked_child_does_not_keep_the_lock(tmp_path):
    """A child that was forked inside the section neither holds the lock on nor thinks that it has it."""
    out = child(
        tmp_path,
        """
        import os, time
        from datetime import timedelta
        from langgraph_harness_memory.errors import LockTimeout
        from langgraph_harness_memory.workspace.local import LocalWorkspace
        ws = LocalWorkspace(ROOT)
        short = timedelta(seconds=0.2)
        with ws.lock("a"):
            ws.append("log", b"parent\\n")
            pid = os.fork()
            if pid == 0:
                try:
                    with ws.lock("a", timeout=short):
                        os._exit(1)
                except LockTimeout:
                    pass
                with ws.lock("b", timeout=short):
                    ws.append("log", b"child\\n")
                time.sleep(0.6)
                os._exit(0)
            time.sleep(0.4)
        began = time.perf_counter()
        with ws.lock("a", timeout=short):
            waited = time.perf_counter() - began
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        print(waited)
        """,
        wait=True,
    )
    assert float(out) < 0.1
    assert LocalWorkspace(tmp_path).read("log").data == b"parent\nchild\n"


def test_lock_of_another_program_is_waited_for_no_longer_than_asked(tmp_path):
    """A lock that a sleeping process holds for a minute ends in `LockTimeout` after the timeout, in every writing call."""
    ws = LocalWorkspace(tmp_path)
    ws.append("log", b"x\n")
    (lock,) = (tmp_path / "memory/.locks").iterdir()
    with lock.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for act in (
            lambda tree: tree.append("log", b"y\n"),
            lambda tree: tree.replace("log", b""),
            lambda tree: tree.delete("log"),
        ):
            hurried = LocalWorkspace(tmp_path, lock_timeout=SHORT)
            began = time.perf_counter()
            with pytest.raises(LockTimeout, match=r"0\.15 s"):
                act(hurried)
            assert time.perf_counter() - began < 1
        assert hurried.read("log").data == b"x\n"
    hurried.append("log", b"y\n")
    assert ws.read("log").data == b"x\ny\n"


def test_who_comes_after_one_that_waited_in_vain_waits_a_tenth(tmp_path):
    """A turn has several steps that write: a lock that is kept holds up the first of them alone, until it is free again."""
    ws = LocalWorkspace(tmp_path, lock_timeout=timedelta(seconds=0.5))
    ws.append("log", b"x\n")
    (lock,) = (tmp_path / "memory/.locks").iterdir()

    def waits():
        with pytest.raises(LockTimeout) as told:
            ws.append("log", b"y\n")
        return str(told.value).rsplit(" for ", 1)[1]

    for _ in range(2):
        with lock.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            ws.append("other", b"y\n")
            assert [waits(), waits(), waits()] == ["0.5 s", "0.05 s", "0.05 s"]
        ws.append("log", b"z\n")
    assert ws.read("log").data == b"x\nz\nz\n"


def test_garbage_in_a_lock_file_is_nothing(tmp_path):
    """A lock file that names a process, or anything, locks nobody out."""
    ws = LocalWorkspace(tmp_path)
    with ws.lock("flush"):
        pass
    (tmp_path / "memory/.locks/flush.lock").write_text("1\n\0garbage")
    with ws.lock("flush", timeout=SHORT):
        pass


def test_removed_lock_files_split_nobody(tmp_path):
    """Who waits on a lock file that is removed meanwhile locks the new one."""
    ws = LocalWorkspace(tmp_path)
    order = []
    with ws.lock("flush"):
        (tmp_path / "memory/.locks/flush.lock").unlink()
        other = LocalWorkspace(tmp_path)
        with other.lock("flush", timeout=SHORT):  # a new file: nobody can know of the old one
            order.append("new")
    waiting = threading.Event()

    def wait():
        waiting.set()
        with LocalWorkspace(tmp_path).lock("flush", timeout=timedelta(seconds=5)):
            order.append("waiter")

    with ws.lock("flush"):
        thread = threading.Thread(target=wait)
        thread.start()
        waiting.wait()
        time.sleep(0.05)
        (tmp_path / "memory/.locks/flush.lock").unlink()
        held = (tmp_path / "memory/.locks/flush.lock").open("w")
        fcntl.flock(held, fcntl.LOCK_EX)
    time.sleep(0.05)
    assert order == ["new"]
    held.close()
    thread.join()
    assert order == ["new", "waiter"]


def test_processes_lose_no_line(tmp_path):
    """Four processes append lines of 300 B, 20 kB and 1 MB while another moves the log away: each line is there once, whole."""
    writers = [
        child(
            tmp_path,
            f"""
            from langgraph_harness_memory.workspace.local import LocalWorkspace
            ws = LocalWorkspace(ROOT, fsync=False)
            print("ready", flush=True)
            for n in range(40):
                size = 1_000_000 if n == 20 else 20_000 if n % 5 == 0 else 300
                ws.append("log", b"{writer}-%02d-" % n + b"x" * size + b"\\n")
            """,
        )
        for writer in range(4)
    ]
    ws = LocalWorkspace(tmp_path, fsync=False)
    moves = 0
    while any(writer.poll() is None for writer in writers):
        try:
            ws.move("log", f"archive/{moves}")
            moves += 1
        except WorkspaceError:
            pass
        time.sleep(0.005)
    for writer in writers:
        writer.stdout.close()
        assert writer.wait() == 0
    lines = b"".join(ws.read(info.path).data for info in ws.files()).splitlines()
    assert sorted(line[:5] for line in lines) == sorted(b"%d-%02d-" % (w, n) for w in range(4) for n in range(40))
    assert {len(line) for line in lines} == {305, 20_005, 1_000_005}
    assert moves > 0


@pytest.mark.parametrize("size", [300, 20_000, 500_000])
def test_killed_writer_loses_nothing_that_it_was_told(tmp_path, size):
    """`kill -9` at any moment: every acknowledged record is there, and the next append repairs the tail."""
    ws = LocalWorkspace(tmp_path, fsync=False)
    for number in range(5):
        root = tmp_path / str(number)
        writer = child(
            root,
            f"""
            import json, sys
            from langgraph_harness_memory.workspace.local import LocalWorkspace
            ws = LocalWorkspace(ROOT)
            for n in range(100_000):
                ws.append("log", json.dumps({{"n": n, "text": "x" * {size}}}).encode() + b"\\n")
                print(n, flush=True)
            """,
        )
        time.sleep(0.03 + 0.013 * number)
        writer.kill()
        acknowledged = [int(line) for line in writer.stdout.read().split()]
        writer.stdout.close()
        writer.wait()
        ws = LocalWorkspace(root)
        ws.append("log", b'{"n": "after"}\n', is_whole_line=is_json)
        found = [json.loads(line)["n"] for line in ws.read("log").data.splitlines()]
        assert found[-1] == "after"
        assert found[:-1] == list(range(len(found) - 1))
        assert len(found) - 1 >= max([0, *acknowledged]) + 1


def is_json(line):
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def test_lock_files_do_not_grow_with_paths(tmp_path):
    """A thousand files share at most 256 lock files."""
    ws = LocalWorkspace(tmp_path, fsync=False)
    for n in range(1000):
        ws.append(f"sessions/{n}.log.jsonl", b"x\n")
    assert len(list((tmp_path / "memory/.locks").iterdir())) <= 256


def test_old_lock_files_are_tidied_away(tmp_path):
    """Locks of sessions of earlier days do not pile up; those that are held, young or few stay."""
    ws = LocalWorkspace(tmp_path, fsync=False)
    for n in range(520):
        with ws.lock(f"session{n}"):
            pass
    folder = tmp_path / "memory/.locks"
    for path in folder.glob("session*"):
        if path.name != "session7.lock":
            os.utime(path, (0, 0))
    with ws.lock("session8"):
        LocalWorkspace(tmp_path, fsync=False).append("a", b"x\n")
        assert sorted(path.name for path in folder.glob("session*")) == ["session7.lock", "session8.lock"]
        with pytest.raises(LockTimeout, match="session8"), LocalWorkspace(tmp_path).lock("session8", timeout=SHORT):
            pass


def test_tenants_locks_do_not_name_them(tmp_path):
    """No lock or lease file names a user: deleting the user's folder leaves no trace."""
    ws = LocalWorkspace(tmp_path)
    alice = ws.under("users/alice")
    alice.append("MEMORY.md", b"x\n")
    with alice.lock("consolidate"):
        pass
    alice.acquire_lease("tick", ttl=TTL)
    ws.delete("users/alice")
    assert [path for path in tmp_path.rglob("*") if "alice" in path.name] == []


# -- leases and clocks --------------------------------------------------------------------------------------------------


@pytest.fixture
def clock():
    return FrozenClock()


def test_lease_ends_with_its_time(tmp_path, clock):
    """A lease holds for its time to live and no longer."""
    ws = LocalWorkspace(tmp_path, clock=clock)
    assert ws.acquire_lease("tick", ttl=TTL)
    clock.advance(seconds=29)
    assert ws.acquire_lease("tick", ttl=TTL) is None
    clock.advance(seconds=2)
    assert ws.acquire_lease("tick", ttl=TTL)


def test_renewed_lease_goes_on(tmp_path, clock):
    """A sign of life prolongs a lease from now on."""
    ws = LocalWorkspace(tmp_path, clock=clock)
    lease = ws.acquire_lease("tick", ttl=TTL)
    clock.advance(seconds=29)
    assert ws.renew_lease(lease, ttl=TTL)
    clock.advance(seconds=29)
    assert ws.acquire_lease("tick", ttl=TTL) is None


@pytest.mark.parametrize("years", [1, 10])
def test_lease_from_the_future_does_not_hold_for_ever(tmp_path, clock, years):
    """A claim that was made while the clock was ahead holds for its time from when it is seen, not for years."""
    ws = LocalWorkspace(tmp_path, clock=clock)
    now = clock.now()
    clock.advance(days=365 * years)
    ws.acquire_lease("tick", ttl=TTL)
    clock.set(now)
    assert ws.acquire_lease("tick", ttl=TTL) is None
    clock.advance(seconds=31)
    assert ws.acquire_lease("tick", ttl=TTL)


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"{}", b"[1]", b'{"owner": 1, "since": "x", "seconds": 1}', b"[" * 100_000]
)
def test_damaged_lease_is_free(tmp_path, content):
    """A lease is a hint: one that cannot be read is taken over."""
    ws = LocalWorkspace(tmp_path)
    ws.acquire_lease("tick", ttl=TTL)
    (lease,) = (tmp_path / "memory/.locks").glob("*.lease")
    lease.write_bytes(content)
    assert ws.acquire_lease("tick", ttl=TTL)


def test_nothing_rests_on_time_stamps(tmp_path):
    """Files whose times were set to 1970 or 2100 keep their versions; a change is a change."""
    ws = LocalWorkspace(tmp_path)
    version = ws.replace("MEMORY.md", b"one\n")
    for moment in (0, 4_102_444_800):
        os.utime(tmp_path / "MEMORY.md", (moment, moment))
        assert ws.read("MEMORY.md").version == version
    before = ws.stat("MEMORY.md")
    ws.replace("MEMORY.md", b"two\n", expect=version)
    os.utime(tmp_path / "MEMORY.md", (before.modified, before.modified))
    assert ws.read("MEMORY.md").version != version
    assert ws.stat("MEMORY.md").fingerprint != before.fingerprint


# -- file systems -----------------------------------------------------------------------------------------------------------

MOUNTS = """\
22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:27 / /mnt/team\\040share rw - nfs4 server:/x rw
31 22 0:28 / /home/u/remote rw - fuse.sshfs u@h:/ rw
32 22 0:29 / /home/u/remote/local rw - ext4 /dev/b rw
broken line
"""


@pytest.mark.parametrize(
    ("folder", "kind", "remote"),
    [
        ("/srv/ws", "ext4", False),
        ("/mnt/team share/ws", "nfs4", True),
        ("/home/u/remote/ws", "fuse.sshfs", True),
        ("/home/u/remote/local/ws", "ext4", False),
        ("/home/u/remoter", "ext4", False),
    ],
)
def test_file_system_is_told(tmp_path, folder, kind, remote):
    """The nearest mount says what a folder lies on."""
    found = file_system(type(tmp_path)(folder), MOUNTS)
    assert (found, is_remote(found)) == (kind, remote)


def test_workspace_on_a_network_disk_is_warned_of_once(tmp_path, monkeypatch, caplog):
    """The first write to a network disk logs what may not hold there."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"30 22 0:27 / {tmp_path}/ws rw - nfs4 server:/x rw\n")
    monkeypatch.setattr("langgraph_harness_memory.workspace.mounts.MOUNTS", mounts)
    ws = LocalWorkspace(tmp_path / "ws")
    with caplog.at_level(logging.WARNING):
        ws.append("a", b"x\n")
        ws.under("users/a").append("a", b"x\n")
    assert [record.getMessage() for record in caplog.records if "nfs4" in record.getMessage()] == [
        f"{tmp_path / 'ws'} lies on nfs4: locks and fsync may not hold there; prefer a local disk or Postgres"
    ]


def test_disk_without_locks_is_told(tmp_path, monkeypatch):
    """Where the file system has no locks, a write says so instead of going on without."""

    def no_locks(fd, operation):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(WorkspaceError, match="has no locks"):
        LocalWorkspace(tmp_path).append("a", b"x\n")
