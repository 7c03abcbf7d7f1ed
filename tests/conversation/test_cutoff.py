"""Where a conversation is cut."""

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_harness_memory.conversation.cutoff import Tail, cut, safe_cuts
from langgraph_harness_memory.conversation.exchanges import exchanges, last_question, open_exchange
from langgraph_harness_memory.conversation.tokens import TokenCounter
from langgraph_harness_memory.formats.forms import marked
from langgraph_harness_memory.testing.conversations import conversation


def ai(*calls: str, text: str = "") -> AIMessage:
    return AIMessage(text, tool_calls=[{"name": "work", "args": {}, "id": c} for c in calls])


def tool(call: str, text: str = "result") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call)


def human(text: str = "go on") -> HumanMessage:
    return HumanMessage(text)


def sums_of(messages: list[BaseMessage]) -> list[int]:
    return list(accumulate(map(TokenCounter().message, messages), initial=0))


def cut_of(messages: list[BaseMessage], **tail: Any) -> Any:
    return cut(messages, Tail(**{"keep_messages": 20, **tail}), sums=sums_of(messages))


def split(messages: list[BaseMessage], folded: tuple[int, ...]) -> tuple[set[str], set[str], set[str], set[str]]:
    """Return calls and results of the folded part, then of the part that stays."""
    parts: list[set[str]] = []
    for inside in (True, False):
        part = [m for i, m in enumerate(messages) if (i in folded) == inside]
        parts.append({str(c["id"]) for m in part if isinstance(m, AIMessage) for c in m.tool_calls})
        parts.append({m.tool_call_id for m in part if isinstance(m, ToolMessage)})
    return parts[0], parts[1], parts[2], parts[3]


@pytest.mark.parametrize("place", range(6))
def test_no_cut_parts_parallel_calls_from_their_results(place: int) -> None:
    """Cutting between the results of one reply left a result without its call."""
    messages = [human(), ai("a", "b"), tool("a"), tool("b"), ai(text="both done")]
    assert (place in safe_cuts(messages)) == (place in (0, 1, 4, 5))


@pytest.mark.parametrize("keep", range(1, 11))
def test_every_keep_leaves_whole_exchanges(keep: int) -> None:
    """With runs of parallel calls every number of kept messages gives a valid tail."""
    messages = [
        human(),
        ai("a", "b", "c"),
        tool("a"),
        tool("b"),
        tool("c"),
        ai("d", "e"),
        tool("d"),
        tool("e"),
        ai(text="x"),
    ]
    found = cut_of(messages, keep_messages=keep)
    folded = () if found is None else found.folded
    calls_folded, results_folded, calls_kept, results_kept = split(messages, folded)
    assert calls_folded == results_folded
    assert calls_kept == results_kept


@pytest.mark.parametrize("keep", range(1, 13))
def test_ten_parallel_calls_at_the_cut_stay_together(keep: int) -> None:
    """Ten results of one reply are on one side."""
    names = [f"c{i}" for i in range(10)]
    messages = [human(), ai(text="old"), human(), ai(*names), *map(tool, names), ai(text="done")]
    found = cut_of(messages, keep_messages=keep)
    assert found is not None
    calls_folded, results_folded, _, _ = split(messages, found.folded)
    assert calls_folded == results_folded


def test_a_pending_call_stays() -> None:
    """The reply whose call has no result yet is never folded, however few messages should stay."""
    messages = [human(), ai(text="a"), human(), ai("p", "q"), tool("p")]
    found = cut_of(messages, keep_messages=1)
    assert found is not None
    assert found.at == 3
    assert found.folded == (0, 1)


def test_an_abandoned_call_does_not_hold_a_conversation_back() -> None:
    """A call that an interrupted run left behind long ago is folded like anything else."""
    messages = [human(), ai("lost"), human(), *([ai(text="t"), human()] * 20)]
    found = cut_of(messages, keep_messages=5)
    assert found is not None
    assert 1 in found.folded


def test_results_that_stand_apart_hold_their_exchange_together() -> None:
    """A user message between two results does not make the place safe."""
    messages = [human(), ai("a", "b"), tool("a"), human("wait"), tool("b"), ai(text="done"), human()]
    assert [place for place in range(2, 5) if place in safe_cuts(messages)] == []


def test_sixty_parallel_calls_shrink_with_keep_twenty() -> None:
    """One reply with 60 calls cannot be cut inside, so that it is folded as a whole once it is answered."""
    names = [f"c{i}" for i in range(60)]
    messages = [human("question"), ai(*names), *map(tool, names), ai(text="summary of all"), human("and now?")]
    found = cut_of(messages, keep_messages=20)
    assert found is not None
    assert found.folded == tuple(range(62))


def test_few_but_huge_messages_are_cut_below_keep_messages() -> None:
    """15 messages of 14 000 characters are under the keep count and over every budget."""
    messages = [human("x y " * 3_500) if i % 2 == 0 else AIMessage("x y " * 3_500) for i in range(15)]
    total = sums_of(messages)[-1]
    found = cut_of(messages, keep_messages=20, most_tokens=total // 3)
    assert found is not None
    assert 8 <= found.at <= 14


def test_the_cut_keeps_as_much_as_fits() -> None:
    """Of the cuts that fit the first is taken."""
    messages = [human("word " * 100) if i % 2 == 0 else AIMessage("word " * 100) for i in range(40)]
    sums = sums_of(messages)
    found = cut_of(messages, keep_messages=30, most_tokens=sums[-1] // 2)
    assert found is not None
    left = [i for i in range(40) if i not in found.folded]
    kept = sum(sums[i + 1] - sums[i] for i in left)
    assert kept <= sums[-1] // 2 < kept + 2 * (sums[2] - sums[0])


def test_keep_tokens_takes_the_place_of_keep_messages() -> None:
    """The tail is as long as its budget allows, whatever the number of messages."""
    messages = [human("word " * 100) if i % 2 == 0 else AIMessage("word " * 100) for i in range(40)]
    sums = sums_of(messages)
    found = cut_of(messages, keep_messages=1, keep_tokens=sums[-1] - sums[25])
    assert found is not None
    assert found.at == 25


def test_system_messages_and_the_last_question_stay() -> None:
    """In a long tool loop the question at its start is not folded, nor are system messages before and inside."""
    loop = [m for i in range(20) for m in (ai(f"c{i}"), tool(f"c{i}"))]
    messages = [SystemMessage("rules"), human("the question"), *loop[:20], SystemMessage("note"), *loop[20:]]
    found = cut_of(messages, keep_messages=6)
    assert found is not None
    kept = [m for i, m in enumerate(messages) if i not in found.folded]
    assert [m.content for m in kept[:3]] == ["rules", "the question", "note"]
    assert last_question(messages) not in found.folded


def test_an_earlier_summary_alone_is_not_folded_again() -> None:
    """A prefix that is only a summary has nothing new to say."""
    from langgraph_harness_memory.formats.forms import marked

    summary = HumanMessage("earlier", additional_kwargs=marked("summary"))
    messages = [summary, *(human() if i % 2 else ai(text="x") for i in range(20))]
    assert cut_of(messages, keep_messages=20) is None


def test_nothing_to_fold_gives_no_cut() -> None:
    """A question on its own cannot shrink."""
    assert cut_of([human("long " * 5_000)], keep_messages=1, most_tokens=10) is None


def test_messages_that_are_held_stay() -> None:
    """What the state does not know cannot be folded in it."""
    messages = [human() if i % 2 == 0 else ai(text="x") for i in range(30)]
    found = cut(messages, Tail(keep_messages=5), sums=sums_of(messages), held=frozenset({3, 4}))
    assert found is not None
    assert not {3, 4} & set(found.folded)


def test_results_go_to_the_nearest_reply_that_called() -> None:
    """Models that number their calls from 0 use the same ids in every turn."""
    messages = [ai("call_0"), tool("call_0"), ai("call_0"), tool("call_0")]
    assert [(e.start, e.end) for e in exchanges(messages)] == [(0, 2), (2, 4)]


def test_an_exchange_is_open_until_the_model_or_a_user_speaks() -> None:
    """Results that the model has not seen yet are not history."""
    base = [human(), ai("a"), tool("a")]
    assert open_exchange(base) is not None
    assert open_exchange([*base, ai(text="seen")]) is None
    assert open_exchange([*base, human("next")]) is None


@given(
    st.randoms(use_true_random=False), st.integers(1, 30), st.one_of(st.none(), st.integers(0, 3_000)), st.booleans()
)
def test_any_cut_of_any_conversation_is_safe(random: Any, keep: int, most: int | None, disorder: bool) -> None:
    """No call loses its result, whatever the shape, and what has to stay stays."""
    messages = conversation(random, pending=True, disorder=disorder)
    found = cut_of(messages, keep_messages=keep, most_tokens=most)
    if found is None:
        return
    for exchange in exchanges(messages):
        sides = {i in found.folded for i in (exchange.start, *exchange.results)}
        assert len(sides) == 1
        if exchange.pending:
            assert exchange.start not in found.folded
    assert last_question(messages) not in found.folded
    assert all(messages[i].type != "system" for i in found.folded)
    assert list(found.folded) == sorted(set(found.folded))


def sized(*sizes: int) -> list[int]:
    """Sums of messages of these sizes."""
    return list(accumulate(sizes, initial=0))


def plain(count: int) -> list[BaseMessage]:
    return [HumanMessage(f"q{n}", id=f"q{n}") if n % 2 == 0 else AIMessage(f"a{n}", id=f"a{n}") for n in range(count)]


@pytest.mark.parametrize(
    ("tail", "at"),
    [
        ({"keep_messages": 2}, 8),
        ({"keep_messages": 9}, None),
        ({"keep_messages": 8}, 2),
        ({"keep_messages": 8, "most_messages": 8}, 3),
        ({"keep_messages": 8, "most_messages": 5}, 6),
        ({"keep_messages": 8, "most_messages": 1}, 9),
        ({"keep_messages": 2, "keep_tokens": 35}, 7),
        ({"keep_messages": 2, "keep_tokens": 30}, 7),
        ({"keep_messages": 2, "keep_tokens": 29}, 8),
        ({"keep_messages": 2, "keep_tokens": 1_000}, None),
        ({"keep_messages": 8, "most_tokens": 80}, 2),
        ({"keep_messages": 8, "most_tokens": 79}, 3),
        ({"keep_messages": 8, "most_tokens": 0}, 9),
    ],
)
def test_the_cut_keeps_what_is_wanted_and_fits(tail: dict[str, int], at: int | None) -> None:
    """Ten messages of ten tokens; the summary counts as a message, and the last question stays where it stands."""
    found = cut(plain(10), Tail(**tail), sums=sized(*[10] * 10))
    assert (found and found.at) == at
    if found:
        assert found.folded == tuple(n for n in range(found.at) if n != 8)


@pytest.mark.parametrize(("size", "folds"), [(399, False), (400, True)])
def test_a_single_message_is_worth_a_summary_from_a_size_on(size: int, folds: bool) -> None:
    """An earlier summary alone never is; with one new message it is not either, with two it is."""
    messages = plain(3)
    assert bool(cut(messages, Tail(keep_messages=2), sums=sized(size, 10, 10))) == folds
    summary = HumanMessage("s", id="s", additional_kwargs=marked("summary", folded=["x"]))
    old = [summary, *plain(5)]
    assert cut(old, Tail(keep_messages=5), sums=sized(5_000, *[10] * 5)) is None
    assert cut(old, Tail(keep_messages=4), sums=sized(5_000, *[10] * 5)) is None
    assert cut(old, Tail(keep_messages=3), sums=sized(5_000, *[10] * 5)).folded == (0, 1, 2)


def test_what_is_held_and_what_the_system_said_is_not_folded() -> None:
    """They stay in their place."""
    messages = [SystemMessage("s"), *plain(6)]
    found = cut(messages, Tail(keep_messages=2), sums=sized(*[10] * 7), held=frozenset({2}))
    assert (found.at, found.folded) == (5, (1, 3, 4))
    assert cut(messages, Tail(keep_messages=2), sums=sized(*[10] * 7), held=frozenset(range(7))) is None


def test_the_open_exchange_is_never_folded() -> None:
    """However little may stay; one that was answered is history."""
    messages = [human("a"), ai("c1"), tool("c1"), ai("c2"), tool("c2")]
    assert cut(messages, Tail(keep_messages=1, most_messages=1), sums=sized(*[10] * 5)).folded == (1, 2)
    assert [e.start for e in exchanges(messages)] == [1, 3]
    assert open_exchange(messages).start == 3
    assert open_exchange([*messages, human("b")]) is None
    assert open_exchange([human("a")]) is None
    assert safe_cuts(messages) == [0, 1, 3, 5]


def test_exchanges_hold_their_results_and_what_they_wait_for() -> None:
    """A result goes to the nearest call of its id; an abandoned call waits for nothing."""
    messages = [ai("x", "y"), tool("x"), human(), ai("x"), tool("x"), tool("zzz"), ai("w", "v"), tool("v")]
    found = [(e.start, e.end, e.results, e.pending) for e in exchanges(messages)]
    assert found == [(0, 2, (1,), frozenset()), (3, 5, (4,), frozenset()), (6, 9, (7,), frozenset({"w"}))]
    assert last_question(messages) == 2
    assert last_question([ai()]) is None
    context = HumanMessage("c", additional_kwargs=marked("context"))
    assert last_question([human(), context]) == 0
