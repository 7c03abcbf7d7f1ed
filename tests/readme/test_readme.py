"""What the README shows is run as it stands, and what it lists is what there is."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from langgraph_harness_memory import errors
from langgraph_harness_memory.curation.extractor import ExtractiveChatModel
from langgraph_harness_memory.testing import OpenAIServer, Reply, ScriptedChatModel

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- runs: (\w+) -->\n```\w+\n(.*?)```", README, re.DOTALL))


def run(code, folder, server):
    """Run a program as a reader would: in a folder of its own, with a key and an address in the environment."""
    environment = {
        **os.environ,
        "OPENAI_API_KEY": "unused",
        "OPENAI_BASE_URL": server.url,
        "LANGSMITH_TRACING": "false",
    }
    program = [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", code]
    ran = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr, ran.stderr
    return ran.stdout


@pytest.fixture
def server():
    with OpenAIServer(model=ExtractiveChatModel()) as running:
        yield running


def test_every_python_block_is_run():
    """No program stands in the README without a test."""
    assert README.count("```python") + README.count("```diff") == len(BLOCKS)
    assert {
        "agent",
        "nodes",
        "create_agent",
        "create_deep_agent",
        "retriever",
        "index",
        "checkpointer",
        "maintenance",
        "diff",
    } == set(BLOCKS)


def test_each_front_door_takes_twenty_lines():
    """Counted without blank lines; the diff is counted on its own."""
    sizes = {name: len([line for line in code.splitlines() if line.strip()]) for name, code in BLOCKS.items()}
    assert {name: size for name, size in sizes.items() if size > 20 and name != "diff"} == {}


def test_the_prebuilt_agent(tmp_path, server):
    """A preference of Monday is in the memory of Friday's request."""
    assert run(BLOCKS["agent"], tmp_path, server).strip()
    memory = next((tmp_path / "workspace" / "users").glob("*/MEMORY.md"))
    assert "vegetarian" in memory.read_text()
    requests = [r.body for r in server.requests if any("Book dinner" in str(m["content"]) for m in r.body["messages"])]
    talking = next(body for body in requests if body.get("tools"))
    assert "vegetarian" in str(talking["messages"][0])
    assert {t["function"]["name"] for t in talking["tools"]} >= {"book_table", "memory_search"}


def programs():
    """Return the program before and after the diff."""
    lines = BLOCKS["diff"].splitlines()
    return (
        "\n".join(line[1:] for line in lines if not line.startswith("+")),
        "\n".join(line[1:] for line in lines if not line.startswith("-")),
    )


USE = """
config = {"configurable": {"thread_id": "t1"}}
for text in ("weather in Oslo?", "remember that I prefer the train"):
    app.invoke({"messages": [("user", text)]}, config)
print([m.type for m in app.get_state(config).values["messages"]])
"""


def test_an_existing_graph_gains_memory_with_six_lines(tmp_path):
    """Before and after give the same conversation; after it is remembered, searchable and injected."""
    before, after = programs()
    added = [line for line in BLOCKS["diff"].splitlines() if line.startswith("+")]
    assert len(added) <= 6
    assert ast.parse(before)
    assert ast.parse(after)

    def answer(messages):
        last = messages[-1]
        if '"task": "flush"' in last.text:
            return "- The user prefers the train"
        if last.type == "tool":
            return "It rains in Oslo."
        return Reply(calls=[("weather", {"city": "Oslo"})]) if "weather" in last.text else "Noted."

    shown = {}
    for name, code in (("before", before), ("after", after)):
        (tmp_path / name).mkdir()
        with OpenAIServer(model=ScriptedChatModel(script=[answer], repeat=True)) as server:
            shown[name] = run(code + USE, tmp_path / name, server)
    assert shown["before"] == shown["after"] == "['human', 'ai', 'tool', 'ai', 'human', 'ai']\n"
    workspace = tmp_path / "after" / "workspace"
    logged = (workspace / "sessions" / "t1.log.jsonl").read_text()
    for words in ("weather in Oslo?", "It rains in Oslo.", "remember that I prefer the train", "Noted."):
        assert logged.count(words) == 1 or words == "It rains in Oslo."
    assert any("train" in p.read_text() for p in (workspace / "memory").glob("*.md"))


def test_nodes_for_a_graph_of_your_own(tmp_path, server):
    """The run is logged and its fact is in the daily log."""
    run(BLOCKS["nodes"], tmp_path, server)
    assert "We ship on Tuesdays." in (tmp_path / "workspace" / "sessions" / "t1.log.jsonl").read_text()
    assert any("Tuesdays" in p.read_text() for p in (tmp_path / "workspace" / "memory").glob("*.md"))


@pytest.mark.parametrize(("name", "fact"), [("create_agent", "Miso"), ("create_deep_agent", "2026.1")])
def test_middleware(tmp_path, server, name, fact):
    """The same list for both; the fact is logged and flushed."""
    run(BLOCKS[name], tmp_path, server)
    assert fact in (tmp_path / "workspace" / "sessions" / "t1.log.jsonl").read_text()
    assert any(fact in p.read_text() for p in (tmp_path / "workspace" / "memory").glob("*.md"))


def test_tools_and_retriever(tmp_path, server):
    """The chain's request holds the saved line."""
    shown = run(BLOCKS["retriever"], tmp_path, server)
    assert "memory_forget" in shown
    assert any("Alembic" in str(r.body["messages"]) and "Question:" in str(r.body["messages"]) for r in server.requests)


def test_the_index_alone(tmp_path, server):
    """A question finds its line, and no model was asked."""
    assert (
        run(BLOCKS["index"], tmp_path, server) == "memory/2026-04-12.md#1  - Chose Alembic for the database migration\n"
    )
    assert server.requests == []


def test_the_checkpointer_alone(tmp_path, server):
    """The state comes back from the files."""
    shown = run(BLOCKS["checkpointer"], tmp_path, server)
    assert "HumanMessage(content='hello'" in shown
    assert "AIMessage(content='hello'" in shown
    assert list((tmp_path / "workspace").rglob("t1.log.jsonl"))


def test_maintenance(tmp_path, server):
    """One tick as a graph: lines of a daily log become MEMORY.md."""
    (tmp_path / "workspace" / "memory").mkdir(parents=True)
    (tmp_path / "workspace" / "memory" / "2026-04-12.md").write_text("- Chose Alembic for the database migration\n")
    assert "'added': 1" in run(BLOCKS["maintenance"], tmp_path, server)
    assert "Alembic" in (tmp_path / "workspace" / "MEMORY.md").read_text()


def test_every_error_is_listed():
    """The table names each class of the tree, and none that is not there."""
    listed = set(re.findall(r"^\| `(\w+)`", README.split("## Errors")[1].split("##")[0], re.MULTILINE))
    there = {n for n, c in vars(errors).items() if isinstance(c, type) and issubclass(c, errors.HarnessMemoryError)}
    assert listed == there - {"HarnessMemoryError"}


def test_every_dependency_earns_its_line():
    """Those of `pyproject.toml`, and every extra."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    section = README.split("## What it depends on")[1]
    table = set(
        re.findall(
            r"`([\w-]+)`", "\n".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
        )
    )
    assert table == {re.split(r"[<>=\[]", d)[0] for d in project["dependencies"]}
    assert set(re.findall(r"`(\w+)` \(", section.split("Extras:")[1])) == set(project["optional-dependencies"])


def test_the_two_lines_are_what_ci_runs():
    """Each is one line, and `.ci/run` takes the second from here."""
    for name in ("demo", "tests"):
        block = re.search(rf"<!-- {name} -->\n```bash\n(.*?)```", README, re.DOTALL)[1]
        assert block.count("\n") == 1
        assert block.startswith("python3 -m venv .venv && ")
    ci = (ROOT / ".ci" / "run").read_text()
    assert "<!-- tests -->" in ci
    for tool in ("ruff check", "ruff format --check", "mypy", "lint-imports"):
        assert f".venv/bin/{tool}" in ci
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_every_file_of_a_workspace_that_it_names_is_made(tmp_path, server):
    """The table of files is no promise of others."""
    run(BLOCKS["agent"].replace(', "user_id": "alice"', ""), tmp_path, server)
    made = {
        p.relative_to(tmp_path / "workspace").as_posix() for p in (tmp_path / "workspace").rglob("*") if p.is_file()
    }
    assert "MEMORY.md" in made
    assert "memory/CHANGES.md" in made
    assert "sessions/monday.log.jsonl" in made
    assert any(re.fullmatch(r"memory/\d{4}-\d{2}-\d{2}\.md", name) for name in made)


def test_every_claim_beside_the_others_names_what_shows_it():
    """Each row ends in tests, notebooks, benchmarks or cases of one that are there."""
    from benchmarks.__main__ import names
    from benchmarks.peer_cases import CASES

    rows = [row for row in README.split("## Beside the others")[1].split("\n## ")[0].splitlines() if row[:2] == "| "]
    cases = {case.number for case in CASES}
    assert len(rows) > 10
    for row in rows[1:]:
        claim, *_, shown = [cell.strip() for cell in row.strip("|").split("|")]
        named = re.findall(r"`([^`]+)`((?: \d+,?)*)", shown)
        assert named, claim
        for what, numbers in named:
            benchmark = what.removeprefix("benchmarks ")
            assert benchmark in names() if benchmark != what else (ROOT / what).exists(), f"{claim}: {what}"
            assert set(re.findall(r"\d+", numbers)) <= cases, f"{claim}: {what}{numbers}"
