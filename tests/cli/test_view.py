"""The page that shows a memory holds everything, loads nothing, and runs nothing that was said."""

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_harness_memory.cli.view import Point, SessionView, page, points
from langgraph_harness_memory.formats import changes, daily_log
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.workspace.local import LocalWorkspace

CHROMIUM = Path("/usr/bin/chromium")
NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"


@pytest.fixture
def workspace(tmp_path):
    tree = LocalWorkspace(tmp_path / "workspace")
    tree.replace("MEMORY.md", b"# Team\n\n- Uses Alembic\n- Deploys on Tuesdays\n")
    tree.replace("memory/.backups/MEMORY-20260303T080000000000Z-0123abcd.md", b"# Team\n\n- Deploys on Thursdays\n")
    heading = daily_log.BlockHeading(at=NOW, session="t1", positions=frozenset({0, 1}), sources=("user",))
    block = daily_log.render_block([(heading, ["Chose Alembic for the database migration", HOSTILE])])
    tree.append("memory/2026-03-04.md", block.encode())
    change = changes.Change(
        kind="changed", text="Deploys on Tuesdays", before="Deploys on Thursdays", origin="memory/2026-03-04.md#2"
    )
    entry = changes.Entry(at=NOW, what="consolidation", id="ab12", changes=(change,))
    tree.append(changes.PATH, changes.render(entry).encode())
    tree.replace("knowledge/style.md", b"Prefer short answers\n")
    return tree


def session(name="t1", *, compacted=True):
    chart = tuple(
        Point(at=f"2026-03-04T12:0{n}:00+00:00", messages=m, tokens=t, plain_tokens=p, compacted=c)
        for n, (m, t, p, c) in enumerate([(2, 100, 100, False), (20, 900, 900, False), (6, 300, 950, compacted)])
    )
    return SessionView(thread_id=name, messages=20, unflushed=1, first_at=NOW, last_at=NOW, points=chart)


def write(workspace, *sessions):
    return page(workspace, sessions, name="workspace", user=None, written_at=NOW)


def data_of(text):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


def test_the_page_holds_what_the_workspace_holds(workspace):
    """Lines with their places, versions, changes and sessions are all in it."""
    data = data_of(write(workspace, session()))
    assert data["memory"]["versions"][0]["text"] == "# Team\n\n- Deploys on Thursdays\n"
    assert data["memory"]["changes"][0]["changes"][0]["before"] == "Deploys on Thursdays"
    assert {"path": "MEMORY.md", "line_number": 3, "content": "- Uses Alembic", "date": None} in data["lines"]
    assert [(line["path"], line["date"]) for line in data["lines"] if "Chose" in line["content"]] == [
        ("memory/2026-03-04.md", "2026-03-04")
    ]
    assert any(line["path"] == "knowledge/style.md" for line in data["lines"])
    assert [p["compacted"] for p in data["sessions"][0]["points"]] == [False, False, True]


def test_what_was_said_cannot_leave_its_place(workspace):
    """Markup in a log is data; there are exactly the two script elements of the template."""
    text = write(workspace, session(HOSTILE))
    assert text.count("<script") == 2
    assert HOSTILE not in text
    assert any(HOSTILE[:20] in line["content"] for line in data_of(text)["lines"])


def test_the_page_loads_nothing(workspace):
    """No address of another place stands in the template, and its policy forbids to load anything."""
    text = write(workspace)
    addresses = set(re.findall(r"https?://[^\"'\s<]+", re.sub(r'id="data">.*?</script>', "", text, flags=re.DOTALL)))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in text


def test_points_tell_compactions_and_what_was_said_in_all():
    """A new summary is a compaction; tokens shrink while the plain history grows."""

    def said(n):
        return [HumanMessage("x" * 10, id=f"h{n}"), AIMessage("y" * 10, id=f"a{n}")]

    first = [*said(1), *said(2)]
    summary = HumanMessage("short", id="h1", additional_kwargs=marked("summary"))
    after = [summary, *said(2), *said(3)]
    measured = points(
        [("1", first), ("2", after), ("3", after), ("4", [*after, *said(4)])], lambda m: len(str(m.content))
    )
    assert [(p.at, p.tokens, p.plain_tokens, p.compacted) for p in measured] == [
        ("1", 40, 40, False),
        ("2", 45, 60, True),
        ("4", 65, 80, False),
    ]


def test_very_many_points_are_thinned_out_and_no_compaction_is_lost():
    """A chart of a long thread stays small."""
    grown = [HumanMessage("x", id=str(n)) for n in range(3_000)]
    summary = HumanMessage("s", id="0", additional_kwargs=marked("summary"))
    states = (
        [(str(n), grown[:n]) for n in range(1, 1_500)]
        + [("c", [summary])]
        + [(str(n), [summary, *grown[1:n]]) for n in range(2, 1_500)]
    )
    measured = points(states, lambda m: 1)
    assert len(measured) < 450
    assert sum(p.compacted for p in measured) == 1


def dump(path, fragment, tmp_path):
    """Return the document as a browser has it after its scripts ran."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=3000"]
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    ran = subprocess.run(
        [str(CHROMIUM), *options, profile, "--dump-dom", f"{path.as_uri()}#{fragment}"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return ran.stdout


needs_chromium = pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed at /usr/bin/chromium")


@needs_chromium
def test_a_browser_shows_search_hits_charts_and_differences(workspace, tmp_path):
    """In headless Chromium: the search finds and marks, the chart has a dot for the compaction, nothing hostile ran."""
    path = tmp_path / "memory.html"
    path.write_text(write(workspace, session(), session(HOSTILE, compacted=False)), encoding="utf-8")
    seen = dump(path, "search?q=alembic%20migration", tmp_path)
    hits = re.search(r'<table id="hits">.*?</table>', seen, re.DOTALL)[0]
    assert hits.index("memory/2026-03-04.md#2") < hits.index("MEMORY.md#3")
    assert "<mark>Alembic</mark>" in hits
    assert 'class="compaction"' in seen
    assert "changed: Deploys on Thursdays → Deploys on Tuesdays" in seen
    assert "<title>Memory</title>" in seen
    assert 'section id="part-search"' in seen
    assert 'section id="part-overview" hidden' in seen


@needs_chromium
def test_a_browser_draws_the_page(workspace, tmp_path):
    """The screenshot of each part is a picture with content, not a blank page."""
    path = tmp_path / "memory.html"
    path.write_text(write(workspace, session()), encoding="utf-8")
    sizes = {}
    for part in ("overview", "threads"):
        picture = tmp_path / f"{part}.png"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        subprocess.run(
            [str(CHROMIUM), *options, f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1000,800",
             f"--screenshot={picture}", f"{path.as_uri()}#{part}"],
            capture_output=True, timeout=60, check=True,
        )  # fmt: skip
        sizes[part] = picture.stat().st_size
    assert all(size > 8_000 for size in sizes.values()), sizes
    shutil.rmtree(tmp_path / "profile", ignore_errors=True)


def test_an_empty_memory_has_a_page_too(tmp_path):
    """Nothing was said yet."""
    (tmp_path / "workspace").mkdir()
    data = data_of(write(LocalWorkspace(tmp_path / "workspace")))
    assert (data["lines"], data["logs"], data["memory"]["text"]) == ([], [], "")
