"""No path, link, device or race leads out of a folder workspace."""

import os
import shutil
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.errors import PathRefused, VersionConflict, WorkspaceError
from langgraph_harness_memory.workspace.local import LocalWorkspace
from langgraph_harness_memory.workspace.paths import file_parts, folder_parts, joined

SECRET = b"the outside\n"

PAYLOADS = [
    "../secret",
    "../../secret",
    "../../../../../../../../../../../../tmp/secret",
    "./../secret",
    "memory/../../secret",
    "memory/./../../secret",
    "memory//../..//secret",
    "memory/..",
    "memory/../",
    "..",
    "../",
    "...//../secret",
    "a/b/c/../../../../secret",
    "/secret",
    "//secret",
    "///secret",
    "/./secret",
    "/proc/self/environ",
    "/dev/zero",
    "/etc/passwd",
    "~/../secret/..",
    "..\\secret",
    "..\\..\\secret",
    "memory\\..\\..\\secret",
    "memory/..\\../secret",
    "C:\\secret",
    "C:/secret",
    "c:secret\\..",
    "\\\\server\\share",
    "\\\\?\\C:\\secret",
    "secret\0.md",
    "\0../secret",
    "../secret\0",
    "memory/\0/../../secret",
    "../secret\n",
    "..\r/secret",
    "\x1b[2J../secret",
    "memory/\x7f",
    "../\ud800",
    "\udcff/../secret",
    "a" * 256,
    "é" * 128,
    "日" * 86,
    "a/" * 3000 + "../" * 3001 + "secret",
    "x/" * 5000,
    "",
    ".",
    "./",
    "././.",
    " /../secret",
    "../secret ",
    "link-out",
    "link-out/secret",
    "link-file",
    "link-loop",
    "link-parent/secret",
    "chain/secret",
    "link-root/etc/passwd",
    "memory/.locks/path-00",
    "memory/.locks",
    "memory/./.locks/x",
]
"""Ways out that have worked somewhere, in our own words."""


@pytest.fixture
def ws(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(SECRET)
    root = tmp_path / "ws"
    workspace = LocalWorkspace(root, fsync=False)
    workspace.append("memory/a.md", b"inside\n")
    (root / "link-out").symlink_to(outside)
    (root / "link-file").symlink_to("../outside/secret")
    (root / "link-loop").symlink_to("link-loop")
    (root / "link-parent").symlink_to("..")
    (root / "chain").symlink_to("link-out")
    (root / "link-root").symlink_to("/")
    return workspace


def outside_of(ws):
    outside = ws.root.parent / "outside"
    return (
        sorted(p.name for p in outside.iterdir()),
        (outside / "secret").read_bytes(),
        sorted(p.name for p in ws.root.parent.iterdir()),
    )


@pytest.mark.parametrize("path", PAYLOADS, ids=lambda p: repr(p[:24]))
def test_nothing_leads_out(ws, path):
    """Each operation refuses, with an error a model can be told, and nothing outside is read or changed."""
    before = outside_of(ws)
    for act in (
        lambda: ws.read(path),
        lambda: ws.stat(path),
        lambda: ws.append(path, b"x\n"),
        lambda: ws.replace(path, b"x\n"),
        lambda: ws.replace(path, b"x\n", create=True),
        lambda: ws.move("memory/a.md", path),
        lambda: ws.move(path, "memory/stolen.md"),
    ):
        with pytest.raises((PathRefused, VersionConflict), match=r"\S"):
            act()
    assert outside_of(ws) == before
    assert ws.read("memory/a.md").data == b"inside\n"
    assert ws.read("memory/stolen.md") is None


@pytest.mark.parametrize(
    "path", [p for p in PAYLOADS if not p.startswith(("link", "chain"))], ids=lambda p: repr(p[:24])
)
def test_folders_do_not_lead_out(ws, path):
    """Listing, deleting and narrowing refuse the same paths; the root itself can be listed."""
    before = outside_of(ws)
    if not path.strip("./"):
        pytest.skip("names the root, which may be listed") if ".." not in path else None
    for act in (lambda: ws.files(path), lambda: ws.folders(path), lambda: ws.under(path), lambda: ws.delete(path)):
        with pytest.raises(PathRefused, match=r"\S"):
            act()
    assert outside_of(ws) == before


@pytest.mark.parametrize("link", ["link-out", "link-file", "link-loop", "link-parent", "chain", "link-root"])
def test_links_are_not_followed_by_listing_and_deleting(ws, link):
    """A link out is not listed; deleting it removes the link alone."""
    assert all(not info.path.startswith(link) for info in ws.files())
    assert link not in ws.folders()
    before = outside_of(ws)
    assert ws.delete(link) is True
    assert not (ws.root / link).is_symlink()
    assert outside_of(ws) == before


def test_memory_md_may_be_a_link_inside(ws):
    """A link to a file inside is written through: the target changes and the link survives."""
    ws.append("notes/real.md", b"one\n")
    (ws.root / "MEMORY.md").symlink_to("notes/real.md")
    assert ws.read("MEMORY.md").data == b"one\n"
    version = ws.read("MEMORY.md").version
    ws.replace("MEMORY.md", b"two\n", expect=version)
    ws.append("MEMORY.md", b"three\n")
    assert (ws.root / "MEMORY.md").is_symlink()
    assert (ws.root / "notes/real.md").read_bytes() == b"two\nthree\n"
    assert ws.stat("MEMORY.md").size == 10
    assert "MEMORY.md" in {info.path for info in ws.files()}


def test_link_inside_may_be_absolute(ws):
    """An absolute link that stays inside works too."""
    ws.append("notes/real.md", b"one\n")
    (ws.root / "MEMORY.md").symlink_to(ws.root / "notes/real.md")
    assert ws.read("MEMORY.md").data == b"one\n"


def test_root_may_be_reached_by_a_link(ws):
    """The user's own link to the workspace is fine."""
    (ws.root.parent / "alias").symlink_to(ws.root)
    alias = LocalWorkspace(ws.root.parent / "alias")
    assert alias.read("memory/a.md").data == b"inside\n"


def test_dangling_link_inside(ws):
    """A link to a file that is not there yet is a file that is not there yet."""
    (ws.root / "MEMORY.md").symlink_to("notes/later.md")
    assert ws.read("MEMORY.md") is None
    ws.replace("MEMORY.md", b"x\n")
    assert (ws.root / "notes/later.md").read_bytes() == b"x\n"


def test_links_do_not_lead_from_tenant_to_tenant(ws):
    """A link in one user's folder to another's is a way out of the first."""
    ws.append("users/b/MEMORY.md", b"b\n")
    ws.append("users/a/x.md", b"a\n")
    (ws.root / "users/a/MEMORY.md").symlink_to("../b/MEMORY.md")
    (ws.root / "users/a/all").symlink_to("..")
    alice = ws.under("users/a")
    for path in ("MEMORY.md", "all/b/MEMORY.md"):
        with pytest.raises(PathRefused, match="outside"):
            alice.read(path)
    assert [info.path for info in alice.files()] == ["x.md"]


def test_hard_links_are_read_and_not_written(ws):
    """A second name of an outside file is not written through."""
    os.link(ws.root.parent / "outside/secret", ws.root / "twin")
    assert ws.read("twin").data == SECRET
    for act in (lambda: ws.append("twin", b"x\n"), lambda: ws.replace("twin", b"x\n")):
        with pytest.raises(PathRefused, match="hard links"):
            act()
    assert outside_of(ws)[1] == SECRET


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "device"])
def test_what_is_no_file_never_hangs(ws, kind, monkeypatch):
    """A pipe, socket, folder or device in a file's place is refused at once."""
    path = ws.root / "MEMORY.md"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "socket":
            monkeypatch.chdir(ws.root)  # a socket's address has 107 bytes at most
            server = socket.socket(socket.AF_UNIX)
            server.bind("MEMORY.md")
            server.close()
        case "device":
            try:
                os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))
            except PermissionError:
                pytest.skip("only root makes devices")
    for act in (
        lambda: ws.read("MEMORY.md"),
        lambda: ws.stat("MEMORY.md"),
        lambda: ws.append("MEMORY.md", b"x\n"),
        lambda: ws.replace("MEMORY.md", b"x\n"),
        lambda: ws.move("MEMORY.md", "other"),
    ):
        with pytest.raises(PathRefused, match=r"MEMORY\.md"):
            act()
    assert "MEMORY.md" not in {info.path for info in ws.files()}


def test_folder_that_is_exchanged_for_a_link_meanwhile(ws):
    """While a folder is exchanged for a link out and back, no read or write gets outside."""
    ws.append("swap/secret", b"inside\n")
    done = threading.Event()
    inside, aside = ws.root / "swap", ws.root / "aside"

    def exchange():
        while not done.is_set():
            inside.rename(aside)
            try:
                inside.symlink_to("../outside")
                inside.unlink()
            except FileExistsError:  # an append made the folder anew
                pass
            while aside.exists():
                try:
                    aside.rename(inside)
                except OSError:
                    shutil.rmtree(inside, ignore_errors=True)

    thread = threading.Thread(target=exchange)
    thread.start()
    seen = set()
    try:
        for n in range(1500):
            try:
                stored = ws.read("swap/secret")
                seen.add(None if stored is None else stored.data[:7])
                if n % 10 == 0:
                    ws.append("swap/secret", b"inside\n")
            except (PathRefused, WorkspaceError):
                seen.add("refused")
    finally:
        done.set()
        thread.join()
    assert seen <= {None, b"inside\n", "refused"}
    assert b"inside\n" in seen
    assert (ws.root.parent / "outside/secret").read_bytes() == SECRET
    assert [p.name for p in (ws.root.parent / "outside").iterdir()] == ["secret"]


def test_names_that_are_no_text_are_left_out(ws):
    """A file whose name is not UTF-8, or holds a newline, is not listed and breaks nothing."""
    (ws.root / os.fsdecode(b"bad\xff.md")).write_bytes(b"x")
    (ws.root / "two\nlines.md").write_text("x")
    assert [info.path for info in ws.files()] == ["memory/a.md"]


@given(st.text(max_size=40))
def test_any_text_is_refused_or_stays_inside(text):
    """Whatever the text, a path that is accepted has no way up, no root and no empty part."""
    try:
        parts = file_parts(text)
    except PathRefused:
        return
    assert parts
    assert all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in parts)
    assert file_parts(joined(parts)) == parts


@given(st.lists(st.sampled_from(["..", ".", "", "a", "b.md", "...", "\\", "/"]), max_size=8))
def test_made_of_dots_and_slashes(pieces):
    """Paths made of dots and slashes never climb."""
    try:
        parts = folder_parts("/".join(pieces))
    except PathRefused:
        return
    assert ".." not in parts
