"""What memory does while a command runs, as one readable line each."""

from collections import Counter
from collections.abc import Callable

from rich.markup import escape

from langgraph_harness_memory import events


def counted(number: int, noun: str) -> str:
    """Say how many there are of something."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def line(event: events.Event) -> str | None:
    """Say what happened, in rich markup; `None` for what a person need not see."""
    match event:
        case events.Compacted():
            by = " (by rules)" if event.by_rules else ""
            return (
                f"[yellow]compacted[/]     {event.messages_before} messages → {event.messages_after}, "
                f"{event.tokens_before:,} → {event.tokens_after:,} tokens{by}"
            )
        case events.ArgumentsTruncated():
            return f"[yellow]shortened[/]     arguments of {counted(event.messages, 'message')}, {event.characters_saved:,} characters"
        case events.Evicted():
            return (
                f"[yellow]evicted[/]       {escape(event.tool)}: {event.characters:,} characters → {escape(event.path)}"
            )
        case events.Recovered():
            return f"[yellow]recovered[/]     from a context overflow in {event.attempts} attempts"
        case events.Flushed() if event.facts:
            where = f" → {escape(event.path)}" if event.path else ""
            return (
                f"[green]flushed[/]       {counted(event.facts, 'fact')} of {counted(event.messages, 'message')}{where}"
            )
        case events.Consolidated():
            return f"[green]consolidated[/]  MEMORY.md: {event.added} added, {event.changed} changed, {event.dropped} dropped"
        case events.Forgotten():
            return f"[green]forgot[/]        {event.lines} lines"
        case events.Deleted():
            return f"[dim]deleted[/]       {escape(event.path)} ({escape(event.reason)})"
        case events.Damaged():
            return f"[red]damaged[/]       {escape(event.path)}: {escape(event.reason)}"
        case events.CompactionFailed() | events.FlushFailed() | events.ConsolidationFailed():
            name = type(event).__name__.removesuffix("Failed").lower()
            return f"[red]failed[/]        {name}: {escape(event.reason)}"
        case events.EvictionFailed():
            return f"[red]failed[/]        eviction of {escape(event.tool)}: {escape(event.reason)}"
        case events.MaintenanceFailed():
            return f"[red]failed[/]        maintenance, {escape(event.step)}: {escape(event.reason)}"
        case events.Degraded():
            return f"[red]without[/]       {escape(event.what)}: {escape(event.reason)}"
        case _:
            return None


class Happenings:
    """Counts events and passes their lines on."""

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        """Begin to count.

        Args:
            say: Is given each line; `None` = they are only counted.
        """
        self.counts: Counter[str] = Counter()
        self.all: list[events.Event] = []
        self._say = say

    def __call__(self, event: events.Event) -> None:
        """Take an event; for `on_event`."""
        self.counts[type(event).__name__] += 1
        self.all.append(event)
        text = line(event)
        if text is not None and self._say is not None:
            self._say(text)

    @property
    def facts(self) -> int:
        """Facts that flushes wrote."""
        return sum(event.facts for event in self.all if isinstance(event, events.Flushed))

    @property
    def failures(self) -> list[str]:
        """The reasons of everything that failed."""
        return [str(getattr(event, "reason", "")) for event in self.all if type(event).__name__.endswith("Failed")]
