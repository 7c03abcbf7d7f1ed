"""Every input that a peer gets wrong, ours gets right."""

import pytest

from benchmarks.peer_cases import CASES, Case, judge


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.number}-{case.claim.replace(' ', '-')}")
def test_ours_is_right(case: Case) -> None:
    """The claim holds for each of the case's conversations, through `create_agent` and our middleware."""
    assert judge(case, "ours") is True
