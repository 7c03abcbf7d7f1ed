"""Telling a context overflow from every other error, whoever the provider is.

An overflow is known by its type, by the code in its body, or by its text together with its status; the whole chain of
causes is looked at, since gateways and client libraries wrap what a provider said. A rate limit or a quota speaks of tokens
too and is never an overflow: compacting would not help, waiting does.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.exceptions import ContextOverflowError

OVERFLOW_TYPES = frozenset({"ContextOverflowError", "ContextWindowExceededError", "ContextLengthExceededError"})
"""Names of exception classes that mean nothing else; by name, since litellm and others need not be installed."""

OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "context_length_exceeded_error",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "string_above_max_length",
        "max_prompt_tokens_exceeded",
    }
)
"""Codes and types in an error's body that mean nothing else."""

OTHER_CODES = frozenset(
    {
        "rate_limit_exceeded",
        "rate_limit_error",
        "insufficient_quota",
        "tokens",
        "resource_exhausted",
        "throttlingexception",
        "quota_exceeded",
        "throttling",
        "throttling.allocationquota",
    }
)
"""Codes and types that mean a limit over time or a quota."""

REFUSED_STATUSES = frozenset({400, 413, 422, 500})
"""Statuses under which providers refuse a request for its length; llama.cpp and some gateways answer 500."""

DEPTH = 12
"""Causes that are followed; a chain may be a ring."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A text that a provider says."""

    provider: str
    """Who says so; for readers and tests."""
    text: str
    """The pattern that is searched for, in lower case; compiled when an error is classified, not at the import."""
    statuses: frozenset[int] = REFUSED_STATUSES
    """Statuses it is believed under; an error without a status is believed too."""


def _rule(provider: str, text: str) -> Rule:
    return Rule(provider=provider, text=text)


RULES: tuple[Rule, ...] = (
    _rule("OpenAI", r"maximum context length (is|of) [\d,]+ tokens"),
    _rule("OpenAI Responses", r"exceeds? the context window"),
    _rule("OpenAI", r"input tokens exceed the configured limit"),
    _rule("Azure OpenAI", r"this model's maximum context length"),
    _rule("Anthropic", r"prompt is too long"),
    _rule("Anthropic", r"input length and `?max_tokens`? exceed context limit"),
    _rule("Anthropic", r"request_too_large|request exceeds the maximum size"),
    _rule("Google", r"input token count .{0,40}exceeds the maximum number of tokens"),
    _rule("Google Vertex", r"exceeds the maximum (number of|input) tokens?"),
    _rule("Bedrock", r"input is too long for requested model"),
    _rule("Bedrock", r"too many input tokens"),
    _rule("Bedrock", r"(the )?input (is too long|tokens? .{0,40}exceed)|maximum tokens you requested exceeds"),
    _rule("Mistral", r"too large for model with [\d,]+ maximum context length"),
    _rule("Mistral", r"prompt contains [\d,]+ tokens.{0,80}maximum context length"),
    _rule("Groq", r"please reduce the length of (the|your) (messages|prompt)"),
    _rule("DashScope", r"range of input length should be"),
    _rule(
        "DashScope",
        r"(input|prompt).{0,40}(length|tokens).{0,40}(exceeds?|is longer than|over) (the )?(max|limit|model)",
    ),
    _rule(
        "Zhipu", r"prompt 超长|输入.{0,10}(过长|超长|超过)|(prompt|tokens?).{0,6}超(长|过|出).{0,12}(限制|上限|长度)?"
    ),
    _rule("Zhipu", r"prompt exceeds max length"),
    _rule("Moonshot", r"exceeded model token limit"),
    _rule(
        "vLLM",
        r"(prompt|input|request).{0,60}(longer|larger|greater) than the (maximum|max).{0,30}(model|context) length",
    ),
    _rule("vLLM", r"maximum model length of [\d,]+"),
    _rule("vLLM", r"passed [\d,]+ input tokens.{0,120}context length"),
    _rule("llama.cpp", r"exceeds? (the )?available context size"),
    _rule("llama.cpp", r"(the )?request exceeds .{0,30}context size|context size (has been )?exceeded"),
    _rule("LM Studio", r"(greater|larger) than the context length"),
    _rule("Ollama", r"(prompt|input).{0,20}too long.{0,40}context length|exceeds? (the )?(maximum )?context length"),
    _rule("Ollama", r"exceeded max context length"),
    _rule("LiteLLM", r"contextwindowexceedederror"),
    _rule("OpenRouter", r"(endpoint|model)'s maximum context length"),
    _rule("OpenRouter", r"middle-out.{0,60}transform"),
    _rule("xAI", r"maximum prompt length is [\d,]+"),
    _rule("Cohere", r"too many tokens: (total )?(number of tokens|size limit exceeded)"),
    _rule("any", r"context[ _](window|length|limit|size).{0,30}(exceed|overflow|too (long|large|small))"),
    _rule("any", r"(exceed|overflow)\w*.{0,40}context[ _](window|length|limit|size)"),
)
"""What providers say, from their documentation, their clients' sources and public reports. Every row has a test."""

LIMITS_OVER_TIME = (
    r"rate.?limit|too many requests|tokens? per (min|day|hour)|requests per|\btpm\b|\brpm\b|\btpd\b"
    r"|quota|daily token limit|please wait|try again (in|later)|billing|throttl|频率|配额|余额|resource.?exhausted"
)
"""What is said of a limit over time or a quota; it is believed before any text of the table."""


def classify(error: BaseException) -> bool:
    """Say whether an error means that the request was too long for the model.

    Args:
        error: What a model call raised, however deep the cause lies.
    """
    return any(_is_overflow(link) for link in _chain(error))


def _is_overflow(error: BaseException) -> bool:
    if isinstance(error, ContextOverflowError) or type(error).__name__ in OVERFLOW_TYPES:
        return True
    codes = set(_codes(error))
    if codes & OVERFLOW_CODES:
        return True
    status, text = _status(error), _text(error)
    if status == 429 or codes & OTHER_CODES or re.search(LIMITS_OVER_TIME, text):
        return False
    return any((status is None or status in rule.statuses) and re.search(rule.text, text) for rule in RULES)


def _chain(error: BaseException) -> Iterator[BaseException]:
    queue, seen = [error], set[int]()
    while queue and len(seen) < DEPTH:
        link = queue.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        parts = link.exceptions if isinstance(link, BaseExceptionGroup) else ()
        queue += [cause for cause in (link.__cause__, link.__context__, *parts) if cause is not None]


def _codes(error: BaseException) -> Iterator[str]:
    body = getattr(error, "body", None)
    response = getattr(error, "response", None)
    for source in (error, body, response):
        for holder in _holders(source):
            for key in ("code", "type", "Code", "error_code"):
                value = _get(holder, key)
                if isinstance(value, str):
                    yield value.lower()


def _holders(source: Any) -> Iterator[Any]:
    if source is None:
        return
    yield source
    for key in ("error", "Error"):
        inner = _get(source, key)
        if isinstance(inner, Mapping):
            yield inner


def _get(source: Any, key: str) -> Any:
    return source.get(key) if isinstance(source, Mapping) else getattr(source, key, None)


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    candidates = [
        _get(error, "status_code"),
        _get(error, "http_status"),
        _get(error, "code"),
        _get(response, "status_code"),
    ]
    if isinstance(response, Mapping):
        candidates.append((response.get("ResponseMetadata") or {}).get("HTTPStatusCode"))
    return next((c for c in candidates if isinstance(c, int) and not isinstance(c, bool) and 100 <= c <= 599), None)


def _text(error: BaseException) -> str:
    parts = [str(error), str(getattr(error, "message", "") or "")]
    body = getattr(error, "body", None)
    if isinstance(body, Mapping | str | list):  # Google answers with a list of one error
        parts.append(str(body))
    return " ".join(parts).lower()
