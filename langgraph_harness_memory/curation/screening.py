"""What may become a memory: secrets are redacted first, then the user's scanner has its say."""

from collections.abc import Callable
from dataclasses import dataclass

from langgraph_harness_memory.config import Scanner


@dataclass(frozen=True, kw_only=True, slots=True)
class Blocked:
    """A text must not be remembered."""

    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Screening:
    """The two hooks that every text passes before it is written to a layer of memory."""

    redact: Callable[[str], str] | None = None
    """Puts placeholders for secrets; `None` = the user switched it off."""
    scanner: Scanner | None = None
    """The user's own judge; `None` = none."""

    def screen(self, text: str, destination: str) -> str | Blocked:
        """Return what may be written of a text.

        A scanner that raises has not allowed anything, so that its text is blocked.

        Args:
            text: What is about to be remembered.
            destination: `daily_log` or `memory`.
        """
        clean = self.redact(text) if self.redact else text
        if self.scanner is None:
            return clean
        try:
            verdict = self.scanner(clean, destination)
        except Exception as error:  # noqa: BLE001  the scanner is the user's code, and what it could not judge is not remembered
            return Blocked(reason=f"the scanner failed: {type(error).__name__}: {error}"[:300])
        match verdict.action:
            case "allow":
                return clean
            case "redact" if verdict.text is not None:
                return self.redact(verdict.text) if self.redact else verdict.text
            case _:
                return Blocked(reason=verdict.reason or "the scanner blocked it")
