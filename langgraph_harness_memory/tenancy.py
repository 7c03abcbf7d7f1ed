"""Who is speaking: the tenant and the thread of the run that is under way.

The tenant comes from the run's context (`user_id`), else from `configurable.user_id`, else from the platform's
authenticated user. Without any of them it is the shared root, and never as a fallback for a named user's reads.
"""

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import get_runtime

from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.identifiers import ThreadRef

DEFAULT_THREAD = "default"
"""Thread of a run that names none: without a checkpointer LangGraph asks for none."""


def _user_of(context: Any) -> Any:
    return context.get("user_id") if isinstance(context, Mapping) else getattr(context, "user_id", None)


def tenant_of(config: RunnableConfig | None, context: Any = None) -> str | None:
    """Return the tenant that a run names.

    Args:
        config: The run's config; `None` = no run.
        context: The run's context, a mapping or an object with `user_id`; `None` = none.

    Raises:
        SettingError: The user id is neither a string nor a whole number.
    """
    configurable: Mapping[str, Any] = (config or {}).get("configurable") or {}
    authenticated = configurable.get("langgraph_auth_user_id")
    for user in (_user_of(context), configurable.get("user_id"), authenticated):
        if user is None:
            continue
        if isinstance(user, bool) or not isinstance(user, str | int):
            raise SettingError.refused("configurable.user_id", user, "give a string or a whole number")
        return str(user)
    return None


def thread_of(config: RunnableConfig | None, context: Any = None) -> ThreadRef:
    """Return the thread, tenant and namespace that a run names."""
    configurable: Mapping[str, Any] = (config or {}).get("configurable") or {}
    thread_id = configurable.get("thread_id")
    return ThreadRef(
        thread_id=DEFAULT_THREAD if thread_id is None else str(thread_id),
        tenant=tenant_of(config, context),
        namespace=_stable_namespace(str(configurable.get("checkpoint_ns") or "")),
    )


def ambient_thread() -> ThreadRef:
    """Return the thread of the run that is under way; the default thread of the shared root outside a run."""
    try:
        config = get_config()
    except RuntimeError:
        return thread_of(None)
    try:
        runtime: Any = get_runtime()
    except (RuntimeError, KeyError):
        runtime = None
    context = (
        None if runtime is None else runtime.context
    )  # a tool that is invoked by itself has a config and no runtime
    return thread_of(config, context)


def ambient_run_id() -> str | None:
    """Return the id of the run that is under way; `None` outside a run and where its config gives it none."""
    try:
        config = get_config()
    except RuntimeError:
        return None
    try:
        info = get_runtime().execution_info
    except (RuntimeError, KeyError):
        info = None
    run_id = (info.run_id if info else None) or config.get("run_id") or (config.get("metadata") or {}).get("run_id")
    return None if run_id is None else str(run_id)


def _stable_namespace(namespace: str) -> str:
    """Drop the task ids of a namespace, and the node that runs in the root graph, so that it names the sub-graph alone."""
    parts = [part.split(":")[0] for part in namespace.split("|") if part]
    return "|".join(parts[:-1])
