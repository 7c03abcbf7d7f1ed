"""What an OpenAI-compatible server says, word for word: answers, streamed pieces and the bodies of its errors.

Pure: bodies in, bodies out. The texts of errors are those that the named servers send, since clients tell a context
overflow by them.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, convert_to_messages

OverflowStyle = Literal["openai", "openai-new", "vllm", "llama.cpp", "dashscope", "anthropic", "bedrock", "gemini"]
"""Whose words a refused request is answered with."""

Body = dict[str, Any]


def read_messages(body: Body) -> list[BaseMessage]:
    """Read the messages of a request as LangChain has them, oldest first."""
    return convert_to_messages([_filled(m) for m in body.get("messages", [])])


def _filled(message: Body) -> Body:
    return message if message.get("content") is not None else {**message, "content": ""}


def request_fault(body: Body) -> Body | None:
    """Return the error body with which OpenAI refuses badly paired tool messages; `None` for a request that it takes."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return _invalid("[] is too short - 'messages'", "messages")
    open_calls: list[str] = []
    for at, message in enumerate(messages):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                return _invalid(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
                    f"messages.[{at}].role",
                )
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            break
        open_calls = [call["id"] for call in message.get("tool_calls") or []]
    if open_calls:
        return _invalid(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            f"The following tool_call_ids did not have response messages: {', '.join(open_calls)}",
            "messages",
        )
    return None


def _invalid(message: str, param: str, code: str | None = None) -> Body:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def overflow_body(style: OverflowStyle, tokens: int, window: int) -> Body | list[Body]:
    """Return the body with which a server refuses a request for its length (status 400).

    Args:
        style: Whose words.
        tokens: What the request held.
        window: What the server allows.
    """
    match style:
        case "openai":
            text = (
                f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. "
                "Please reduce the length of the messages."
            )
            return _invalid(text, "messages", "context_length_exceeded")
        case "openai-new":
            text = "Your input exceeds the context window of this model. Please adjust your input and try again."
            return _invalid(text, "input", "context_length_exceeded")
        case "vllm":
            text = (
                f"This model's maximum context length is {window} tokens. However, you requested {tokens} tokens "
                f"({tokens} in the messages, 0 in the completion). Please reduce the length of the messages or completion."
            )
            return {"object": "error", "message": text, "type": "BadRequestError", "param": None, "code": 400}
        case "llama.cpp":
            text = f"request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
            error = {"code": 400, "message": text, "type": "exceed_context_size_error"}
            return {"error": {**error, "n_prompt_tokens": tokens, "n_ctx": window}}
        case "dashscope":
            text = f"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, {window}]"
            return _invalid(text, "", "invalid_parameter_error")
        case "anthropic":
            return _invalid(f"prompt is too long: {tokens} tokens > {window} maximum", "")
        case "bedrock":
            return {"error": {"message": "Input is too long for requested model.", "type": "ValidationException"}}
        case "gemini":
            text = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
            return [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}]


def rate_limit_body(limit: int = 30_000) -> Body:
    """Return the body of a 429 for tokens per minute, which speaks of tokens and is no overflow."""
    text = (
        f"Rate limit reached for gpt-5.5 in organization org-loopback on tokens per min (TPM): Limit {limit}, "
        f"Used {limit - 500}, Requested 2000. Please try again in 3s."
    )
    return {"error": {"message": text, "type": "tokens", "param": None, "code": "rate_limit_exceeded"}}


def completion(answer: AIMessage, body: Body, number: int, usage: Body) -> Body:
    """Return the whole answer to a request that does not stream.

    Args:
        answer: What the model said.
        body: The request.
        number: Which answer of this server it is.
        usage: Token counts, in OpenAI's form.
    """
    message: Body = {"role": "assistant", "content": str(answer.text) or None, "refusal": None}
    calls = [_call(c["id"] or "", c["name"], json.dumps(c["args"], ensure_ascii=False)) for c in answer.tool_calls]
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(answer)}
    return {**_head(body, number, "chat.completion"), "choices": [choice], "usage": usage}


def pieces(
    chunks: Iterable[AIMessageChunk], body: Body, number: int, usage: Callable[[AIMessage], Body]
) -> Iterator[Body]:
    """Give the pieces of a streamed answer as the model's pieces come; the usage comes last, and only where it is asked for.

    Args:
        chunks: What the model says, piece by piece; a failure in the middle becomes an error event, as OpenAI sends it.
        body: The request.
        number: Which answer of this server it is.
        usage: Gives the token counts of the whole answer, in OpenAI's form.
    """
    head = _head(body, number, "chat.completion.chunk")
    yield {**head, "choices": [_delta({"role": "assistant", "content": ""})]}
    whole: AIMessageChunk = AIMessageChunk(content="")
    try:
        for chunk in chunks:
            whole = whole + chunk
            if text := str(chunk.text):
                yield {**head, "choices": [_delta({"content": text})]}
            if calls := [_call_piece(c) for c in chunk.tool_call_chunks]:
                yield {**head, "choices": [_delta({"tool_calls": calls})]}
    except Exception as error:  # noqa: BLE001  whatever the model raises, the client gets an event
        yield server_error_body(error)
        return
    yield {**head, "choices": [_delta({}, _reason(whole))]}
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": usage(whole)}


def server_error_body(error: Exception) -> Body:
    """Return the body of an error that is the server's own."""
    return {"error": {"message": repr(error), "type": "server_error", "param": None, "code": None}}


def usage_of(answer: AIMessage, prompt_tokens: int, completion_tokens: int) -> Body:
    """Return token counts: the model's own where it gives them, else those passed."""
    if answer.usage_metadata:
        prompt_tokens = answer.usage_metadata["input_tokens"]
        completion_tokens = answer.usage_metadata["output_tokens"]
    total = prompt_tokens + completion_tokens
    return {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "total_tokens": total}


def _head(body: Body, number: int, kind: str) -> Body:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 1_767_603_600, "model": body.get("model", "")}


def _delta(delta: Body, reason: str | None = None) -> Body:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


def _reason(answer: AIMessage) -> str:
    return "tool_calls" if answer.tool_calls else str(answer.response_metadata.get("finish_reason") or "stop")


def _call(call_id: str, name: str, arguments: str) -> Body:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _call_piece(chunk: Any) -> Body:
    piece: Body = {"index": chunk["index"] or 0, "function": {"arguments": chunk["args"] or ""}}
    if chunk["id"]:
        piece |= {"id": chunk["id"], "type": "function"}
        piece["function"]["name"] = chunk["name"]
    return piece
