"""Open the memory and the model that a command names; the environment is read here and nowhere else."""

import os
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from langgraph_harness_memory.clock import Clock
from langgraph_harness_memory.config import MaintenanceConfig, MemoryConfig
from langgraph_harness_memory.curation.extractor import ExtractiveChatModel
from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.events import OnEvent
from langgraph_harness_memory.identifiers import tenant_root
from langgraph_harness_memory.memory import HarnessMemory
from langgraph_harness_memory.models import resolve_model
from langgraph_harness_memory.workspace import Workspace
from langgraph_harness_memory.workspace.opening import is_postgres_url, open_workspace

OFFLINE = "offline"
"""The name that asks for the rules instead of a model."""
DEFAULT_OPENAI_MODEL = "gpt-5.5"
"""What is asked for where the environment names a server or key and no model."""

BY_HAND = MemoryConfig(maintenance=MaintenanceConfig(autostart=False))
"""Settings of commands that look or do one thing: nothing runs beside them."""


def find_workspace(where: str, *, must_exist: bool = True, **settings: Any) -> Workspace:
    """Open a workspace by its folder or Postgres URL.

    Args:
        where: As the user typed it.
        must_exist: A folder that is not there is refused, so that a typing error makes no empty memory.
        **settings: Passed to the back end.

    Raises:
        SettingError: There is no such folder.
        MissingExtra: Postgres needs its extra.
    """
    if must_exist and not is_postgres_url(where) and not Path(where).expanduser().is_dir():
        raise SettingError.refused(
            "--workspace", where, "there is no such folder; 'harness-memory demo -w FOLDER' or 'chat' makes one"
        )
    return open_workspace(where if is_postgres_url(where) else str(Path(where).expanduser()), **settings)


def open_memory(
    where: str,
    *,
    must_exist: bool = True,
    model: BaseChatModel | None = None,
    config: MemoryConfig = BY_HAND,
    on_event: OnEvent | None = None,
    clock: Clock | None = None,
) -> HarnessMemory:
    """Open the memory of a workspace.

    Args:
        where: A folder or a Postgres URL.
        must_exist: A folder that is not there is refused.
        model: Who curates; `None` = the rules.
        config: All settings.
        on_event: Receives what happens.
        clock: Tells the time; `None` = this machine's.
    """
    storage = config.storage
    workspace = find_workspace(where, must_exist=must_exist, fsync=storage.fsync, lock_timeout=storage.lock_timeout)
    more: dict[str, Any] = {} if clock is None else {"clock": clock}
    return HarnessMemory(workspace, model=model or ExtractiveChatModel(), config=config, on_event=on_event, **more)


def without_secrets(url: str) -> tuple[str, bool]:
    """Take the passwords out of a URL, for what others can read.

    Args:
        url: Of a server; the password may stand before the host and in the query.

    Returns:
        The URL without them, and whether there were any.
    """
    head, _, query = url.partition("?")
    scheme, slashes, rest = head.partition("://")
    login, at, place = rest.rpartition("@")
    user, colon, _ = login.partition(":")
    items = [item for item in query.split("&") if item]
    kept = [item for item in items if not item.lower().startswith(("password=", "sslpassword="))]
    shown = f"{scheme}{slashes}{user}{at}{place}" + (f"?{'&'.join(kept)}" if kept else "")
    return shown, bool(colon) or kept != items


def tenant_workspace(workspace: Workspace, user: str | None) -> Workspace:
    """Return the tree of one tenant."""
    return workspace if user is None else workspace.under(str(tenant_root(user)))


def choose_model(name: str | None, *, from_environment: bool = True) -> BaseChatModel | None:
    """Resolve the model that a command was given.

    Args:
        name: `offline`, `provider:name`, or `None`.
        from_environment: With no name, take OpenAI (or a server that speaks its API) where the environment names it.

    Returns:
        `None` for the rules.
    """
    if name == OFFLINE:
        return None
    if name is not None and not name.startswith("openai:"):
        return resolve_model(name)
    key, base = os.environ.get("OPENAI_API_KEY"), os.environ.get("OPENAI_BASE_URL")
    if name is None and not (from_environment and (key or base)):
        return None
    model = name.removeprefix("openai:") if name else os.environ.get("OPENAI_MODEL") or DEFAULT_OPENAI_MODEL
    if not model:
        return resolve_model("openai:")
    from langchain_openai import ChatOpenAI

    # A server on this machine asks for no key, and the client does not start without one.
    more: dict[str, Any] = ({} if key else {"api_key": "unused"}) | ({"base_url": base} if base else {})
    return ChatOpenAI(model=model, **more)
