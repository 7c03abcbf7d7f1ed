"""Inputs that break systems of this kind, through ours and through the peers, in one run.

    python -m benchmarks peer-cases [--only ours]

Each case is one small conversation and a question that is answered by looking at what the models were sent, what is in the
state and what was streamed. Ours must be right in every case; what a peer does not offer is a dash.
"""

import base64
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from benchmarks._contenders import NAMES, Conversation, Name, Seen, human, run, text_of
from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.testing import Reply, request_faults


@dataclass(frozen=True, kw_only=True)
class Case:
    """One input and what must be true of what was seen."""

    number: str
    """Its number in the list of hostile inputs."""
    claim: str
    conversations: Callable[[], Sequence[Conversation]]
    holds: Callable[[Conversation, Seen], bool]


def dialogue(count: int, text: Callable[[int], str] = lambda i: f"message {i}") -> list[BaseMessage]:
    """Make a plain conversation that ends with the user."""
    odd = count if count % 2 else count - 1
    return [(HumanMessage if i % 2 == 0 else AIMessage)(text(i), id=f"m{i}") for i in range(odd)]


def calls(message_id: str, *call_ids: str, name: str = "look", **args: Any) -> AIMessage:
    made = [{"name": name, "args": args or {"at": c}, "id": c, "type": "tool_call"} for c in call_ids]
    return AIMessage("", id=message_id, tool_calls=made)


def result(call_id: str, text: str = "seen", name: str = "look") -> ToolMessage:
    return ToolMessage(text, id=f"r-{call_id}", tool_call_id=call_id, name=name)


def valid(_: Conversation, seen: Seen) -> bool:
    return seen.error is None and all(not request_faults(r) for r in seen.requests)


def smaller(conversation: Conversation, seen: Seen) -> bool:
    given = sum(len(text_of(turn)) for turn in conversation.turns)
    return seen.error is None and len(seen.last) < 0.7 * given


@tool
def look(at: str = "") -> str:
    """Look at something."""
    return f"seen {at}"


@tool
def fetch(size: int = 100_000) -> str:
    """Fetch one long line."""
    return "HEAD" + "x" * (size - 11) + "TAILEND"


@tool
def write_file(path: str, content: str) -> str:
    """Write a file."""
    return "written"


@tool
def apply_edits(edits: list[dict[str, str]]) -> str:
    """Apply edits."""
    return "applied"


def _cut_everywhere() -> list[Conversation]:
    history = [
        human("q", "h0"),
        calls("a0", "a", "b"),
        result("a"),
        result("b"),
        AIMessage("both seen", id="a1"),
        human("and now?", "h1"),
    ]
    return [
        Conversation(turns=[history], trigger_messages=len(history), keep_messages=keep, tools=[look])
        for keep in range(1, len(history))
    ]


def _cut_in_parallel_calls() -> list[Conversation]:
    ten = [f"p{i}" for i in range(10)]
    history = [human("q", "h0"), calls("a0", *ten), *map(result, ten), AIMessage("all", id="a1"), human("next", "h1")]
    return [
        Conversation(turns=[history], trigger_messages=len(history), keep_messages=keep, tools=[look])
        for keep in range(1, 12)
    ]


def _sixty_calls() -> list[Conversation]:
    ids = [f"c{i}" for i in range(60)]
    big = [result(i, "r" * 2_000) for i in ids]
    history = [human("read all", "h0"), calls("a0", *ids), *big, AIMessage("read", id="a1"), human("so?", "h1")]
    return [Conversation(turns=[history], trigger_messages=50, keep_messages=20, tools=[look])]


def _few_but_huge() -> list[Conversation]:
    history = dialogue(15, lambda i: f"{i} " + "word " * 2_800)
    return [Conversation(turns=[history], trigger_tokens=20_000, keep_messages=20)]


FACTS = [f"FACT-{i:03d}" for i in range(40)]


def _facts(count: int = 40, size: int = 300) -> list[BaseMessage]:
    return dialogue(2 * count + 1, lambda i: f"{FACTS[(i // 2) % 40]} " + "filler " * (size // 7))


def _keeps_facts(_: Conversation, seen: Seen) -> bool:
    """The turn went on and the facts are still before the model."""
    return seen.error is None and all(fact in seen.last for fact in FACTS[:36])


def _bad_summary(*script: Any) -> Callable[[], list[Conversation]]:
    return lambda: [Conversation(turns=[_facts()], trigger_messages=50, keep_messages=4, summaries=script)]


def _echo_facts(messages: list[BaseMessage]) -> str:
    said = text_of(messages)
    kept = sorted({f for f in ["GOLDEN-KEY", *FACTS] if f in said})
    return "## SESSION INTENT\nKeep facts.\n## SUMMARY\n" + " ".join(kept) + "\n## ARTIFACTS\nNone\n## NEXT STEPS\nNone"


def _three_compactions() -> list[Conversation]:
    first = [human("remember GOLDEN-KEY", "g0"), AIMessage("yes", id="g1")]
    turns = [[*first, *dialogue(11)]]
    turns += [[HumanMessage(f"more {n}.{i} " + "pad " * 20, id=f"n{n}-{i}") for i in range(5)] for n in range(1, 9)]
    return [Conversation(turns=turns, trigger_messages=12, keep_messages=3, summaries=[_echo_facts])]


def _fact_reaches_later_summaries(_: Conversation, seen: Seen) -> bool:
    return len(seen.summaries) >= 3 and all("GOLDEN-KEY" in text_of(s) for s in seen.summaries[:3])


def _all_facts_seen_by_small_summariser() -> list[Conversation]:
    history = dialogue(401, lambda i: f"N{i:04d} " + "word " * 600)
    return [
        Conversation(turns=[history], trigger_messages=300, keep_messages=10, summary_window=8_000, summaries=[NUMBERS])
    ]


NUMBERS = "## SESSION INTENT\nNumbers.\n## SUMMARY\nNumbers were given.\n## ARTIFACTS\nNone\n## NEXT STEPS\nNone"


def _summariser_saw_everything(_: Conversation, seen: Seen) -> bool:
    said = "\n".join(text_of(s) for s in seen.summaries)
    return seen.error is None and sum(f"N{i:04d}" in said for i in range(380)) >= 375


def _braces() -> list[Conversation]:
    return [
        Conversation(
            turns=[dialogue(21)],
            trigger_messages=10,
            summary_prompt='Answer as {"a": 1} would.\n{messages}',
        )
    ]


def _chinese() -> list[Conversation]:
    text = "我们今天讨论了数据库迁移的计划并且决定使用新的工具来完成所有的工作任务安排"
    history = dialogue(21, lambda _: text * 2)
    return [Conversation(turns=[history], trigger_tokens=700, keep_messages=4)]


def _pdf() -> list[Conversation]:
    data = base64.b64encode(b"%PDF" * 200_000).decode()
    block = {"type": "file", "base64": data, "mime_type": "application/pdf"}
    ask = HumanMessage([{"type": "text", "text": "read this"}, block], id="h0")
    history = [ask, AIMessage("read", id="a0"), *dialogue(9)]
    return [Conversation(turns=[history], trigger_tokens=20_000, keep_messages=4)]


def _hidden_calls() -> list[Conversation]:
    big = AIMessage(
        [{"type": "text", "text": "writing"}],
        id="a0",
        tool_calls=[{"name": "look", "args": {"at": "y" * 40_000}, "id": "c0", "type": "tool_call"}],
    )
    history = [human("write", "h0"), big, result("c0"), AIMessage("ok", id="a1"), *dialogue(9)]
    return [Conversation(turns=[history], trigger_tokens=5_000, keep_messages=4, tools=[look])]


def _fired(_: Conversation, seen: Seen) -> bool:
    return seen.error is None and len(seen.summaries) >= 1


def _did_not_fire(_: Conversation, seen: Seen) -> bool:
    return seen.error is None and not seen.summaries


def _system_counts() -> list[Conversation]:
    return [Conversation(turns=[dialogue(15)], trigger_tokens=5_000, keep_messages=4, system_prompt="rule " * 8_000)]


def _stale_usage() -> list[Conversation]:
    usage = {"input_tokens": 9_000, "output_tokens": 100, "total_tokens": 9_100}
    told = AIMessage("told", id="u0", usage_metadata=usage, response_metadata={"model_provider": "openai"})
    history = [*dialogue(11), told, human("go", "h9")]
    more = Reply(calls=[("look", {"at": "x"})])
    return [
        Conversation(
            turns=[history], answers=[more, more, "Done."], trigger_tokens=5_000, keep_messages=4, tools=[look]
        )
    ]


def _one_summary(_: Conversation, seen: Seen) -> bool:
    return seen.error is None and len(seen.requests) >= 3 and len(seen.summaries) <= 1


def _system_messages() -> list[Conversation]:
    history = [
        SystemMessage("RULE-ONE holds", id="s0"),
        *dialogue(9),
        AIMessage("fine", id="a9"),
        SystemMessage("RULE-TWO holds", id="s1"),
        *[m.model_copy(update={"id": f"z{m.id}"}) for m in dialogue(11)],
    ]
    return [Conversation(turns=[history], trigger_messages=15, keep_messages=4)]


def _rules_stand(_: Conversation, seen: Seen) -> bool:
    rules = [m for m in seen.requests[-1] if isinstance(m, SystemMessage)] if seen.requests else []
    said = text_of(rules)
    return seen.error is None and bool(seen.summaries) and "RULE-ONE" in said and "RULE-TWO" in said


def _long_arguments() -> list[Conversation]:
    top = [calls("w0", "w", name="write_file", path="a", content="c" * 10_000), result("w", "written", "write_file")]
    nested = [
        calls("e0", "e", name="apply_edits", edits=[{"new": "n" * 50_000}]),
        result("e", "applied", "apply_edits"),
    ]
    return [
        Conversation(
            turns=[[human("do", "h0"), *part, AIMessage("ok", id="a1"), *dialogue(17)]],
            trigger_messages=500,
            truncate_args=True,
            tools=[write_file, apply_edits],
        )
        for part in (top, nested)
    ]


def _arguments_small_everywhere(_: Conversation, seen: Seen) -> bool:
    return seen.error is None and len(seen.last) < 6_000 and len(text_of(seen.state)) < 6_000


def _streaming() -> list[Conversation]:
    return [Conversation(turns=[dialogue(21)], answers=["The answer."], trigger_messages=10, stream=True)]


def _clean_stream(_: Conversation, seen: Seen) -> bool:
    foreign = [m for m in seen.streamed if isinstance(m, RemoveMessage | HumanMessage | ToolMessage)]
    said = "".join(str(m.content) for m in seen.streamed)
    return seen.error is None and bool(seen.summaries) and not foreign and "SESSION INTENT" not in said


class InvalidRequestError(Exception):
    """What an OpenAI-compatible gateway in front of another provider raises."""

    status_code = 400


def _overflow() -> list[Conversation]:
    return [
        Conversation(turns=[dialogue(21)], answers=[InvalidRequestError(text), "Fits."], trigger_messages=500)
        for text in (
            "prompt is too long: 212345 tokens > 200000 maximum",
            "Input is too long for requested model",
            "the request exceeds the available context size, try increasing it",
        )
    ]


def _recovered(_: Conversation, seen: Seen) -> bool:
    ids = [m.id for m in seen.state]
    return seen.error is None and len(seen.requests) == 2 and len(ids) == len(set(ids))


def _one_long_line() -> list[Conversation]:
    return [
        Conversation(
            turns=[[human("fetch", "h0")]],
            answers=[Reply(calls=[("fetch", {})]), "Done."],
            trigger_messages=500,
            tools=[fetch],
            evict=True,
        )
    ]


def _head_and_tail(_: Conversation, seen: Seen) -> bool:
    results = [str(m.content) for m in seen.requests[-1] if isinstance(m, ToolMessage)]
    return (
        seen.error is None
        and all("HEAD" in r and "TAILEND" in r and len(r) < 10_000 for r in results)
        and bool(results)
    )


def _many_just_under() -> list[Conversation]:
    many = Reply(calls=[("fetch", {"size": 79_999})] * 20)
    return [
        Conversation(
            turns=[[human("fetch", "h0")]], answers=[many, "Done."], trigger_messages=500, tools=[fetch], evict=True
        )
    ]


def _bounded_step(_: Conversation, seen: Seen) -> bool:
    return seen.error is None and len(seen.last) <= 300_000 and len(text_of(seen.state)) <= 300_000


CASES = [
    Case(number="1", claim="no orphan at any cut", conversations=_cut_everywhere, holds=valid),
    Case(number="1", claim="ten parallel calls at the cut", conversations=_cut_in_parallel_calls, holds=valid),
    Case(number="2", claim="60 calls and results get smaller", conversations=_sixty_calls, holds=smaller),
    Case(number="3", claim="few but huge messages get smaller", conversations=_few_but_huge, holds=smaller),
    Case(
        number="5",
        claim="a summariser that raises costs nothing",
        conversations=_bad_summary(ValueError("model down")),
        holds=_keeps_facts,
    ),
    Case(number="5", claim="a blank summary replaces nothing", conversations=_bad_summary(""), holds=_keeps_facts),
    Case(
        number="5",
        claim="a refusal is no summary",
        conversations=_bad_summary("I'm sorry, but I can't help with that."),
        holds=_keeps_facts,
    ),
    Case(
        number="6",
        claim="a fact reaches the third summary",
        conversations=_three_compactions,
        holds=_fact_reaches_later_summaries,
    ),
    Case(
        number="7",
        claim="a small summariser sees everything",
        conversations=_all_facts_seen_by_small_summariser,
        holds=_summariser_saw_everything,
    ),
    Case(number="8", claim="braces in a prompt are text", conversations=_braces, holds=_fired),
    Case(number="9", claim="Chinese is counted", conversations=_chinese, holds=_fired),
    Case(number="9", claim="a PDF is not counted by its length", conversations=_pdf, holds=_did_not_fire),
    Case(number="9", claim="calls beside content blocks are counted", conversations=_hidden_calls, holds=_fired),
    Case(number="10", claim="the system prompt is counted", conversations=_system_counts, holds=_fired),
    Case(number="11", claim="an old usage report fires once", conversations=_stale_usage, holds=_one_summary),
    Case(number="12", claim="system messages stay", conversations=_system_messages, holds=_rules_stand),
    Case(
        number="13",
        claim="long arguments leave request and state",
        conversations=_long_arguments,
        holds=_arguments_small_everywhere,
    ),
    Case(
        number="14", claim="a compacting turn streams its answer alone", conversations=_streaming, holds=_clean_stream
    ),
    Case(number="16", claim="an overflow of any provider is recovered", conversations=_overflow, holds=_recovered),
    Case(number="20", claim="one long line shows head and tail", conversations=_one_long_line, holds=_head_and_tail),
    Case(number="22", claim="many results just under the limit", conversations=_many_just_under, holds=_bounded_step),
]


def judge(case: Case, name: Name) -> bool | None:
    """Say whether a contender is right in every conversation of a case; `None` = not offered."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for conversation in case.conversations():
            seen = run(name, conversation)
            if seen is None:
                return None
            if not case.holds(conversation, seen):
                return False
    return True


def main(argv: list[str]) -> Outcome:
    names = ("ours",) if argv[:1] == ["--only"] else NAMES
    verdicts = {(case.claim, name): judge(case, name) for case in CASES for name in names}
    words = {True: "right", False: "wrong", None: "–"}
    rows = [[case.number, case.claim, *[words[verdicts[case.claim, n]] for n in names]] for case in CASES]
    print(table(["case", "what must hold", *names], rows))
    ours = sum(verdicts[case.claim, "ours"] is True for case in CASES)
    wrong = {n: sum(verdicts[case.claim, n] is False for case in CASES) for n in names}
    return Outcome(
        figures={"cases": len(CASES), "wrong": wrong},
        targets=[Target(text="ours is right in every case", seen=f"{ours} of {len(CASES)}", met=ours == len(CASES))],
    )
