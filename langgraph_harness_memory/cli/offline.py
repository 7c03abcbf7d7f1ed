"""An agent's model where there is none: it notes what it is told and answers questions from the memory tools.

By rules, without a network. It exists so that `chat` and `demo` run on a machine with nothing configured; it knows
nothing but what memory holds.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

_ASKS = re.compile(
    r"[?？]\s*$|^\s*(who|whom|whose|what|which|when|where|why|how|do|does|did|is|are|was|were|can|could|tell me|remind me)\b",
    re.IGNORECASE,
)
_MAX_HITS = 3


class OfflineChatModel(BaseChatModel):
    """Notes statements, looks questions up with `memory_search`, and says what was found and where."""

    search_tool: str = "memory_search"
    """The tool that it asks."""

    @property
    def _llm_type(self) -> str:
        return "offline"

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: str | None = None,  # noqa: ARG002  the base class has it
        **kwargs: Any,  # noqa: ARG002  the base class has it
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools; only the searching one is ever called."""
        names = [tool.name for tool in tools if isinstance(tool, BaseTool)]
        return self.bind(tools=names)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  the base class passes it
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  the base class passes it
        **kwargs: Any,
    ) -> ChatResult:
        answer = self.answer(messages, list(kwargs.get("tools") or []))
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  the base class passes it
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = self.answer(messages, list(kwargs.get("tools") or []))
        for word in re.findall(r"\S+\s*|\s+", str(answer.text)):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=word))
            if run_manager:
                run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk
        end = AIMessageChunk(content="", tool_calls=answer.tool_calls, chunk_position="last")
        yield ChatGenerationChunk(message=end)

    def answer(self, messages: Sequence[BaseMessage], tools: Sequence[str]) -> AIMessage:
        """Answer a request.

        Args:
            messages: Oldest first.
            tools: Names of the tools that are bound.
        """
        last = messages[-1] if messages else HumanMessage("")
        if isinstance(last, ToolMessage):
            return AIMessage(_report(str(last.text)))
        said = next((str(m.text) for m in reversed(messages) if isinstance(m, HumanMessage)), "")
        if _ASKS.search(said) and self.search_tool in tools:
            call_id = f"offline_{sum(isinstance(m, AIMessage) for m in messages)}"
            args = {"query": said, "max_results": _MAX_HITS}
            return AIMessage("", tool_calls=[{"name": self.search_tool, "args": args, "id": call_id}])
        return AIMessage("Noted.")


def _report(found: str) -> str:
    lines = [line for line in found.splitlines() if line.strip()]
    if not any(re.search(r"\S#(?:L)?\d+", line) for line in lines):
        return "My memory holds nothing about that."
    return "\n".join(["My memory says:", *lines])
