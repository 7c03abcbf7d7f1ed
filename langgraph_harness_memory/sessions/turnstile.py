"""Lets what is stored in a thread through in the order in which it was handed over.

LangGraph hands over a task's writes and then the checkpoint that takes them up, each to a thread of its own. The writes
say which messages a node returned, and bring messages to the log in the order in which they were said; a checkpoint or
a later task that overtook them would not know.

    ticket = turnstile.join()          where it was handed over, also on an event loop
    with ticket: …                     where it is stored; waits for all that joined before
    ticket.leave()                     in any case, so that nobody waits for what never came
"""

import threading


class Ticket:
    """A place in the order."""

    def __init__(self, turnstile: "Turnstile", number: int) -> None:
        self._turnstile = turnstile
        self._number = number

    def __enter__(self) -> None:
        self._turnstile.wait(self._number)

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Make way for those behind; a second time does nothing."""
        self._turnstile.leave(self._number)


class Turnstile:
    """The order of one thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._next = 0
        self._serving = 0
        self._left: set[int] = set()

    def join(self) -> Ticket:
        """Take the next place; does not wait."""
        with self._changed:
            self._next += 1
            return Ticket(self, self._next - 1)

    def wait(self, number: int) -> None:
        """Wait until all before a place have left."""
        with self._changed:
            self._changed.wait_for(lambda: self._serving >= number)

    def leave(self, number: int) -> None:
        """Give up a place."""
        with self._changed:
            if number >= self._serving:
                self._left.add(number)
            while self._serving in self._left:
                self._left.remove(self._serving)
                self._serving += 1
            self._changed.notify_all()
