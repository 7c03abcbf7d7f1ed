"""What a provider would refuse of a request, and what a memory must not have done to it.

The rules are those that OpenAI and Anthropic enforce: results stand directly behind the message that called for them,
each call has exactly one, and nothing but messages for a model is sent.
"""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage

from langgraph_harness_memory.formats.forms import form_of


def request_faults(
    request: Sequence[BaseMessage],
    *,
    history: Sequence[BaseMessage] | None = None,
    pending: bool = False,
) -> list[str]:
    """List what is wrong with a request.

    Args:
        request: The messages that are sent, oldest first.
        history: Every message of the conversation so far, as it was said; `None` = do not compare.
        pending: Calls of the last message may be open, as in a state while its tools run.

    Returns:
        One sentence a fault, in the order of the messages; empty for a valid request.
    """
    faults = [] if request else ["the request holds no message"]
    faults += _pairing_faults(request, pending=pending)
    for at, message in enumerate(request):
        if isinstance(message, RemoveMessage):
            faults.append(f"message {at} is a removal, which no model understands")
        if isinstance(message, AIMessage):
            faults += _block_faults(at, message)
    ids = [m.id for m in request if m.id]
    faults += [f"two messages have the id {i!r}" for i in sorted({i for i in ids if ids.count(i) > 1})]
    if history is not None:
        faults += _faithfulness_faults(request, history)
    return faults


def assert_valid_request(
    request: Sequence[BaseMessage],
    *,
    history: Sequence[BaseMessage] | None = None,
    pending: bool = False,
) -> None:
    """Fail with every fault that `request_faults` finds, and the request in short.

    Args:
        request: The messages that are sent, oldest first.
        history: Every message of the conversation so far, as it was said; `None` = do not compare.
        pending: Calls of the last message may be open.
    """
    faults = request_faults(request, history=history, pending=pending)
    if faults:
        raise AssertionError("\n".join([*faults, "", *(f"{at}: {_short(m)}" for at, m in enumerate(request))]))


def _pairing_faults(request: Sequence[BaseMessage], *, pending: bool) -> list[str]:
    faults: list[str] = []
    open_calls: set[str] = set()
    answered: set[str] = set()
    for at, message in enumerate(request):
        if isinstance(message, ToolMessage):
            call_id = message.tool_call_id
            if call_id in open_calls:
                open_calls.discard(call_id)
                answered.add(call_id)
            elif call_id in answered:
                faults.append(f"message {at} answers the call {call_id!r} a second time")
            else:
                faults.append(f"message {at} is a tool result without its call ({call_id!r})")
            continue
        faults += [f"the call {c!r} has no result before message {at}" for c in sorted(open_calls)]
        open_calls, answered = _call_ids(message), set()
    if not pending:
        faults += [f"the call {c!r} has no result" for c in sorted(open_calls)]
    return faults


def _call_ids(message: BaseMessage) -> set[str]:
    if not isinstance(message, AIMessage):
        return set()
    return {c["id"] or "" for c in [*message.tool_calls, *message.invalid_tool_calls]}


def _block_faults(at: int, message: AIMessage) -> list[str]:
    """Compare the provider's own content blocks with the calls; a provider reads the blocks."""
    if isinstance(message.content, str):
        return []
    blocks = [b for b in message.content if isinstance(b, dict) and b.get("type") == "tool_use"]
    calls = {c["id"]: c["args"] for c in message.tool_calls}
    return [
        f"message {at}: the block of call {b.get('id')!r} differs from the call"
        for b in blocks
        if b.get("id") not in _call_ids(message) or (b.get("id") in calls and b.get("input") != calls[b.get("id")])
    ]


def _faithfulness_faults(request: Sequence[BaseMessage], history: Sequence[BaseMessage]) -> list[str]:
    faults: list[str] = []
    asked = [m for m in history if isinstance(m, HumanMessage) and form_of(m) is None]
    sent = [m for m in request if isinstance(m, HumanMessage) and form_of(m) is None]
    if asked and (not sent or sent[-1].content != asked[-1].content):
        faults.append(f"the last user message is not verbatim: {_short(asked[-1])}")
    if asked and asked[-1].id is not None and sum(m.id == asked[-1].id for m in sent) > 1:
        faults.append("the last user message is sent twice")
    there = iter([str(m.text) for m in request if isinstance(m, SystemMessage)])
    # What is injected may stand in the same system message, so the words need only be part of one.
    lost = [m for m in history if isinstance(m, SystemMessage) and not any(str(m.text) in text for text in there)]
    return faults + [f"a system message is missing or out of its place: {_short(m)}" for m in lost]


def _short(message: BaseMessage) -> str:
    calls = sorted(_call_ids(message))
    answers = f" for {message.tool_call_id!r}" if isinstance(message, ToolMessage) else ""
    return f"{message.type}{answers}{f' calls {calls}' if calls else ''} {str(message.text)[:80]!r}"
