"""How the page that shows a memory looks: screenshots beside stored ones, in light and in dark.

Compared is where something stands and where something coloured stands, cell by cell, so that another machine's fonts make
no difference and a chart, a table or a section that is gone does. A page that is meant to look different: run the tests,
look at the pictures that they name, and copy them over those in `screens`.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from langgraph_harness_memory.cli.view import Point, SessionView, page
from langgraph_harness_memory.clock import Clock
from langgraph_harness_memory.formats import changes, daily_log
from langgraph_harness_memory.testing import FrozenClock
from langgraph_harness_memory.workspace.local import LocalWorkspace

CHROMIUM = Path("/usr/bin/chromium")
SCREENS = Path(__file__).parent / "screens"
CLOCK: Clock = FrozenClock("2026-03-04T12:00:00+00:00")
THEMES = {"dark": 0, "light": 1}
"""As Chromium numbers them."""

WIDTH, HEIGHT = 900, 700
CELL = (50, 150)
"""Height and width in pixels: larger than what a font moves, smaller than any section."""
GONE = 0.2
"""A cell that holds less than this share of what it held."""
SPARE = 2
"""Cells that another font may empty or fill; of the sections the smallest, the list of changes, fills three."""

pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed at /usr/bin/chromium"),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The page of a small memory with a version, a change, a log, a note, and two sessions, one of them compacted."""
    tree = LocalWorkspace(tmp_path_factory.mktemp("memory") / "workspace")
    now = CLOCK.now()
    tree.replace("MEMORY.md", b"# Team\n\n- Uses Alembic\n- Deploys on Tuesdays\n")
    tree.replace("memory/.backups/MEMORY-20260303T080000000000Z-0123abcd.md", b"# Team\n\n- Deploys on Thursdays\n")
    heading = daily_log.BlockHeading(at=now, session="t1", positions=frozenset({0, 1}), sources=("user",))
    tree.append(
        "memory/2026-03-04.md", daily_log.render_block([(heading, ["Chose Alembic", "Moves to Oslo"])]).encode()
    )
    change = changes.Change(kind="changed", text="Deploys on Tuesdays", before="Deploys on Thursdays", origin="m#2")
    tree.append(
        changes.PATH, changes.render(changes.Entry(at=now, what="consolidation", id="a1", changes=(change,))).encode()
    )
    figures = [(2, 100, 100, False), (20, 900, 900, False), (6, 300, 950, True), (12, 600, 1250, False)]
    points = tuple(
        Point(at=f"2026-03-04T12:0{n}:00+00:00", messages=m, tokens=t, plain_tokens=p, compacted=c)
        for n, (m, t, p, c) in enumerate(figures)
    )
    sessions = [
        SessionView(thread_id=name, messages=20, unflushed=1, first_at=now, last_at=now, points=seen)
        for name, seen in (("t1", points), ("t2", points[:2]))
    ]
    return page(tree, sessions, name="workspace", user=None, written_at=now)


@pytest.fixture
def taken(tmp_path):
    """Takes a screenshot of a part of a page; returns its path."""

    def take(text, part, theme="light"):
        source, picture = tmp_path / "memory.html", tmp_path / f"{part}-{theme}.png"
        source.write_text(text, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        options += ["--virtual-time-budget=3000", f"--blink-settings=preferredColorScheme={THEMES[theme]}"]
        options += [f"--window-size={WIDTH},{HEIGHT}", f"--user-data-dir={tmp_path / 'profile'}"]
        subprocess.run(
            [str(CHROMIUM), *options, f"--screenshot={picture}", f"{source.as_uri()}#{part}"],
            capture_output=True, timeout=120, check=True,
        )  # fmt: skip
        return picture

    return take


def cells(picture):
    """Return, by cell, how much differs from the page's own background, and how much of it is coloured."""
    pixels = imread(picture)[:, :, :3]
    ink = np.abs(pixels - pixels[5, 5]).max(axis=2)
    colour = (pixels.max(axis=2) - pixels.min(axis=2) > 0.35).astype(float)
    high, wide = CELL
    return [
        layer[: HEIGHT // high * high].reshape(HEIGHT // high, high, WIDTH // wide, wide).mean(axis=(1, 3))
        for layer in (ink, colour)
    ]


def cells_that_differ(one, other):
    """Count the cells that are filled in one picture and empty in the other, of ink and of colour."""
    counted = []
    for a, b, least in zip(cells(one), cells(other), (0.01, 0.002), strict=True):
        filled = np.maximum(a, b) > least
        share = (np.minimum(a, b) + least / 4) / (np.maximum(a, b) + least / 4)
        counted.append(int((filled & (share < GONE)).sum()))
    return counted


@pytest.mark.parametrize(
    ("part", "theme"), [("overview", "light"), ("memory", "light"), ("threads", "light"), ("threads", "dark")]
)
def test_each_part_looks_as_it_did(shown, taken, part, theme):
    """Every box, table, chart and line of text stands where it stood, on the background of its theme."""
    picture, stored = taken(shown, part, theme), SCREENS / f"{part}-{theme}.png"
    assert stored.exists(), f"look at {picture} and copy it to {stored}"
    assert max(cells_that_differ(picture, stored)) <= SPARE, f"{picture} looks different from {stored}"
    background = imread(picture)[5, 5, :3].mean()
    assert background > 0.9 if theme == "light" else background < 0.2
    assert stored.stat().st_size < 60_000


GONE_WITHOUT = {
    "the numbers": ("overview", '$("numbers").append(box);'),
    "the table of days": ("overview", '$("days").append(table);'),
    "the tabs": ("overview", 'document.querySelector("nav").append(button);'),
    "the text of MEMORY.md": ("memory", '$("text").textContent = chosen.text'),
    "the changes": ("memory", '$("changes").append(box);'),
    "the chart": ("threads", '$("chart").append(svg);'),
    "the line in the chart": ("threads", 'svg.append(draw("path", { d: path("tokens")'),
    "the table of sessions": ("threads", 'fill($("sessions"), ["Session"'),
}


@pytest.mark.parametrize("what", GONE_WITHOUT)
def test_what_is_gone_is_seen(shown, taken, what):
    """A page that lost one thing looks different."""
    part, statement = GONE_WITHOUT[what]
    assert statement in shown
    without = shown.replace(statement, f"if (0) {statement}")
    assert max(cells_that_differ(taken(without, part), SCREENS / f"{part}-light.png")) > SPARE, what


@pytest.mark.parametrize("font", ["Liberation Sans", "DejaVu Serif", "DejaVu Sans Mono"])
def test_another_font_makes_no_difference(shown, taken, font):
    """Machines differ in their fonts; where one of these is missing, the browser takes its own."""
    other = shown.replace("system-ui, sans-serif", f"'{font}', serif")
    for part in ("overview", "threads"):
        assert max(cells_that_differ(taken(other, part), SCREENS / f"{part}-light.png")) <= SPARE, part
