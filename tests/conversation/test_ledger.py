"""What was counted of a conversation is remembered as long as it holds, and not a message longer."""

from collections.abc import Callable
from itertools import accumulate

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_harness_memory.conversation import ledger as ledger_module
from langgraph_harness_memory.conversation.ledger import EMPTY, Ledger, Ledgers


class Counter:
    """Counts a message's characters and its calls, and notes whom it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []

    def __call__(self, message: BaseMessage) -> int:
        self.asked.append(message.id)
        return size(message)

    def news(self) -> list[str | None]:
        """Return whom it was asked for since the last time."""
        asked, self.asked = self.asked, []
        return asked


def size(message: BaseMessage) -> int:
    stated = ""
    if isinstance(message, AIMessage):
        stated = f"{message.tool_calls or ''}{message.invalid_tool_calls or ''}{message.additional_kwargs or ''}"
    return len(str(message.content)) + len(stated) + 1


@pytest.fixture
def counter() -> Counter:
    return Counter()


@pytest.fixture
def ledgers(counter: Counter) -> Ledgers:
    return Ledgers(counter)


def call(query: str, call_id: str = "c1") -> dict[str, object]:
    return {"name": "find", "args": {"query": query}, "id": call_id, "type": "tool_call"}


def talk() -> list[BaseMessage]:
    """Return eight new objects that say the same each time."""
    return [
        SystemMessage("Be brief", id="s"),
        HumanMessage("Where is Oslo?", id="h1"),
        AIMessage("", tool_calls=[call("Oslo")], id="a1"),
        ToolMessage("in Norway", tool_call_id="c1", id="t1"),
        AIMessage("In Norway.", id="a2"),
        HumanMessage("And Bergen?", id="h2"),
        AIMessage("Look", tool_calls=[call("Bergen", "c2"), call("rain", "c3")], id="a3"),
        HumanMessage("Thanks", id="h3"),
    ]


def is_right(seen: Ledger, messages: list[BaseMessage]) -> bool:
    """Say whether a ledger holds what a fresh count gives."""
    sums = list(accumulate(map(size, messages), initial=0))
    return seen.sums == sums and seen.total == sums[-1] and list(seen.objects) == messages


def test_the_first_look_counts_every_message_once(ledgers, counter):
    """The sums of all beginnings are there, and the tokens between any two places."""
    messages = talk()
    seen = ledgers.look(messages, "t")
    assert is_right(seen, messages)
    assert counter.news() == ["s", "h1", "a1", "t1", "a2", "h2", "a3", "h3"]
    assert seen.between(2, 5) == sum(map(size, messages[2:5]))
    assert seen.replies == [2, 4, 6]


def test_no_message_is_no_token(ledgers):
    """An empty conversation costs nothing, also after a long one."""
    assert ledgers.look([], "t").total == 0
    ledgers.look(talk(), "t")
    assert ledgers.look([], "t").sums == [0]
    assert EMPTY.total == 0


def test_the_same_objects_are_not_counted_again(ledgers, counter):
    """What is new is counted, and a list that holds nothing new is what it was, as often as it is looked at."""
    messages = talk()
    ledgers.look(messages, "t")
    counter.news()
    for n in range(3):
        messages = [*messages, HumanMessage(f"More {n}", id=f"n{n}")]
        assert is_right(ledgers.look(messages, "t"), messages)
        assert counter.news() == [f"n{n}"]
    seen = ledgers.look(messages, "t")
    assert ledgers.look(list(messages), "t") is seen


def test_loaded_messages_of_equal_content_are_not_counted_again(ledgers, counter):
    """Other objects that say the same are known by what they say, before and after the run let go of its own."""
    ledgers.look(talk(), "t")
    counter.news()
    assert is_right(ledgers.look(talk(), "t"), talk())
    ledgers.let_go("t")
    loaded = [*talk(), HumanMessage("One more", id="h4")]
    assert is_right(ledgers.look(loaded, "t"), loaded)
    assert counter.news() == ["h4"]
    longer = [*loaded, HumanMessage("And one", id="h5")]
    assert is_right(ledgers.look(longer, "t"), longer)
    assert counter.news() == ["h5"]


CHANGES: dict[str, tuple[int, Callable[[BaseMessage], BaseMessage]]] = {
    "first content": (0, lambda m: SystemMessage("Be very brief", id=m.id)),
    "content": (1, lambda m: HumanMessage("Where is Trondheim?", id=m.id)),
    "class": (1, lambda m: AIMessage(str(m.content), id=m.id, additional_kwargs={"x": 1})),
    "class of a reply": (4, lambda m: HumanMessage("In Norway, they say.", id=m.id)),
    "call's arguments": (2, lambda m: AIMessage("", tool_calls=[call("Oslo and Bergen")], id=m.id)),
    "calls gone": (6, lambda m: AIMessage("Look", id=m.id)),
    "one call less": (6, lambda m: AIMessage("Look", tool_calls=[call("Bergen", "c2")], id=m.id)),
    "calls come": (4, lambda m: AIMessage("In Norway.", tool_calls=[call("x")], id=m.id)),
    "invalid call": (
        4,
        lambda m: AIMessage(
            "In Norway.",
            invalid_tool_calls=[{"name": "f", "args": "{", "id": "i", "error": None, "type": "invalid_tool_call"}],
            id=m.id,
        ),
    ),
    "keywords": (4, lambda m: AIMessage("In Norway.", additional_kwargs={"function_call": {"name": "f"}}, id=m.id)),
    "last content": (7, lambda m: HumanMessage("Thanks a lot", id=m.id)),
}


@pytest.mark.parametrize("let_go", [False, True])
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_a_replaced_message_is_counted_anew(ledgers, counter, name, loaded, let_go):
    """Whatever a message of the same id says otherwise is noticed, in a list of the same objects and in a loaded one."""
    place, change = CHANGES[name]
    first = talk()
    ledgers.look(first, "t")
    if let_go:
        ledgers.let_go("t")
    counter.news()
    messages = talk() if loaded else list(first)
    messages[place] = change(messages[place])
    assert is_right(ledgers.look(messages, "t"), messages)
    assert counter.news() == [messages[place].id]


@pytest.mark.parametrize("earlier_looks", [1, 2, 3])
@pytest.mark.parametrize("place", range(8))
def test_a_content_that_a_node_changed_in_place_is_noticed(ledgers, earlier_looks, place):
    """However often the objects were looked at before."""
    messages = talk()
    for n in range(earlier_looks):
        ledgers.look(messages, "t")
        messages = [*messages, HumanMessage("x", id=f"n{n}")]
    messages[place].content = "said in place of what stood there"
    assert is_right(ledgers.look(messages, "t"), messages)
    messages = [*messages, HumanMessage("y", id="last")]
    assert is_right(ledgers.look(messages, "t"), messages)


@pytest.mark.parametrize("earlier_looks", [1, 2, 3])
@pytest.mark.parametrize(
    ("replies", "contents"), [([2], []), ([6], []), ([4], []), ([6], [1]), ([2], [5]), ([2, 6], [])]
)
def test_calls_that_a_node_changed_in_place_are_noticed(ledgers, earlier_looks, replies, contents):
    """The first change counts, be it of a call or of a content."""
    messages = talk()
    for n in range(earlier_looks):
        ledgers.look(messages, "t")
        messages = [*messages, HumanMessage("x", id=f"n{n}")]
    for place in replies:
        reply = messages[place]
        assert isinstance(reply, AIMessage)
        reply.tool_calls = [call("something else altogether", "c9")]  # type: ignore[list-item]  # a dict of that shape
    for place in contents:
        messages[place].content = "something else"
    assert is_right(ledgers.look(messages, "t"), messages)


def test_what_was_changed_in_place_far_back_is_noticed_when_it_is_loaded(ledgers, monkeypatch):
    """Within a run the newest messages are read again; the rest by what a reload says."""
    monkeypatch.setattr(ledger_module, "REREAD", 3)
    messages = talk()
    ledgers.look(messages, "t")
    ledgers.look(messages, "t")
    messages[1].content = "Where is Tromsø, then?"
    assert ledgers.look(messages, "t").total == sum(map(size, talk()))
    messages[5].content = "And Stavanger?"
    seen = ledgers.look(messages, "t")
    assert seen.between(5, 6) == size(messages[5])
    loaded = [message.model_copy() for message in messages]
    assert is_right(ledgers.look(loaded, "t"), loaded)


@pytest.mark.parametrize("place", range(8))
@pytest.mark.parametrize("loaded", [False, True])
def test_messages_may_be_missing(ledgers, counter, place, loaded):
    """What stands behind a removed message keeps its count; nothing is counted again that was."""
    messages = talk()
    ledgers.look(messages, "t")
    counter.news()
    rest = talk() if loaded else list(messages)
    del rest[place]
    assert is_right(ledgers.look(rest, "t"), rest)
    assert counter.news() == []


@pytest.mark.parametrize("end", range(8))
def test_a_shorter_beginning_is_counted_as_such(ledgers, counter, end):
    """As after a compaction was taken back."""
    messages = talk()
    ledgers.look(messages, "t")
    counter.news()
    assert is_right(ledgers.look(messages[:end], "t"), messages[:end])
    assert is_right(ledgers.look(messages, "t"), messages)
    assert counter.news() == []


def test_conversations_do_not_mix(ledgers):
    """Two conversations with the same ids and other contents are two."""
    other = talk()
    other[1] = HumanMessage("Where is Rome?", id="h1")
    for _ in range(2):
        assert is_right(ledgers.look(talk(), "one"), talk())
        assert is_right(ledgers.look(other, "two"), other)


def test_the_conversation_looked_at_longest_ago_is_forgotten_first(counter, monkeypatch):
    """So many are kept; another look makes one young again."""
    monkeypatch.setattr(ledger_module, "KEPT_CONVERSATIONS", 2)
    ledgers = Ledgers(counter)
    one = [HumanMessage("without an id")]
    for name in ("a", "b", "a2", "b", "c"):
        ledgers.look([*one, HumanMessage(name, id=name)], name)
    counter.news()
    ledgers.look([*one, HumanMessage("b", id="b")], "b")
    assert counter.news() == []
    ledgers.look([*one, HumanMessage("a", id="a")], "a")
    assert counter.news() == [None]


def test_so_many_messages_are_remembered_by_id(counter, monkeypatch):
    """Beyond, remembering starts anew."""
    monkeypatch.setattr(ledger_module, "KEPT_MESSAGES", 3)
    ledgers = Ledgers(counter)
    for n in range(4):
        ledgers.message(HumanMessage("x", id=f"m{n}"))
    counter.news()
    ledgers.message(HumanMessage("x", id="m0"))
    assert counter.news() == []
    ledgers.message(HumanMessage("x", id="m4"))
    ledgers.message(HumanMessage("x", id="m0"))
    assert counter.news() == ["m4", "m0"]


def test_a_message_without_an_id_is_counted_each_time(ledgers, counter):
    """Nothing says that it is the same."""
    for _ in range(2):
        assert ledgers.message(HumanMessage("x")) == 2
    assert counter.news() == [None, None]


def test_notes_hold_up_to_the_first_message_that_changed(ledgers):
    """What a rule found out about the beginning is kept for the beginning alone."""
    messages = talk()
    ledgers.look(messages, "t").notes["rule"] = 7
    messages = [*messages, HumanMessage("x", id="n")]
    assert ledgers.look(messages, "t").notes == {"rule": 7}
    messages = [*messages[:3], HumanMessage("other", id="o"), *messages[3:]]
    assert ledgers.look(messages, "t").notes == {"rule": 3}
    assert ledgers.look(talk(), "other").notes == {}


def test_letting_go_keeps_the_counts_and_not_the_messages(ledgers, counter):
    """The objects can be freed; an unknown conversation has nothing to let go."""
    messages = talk()
    ledgers.look(messages, "t")
    ledgers.let_go("t")
    ledgers.let_go("never seen")
    assert ledgers._last["t"].objects == ()
    assert ledgers._last["t"].fields == []
    counter.news()
    assert is_right(ledgers.look(messages, "t"), messages)
    assert counter.news() == []
