"""A smoke run of an installed package, with nothing of the development environment: `python smoke.py [EXTRA…]`.

Runs in an environment that holds the package and the extras that are named, and nothing else. It uses the core, then what
each extra brings, then asks for what every other extra would bring and wants the error that names it. Ends with `ok`.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from langgraph_harness_memory import (
    ExtractiveChatModel,
    HarnessMemory,
    LocalWorkspace,
    MemoryIndex,
    SessionSaver,
    create_memory_agent,
)
from langgraph_harness_memory.errors import MissingExtra, WorkspaceError

CONVERSATION = [
    HumanMessage("My name is Alice and I am allergic to nuts. We decided to use Alembic for the database migration."),
    AIMessage("Noted: Alembic for the database migration, and no nuts."),
]


class Lengths:
    """Embeddings without a model: a text is how often each of five letters stands in it."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "aeiou"]


def core(folder: Path) -> None:
    """Index, flush, consolidation, the prebuilt agent and the checkpointer, with no extra."""
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "MEMORY.md").write_text(
        "# Memory\n\n- Chose Alembic for database migration\n", encoding="utf-8"
    )
    with MemoryIndex(folder / "notes") as index:
        hits = index.search("database migration", 10)
    assert [hit.line_number for hit in hits] == [3], hits
    with HarnessMemory(folder / "workspace", model=ExtractiveChatModel()) as memory:
        flushed = memory.flush(CONVERSATION, "smoke")
        assert flushed.facts > 0, flushed
        memory.maintain()
        assert memory.index.search("allergic nuts", 3)
        agent = create_memory_agent(ExtractiveChatModel(), tools=[], memory=memory)
        run = {"configurable": {"thread_id": "talk", "user_id": None}}
        answer = agent.invoke({"messages": [("user", "What are we using for the migration?")]}, run)
        assert "Alembic" in answer["messages"][-1].text, answer
        later = asyncio.run(agent.ainvoke({"messages": [("user", "And what am I allergic to?")]}, run))
        assert "nuts" in later["messages"][-1].text, later
    assert "Alembic" in (folder / "workspace" / "MEMORY.md").read_text(encoding="utf-8")
    saver = SessionSaver(folder / "workspace" / "sessions")
    assert saver.get_tuple({"configurable": {"thread_id": "talk"}}) is not None


def agents(folder: Path) -> None:
    """The middleware in langchain's agent, and model names of other providers."""
    with HarnessMemory(folder, model=ExtractiveChatModel()) as memory:
        middleware = memory.middleware()
        from langchain.agents import create_agent

        agent: Any = create_agent(ExtractiveChatModel(), tools=[], middleware=middleware)
        answer = agent.invoke({"messages": [("user", "Hello there")]}, {"configurable": {"thread_id": "a"}})
        assert answer["messages"][-1].text, answer


def postgres(folder: Path) -> None:
    """The back end on Postgres; where no server is named, as far as the refusal of an address where none listens."""
    url = os.environ.get("HARNESS_TEST_POSTGRES")
    if url is None:
        with contextlib.suppress(WorkspaceError):
            from langgraph_harness_memory import PostgresWorkspace

            PostgresWorkspace.from_conn_string("postgresql://nobody@127.0.0.1:1/none").append("a", b"b")
            raise AssertionError("a server that is not there took a write")
        return
    with HarnessMemory(url, model=ExtractiveChatModel()) as memory:
        memory.save("The smoke run was here", thread_id="smoke", user_id="smoke-run")
        try:
            assert memory.health() is not None
        finally:
            memory.delete_user("smoke-run")


def cli(folder: Path) -> None:
    """The command, as a person would start it."""
    with HarnessMemory(folder, model=ExtractiveChatModel()) as memory:
        memory.save("Chose Alembic for database migration")
    searched = command("search", "database migration", "--workspace", str(folder), "--json")
    assert searched.returncode == 0, searched.stderr
    assert "Alembic" in searched.stdout, searched.stdout
    for arguments in (
        ["--help"],
        ["status", "--workspace", str(folder)],
        ["view", "--workspace", str(folder), "--output", str(folder / "v.html")],
    ):
        ran = command(*arguments)
        assert ran.returncode == 0, (arguments, ran.stdout, ran.stderr)


def notebooks(folder: Path) -> None:
    """What the notebooks draw and run with."""
    import ipykernel
    import matplotlib

    assert ipykernel.__version__
    assert matplotlib.__version__


def vectors(folder: Path) -> None:
    """An index that smooths its ranks with embeddings."""
    LocalWorkspace(folder).append("MEMORY.md", b"- Chose Alembic for database migration\n")
    with MemoryIndex(folder, embeddings=Lengths()) as index:  # type: ignore[arg-type]  has the two methods that are called
        assert index.search("database migration", 3)


def otel(folder: Path) -> None:
    """Events as metrics and spans."""
    from langgraph_harness_memory.telemetry import opentelemetry_events

    with HarnessMemory(folder, model=ExtractiveChatModel(), on_event=opentelemetry_events()) as memory:
        memory.flush(CONVERSATION, "smoke")


BRINGS: dict[str, Callable[[Path], None]] = {
    "agents": agents,
    "postgres": postgres,
    "cli": cli,
    "notebooks": notebooks,
    "vectors": vectors,
    "otel": otel,
}

PACKAGES = {
    "agents": "langchain",
    "postgres": "psycopg",
    "cli": "typer",
    "notebooks": "matplotlib",
    "vectors": "numpy",
    "otel": "opentelemetry",
}
"""A package that only this extra brings."""


def lacking(extra: str, folder: Path) -> None:
    """Ask for what an extra brings where it is not installed, and want the error that names it."""
    if extra == "cli":
        ran = command("--help")
        assert ran.returncode == 2, ran
        assert "langgraph-harness-memory[cli]" in ran.stderr, ran.stderr
        assert "Traceback" not in ran.stderr, ran.stderr
        return
    said = ""
    try:
        if extra == "postgres":
            HarnessMemory("postgresql://nobody@127.0.0.1:1/none")
        else:
            BRINGS[extra](folder)
    except MissingExtra as error:
        said = str(error)
    assert f"langgraph-harness-memory[{extra}]" in said, f"nothing asked for the extra {extra}: {said}"


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command that was installed beside the interpreter."""
    program = [str(Path(sys.executable).with_name("harness-memory")), *arguments]
    return subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)


def told(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def is_there(package: str) -> bool:
    try:
        __import__(package)
    except ImportError:
        return False
    return True


def main(named: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        core(folder / "core")
        for extra, use in BRINGS.items():
            if extra in named:
                use(folder / extra)
                told(f"{extra}: used")
            elif is_there(PACKAGES[extra]):
                told(f"{extra}: another package brings {PACKAGES[extra]}, not tried")
            elif extra == "notebooks":
                told("notebooks: missing, and nothing of the package needs it")
            else:
                lacking(extra, folder / extra)
                told(f"{extra}: missing, and the error names it")
    told("ok")


if __name__ == "__main__":
    main(sys.argv[1:])
