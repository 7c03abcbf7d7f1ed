"""What every back end of a workspace must do: inherit `WorkspaceContract` and say how to open one.

    class TestMine(WorkspaceContract):
        @pytest.fixture
        def workspace(self, tmp_path):
            return MyWorkspace(tmp_path)

        def another(self, workspace):
            return MyWorkspace(workspace.root)

Every test runs twice, through the sync methods and through their `a…` twins. A back end without compare-and-swap or
locks between processes sets `excludes_others = False` and loses the tests of two writers, nothing else.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from langgraph_harness_memory.errors import LockTimeout, PathRefused, VersionConflict
from langgraph_harness_memory.workspace import Workspace, read_text, text_bytes

TWINS = frozenset(
    {
        "read",
        "stat",
        "append",
        "replace",
        "files",
        "folders",
        "move",
        "delete",
        "acquire_lease",
        "renew_lease",
        "release_lease",
    }
)
"""Methods that have an `a…` twin."""

REFUSED_PATHS = [
    "",
    ".",
    "..",
    "../x",
    "a/../../x",
    "memory/../../x",
    "/etc/passwd",
    "//etc/passwd",
    "a/..",
    "..\\x",
    "a\\..\\..\\x",
    "C:\\x",
    "C:/x",
    "a\0b",
    "a\nb",
    "a/\ud800",
    "x" * 300,
    "a/" * 2500 + "b",
    "memory/.locks/x",
]
"""Paths that would leave the tree, or are none."""

ODD_PATHS = [
    "a..b.md",
    "[...slug].md",
    "two words.md",
    "日本語.md",
    "👩‍🚀.md",
    "a/.hidden",
    "10:00.md",
    "-rf",
    "~x",
    "a%2e%2e.md",
    "...md",
]
"""Names that look odd and are fine."""


class AsyncFace:
    """A workspace whose methods are called through their `a…` twins on an event loop of its own.

    Args:
        workspace: The workspace.
        run: Runs a coroutine to its end.
    """

    def __init__(self, workspace: Any, run: Callable[[Any], Any]) -> None:
        self._workspace = workspace
        self._run = run

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._workspace, name)
        if name == "under":
            return lambda folder: AsyncFace(found(folder), self._run)
        if name not in TWINS:
            return found
        twin: Callable[..., Awaitable[Any]] = getattr(self._workspace, f"a{name}")

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await twin(*args, **kwargs)

        return lambda *args, **kwargs: self._run(call(*args, **kwargs))


class WorkspaceContract:
    """The contract; see the module."""

    excludes_others = True
    """Two writers exclude each other: compare-and-swap and locks hold between processes."""

    @pytest.fixture
    def workspace(self) -> Any:
        """Return an empty workspace."""
        raise NotImplementedError("say which back end is tested")

    def another(self, workspace: Any) -> Any:
        """Open the same storage a second time, as another process would."""
        return workspace

    @pytest.fixture(params=["sync", "async"])
    def ws(self, request: pytest.FixtureRequest, workspace: Any) -> Iterator[Any]:
        """The workspace through its sync methods, and through their twins."""
        if request.param == "sync":
            yield workspace
            return
        with asyncio.Runner() as runner:
            yield AsyncFace(workspace, runner.run)
            close = getattr(workspace, "aclose", None)
            if close is not None:
                runner.run(close())

    def need_exclusion(self) -> None:
        """Skip a test of two writers where the back end does not promise exclusion."""
        if not self.excludes_others:
            pytest.skip("this back end promises one writer per namespace only")

    # -- reading and writing ----------------------------------------------------------------------------------------

    def test_is_a_workspace(self, workspace: Any) -> None:
        """The back end implements the whole protocol and has a name for messages."""
        assert isinstance(workspace, Workspace)
        assert workspace.name

    def test_missing_file_is_none(self, ws: Any) -> None:
        """A file that was never written is `None`, not empty and not an error."""
        assert ws.read("MEMORY.md") is None
        assert ws.stat("memory/2026-01-01.md") is None
        assert ws.files() == []
        assert ws.folders() == []
        assert ws.delete("nothing/here.md") is False

    def test_append_creates_and_returns_offsets(self, ws: Any) -> None:
        """An append creates the file and tells where the data stands."""
        assert ws.append("sessions/a.log.jsonl", b"one\n") == 0
        assert ws.append("sessions/a.log.jsonl", b"two\n") == 4
        assert ws.read("sessions/a.log.jsonl").data == b"one\ntwo\n"

    def test_append_of_nothing(self, ws: Any) -> None:
        """An append of no bytes changes nothing."""
        ws.append("a", b"one\n")
        assert ws.append("a", b"") == 4
        assert ws.read("a").data == b"one\n"

    def test_append_keeps_any_bytes(self, ws: Any) -> None:
        """Bytes come back as they went in, whatever they are."""
        data = bytes(range(256)) * 300 + b"\n"
        ws.append("a", data)
        assert ws.read("a").data == data

    @pytest.mark.parametrize(
        ("start", "end"), [(0, 5), (3, 9), (4, None), (0, 0), (9, 9), (8, 400), (400, None), (6, 3)]
    )
    def test_read_of_a_part(self, ws: Any, start: int, end: int | None) -> None:
        """A range reads as a slice does."""
        for line in (b"0123\n", b"45\n", b"6789\n"):
            ws.append("a", line)
        whole = b"0123\n45\n6789\n"
        assert ws.read("a", start=start, end=end).data == whole[start:end]

    def test_range_of_a_replaced_file(self, ws: Any) -> None:
        """A range is right in a large file that was written at once and appended to."""
        data = b"".join(b"%07d\n" % n for n in range(200_000))
        ws.replace("big", data)
        ws.append("big", b"end\n")
        assert ws.read("big", start=1_234_560, end=1_234_568).data == data[1_234_560:1_234_568]
        assert ws.read("big", start=len(data) - 8).data == data[-8:] + b"end\n"

    def test_append_after_somebodys_last_line(self, ws: Any) -> None:
        """A last line without its newline gains it; nothing is glued."""
        ws.replace("memory/2026-01-01.md", b"- typed by hand")
        assert ws.append("memory/2026-01-01.md", b"- new\n") == 16
        assert ws.read("memory/2026-01-01.md").data == b"- typed by hand\n- new\n"

    def test_append_after_a_torn_line(self, ws: Any) -> None:
        """A fragment that is no whole line is moved aside, and the rest goes on."""
        ws.replace("s.jsonl", b'{"a":1}\n{"b":')
        assert ws.append("s.jsonl", b'{"c":3}\n', is_whole_line=lambda line: line.endswith(b"}")) == 8
        assert ws.read("s.jsonl").data == b'{"a":1}\n{"c":3}\n'
        assert ws.read("s.jsonl.torn-1").data == b'{"b":'

    def test_append_after_a_whole_line_without_its_newline(self, ws: Any) -> None:
        """A complete record that only misses its newline is kept where it stands."""
        ws.replace("s.jsonl", b'{"a":1}\n{"b":2}')
        ws.append("s.jsonl", b'{"c":3}\n', is_whole_line=lambda line: line.endswith(b"}"))
        assert ws.read("s.jsonl").data == b'{"a":1}\n{"b":2}\n{"c":3}\n'

    def test_second_torn_line_has_its_own_file(self, ws: Any) -> None:
        """Fragments never overwrite each other."""
        for fragment in (b"x", b"yy"):
            ws.replace("s", fragment)
            ws.append("s", b"z\n", is_whole_line=lambda line: line == b"z")
        assert [ws.read(f"s.torn-{n}").data for n in (1, 2)] == [b"x", b"yy"]

    # -- versions ------------------------------------------------------------------------------------------------------

    def test_replace_returns_the_version_that_is_read(self, ws: Any) -> None:
        """The version that a replace returns is the one a reader sees."""
        version = ws.replace("MEMORY.md", b"one\n")
        assert ws.read("MEMORY.md").version == version

    def test_replace_if_version(self, ws: Any) -> None:
        """A replace from the version that was read goes through, one from an older version does not."""
        first = ws.replace("MEMORY.md", b"one\n")
        ws.replace("MEMORY.md", b"two\n", expect=first)
        with pytest.raises(VersionConflict, match=r"MEMORY\.md"):
            ws.replace("MEMORY.md", b"three\n", expect=first)
        assert ws.read("MEMORY.md").data == b"two\n"

    def test_replace_after_an_append(self, ws: Any) -> None:
        """An append changes the version too."""
        version = ws.replace("a", b"one\n")
        ws.append("a", b"two\n")
        with pytest.raises(VersionConflict, match="changed"):
            ws.replace("a", b"three\n", expect=version)

    def test_replace_after_a_deletion(self, ws: Any) -> None:
        """A deleted file does not come back by a replace that read it."""
        version = ws.replace("a", b"one\n")
        ws.delete("a")
        with pytest.raises(VersionConflict, match="deleted"):
            ws.replace("a", b"two\n", expect=version)
        assert ws.read("a") is None

    def test_create_only_where_nothing_is(self, ws: Any) -> None:
        """`create` is refused where a file exists."""
        ws.replace("a", b"one\n", create=True)
        with pytest.raises(VersionConflict, match="exists"):
            ws.replace("a", b"two\n", create=True)
        assert ws.read("a").data == b"one\n"

    def test_replace_by_nothing(self, ws: Any) -> None:
        """An empty file is a file."""
        ws.replace("a", b"one\n")
        ws.replace("a", b"")
        assert ws.read("a").data == b""
        assert ws.stat("a").size == 0
        assert ws.append("a", b"x\n") == 0

    def test_fingerprint_follows_changes(self, ws: Any) -> None:
        """The fingerprint changes with the content, and the size is right."""
        ws.replace("a", b"one\n")
        before = ws.stat("a")
        ws.append("a", b"two\n")
        after = ws.stat("a")
        assert before.fingerprint != after.fingerprint
        assert (before.size, after.size) == (4, 8)
        assert after.modified > 0

    def test_text_round_trip(self, workspace: Any) -> None:
        """A text with half a character is written all the same."""
        workspace.replace("a.md", text_bytes("caf\u00e9 \ud800 end\n"))
        text, _ = read_text(workspace, "a.md") or ("", "")
        assert text == "café \ufffd end\n"

    # -- the tree --------------------------------------------------------------------------------------------------------

    def test_listing(self, ws: Any) -> None:
        """Files are listed below a folder, sorted; folders by their names alone."""
        for path in ("b.md", "memory/2.md", "memory/archive/1.md", "memory-other/x.md", "memory/.tombstones", "a.md"):
            ws.replace(path, b"x\n")
        assert [f.path for f in ws.files("memory")] == ["memory/.tombstones", "memory/2.md", "memory/archive/1.md"]
        assert [f.path for f in ws.files("memory", recursive=False)] == ["memory/.tombstones", "memory/2.md"]
        assert [f.path for f in ws.files(recursive=False)] == ["a.md", "b.md"]
        assert len(ws.files()) == 6
        assert ws.folders() == ["memory", "memory-other"]
        assert ws.folders("memory") == ["archive"]
        assert ws.files("absent") == []
        assert ws.folders("absent") == []

    def test_listing_tells_what_stat_tells(self, ws: Any) -> None:
        """A listed file has the fingerprint and size that `stat` gives."""
        ws.append("m/a", b"one\n")
        ws.append("m/a", b"two\n")
        assert ws.files("m") == [ws.stat("m/a")]

    def test_move(self, ws: Any) -> None:
        """A moved file stands at its new place alone, with its content."""
        ws.append("memory/1.md", b"x\n")
        ws.move("memory/1.md", "memory/archive/1.md")
        assert ws.read("memory/1.md") is None
        assert ws.read("memory/archive/1.md").data == b"x\n"

    def test_move_never_overwrites(self, ws: Any) -> None:
        """A target that exists stays, and so does the source."""
        ws.append("a", b"a\n")
        ws.append("b", b"b\n")
        with pytest.raises(VersionConflict, match="exists"):
            ws.move("a", "b")
        assert (ws.read("a").data, ws.read("b").data) == (b"a\n", b"b\n")

    def test_move_of_nothing(self, ws: Any) -> None:
        """A file that is not there cannot be moved."""
        with pytest.raises(OSError, match="no such file"):
            ws.move("a", "b")

    def test_append_after_a_move_begins_anew(self, ws: Any) -> None:
        """Who appends after a move writes a new file."""
        ws.append("a", b"1\n")
        ws.move("a", "old/a")
        assert ws.append("a", b"2\n") == 0
        assert ws.read("old/a").data == b"1\n"

    def test_delete(self, ws: Any) -> None:
        """A file goes alone, a folder with all that is in it, and nothing else."""
        for path in ("s/a", "s/b/c", "s-other", "t"):
            ws.append(path, b"x\n")
        assert ws.delete("t") is True
        assert ws.delete("t") is False
        assert ws.delete("s") is True
        assert [f.path for f in ws.files()] == ["s-other"]

    def test_folder_is_no_file(self, ws: Any) -> None:
        """A file cannot stand below a file, nor take the place of a folder."""
        ws.append("a/b", b"x\n")
        with pytest.raises(PathRefused, match=r"\S"):
            ws.append("a/b/c", b"x\n")
        with pytest.raises(PathRefused, match=r"\S"):
            ws.replace("a", b"x\n")
        assert [f.path for f in ws.files()] == ["a/b"]

    @pytest.mark.parametrize("path", REFUSED_PATHS, ids=lambda p: repr(p[:20]))
    def test_paths_out_of_the_tree(self, ws: Any, path: str) -> None:
        """Every operation refuses a path that would leave the tree, and writes nothing."""
        acts: list[Callable[[], object]] = [
            lambda: ws.read(path),
            lambda: ws.stat(path),
            lambda: ws.append(path, b"x\n"),
            lambda: ws.replace(path, b"x\n"),
            lambda: ws.delete(path),
            lambda: ws.move(path, "ok"),
        ]
        for act in acts:
            with pytest.raises(PathRefused, match=r"\S"):
                act()
        assert ws.files() == []

    @pytest.mark.parametrize("path", ODD_PATHS)
    def test_odd_names(self, ws: Any, path: str) -> None:
        """Odd but harmless names work and are listed."""
        ws.append(path, b"x\n")
        assert ws.read(path).data == b"x\n"
        assert [f.path for f in ws.files()] == [path]

    def test_names_differ_by_case_and_form(self, ws: Any) -> None:
        """`A` and `a`, composed and decomposed letters, are different files."""
        names = ["A", "a", "caf\u00e9", "cafe\u0301"]
        for name in names:
            ws.append(name, name.encode() + b"\n")
        assert [ws.read(name).data.decode().strip() for name in names] == names

    # -- below a folder ---------------------------------------------------------------------------------------------------

    def test_under(self, ws: Any) -> None:
        """A workspace below a folder sees that folder as its root and nothing above."""
        ws.append("users/a/MEMORY.md", b"a\n")
        ws.append("users/b/MEMORY.md", b"b\n")
        below = ws.under("users/a")
        assert below.read("MEMORY.md").data == b"a\n"
        below.append("memory/1.md", b"x\n")
        assert [f.path for f in below.files()] == ["MEMORY.md", "memory/1.md"]
        assert below.folders() == ["memory"]
        assert ws.read("users/a/memory/1.md").data == b"x\n"
        with pytest.raises(PathRefused, match=r"\.\."):
            below.read("../b/MEMORY.md")

    def test_under_the_root_is_the_root(self, ws: Any) -> None:
        """`.` is the workspace itself, as the shared tenant's root is called."""
        ws.under(".").append("a", b"x\n")
        assert ws.read("a").data == b"x\n"

    def test_locks_and_leases_are_of_the_folder(self, ws: Any) -> None:
        """Two tenants' locks and leases of one name do not meet."""
        one, two = ws.under("users/a"), ws.under("users/b")
        with one.lock("flush"), two.lock("flush"), ws.lock("flush"):
            pass
        ttl = timedelta(seconds=30)
        assert one.acquire_lease("tick", ttl=ttl)
        assert two.acquire_lease("tick", ttl=ttl)
        assert one.acquire_lease("tick", ttl=ttl) is None

    # -- locks and leases -----------------------------------------------------------------------------------------------------

    def test_lock_excludes_other_threads(self, workspace: Any) -> None:
        """A lock that is held makes another thread wait, and give up after its time."""
        with workspace.lock("a"), ThreadPoolExecutor(1) as pool:
            with pytest.raises(LockTimeout, match="'a'"):
                pool.submit(self._take, workspace, "a", 0.05).result()
            pool.submit(self._take, workspace, "b", 0.05).result()
        self._take(workspace, "a", 0.05)

    def test_lock_excludes_other_openings(self, workspace: Any) -> None:
        """A lock that is held makes another process's opening wait."""
        self.need_exclusion()
        other = self.another(workspace)
        with workspace.lock("a"), pytest.raises(LockTimeout, match="'a'"):
            self._take(other, "a", 0.05)
        self._take(other, "a", 1)

    def test_lock_is_given_back_after_an_error(self, workspace: Any) -> None:
        """An error inside the section frees the lock and goes on."""
        with pytest.raises(RuntimeError, match="inside"), workspace.lock("a"):
            raise RuntimeError("inside")
        self._take(workspace, "a", 0.05)

    def test_locks_nest(self, workspace: Any) -> None:
        """Operations and other locks work inside a locked section."""
        with workspace.lock("a"), workspace.lock("b"):
            workspace.append("x", b"1\n")
            workspace.replace("y", b"2\n")
        assert workspace.read("x").data == b"1\n"

    def test_lock_names_are_opaque(self, workspace: Any) -> None:
        """Any string names a lock."""
        for name in ("", "../x", "a/b", "a\0b", "\ud800", "x" * 3000, "日本"):
            self._take(workspace, name, 1)

    def test_lock_serialises_a_section(self, workspace: Any) -> None:
        """A read and a rewrite inside a lock lose no update among threads."""
        workspace.replace("n", b"0")

        def add() -> None:
            for _ in range(10):
                with workspace.lock("n", timeout=timedelta(seconds=30)):
                    value = int(workspace.read("n").data)
                    workspace.replace("n", b"%d" % (value + 1))

        with ThreadPoolExecutor(4) as pool:
            for job in [pool.submit(add) for _ in range(4)]:
                job.result()
        assert workspace.read("n").data == b"40"

    def test_lease(self, ws: Any) -> None:
        """A lease is one owner's until it is released."""
        ttl = timedelta(seconds=30)
        mine = ws.acquire_lease("tick", ttl=ttl)
        assert mine.name == "tick"
        assert ws.acquire_lease("tick", ttl=ttl) is None
        assert ws.acquire_lease("other", ttl=ttl) is not None
        assert ws.renew_lease(mine, ttl=ttl) is True
        ws.release_lease(mine)
        assert ws.renew_lease(mine, ttl=ttl) is False
        assert ws.acquire_lease("tick", ttl=ttl) is not None

    def test_lease_that_was_lost(self, ws: Any) -> None:
        """Who lost a lease can neither renew nor release the next owner's."""
        old = ws.acquire_lease("tick", ttl=timedelta(seconds=30))
        ws.release_lease(old)
        new = ws.acquire_lease("tick", ttl=timedelta(seconds=30))
        ws.release_lease(old)
        assert ws.renew_lease(old, ttl=timedelta(seconds=30)) is False
        assert ws.renew_lease(new, ttl=timedelta(seconds=30)) is True

    def test_lease_runs_out(self, ws: Any) -> None:
        """A lease that nobody renews frees itself."""
        assert ws.acquire_lease("tick", ttl=timedelta(milliseconds=1))
        threading.Event().wait(0.02)
        assert ws.acquire_lease("tick", ttl=timedelta(seconds=30))

    # -- two writers -------------------------------------------------------------------------------------------------------------

    def test_concurrent_appends_never_interleave(self, workspace: Any) -> None:
        """Lines of many writers stand whole and none is lost."""
        self.need_exclusion()
        openings = [workspace, self.another(workspace)]
        lines = [b"%d-%d-" % (w, n) + b"x" * (300 if n % 5 else 20_000) + b"\n" for w in range(4) for n in range(25)]

        def write(writer: int) -> None:
            for line in lines[writer * 25 : writer * 25 + 25]:
                openings[writer % 2].append("log", line)

        with ThreadPoolExecutor(4) as pool:
            for job in [pool.submit(write, w) for w in range(4)]:
                job.result()
        assert sorted(workspace.read("log").data.splitlines(keepends=True)) == sorted(lines)

    def test_one_of_two_replaces_wins(self, workspace: Any) -> None:
        """Of many replaces from one version exactly one goes through."""
        self.need_exclusion()
        version = workspace.replace("a", b"0\n")
        openings = [workspace, self.another(workspace)]

        def attempt(number: int) -> bool:
            try:
                openings[number % 2].replace("a", b"%d\n" % number, expect=version)
            except VersionConflict:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(attempt, range(1, 9))) == 1

    def test_one_of_two_creates_wins(self, workspace: Any) -> None:
        """Of many creations of one file exactly one goes through."""
        self.need_exclusion()
        openings = [workspace, self.another(workspace)]

        def attempt(number: int) -> bool:
            try:
                openings[number % 2].replace("new", b"%d\n" % number, create=True)
            except VersionConflict:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(attempt, range(8))) == 1

    def test_appends_that_race_with_a_move_land_whole(self, workspace: Any) -> None:
        """Every line is in the moved file or in the new one, once."""
        self.need_exclusion()
        other = self.another(workspace)

        def move_all() -> None:
            for number in range(5):
                try:
                    other.move("log", f"archive/{number}")
                except OSError:
                    continue

        with ThreadPoolExecutor(2) as pool:
            writing = pool.submit(lambda: [workspace.append("log", b"%03d\n" % n) for n in range(60)])
            moving = pool.submit(move_all)
            writing.result()
            moving.result()
        found = b"".join(workspace.read(info.path).data for info in workspace.files())
        assert sorted(found.split()) == [b"%03d" % n for n in range(60)]

    def test_one_of_many_leases(self, workspace: Any) -> None:
        """Of many claims at once exactly one is granted."""
        self.need_exclusion()
        openings = [workspace, self.another(workspace)]
        with ThreadPoolExecutor(4) as pool:
            claims = list(
                pool.map(lambda n: openings[n % 2].acquire_lease("tick", ttl=timedelta(seconds=30)), range(8))
            )
        assert sum(claim is not None for claim in claims) == 1

    @staticmethod
    def _take(workspace: Any, name: str, seconds: float) -> None:
        with workspace.lock(name, timeout=timedelta(seconds=seconds)):
            pass
