"""Every notebook runs as it stands, and shows what is stored in it."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NAMES = ["compaction", "front_doors", "maintenance", "quickstart", "search"]
MOVING = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?", "<moment>"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d [+-]\d\d:\d\d", "<moment>"),
    (r"\d{4}-\d\d-\d\d", "<day>"),
    (r"\b[0-9a-f]{16,64}\b", "<hash>"),
    (r"/[\w./-]*/(tmp|T)[\w.-]*", "<folder>"),
]
"""What differs from run to run: moments, days, hashes, temporary folders."""

pytestmark = pytest.mark.timeout(300)


def normal(output):
    """Return what an output says, without what moves; of a picture only that it is one."""
    if output.output_type == "stream":
        return _fixed(output.text)
    data = output.get("data", {})
    return [
        _fixed(text) if kind == "text/plain" and "image/png" not in data else kind
        for kind, text in sorted(data.items())
    ]


def _fixed(text):
    for pattern, name in MOVING:
        text = re.sub(pattern, name, text)
    return text


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch):
    """A notebook is offline by default, whatever key the machine has."""
    for name in [n for n in os.environ if n.startswith("OPENAI")]:
        monkeypatch.delenv(name)


def test_each_notebook_is_tested():
    """None lies in the folder without a test."""
    assert sorted(p.stem for p in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.filterwarnings("ignore::DeprecationWarning:zmq", "ignore::DeprecationWarning:jupyter_client")
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_what_is_stored_in_it(name, tmp_path):
    """Run from the top in a folder of its own: no error, and every output as it stands in the file."""
    stored = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    fresh = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(fresh, timeout=200, kernel_name="python3", coalesce_streams=True, resources=place).execute()
    for old, new in zip(stored.cells, fresh.cells, strict=True):
        shown = [normal(output) for output in new.get("outputs", [])]
        assert shown == [normal(output) for output in old.get("outputs", [])], old.source


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_small_and_names_its_switch(name):
    """No output over 200 kB; the talking ones have one cell that switches to a real model."""
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    sizes = [len(str(output)) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert max(sizes) < 200_000
    switches = [
        cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.startswith("# Offline by default")
    ]
    assert len(switches) == (0 if name == "search" else 1)
    private = [str(FOLDER.parent), str(Path.home())]
    assert not any(path in str(cell) for cell in notebook.cells for path in private)
