"""Telling an overflow from every other error."""

import re
from types import SimpleNamespace
from typing import Any

import httpx
import openai
import pytest
from langchain_core.exceptions import ContextOverflowError, ModelInvalidRequestError, ModelRateLimitError

from langgraph_harness_memory.conversation.overflow import RULES, classify


class ProviderError(Exception):
    """What a client library raises: a text, and whatever attributes it has."""

    def __init__(self, text: str, **attributes: Any) -> None:
        super().__init__(text)
        for name, value in attributes.items():
            setattr(self, name, value)


OVERFLOWS = [
    ("OpenAI", 400, "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."),
    ("OpenAI", 400, "maximum context length is 8192 tokens"),
    ("OpenAI Responses", 400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
    ("OpenAI", 400, "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens."),
    ("Azure OpenAI", 400, "This model's maximum context length is 16385 tokens, however you requested 17000 tokens"),
    ("Anthropic", 400, "prompt is too long: 212345 tokens > 200000 maximum"),
    ("Anthropic", 400, "input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000"),
    ("Anthropic", 413, "Request exceeds the maximum size"),
    ("Google", 400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    ("Google Vertex", 400, "Unable to submit request because the input token count is 40000 but exceeds the maximum input tokens"),
    ("Bedrock", None, "An error occurred (ValidationException) when calling the Converse operation: Input is too long for requested model."),
    ("Bedrock", 400, "Too many input tokens. Max input tokens: 8192, request input token count: 9000"),
    ("Bedrock", 400, "The maximum tokens you requested exceeds the model limit of 4096"),
    ("Mistral", 400, "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
    ("Groq", 400, "Please reduce the length of the messages or completion."),
    ("DashScope", 400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"),
    ("DashScope", 400, "The prompt length exceeds the limit of the model"),
    ("Zhipu", 400, "Prompt 超长"),
    ("Zhipu", 400, "输入内容过长,超过模型最大长度"),
    ("Zhipu", 400, "Prompt exceeds max length"),
    ("Moonshot", 400, "Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)"),
    ("vLLM", 400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."),
    ("vLLM", 400, "You passed 8193 input tokens and requested 1 output tokens. However, the model's context length is only 8192 tokens."),
    ("llama.cpp", 400, "the request exceeds the available context size, try increasing it"),
    ("llama.cpp", 500, "Context size has been exceeded."),
    ("LM Studio", 400, "Trying to keep the first 9000 tokens when context the overflows. (is greater than the context length)"),
    ("Ollama", 400, "prompt too long; exceeded max context length by 12 tokens"),
    ("Ollama", 500, "the input length exceeds the context length"),
    ("LiteLLM", 400, "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicError"),
    ("OpenRouter", 400, "This endpoint's maximum context length is 65536 tokens. However, you requested about 70000 tokens."),
    ("OpenRouter", 400, 'Please reduce the length of either one, or use the "middle-out" transform to compress your prompt'),
    ("xAI", 400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
    ("Cohere", 400, "too many tokens: total number of tokens in the prompt cannot exceed 4081"),
    ("any", 422, "context window exceeded"),
    ("any", 400, "The request overflows the model's context length"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "status", "text"), OVERFLOWS, ids=[f"{p}-{i}" for i, (p, _, _) in enumerate(OVERFLOWS)]
)
def test_what_providers_say_of_a_long_request(provider: str, status: int | None, text: str) -> None:
    """By text and status, without any type or code."""
    attributes = {} if status is None else {"status_code": status}
    assert classify(ProviderError(text, **attributes))


def test_every_row_of_the_table_is_said_by_someone() -> None:
    """A row that no text above meets would be a guess."""
    texts = [text.lower() for _, _, text in OVERFLOWS]
    assert [rule for rule in RULES if not any(re.search(rule.text, text) for text in texts)] == []


@pytest.mark.parametrize(
    "provider",
    ["OpenAI", "Azure OpenAI", "Anthropic", "Google", "Bedrock", "Mistral", "Groq", "DashScope", "Zhipu", "Moonshot",
     "vLLM", "llama.cpp", "Ollama", "LiteLLM", "OpenRouter"],
)  # fmt: skip
def test_every_promised_provider_has_a_row(provider: str) -> None:
    """The fifteen that the documentation names."""
    assert any(row[0] == provider for row in OVERFLOWS)


OTHERS = [
    (None, "daily token limit exceeded"),
    (None, "Too many tokens, please wait before trying again."),
    (429, "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000."),
    (429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced."),
    (413, "Request too large for model `llama-3.3` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size"),
    (429, "This request would exceed your organization's rate limit of 40,000 input tokens per minute"),
    (429, "You exceeded your current quota, please check your plan and billing details."),
    (429, "Resource has been exhausted (e.g. check quota)."),
    (400, "ThrottlingException: Too many tokens, please wait before trying again."),
    (429, "您的账户已达到速率限制,请您控制请求频率"),
    (400, "max_tokens is too large: 200000. This model supports at most 16384 completion tokens"),
    (400, "messages: at least one message is required"),
    (401, "Incorrect API key provided"),
    (404, "The model `gpt-9` does not exist"),
    (400, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."),
    (500, "Internal server error"),
    (None, "Connection error."),
    (None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("status", "text"), OTHERS)
def test_what_is_not_an_overflow(status: int | None, text: str) -> None:
    """Compacting does not help against a rate limit, a quota or a wrong key."""
    attributes = {} if status is None else {"status_code": status}
    assert not classify(ProviderError(text, **attributes))


@pytest.mark.parametrize(
    "code", ["context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"]
)
@pytest.mark.parametrize("where", ["attribute", "body", "nested", "type"])
def test_structured_codes_are_believed(code: str, where: str) -> None:
    """Whatever the text says, in whichever language."""
    attributes: dict[str, dict[str, Any]] = {
        "attribute": {"code": code},
        "body": {"body": {"code": code}},
        "nested": {"body": {"error": {"code": code, "message": "?"}}},
        "type": {"body": {"error": {"type": code.upper()}}},
    }
    assert classify(ProviderError("請求失敗", status_code=400, **attributes[where]))


@pytest.mark.parametrize("code", ["rate_limit_exceeded", "insufficient_quota", "ThrottlingException"])
def test_a_limit_over_time_is_told_by_its_code(code: str) -> None:
    """Even where the text speaks of a maximum context length."""
    error = ProviderError("maximum context length is 8192 tokens", status_code=400, body={"error": {"code": code}})
    assert not classify(error)


def test_types_are_known_by_name() -> None:
    """LangChain's own and those of gateways that need not be installed."""
    foreign = type("ContextWindowExceededError", (Exception,), {})
    assert classify(ContextOverflowError("x"))
    assert classify(foreign("x"))
    assert not classify(ModelRateLimitError("Rate limit reached: tokens per min"))


def test_openais_own_error_is_known() -> None:
    """The client's error with the code in its body, and the same text from a compatible server without it."""
    request = httpx.Request("POST", "http://localhost/v1/chat/completions")
    response = httpx.Response(400, request=request)
    body = {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}
    assert classify(openai.BadRequestError("too long", response=response, body=body))
    text = "the request exceeds the available context size"
    assert classify(openai.BadRequestError(text, response=response, body={"message": text}))
    limited = httpx.Response(429, request=request)
    assert not classify(openai.RateLimitError(text, response=limited, body=None))


def test_bedrocks_response_is_read_from_its_dictionary() -> None:
    """botocore keeps status and code in a dictionary."""
    throttled = {"Error": {"Code": "ThrottlingException"}, "ResponseMetadata": {"HTTPStatusCode": 429}}
    assert not classify(ProviderError("Input is too long for requested model", response=throttled))
    refused = {"Error": {"Code": "ValidationException"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    assert classify(ProviderError("Input is too long for requested model", response=refused))


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_causes_are_followed(depth: int) -> None:
    """A gateway wraps what a provider said."""
    error: Exception = ProviderError("prompt is too long: 9 tokens > 8 maximum", status_code=400)
    for level in range(depth):
        try:
            raise ModelInvalidRequestError(f"level {level}") from error
        except ModelInvalidRequestError as outer:
            error = outer
    assert classify(error)


def test_errors_in_a_group_are_found() -> None:
    """Task groups raise several at once."""
    assert classify(ExceptionGroup("all", [ValueError("x"), ProviderError("prompt is too long: 9 > 8 maximum")]))


def test_a_ring_of_causes_ends() -> None:
    """Re-raising an error inside its own handler can tie it to itself."""
    one, other = ValueError("a"), ValueError("b")
    one.__cause__, other.__cause__ = other, one
    assert not classify(one)


def test_a_status_that_means_something_else_is_not_an_overflow() -> None:
    """A text alone is not believed under an authentication error."""
    assert not classify(ProviderError("maximum context length is 8192 tokens", status_code=401))


@pytest.mark.parametrize(
    "place",
    [
        lambda status: {"status_code": status},
        lambda status: {"http_status": status},
        lambda status: {"code": status},
        lambda status: {"response": SimpleNamespace(status_code=status)},
        lambda status: {"response": {"ResponseMetadata": {"HTTPStatusCode": status}}},
    ],
    ids=["status_code", "http_status", "code", "response", "botocore"],
)
def test_a_status_is_found_wherever_a_client_keeps_it(place: Any) -> None:
    """The same text is believed under 400 and not under 404; what is no status is none."""
    text = "prompt is too long"
    assert classify(ProviderError(text, **place(400)))
    assert not classify(ProviderError(text, **place(404)))
    for nothing in (True, 99, 600, "404", None):
        assert classify(ProviderError(text, **place(nothing)))


@pytest.mark.parametrize(
    "body", [{"error": {"message": "Prompt is too long"}}, "prompt is too long", [{"message": "prompt is too long"}]]
)
def test_a_text_is_read_from_the_body_too(body: Any) -> None:
    """And from a message attribute, in any case."""
    assert classify(ProviderError("refused", body=body))
    assert classify(ProviderError("refused", message="PROMPT IS TOO LONG"))
    assert not classify(ProviderError("refused", body=7, message=None))


@pytest.mark.parametrize("key", ["code", "type", "Code", "error_code"])
@pytest.mark.parametrize("inside", [None, "error", "Error"])
@pytest.mark.parametrize("where", ["body", "response"])
def test_a_code_is_read_from_every_place(where: str, inside: str | None, key: str) -> None:
    """Under each name that clients use."""
    fields = {key: "String_Above_Max_Length"}
    assert classify(ProviderError("refused", **{where: fields if inside is None else {inside: fields}}))
    assert not classify(ProviderError("refused", **{where: {"other": fields}}))


def test_twelve_causes_are_followed() -> None:
    """A thirteenth is not."""
    for depth, is_found in ((11, True), (12, False)):
        error: BaseException = ProviderError("prompt is too long")
        for _ in range(depth):
            outer = ValueError("outer")
            outer.__cause__ = error
            error = outer
        assert classify(error) == is_found
