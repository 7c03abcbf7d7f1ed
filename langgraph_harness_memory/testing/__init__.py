"""Public fakes and contract suites for those who test against this package.

    ScriptedChatModel, Reply, Failure, echo   a chat model that says what its script says
    OpenAIServer                              the same behind a real OpenAI-compatible HTTP server on the loopback address
    FrozenClock                               time that moves when a test says so
    request_faults, assert_valid_request      what a provider would refuse of a request

Nothing here needs a key or leaves the machine.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_harness_memory.testing.clock import FrozenClock
    from langgraph_harness_memory.testing.openai_server import Dropped, OpenAIServer, Rejected
    from langgraph_harness_memory.testing.requests import assert_valid_request, request_faults
    from langgraph_harness_memory.testing.scripted import Failure, Reply, Request, ScriptedChatModel, echo

_HOME = {
    "Dropped": "openai_server",
    "Failure": "scripted",
    "FrozenClock": "clock",
    "OpenAIServer": "openai_server",
    "Rejected": "openai_server",
    "Reply": "scripted",
    "Request": "scripted",
    "ScriptedChatModel": "scripted",
    "assert_valid_request": "requests",
    "echo": "scripted",
    "request_faults": "requests",
}

__all__ = [
    "Dropped",
    "Failure",
    "FrozenClock",
    "OpenAIServer",
    "Rejected",
    "Reply",
    "Request",
    "ScriptedChatModel",
    "assert_valid_request",
    "echo",
    "request_faults",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
