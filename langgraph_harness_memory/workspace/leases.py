"""Leases as small records: who claimed a name, when, and for how long; pure.

The clock of a claim may be another machine's, or may have been set back. A claim from the future is taken as made now
and written back so: it holds for its time to live from then on and never for ever.
"""

import json
from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """Somebody's claim on a name."""

    owner: str
    since: float
    """Seconds since the epoch."""
    seconds: float
    """Time to live."""


def parse_claim(data: bytes) -> Claim | None:
    """Read a claim; `None` where there is none or it is damaged (a lease is a hint and damage frees it)."""
    try:
        found = json.loads(data)
        return Claim(owner=str(found["owner"]), since=float(found["since"]), seconds=float(found["seconds"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def render_claim(claim: Claim) -> bytes:
    """Write a claim as one line of JSON."""
    return json.dumps({"owner": claim.owner, "since": claim.since, "seconds": claim.seconds}).encode() + b"\n"


def made(owner: str, *, now: float, ttl: timedelta) -> Claim:
    """Claim from now on."""
    return Claim(owner=owner, since=now, seconds=ttl.total_seconds())


def clamped(claim: Claim, now: float) -> Claim:
    """Return a claim as it counts now: one from the future begins now."""
    if claim.since <= now:
        return claim
    return Claim(owner=claim.owner, since=now, seconds=claim.seconds)


def holds(claim: Claim, now: float) -> bool:
    """Say whether a claim is still good."""
    return now < clamped(claim, now).since + claim.seconds
