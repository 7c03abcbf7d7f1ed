"""A server's cron is registered once."""

import asyncio
from typing import Any

import pytest

from langgraph_harness_memory.maintenance.cron import SCHEDULE, register_cron


class Server:
    """Keeps crons as a server does: it never compares them."""

    def __init__(self, *, filters: bool) -> None:
        self.crons = self
        self.kept: list[dict[str, Any]] = []
        self._filters = filters

    async def create(self, assistant_id: str, **given: Any) -> dict[str, Any]:
        cron = {"cron_id": f"c{len(self.kept)}", "assistant_id": assistant_id, **given}
        self.kept.append(cron)
        return cron

    async def search(self, *, metadata: dict[str, Any], limit: int, offset: int) -> list[dict[str, Any]]:
        found = [c for c in self.kept if not self._filters or metadata.items() <= (c["metadata"] or {}).items()]
        return found[offset : offset + limit]

    async def delete(self, cron_id: str) -> None:
        self.kept = [cron for cron in self.kept if cron["cron_id"] != cron_id]


@pytest.mark.parametrize("filters", [True, False], ids=["searches by metadata", "does not"])
def test_cron_is_registered_once_and_others_are_left_alone(*, filters: bool) -> None:
    """Ten deployments end with one cron of ours."""
    server = Server(filters=filters)

    async def run() -> set[str]:
        for n in range(150):
            await server.create("somebody", schedule="* * * * *", metadata={"n": n})
        return {await register_cron(server) for _ in range(10)}

    ids = asyncio.run(run())
    assert len(ids) == 1
    ours = [cron for cron in server.kept if cron["assistant_id"] == "maintenance"]
    assert len(ours) == 1
    assert ours[0]["schedule"] == SCHEDULE
    assert ours[0]["on_run_completed"] == "delete"
    assert len(server.kept) == 151


def test_another_schedule_takes_the_place_of_the_old_one() -> None:
    """Changing the schedule leaves no second cron behind; another workspace's cron stays."""
    server = Server(filters=True)

    async def run() -> None:
        await register_cron(server, workspace="other")
        await register_cron(server)
        await register_cron(server, schedule="0 3 * * *")

    asyncio.run(run())
    assert sorted(cron["schedule"] for cron in server.kept) == ["0 3 * * *", SCHEDULE]
