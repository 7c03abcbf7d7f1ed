"""A server that can be taken away: a TCP proxy on the loopback address, to be stopped and started by a test."""

import contextlib
import selectors
import socket
import threading
from types import TracebackType

CHUNK = 65_536
"""Bytes per read."""


class TcpProxy:
    """Passes connections on to a server until it is stopped; then they break and new ones are refused.

    Args:
        host: The server's.
        port: The server's.

    Example:
        with TcpProxy("127.0.0.1", 5432) as proxy:
            use(f"postgresql://127.0.0.1:{proxy.port}/test")
            proxy.stop()
            proxy.start()
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self.port = 0
        """Where it listens; the same after a stop and a start."""
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Listen."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(100)
        self.port = listener.getsockname()[1]
        self._listener = listener
        self._spawn(self._accept, listener)

    def stop(self) -> None:
        """Break every connection and refuse new ones."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self._guard:
            broken, self._open = self._open, set()
        for end in broken:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        self._threads = []

    def __enter__(self) -> "TcpProxy":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _spawn(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True, name="tcp-proxy")  # type: ignore[arg-type]  # a bound method
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._server, timeout=5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._guard:
                is_stopped = self._listener is not listener
                self._open |= {near, far}
            if is_stopped:
                near.close()
                far.close()
                return
            self._spawn(self._pass_on, near, far)

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        other = {near: far, far: near}
        with selectors.DefaultSelector() as selector, contextlib.suppress(OSError):
            for end in other:
                selector.register(end, selectors.EVENT_READ)
            is_open = True
            while is_open:
                for key, _ in selector.select():
                    source: socket.socket = key.fileobj  # type: ignore[assignment]  # what was registered
                    data = source.recv(CHUNK)
                    if not data:
                        is_open = False
                        break
                    other[source].sendall(data)
        with self._guard:
            self._open -= {near, far}
        for end in other:
            end.close()
