"""A real OpenAI-compatible HTTP server on the loopback address, with any chat model behind it.

    ChatOpenAI(base_url=server.url) ──HTTP──► OpenAIServer ──► ScriptedChatModel, ExtractiveChatModel, …
                                                   │
                              checks the pairing of tool messages, enforces a context window, limits, drops

It speaks chat completions (whole and streamed), tools, usage and the error bodies of well-known servers, so that what
is tested against it is the client that users have.
"""

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk

from langgraph_harness_memory.testing.openai_wire import (
    Body,
    OverflowStyle,
    completion,
    overflow_body,
    pieces,
    rate_limit_body,
    read_messages,
    request_fault,
    server_error_body,
    usage_of,
)
from langgraph_harness_memory.testing.scripted import ScriptedChatModel, count_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejected:
    """A fault: a request is answered with an error."""

    status: int = 429
    """HTTP status."""
    body: Body | list[Body] = field(default_factory=rate_limit_body)
    """The error's body."""
    headers: tuple[tuple[str, str], ...] = (("retry-after-ms", "10"),)
    """More headers; clients of OpenAI wait as long as `retry-after-ms` says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    """A fault: the connection ends in the middle of a streamed answer."""

    after: int = 2
    """Pieces that are sent first; 0 = the connection ends before the headers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """One request that the server got."""

    path: str
    """For example `/v1/chat/completions`."""
    body: Body
    """The JSON as it came."""
    tokens: int
    """What the server counted."""
    status: int
    """What it was answered with; 0 where the connection was dropped."""


class OpenAIServer:
    """An OpenAI-compatible server for tests and demonstrations.

    Example:
        with OpenAIServer(model=ScriptedChatModel(script=["hello"]), context_window=8_192) as server:
            ChatOpenAI(model="gpt-5.5", base_url=server.url, api_key="unused").invoke("hi")
            server.requests[0].body["messages"]
    """

    def __init__(
        self,
        *,
        model: BaseChatModel | None = None,
        context_window: int | None = None,
        overflow: OverflowStyle = "openai",
        count: Callable[[Body], int] | None = None,
        faults: Iterable[Rejected | Dropped] = (),
        gap: timedelta = timedelta(0),
    ) -> None:
        """Describe the server; it listens from `start()` or `with`.

        Args:
            model: Who answers; `None` = the last user message comes back.
            context_window: Tokens that a request may have, tools included; more is refused; `None` = any number.
            overflow: Whose words the refusal is in.
            count: Counts the tokens of a request's JSON; `None` = characters by four.
            faults: What the next requests meet, one each, before the model is asked.
            gap: Time between two streamed pieces.
        """
        self.model = model if model is not None else ScriptedChatModel(repeat=True)
        self.context_window = context_window
        self.overflow: OverflowStyle = overflow
        self.requests: list[Received] = []
        self.faults = list(faults)
        self.gap = gap
        self._count = count if count is not None else _count
        self._lock = threading.Lock()
        self._http: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The base URL for clients."""
        if self._http is None:
            raise RuntimeError("the server is not running; use it in a with statement or call start()")
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def refused(self) -> list[Received]:
        """The requests that were answered with an error."""
        return [r for r in self.requests if r.status >= 400]

    def start(self) -> Self:
        """Listen on a free port of the loopback address."""
        self._http = _Listener(("127.0.0.1", 0), self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.02,), daemon=True, name="openai-server"
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening and wait for the listening thread; without effect when it does not run."""
        if self._http is None or self._thread is None:
            return
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self._http = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _next_fault(self) -> Rejected | Dropped | None:
        with self._lock:
            return self.faults.pop(0) if self.faults else None

    def _record(self, path: str, body: Body, tokens: int, status: int) -> int:
        with self._lock:
            self.requests.append(Received(path=path, body=body, tokens=tokens, status=status))
            return len(self.requests)

    def _refusal(self, body: Body, tokens: int) -> Rejected | None:
        """Say why a request is refused before any model sees it; `None` = it is not."""
        fault = request_fault(body)
        if fault is not None:
            return Rejected(status=400, body=fault, headers=())
        if self.context_window is not None and tokens > self.context_window:
            return self._overflowed(tokens, self.context_window)
        return None

    def _overflowed(self, tokens: int, window: int) -> Rejected:
        return Rejected(status=400, body=overflow_body(self.overflow, tokens, window), headers=())

    def _chunks(self, body: Body) -> Iterator[AIMessageChunk]:
        """Ask the model and wait for its first piece, so that a failure before it still has a status of its own."""
        tools = {"tools": body["tools"]} if body.get("tools") else {}
        stream = (c for c in self.model.stream(read_messages(body), **tools) if isinstance(c, AIMessageChunk))
        first = next(stream, AIMessageChunk(content=""))
        return itertools.chain([first], stream)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], owner: OpenAIServer) -> None:
        super().__init__(address, _Handler)
        self.owner = owner

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that hangs up in the middle is part of what is tested."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name is the standard library's
        """Keep quiet."""

    def do_GET(self) -> None:
        """Answer the list of models."""
        if self.path.rstrip("/") != "/v1/models":
            return self._send(404, {"error": {"message": f"Unknown path {self.path}", "type": "invalid_request_error"}})
        return self._send(
            200, {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "loopback"}]}
        )

    def do_POST(self) -> None:
        """Answer a chat completion."""
        owner = self.server.owner
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if self.path.rstrip("/") != "/v1/chat/completions":
            owner._record(self.path, body, 0, 404)
            return self._send(404, {"error": {"message": f"Unknown path {self.path}", "type": "invalid_request_error"}})
        tokens = owner._count(body)
        fault = owner._next_fault()
        rejected = fault if isinstance(fault, Rejected) else owner._refusal(body, tokens)
        if rejected is None and isinstance(fault, Dropped) and fault.after == 0:
            owner._record(self.path, body, tokens, 0)
            self.close_connection = True
            return None
        if rejected is not None:
            return self._reject(body, tokens, rejected)
        try:
            chunks = owner._chunks(body)
            said = None if body.get("stream") else _whole(chunks)
        except ContextOverflowError:
            return self._reject(body, tokens, owner._overflowed(tokens, owner.context_window or tokens - 1))
        except Exception as error:  # noqa: BLE001  a model that fails is a server that answers 500
            return self._reject(body, tokens, Rejected(status=500, body=server_error_body(error), headers=()))
        number = owner._record(self.path, body, tokens, 200)
        if said is not None:
            return self._send(200, completion(said, body, number, _usage(said, tokens)))
        events = pieces(chunks, body, number, lambda whole: _usage(whole, tokens))
        return self._stream(events, fault if isinstance(fault, Dropped) else None)

    def _reject(self, body: Body, tokens: int, rejected: Rejected) -> None:
        self.server.owner._record(self.path, body, tokens, rejected.status)
        self._send(rejected.status, rejected.body, rejected.headers)

    def _send(self, status: int, body: Any, headers: Iterable[tuple[str, str]] = ()) -> None:
        data = json.dumps(body, ensure_ascii=False).encode()
        self._head(status, [("Content-Type", "application/json"), ("Content-Length", str(len(data))), *headers])
        self.wfile.write(data)

    def _stream(self, events: Iterator[Body], dropped: Dropped | None) -> None:
        self._head(200, [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")])
        for sent, event in enumerate(events):
            if dropped is not None and sent >= dropped.after:
                return
            self._event(json.dumps(event, ensure_ascii=False))
            time.sleep(self.server.owner.gap.total_seconds())
        self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _head(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        # One request a connection, so that no idle socket outlives the server.
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def _event(self, text: str) -> None:
        data = f"data: {text}\n\n".encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


def _whole(chunks: Iterable[AIMessageChunk]) -> AIMessage:
    whole = AIMessageChunk(content="")
    for chunk in chunks:
        whole = whole + chunk
    return whole


def _usage(answer: AIMessage, prompt_tokens: int) -> Body:
    return usage_of(answer, prompt_tokens, count_tokens([answer]))


def _count(body: Body) -> int:
    return count_tokens(read_messages(body), body.get("tools") or [])
