"""A LangGraph server as the host of maintenance: its cron is registered once, however often this is called.

The server never compares crons, so that a deployment which registers one at each start would end with hundreds. Ours
carries its own metadata and is looked for by it first.
"""

from collections.abc import Mapping
from typing import Any

SCHEDULE = "17 */6 * * *"
"""Every six hours, off the full hour, when everybody else's crons run. UTC."""

MARK: Mapping[str, Any] = {"harness_memory": "maintenance"}
"""Metadata by which our cron is known."""

PAGE = 100


async def register_cron(
    client: Any, *, graph: str = "maintenance", schedule: str = SCHEDULE, workspace: str = ""
) -> str:
    """Have a server run the maintenance graph on a schedule; without effect where it does already.

    Args:
        client: A client of the server, as `langgraph_sdk.get_client` gives it.
        graph: The graph's name in `langgraph.json`.
        schedule: A cron expression in UTC. A cron with another one is replaced.
        workspace: Tells the crons of several workspaces on one server apart; empty where there is one.

    Returns:
        The cron's id.
    """
    mark = {**MARK, "workspace": workspace}
    standing = await _standing(client, mark)
    kept = next((cron for cron in standing if cron.get("schedule") == schedule), None)
    for cron in standing:
        if cron is not kept:
            await client.crons.delete(cron["cron_id"])
    if kept is not None:
        return str(kept["cron_id"])
    made = await client.crons.create(
        graph, schedule=schedule, input={}, metadata=mark, on_run_completed="delete", multitask_strategy="reject"
    )
    return str(made["cron_id"])


async def _standing(client: Any, mark: Mapping[str, Any]) -> list[Any]:
    """Return our crons; servers that cannot search by metadata give all, so that it is compared here too."""
    found: list[Any] = []
    while page := await client.crons.search(metadata=dict(mark), limit=PAGE, offset=len(found)):
        found += page
        if len(page) < PAGE:
            break
    return [cron for cron in found if mark.items() <= (cron.get("metadata") or {}).items()]
