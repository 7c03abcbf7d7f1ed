"""The tools by which a model reads and, on request, writes its memory.

    memory_search   lines of memory that answer a question        session_search  messages of earlier sessions
    memory_get      lines of a memory file, numbered              read_file       any text it was told of, page by page
    memory_save     a line for today's log                        memory_forget   lines to remove, once a person agrees

Each tool takes the parts it needs and asks the ambient run whose memory is meant. What it says is bounded, cited as
`path#line` and dated. An error is a message that says what to do, never an exception in the agent's run.
"""

from langgraph_harness_memory.tools.calling import PAGE_CHARS
from langgraph_harness_memory.tools.reading import memory_get_tool, read_file_tool
from langgraph_harness_memory.tools.searching import memory_search_tool, session_search_tool
from langgraph_harness_memory.tools.writing import ForgetRequest, memory_forget_tool, memory_save_tool

__all__ = [
    "PAGE_CHARS",
    "ForgetRequest",
    "memory_forget_tool",
    "memory_get_tool",
    "memory_save_tool",
    "memory_search_tool",
    "read_file_tool",
    "session_search_tool",
]
