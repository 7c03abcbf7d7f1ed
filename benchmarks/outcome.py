"""What a benchmark gives back."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Target:
    """One bar that the figures are held against."""

    text: str
    seen: str
    met: bool


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The figures of one run and how they stand against their targets."""

    figures: dict[str, Any]
    targets: list[Target] = field(default_factory=list)

    @property
    def met(self) -> bool:
        return all(target.met for target in self.targets)


def table(header: list[str], rows: list[list[Any]]) -> str:
    """Lay out rows under a header, numbers to the right."""
    cells = [header, *[[f"{c:,.2f}" if isinstance(c, float) else str(c) for c in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = [
        "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])
