"""Public fakes and contract suites for those who test against this package.

    ScriptedChatModel, Reply, Failure, echo   a chat model that says what its script says
    OpenAIServer                              the same behind a real OpenAI-compatible HTTP server on the loopback address
    FrozenClock                               time that moves when a test says so
    request_faults, assert_valid_request      what a provider would refuse of a request
    FaultyCalls, TcpProxy                     a disk that fails on demand, a server that can be taken away
    WorkspaceContract, IndexContract, SessionContract   what every back end must do (these need pytest)
    fake_credentials, look_alikes             credentials that open nothing, and texts that only look like some
    poison_lines, tool_facts                  lines that ask to be remembered, and facts that only a tool knows

Nothing here needs a key or leaves the machine.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph_harness_memory.testing.clock import FrozenClock
    from langgraph_harness_memory.testing.credentials import FakeCredential, fake_credentials, look_alikes
    from langgraph_harness_memory.testing.faults import FaultyCalls
    from langgraph_harness_memory.testing.index_contract import IndexContract
    from langgraph_harness_memory.testing.openai_server import Dropped, OpenAIServer, Rejected
    from langgraph_harness_memory.testing.poisoning import PoisonLine, ToolFact, poison_lines, tool_facts
    from langgraph_harness_memory.testing.requests import assert_valid_request, request_faults
    from langgraph_harness_memory.testing.scripted import Failure, Reply, Request, ScriptedChatModel, echo
    from langgraph_harness_memory.testing.session_contract import SessionContract
    from langgraph_harness_memory.testing.tcp_proxy import TcpProxy
    from langgraph_harness_memory.testing.workspace_contract import WorkspaceContract

_HOME = {
    "FaultyCalls": "faults",
    "IndexContract": "index_contract",
    "SessionContract": "session_contract",
    "TcpProxy": "tcp_proxy",
    "WorkspaceContract": "workspace_contract",
    "Dropped": "openai_server",
    "Failure": "scripted",
    "FakeCredential": "credentials",
    "FrozenClock": "clock",
    "OpenAIServer": "openai_server",
    "Rejected": "openai_server",
    "PoisonLine": "poisoning",
    "Reply": "scripted",
    "Request": "scripted",
    "ScriptedChatModel": "scripted",
    "ToolFact": "poisoning",
    "assert_valid_request": "requests",
    "echo": "scripted",
    "fake_credentials": "credentials",
    "look_alikes": "credentials",
    "poison_lines": "poisoning",
    "request_faults": "requests",
    "tool_facts": "poisoning",
}

__all__ = [
    "Dropped",
    "Failure",
    "FakeCredential",
    "FaultyCalls",
    "FrozenClock",
    "IndexContract",
    "OpenAIServer",
    "PoisonLine",
    "Rejected",
    "Reply",
    "Request",
    "ScriptedChatModel",
    "SessionContract",
    "TcpProxy",
    "ToolFact",
    "WorkspaceContract",
    "assert_valid_request",
    "echo",
    "fake_credentials",
    "look_alikes",
    "poison_lines",
    "request_faults",
    "tool_facts",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
