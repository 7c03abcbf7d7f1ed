"""The loopback server speaks to the client that users have."""

import re

import openai
import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from langgraph_harness_memory.testing import Dropped, Failure, OpenAIServer, Rejected, Reply, ScriptedChatModel


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"rain in {city}"


def client(server: OpenAIServer, **options: object) -> ChatOpenAI:
    return ChatOpenAI(model="gpt-5.5", base_url=server.url, api_key="unused", max_retries=0, **options)


def test_a_whole_answer_arrives_with_its_usage():
    """A client that does not stream gets the model's text and the provider's own token counts."""
    with OpenAIServer(model=ScriptedChatModel(script=[Reply(text="hello there", usage=(11, 2))])) as server:
        answer = client(server).invoke("hi")
    assert answer.text == "hello there"
    assert answer.usage_metadata["total_tokens"] == 13
    assert server.requests[0].body["messages"] == [{"content": "hi", "role": "user"}]


@pytest.mark.asyncio
async def test_a_streamed_answer_arrives_in_pieces_with_usage_last():
    """Text comes word by word and adds up; usage comes with the end."""
    with OpenAIServer(model=ScriptedChatModel(script=[Reply(text="one two three", usage=(7, 3))])) as server:
        pieces = [piece async for piece in client(server, stream_usage=True).astream("count")]
    assert [p.text for p in pieces if p.text] == ["one ", "two ", "three"]
    whole = sum(pieces[1:], start=pieces[0])
    assert whole.usage_metadata["total_tokens"] == 10


@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls_survive_the_wire(stream):
    """A call goes out with its tools, comes back with its arguments whole, and its result is accepted."""
    script = [Reply(calls=[("weather", {"city": "Tromsø"})]), "It rains."]
    with OpenAIServer(model=ScriptedChatModel(script=script)) as server:
        model = client(server, streaming=stream).bind_tools([weather])
        call = model.invoke("weather in Tromsø?")
        assert [c["args"] for c in call.tool_calls] == [{"city": "Tromsø"}]
        result = ToolMessage("rain", tool_call_id=call.tool_calls[0]["id"])
        assert model.invoke([HumanMessage("weather in Tromsø?"), call, result]).text == "It rains."
    assert server.requests[0].body["tools"][0]["function"]["name"] == "weather"


def test_an_orphaned_result_is_refused_in_openai_words():
    """A tool message without its call is a 400, as at OpenAI."""
    with OpenAIServer() as server, pytest.raises(openai.BadRequestError, match="must be a response to a preceeding"):
        client(server).invoke([HumanMessage("hi"), ToolMessage("x", tool_call_id="lost")])
    assert server.refused[0].status == 400


def test_an_unanswered_call_is_refused_in_openai_words():
    """A call without its result is a 400 that names the call."""
    call = AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "call_7"}])
    with (
        OpenAIServer() as server,
        pytest.raises(openai.BadRequestError, match="did not have response messages: call_7"),
    ):
        client(server).invoke([HumanMessage("hi"), call, HumanMessage("and?")])


@pytest.mark.parametrize(
    ("style", "words"),
    [
        ("openai", "maximum context length is 50 tokens"),
        ("openai-new", "exceeds the context window of this model"),
        ("vllm", "maximum context length is 50 tokens"),
        ("llama.cpp", "exceeds the available context size"),
        ("dashscope", re.escape("Range of input length should be [1, 50]")),
        ("anthropic", "prompt is too long: 1[0-9]+ tokens > 50 maximum"),
        ("bedrock", "Input is too long for requested model"),
        ("gemini", "input token count .* exceeds the maximum number of tokens allowed"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_the_window_is_enforced_in_the_words_of_each_server(style, words, stream):
    """A request over the window is a 400 with the named server's own text, whole and streamed; a small one passes."""
    with OpenAIServer(context_window=50, overflow=style) as server:
        model = client(server, streaming=stream)
        assert model.invoke("short").text == "short"
        with pytest.raises(openai.BadRequestError, match="Error code: 400") as seen:
            model.invoke("long " * 100)
        assert re.search(words, seen.value.response.text)
    assert [r.status for r in server.requests] == [200, 400]


def test_system_prompt_and_tools_count_for_the_window():
    """The window is that of the whole request."""
    with OpenAIServer(context_window=60) as server:
        assert client(server).invoke("hi").text == "hi"
        with pytest.raises(openai.BadRequestError, match="maximum context length"):
            client(server).bind_tools([weather]).invoke([SystemMessage("be brief " * 10), HumanMessage("hi")])


def test_a_rate_limit_passes_when_the_client_tries_again():
    """A 429 for tokens per minute is retried by the client and is no overflow."""
    with OpenAIServer(faults=[Rejected()]) as server:
        model = ChatOpenAI(model="gpt-5.5", base_url=server.url, api_key="unused", max_retries=1)
        assert model.invoke("hi").text == "hi"
    assert [r.status for r in server.requests] == [429, 200]


def test_a_rate_limit_that_stays_is_a_rate_limit_error():
    """Its text speaks of tokens, and langchain does not take it for an overflow."""
    with (
        OpenAIServer(faults=[Rejected()]) as server,
        pytest.raises(openai.RateLimitError, match="tokens per min") as seen,
    ):
        client(server).invoke("hi")
    assert not isinstance(seen.value, ContextOverflowError)


def test_a_model_that_overflows_behind_the_server_is_an_overflow():
    """An overflow of the model behind is answered in the server's words."""
    behind = ScriptedChatModel(context_window=5)
    with OpenAIServer(model=behind) as server, pytest.raises(openai.BadRequestError, match="maximum context length"):
        client(server).invoke("one two three four five six seven")


def test_a_model_that_fails_is_a_server_error():
    """Anything else that the model raises is a 500."""
    behind = ScriptedChatModel(script=[RuntimeError("no model")])
    with OpenAIServer(model=behind) as server, pytest.raises(openai.InternalServerError, match="no model"):
        client(server).invoke("hi")


def test_a_failure_in_the_middle_of_a_stream_reaches_the_client_after_the_first_pieces():
    """What was streamed stands; then the client raises."""
    script = [Failure(error=RuntimeError("cut"), text="so far ")]
    seen = []
    with OpenAIServer(model=ScriptedChatModel(script=script)) as server, pytest.raises(openai.APIError, match="cut"):
        seen.extend(piece.text for piece in client(server).stream("hi"))
    assert "".join(seen) == "so far "


@pytest.mark.parametrize("after", [0, 3])
def test_a_dropped_connection_is_a_connection_error(after):
    """The connection ends before or within the answer, as a proxy would end it."""
    faults = [Dropped(after=after)]
    with OpenAIServer(faults=faults) as server, pytest.raises(Exception, match=r"(?i)connection|closed") as seen:
        list(client(server).stream("one two three four"))
    assert not isinstance(seen.value, openai.BadRequestError)


def test_another_path_is_not_found():
    """Only chat completions and the list of models are spoken."""
    with OpenAIServer() as server:
        raw = openai.OpenAI(base_url=server.url, api_key="unused", max_retries=0)
        assert [m.id for m in raw.models.list()] == ["scripted"]
        with pytest.raises(openai.NotFoundError, match="Unknown path"):
            raw.embeddings.create(model="m", input="x")
        raw.close()
