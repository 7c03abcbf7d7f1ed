"""Maintenance as a process of its own: recover, consolidate, expire, prune, reindex, whenever it is due.

It may run more than once by mistake: a lease lets one tick run at a time.
"""

import signal
import threading

from graphs import interval, open_memory


def main() -> None:
    """Look whether maintenance is due, again and again, until a signal ends it."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with open_memory() as memory:
        print("maintenance runs", flush=True)
        while not stopped.is_set():
            report = memory.maintain(force=False)
            if report["ran"]:
                print(
                    "maintenance:",
                    {k: v for k, v in report.items() if v and k not in ("ran", "started_at")},
                    flush=True,
                )
            stopped.wait(interval().total_seconds() / 10)


if __name__ == "__main__":
    main()
