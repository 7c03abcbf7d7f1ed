"""Operations on their own, and their async twins: the same answers in the same workspace."""

import asyncio

import pytest
from langchain_core.messages import HumanMessage

from langgraph_harness_memory import ExtractiveChatModel, HarnessMemory, PrivacyConfig
from langgraph_harness_memory.errors import SettingError, WorkspaceError
from tests.front_doors.conftest import settings

PROPOSAL = "MEMORY.md.proposed"


def said(text: str) -> list[HumanMessage]:
    return [HumanMessage(text)]


@pytest.fixture(params=["sync", "async"])
def call(request):
    """Calls an operation by its name, or its twin."""

    def sync(memory, name, *arguments, **more):
        return getattr(memory, name)(*arguments, **more)

    def twin(memory, name, *arguments, **more):
        return asyncio.run(getattr(memory, f"a{name}")(*arguments, **more))

    return sync if request.param == "sync" else twin


@pytest.fixture
def memory(tmp_path):
    with HarnessMemory(tmp_path / "w" / "memory", model=ExtractiveChatModel(), config=settings()) as memory:
        yield memory


def text_of(memory, path="MEMORY.md") -> str:
    found = memory.workspace.read(path)
    return "" if found is None else found.data.decode()


def test_an_earlier_version_is_listed_and_brought_back(memory, call) -> None:
    """The newest is taken where none is named; what was forgotten since stays forgotten."""
    call(memory, "flush", said("We decided to use Alembic for the database migration."), "t1")
    call(memory, "consolidate")
    first = text_of(memory)
    call(memory, "flush", said("My sister Nora lives in Bergen."), "t2")
    call(memory, "consolidate")
    assert "Nora" in text_of(memory)
    (version,) = call(memory, "versions")
    restored = call(memory, "restore")
    assert restored.version == version.name
    assert text_of(memory) == first
    call(memory, "restore", call(memory, "versions")[0].name)
    assert "Nora" in text_of(memory)
    with pytest.raises(SettingError, match=r"restore\.version='2020'"):
        call(memory, "restore", "2020")


def test_without_an_earlier_version_there_is_nothing_to_restore(memory, call) -> None:
    with pytest.raises(WorkspaceError, match="no earlier version"):
        call(memory, "restore")
    assert call(memory, "versions", user_id="alice") == ()


def test_a_proposal_waits_for_a_person(tmp_path, call) -> None:
    """Accepted it is the memory; rejected it is gone, and its lines are not proposed again."""
    config = settings(privacy=PrivacyConfig(review=True))
    with HarnessMemory(tmp_path / "w" / "memory", model=ExtractiveChatModel(), config=config) as memory:
        with pytest.raises(WorkspaceError, match="no proposal"):
            call(memory, "accept")
        call(memory, "flush", said("We decided to use Alembic for the database migration."), "t1")
        call(memory, "consolidate")
        assert text_of(memory) == ""
        assert call(memory, "accept").merged == 1
        assert "Alembic" in text_of(memory)
        call(memory, "flush", said("My sister Nora lives in Bergen."), "t2")
        call(memory, "consolidate")
        call(memory, "reject")
        call(memory, "consolidate")
        assert "Nora" not in text_of(memory)
        with pytest.raises(WorkspaceError, match="no proposal"):
            call(memory, "accept")


def test_a_user_is_forgotten_whole(memory, call) -> None:
    """Conversations, memory and index rows of one user go; another's stay."""
    for user in ("alice", "bob"):
        call(memory, "save", f"{user} plays the cello", user_id=user, thread_id=f"of-{user}")
        call(memory, "flush", said(f"I am {user} and live in Oslo."), f"talk-{user}", user_id=user)
    call(memory, "delete_user", "alice")
    assert [info.tenant for info in memory.sessions.threads()] == ["bob"]
    assert memory.index.for_tenant("alice").search("cello", 3) == []
    assert len(memory.index.for_tenant("bob").search("cello", 3)) == 1


def test_health_names_what_waits(memory, call) -> None:
    """Nothing at first; then the message that no flush has seen."""
    assert call(memory, "health").oldest_unflushed_at is None
    from langgraph_harness_memory.tenancy import ThreadRef

    memory.sessions.append(ThreadRef(thread_id="t1", tenant=None), said("I live in Oslo."))
    assert call(memory, "health").oldest_unflushed_at is not None


def test_the_change_log_says_what_was_done_and_never_what_was_forgotten(memory, call) -> None:
    """A forget is on record by its count, and a restore by its version."""
    call(memory, "flush", said("We decided to use Alembic for the database migration."), "t1")
    call(memory, "consolidate")
    call(memory, "flush", said("My sister Nora plays the cello."), "t2")
    call(memory, "consolidate")
    assert call(memory, "forget", "cello").lines >= 2
    call(memory, "restore", call(memory, "versions")[-1].name)
    log = text_of(memory, "memory/CHANGES.md")
    titles = [line for line in log.splitlines() if line.startswith("## ")]
    assert [title for title in titles if "forget" in title]
    assert [title for title in titles if "restore of" in title]
    assert len([title for title in titles if "consolidation" in title]) == 2
    assert "cello" not in log
