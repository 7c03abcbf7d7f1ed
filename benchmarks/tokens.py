"""How far the token estimate is from the truth, beside langchain's `count_tokens_approximately`.

The truth is o200k_base, or cl100k_base with `--encoding`. Texts are those of `texts/`, written for this benchmark, pieces of
this repository's own source, and pairs of them, none of which were part of the fit. A tool call is counted as the JSON object
of its name and arguments.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

from benchmarks._vocabulary import install, reference
from benchmarks.outcome import Outcome, Target, table
from langgraph_harness_memory.conversation.tokens import MESSAGE_TOKENS, TokenCounter

MEDIAN, P95 = 0.08, 0.20

TEXTS = Path(__file__).parent / "texts"
"""Prose in the languages that people speak to agents in, and the calls and records that agents handle."""

Call = dict[str, Any]
"""A tool's name and arguments."""

Sample = tuple[BaseMessage, str]
"""A message, and the text that it comes to for a provider."""


def main(argv: list[str]) -> Outcome:
    parser = argparse.ArgumentParser(prog="tokens")
    parser.add_argument("--encoding", default="o200k_base", choices=["o200k_base", "cl100k_base"])
    options = parser.parse_args(argv)
    truth = reference(options.encoding)
    counters: dict[str, Callable[[BaseMessage], int]] = {"estimate": TokenCounter().message}
    with tempfile.TemporaryDirectory() as folder:
        tiktoken = install(options.encoding, Path(folder))
        if tiktoken is not None:
            counters["tiktoken"] = TokenCounter(text=tiktoken).message
        counters["langchain"] = lambda message: count_tokens_approximately([message])
        return _measured(options.encoding, _samples(), truth, counters)


def _measured(
    encoding: str,
    samples: dict[str, list[Sample]],
    truth: Callable[[str], int],
    counters: dict[str, Callable[[BaseMessage], int]],
) -> Outcome:
    figures: dict[str, Any] = {"encoding": encoding, "samples": sum(map(len, samples.values()))}
    rows, targets = [], []
    for kind, group in samples.items():
        exact = [truth(text) + MESSAGE_TOKENS for _, text in group]
        for name, count in counters.items():
            errors = sorted(abs(count(m) - t) / t for (m, _), t in zip(group, exact, strict=True))
            median, p95 = statistics.median(errors), errors[int(0.95 * (len(errors) - 1))]
            rows.append([kind, name, len(group), f"{median:.1%}", f"{p95:.1%}", f"{errors[-1]:.1%}"])
            figures[f"{kind}_{name}"] = {"median": round(median, 4), "p95": round(p95, 4)}
            if name != "langchain":
                met = median <= MEDIAN and p95 <= P95
                text = f"{kind}, {name}: median error at most {MEDIAN:.0%}, 95th percentile at most {P95:.0%}"
                targets.append(Target(text=text, seen=f"{median:.1%} and {p95:.1%}", met=met))
    figures["speed_mb_per_s"] = round(_speed(counters["estimate"]), 2)
    print(table(["text", "counter", "samples", "median", "95th", "worst"], rows))
    print(f"\nThe estimate counts {figures['speed_mb_per_s']} MB of new text a second; what was counted is remembered.")
    return Outcome(figures=figures, targets=targets)


def _speed(count: Callable[[BaseMessage], int]) -> float:
    paragraphs = _paragraphs((TEXTS / "english.txt").read_text()) * 40
    start = time.perf_counter()
    for i, text in enumerate(paragraphs):
        count(HumanMessage(f"{i} {text}"))
    return sum(map(len, paragraphs)) / (time.perf_counter() - start) / 1e6


def _samples() -> dict[str, list[Sample]]:
    draw = random.Random(20261201)
    languages = ("english", "chinese", "japanese", "russian")
    samples = {language: _prose((TEXTS / f"{language}.txt").read_text(), draw) for language in languages}
    samples["code"] = [_said(piece) for piece in _code(draw)]
    samples["json"] = [_said(text) for record in _read("records") for text in _json_forms(record)]
    samples["tool calls"] = [_called(calls) for calls in _call_groups(draw)]
    return samples


def _said(text: str) -> Sample:
    return HumanMessage(text), text


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in text.split("\n\n") if part.strip()]


def _prose(text: str, draw: random.Random) -> list[Sample]:
    """Every paragraph, its first half, and pairs."""
    whole = _paragraphs(text)
    halves = [part[: len(part) // 2] for part in whole]
    pairs = ["\n\n".join(draw.sample(whole, 2)) for _ in range(24)]
    return [_said(part) for part in [*whole, *halves, *pairs]]


def _code(draw: random.Random) -> list[str]:
    """Pieces of 10 to 60 lines of this repository's source."""
    root = Path(__file__).parent.parent / "langgraph_harness_memory"
    sources = [path.read_text().splitlines() for path in sorted(root.rglob("*.py"))]
    long = [lines for lines in sources if len(lines) > 60]
    pieces = []
    for _ in range(60):
        lines = draw.choice(long)
        start, length = draw.randrange(len(lines) - 50), draw.randint(10, 60)
        pieces.append("\n".join(lines[start : start + length]))
    return pieces


def _json_forms(record: object) -> list[str]:
    return [
        json.dumps(record, ensure_ascii=False),
        json.dumps(record, ensure_ascii=False, separators=(",", ":")),
        json.dumps(record, ensure_ascii=False, indent=2),
        json.dumps([record, record], ensure_ascii=False),
    ]


def _call_groups(draw: random.Random) -> list[list[Call]]:
    calls = _read("calls")
    return [[call] for call in calls] + [draw.sample(calls, draw.randint(2, 4)) for _ in range(32)]


def _called(calls: list[Call]) -> Sample:
    message = AIMessage("", tool_calls=[{**call, "id": f"call_{i}"} for i, call in enumerate(calls)])  # type: ignore[typeddict-item]
    stated = ({"name": call["name"], "arguments": call["args"]} for call in calls)
    return message, "".join(json.dumps(call, ensure_ascii=False) for call in stated)


def _read(name: str) -> list[Any]:
    values: list[Any] = json.loads((TEXTS / f"{name}.json").read_text())
    return values
