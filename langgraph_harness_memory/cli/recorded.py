"""An agent's part, as it was recorded: a model that says what was said, and tools that return what they returned.

Both look up their place in the recording by the ids of the messages that they are given, so that a run can be stopped
anywhere and taken up again, and a request that was compacted on the way gets the same answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import ConfigDict, Field

from langgraph_harness_memory.errors import HarnessMemoryError


class RecordingEnded(HarnessMemoryError):
    """The model was asked where the recording holds no answer."""


@dataclass(kw_only=True, slots=True)
class Recording:
    """One recorded conversation and the request that is being answered."""

    messages: Sequence[BaseMessage]
    """Oldest first, each with an id of its own."""
    places: dict[str, int] = field(init=False)
    """Place by message id."""
    answered: int = -1
    """Place of the assistant message whose tools run now; -1 = none yet."""

    def __post_init__(self) -> None:
        self.places = {str(m.id): at for at, m in enumerate(self.messages)}

    def position(self, messages: Sequence[BaseMessage]) -> int:
        """Return the place of the first message that comes after everything that `messages` holds of the recording."""
        return 1 + max((self.places.get(str(m.id), -1) for m in messages), default=-1)

    def calls_run_until(self, at: int) -> int | None:
        """Return the place after the results of an assistant message's calls.

        Args:
            at: Place of an assistant message with tool calls.

        Returns:
            `None` when some call has no result directly behind it.
        """
        message = self.messages[at]
        waiting = {c["id"] for c in message.tool_calls} if isinstance(message, AIMessage) else set()
        end = at + 1
        while end < len(self.messages):
            result = self.messages[end]
            if not isinstance(result, ToolMessage) or result.tool_call_id not in waiting:
                break
            waiting.discard(result.tool_call_id)
            end += 1
        return None if waiting else end

    def result_of(self, call_id: str) -> ToolMessage | None:
        """Return the recorded result of a call of the assistant message whose tools run now."""
        for message in self.messages[self.answered + 1 :]:
            if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
                return message
        return None


class RecordedChatModel(BaseChatModel):
    """Says what the assistant said next in a recording."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    recording: Recording
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    """Every request, oldest first."""

    @property
    def _llm_type(self) -> str:
        return "recorded"

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: str | None = None,  # noqa: ARG002  the base class has it
        **kwargs: Any,  # noqa: ARG002  the base class has it
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools; what is called with what stands in the recording."""
        return self.bind(tools=[tool.name if isinstance(tool, BaseTool) else str(tool) for tool in tools])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  the base class passes it
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  the base class passes it
        **kwargs: Any,  # noqa: ARG002  the base class passes them
    ) -> ChatResult:
        self.seen.append(list(messages))
        at = self.recording.position(messages)
        # A second result of one call is left out of a valid request, and stands in the recording all the same.
        while at < len(self.recording.messages) and isinstance(self.recording.messages[at], ToolMessage):
            at += 1
        answer = self.recording.messages[at] if at < len(self.recording.messages) else None
        if not isinstance(answer, AIMessage):
            raise RecordingEnded(f"the recording holds no answer at message {at + 1}")
        self.recording.answered = at
        return ChatResult(generations=[ChatGeneration(message=answer.model_copy(deep=True))])


class RecordedTool(BaseTool):
    """Returns what a tool returned in a recording."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    recording: Recording
    args_schema: Any = Field(default={"type": "object", "properties": {}, "additionalProperties": True})

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> ToolMessage:  # noqa: A002, ARG002  the base class names them
        """Return the recorded result of a call, with its own id and status."""
        result = self.recording.result_of(str(input["id"]))
        if result is None:
            raise RecordingEnded(f"the recording holds no result of the call {input['id']!r}")
        return result.model_copy(deep=True)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> ToolMessage:  # noqa: A002  the base class names it
        return self.invoke(input, config, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a recorded tool is called with a tool call")


def recorded_tools(recording: Recording) -> list[BaseTool]:
    """Return a tool for each name that the recording calls, in the order of their first call."""
    names = dict.fromkeys(c["name"] for m in recording.messages if isinstance(m, AIMessage) for c in m.tool_calls)
    return [
        RecordedTool(name=n, description="A tool of the recorded conversation.", recording=recording) for n in names
    ]
