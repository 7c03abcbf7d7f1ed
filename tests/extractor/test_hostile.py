"""Texts made to hold the rules up: each is answered in time that grows with its length and no faster."""

import json
import time

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_harness_memory import ExtractiveChatModel
from langgraph_harness_memory.config import fill_prompt
from langgraph_harness_memory.conversation.summary import PROMPT

SIZE = 50_000
PIECES = [
    " ", "\n", "\t\n ", "a", "A", "a.", "a. ", "A. ", "a-", "a_", "aB", "a/", "a.a/", "/", "@", "a@", "1", "1.", "1)\n", "- ", "#\n", "# ",
    "> ", "| ", "'", '"', "“a", "`", "```\n", "~~~", "**", "__", "(", "hey, ", "wow! ", "yeah ", "I ", "you ", "must ", "[user] ", "[user]\n",
    "→ called a\n", "<messages>\n", "</messages>\n", "<previous_summary>\n", "&lt;", "summary ", "Human: ", "Human: a\n", "next ", "我", "。",
    "。」", "我。", "。 ", "\u200b", "…", "yesterday ", "in 3 days ", "My name is ", "the a is 1 ", "remember ", "Ann: ", ": ", "\x00",
    "\U0001f680", "é", "A-1 ", "a.py ", "http://", "?", "? ", "```", " \n", "a@a.", "```a\n", "no ",
]  # fmt: skip


def asked(text: str):
    flush = {
        "task": "flush",
        "today": "2026-04-12",
        "known": {"memory": text, "log": [text]},
        "messages": [{"role": "user", "text": text}],
    }
    new = [{"date": "2026-04-12", "source": "user", "text": text[:2_000]}]
    merge = {
        "task": "consolidation",
        "budget_characters": 4_000,
        "removed": [text[:500]],
        "memory": text[:20_000],
        "new": new,
    }
    yield [HumanMessage(json.dumps(flush))]
    yield [HumanMessage(json.dumps(merge))]
    yield [HumanMessage(fill_prompt(PROMPT, messages=f"[user] {text}\n\n[assistant] Ok.", limit="2000"))]
    yield [HumanMessage(text)]
    yield [HumanMessage(text), AIMessage("Ok."), HumanMessage("What is that?")]
    yield [HumanMessage("What is that?"), ToolMessage(text, tool_call_id="1", name="memory_search")]


@pytest.mark.parametrize("piece", PIECES)
def test_no_text_holds_the_rules_up(piece):
    """50 kB of one piece over and over, in every kind of request."""
    text = (piece * (SIZE // len(piece) + 1))[:SIZE]
    model = ExtractiveChatModel()
    for request in asked(text):
        started = time.process_time()
        model.invoke(request)
        assert time.process_time() - started < 2.5
