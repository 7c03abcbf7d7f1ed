"""The checkpointer passes LangGraph's own suite for checkpointers, with every capability there is."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.report import CapabilityReport
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.sessions.saver import SessionSaver
from langgraph_harness_memory.workspace.local import LocalWorkspace


class _Reversing:
    """A cipher that is none: enough to see that everything passes through it."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reversing", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "reversing"
        return ciphertext[::-1]


def _report(make: Callable[[], SessionSaver]) -> CapabilityReport:
    @checkpointer_test(name="SessionSaver")
    async def saver() -> AsyncIterator[SessionSaver]:
        yield make()

    return asyncio.run(validate(saver))


def _plain(folder: Path) -> SessionSaver:
    return SessionSaver(folder, fsync=False)


def _shared(folder: Path) -> SessionSaver:
    return SessionSaver.over(SessionLog(LocalWorkspace(folder, fsync=False)))


def _sealed(folder: Path) -> SessionSaver:
    return SessionSaver(folder, fsync=False, serde=EncryptedSerializer(_Reversing()))


@pytest.mark.parametrize("make", [_plain, _shared, _sealed])
def test_every_capability_is_detected_and_every_test_of_it_passes(
    tmp_path: Path, make: Callable[[Path], SessionSaver]
) -> None:
    """All eight capabilities are there, and all 81 tests of the suite pass."""
    report = _report(lambda: make(tmp_path))
    assert {name: result.failures for name, result in report.results.items() if result.failures} == {}
    assert [name for name, result in report.results.items() if not result.detected] == []
    assert len(report.results) == 8
    assert sum(result.tests_passed for result in report.results.values()) == 81
    assert report.passed_all_base()
