"""One replica: turns over HTTP, with nothing but the standard library around the agent.

POST /users/{user}/threads/{thread}   {"text": "…"}  ─►  {"reply": "…"}
GET  /users/{user}/search?q=…                        ─►  {"hits": [{"path", "line", "content"}]}
GET  /health                                         ─►  {"writable": true, "unflushed": 0}

A real service takes the user from its session, never from the path.
"""

import argparse
import json
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from graphs import PROMPT, chat_model, open_memory

from langgraph_harness_memory import HarnessMemory, TenantMismatch, create_memory_agent


class Handler(BaseHTTPRequestHandler):
    """Answers one request; `memory` and `agent` are set by `serve`."""

    memory: HarnessMemory
    agent: Any

    def do_POST(self) -> None:
        match [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]:
            case ["users", user, "threads", thread]:
                self._turn(user, thread)
            case _:
                self._answer(404, {"error": "no such path"})

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        match [unquote(part) for part in url.path.strip("/").split("/")]:
            case ["users", user, "search"]:
                query = parse_qs(url.query).get("q", [""])[0]
                hits = self.memory.index.for_tenant(user).search(query, 10)
                found = [{"path": hit.path, "line": hit.line_number, "content": hit.content} for hit in hits]
                self._answer(200, {"hits": found})
            case ["health"]:
                health = self.memory.health()
                told = {"writable": health.is_writable, "unflushed": health.unflushed, "problems": health.problems}
                self._answer(200 if health.is_well else 503, told)
            case _:
                self._answer(404, {"error": "no such path"})

    def _turn(self, user: str, thread: str) -> None:
        try:
            said = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))["text"]
        except (ValueError, KeyError, TypeError):
            self._answer(400, {"error": 'send {"text": "…"}'})
            return
        config = {"configurable": {"thread_id": thread, "user_id": user}}
        try:
            done = self.agent.invoke({"messages": [("user", str(said))]}, config)
        except TenantMismatch:
            self._answer(403, {"error": "this conversation is not yours"})
            return
        self._answer(200, {"reply": done["messages"][-1].text, "messages": len(done["messages"])})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the standard library's own name
        """Say nothing of each request."""


def serve(port: int) -> None:
    """Serve until a signal ends it; what runs in the background is drained first."""
    with open_memory() as memory:
        Handler.memory = memory
        Handler.agent = create_memory_agent(chat_model(), memory=memory, system_prompt=PROMPT)
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
        print(f"replica on http://127.0.0.1:{port}", flush=True)
        server.serve_forever()
        server.server_close()
    print("replica drained and closed", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    serve(parser.parse_args().port)
