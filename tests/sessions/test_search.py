"""Searching what was said: any script, any query, ranked, bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.sessions.log import ANY, SessionLog
from langgraph_harness_memory.sessions.search import SNIPPET, snippet, terms_of
from tests.sessions.conftest import THREAD

SAID = [
    "Chose Alembic for database migration",
    "We deployed the service to production with node.js",
    "今日は成語しりとりをした",
    "微信读书 书架 阅读偏好 已同步",
    "오늘 끝말잇기 게임을 했다",
    "getUserById returns POL-358 for C++ but not for C#",
    "Café Ümläut ＡＢＣ１２３",
    "nothing to see here \U0001f680",
]


@pytest.fixture
def said(log: SessionLog) -> SessionLog:
    log.append(THREAD, [HumanMessage(text, id=f"m{n}") for n, text in enumerate(SAID)])
    return log


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("database migration", 0),
        ("What did the user say about the database migration last week?", 0),
        ("ALEMBIC", 0),
        ("deploy", 1),
        ("node.js", 1),
        ("しりとり", 2),
        ("阅读", 3),
        ("读", 3),
        ("끝말잇기", 4),
        ("getUser", 5),
        ("POL-358", 5),
        ("C++", 5),
        ("C#", 5),
        ("cafe", 6),
        ("ABC123", 6),
        ("umlaut", 6),
        ("\U0001f680", 7),
    ],
)
def test_the_message_that_is_meant_comes_first(said: SessionLog, query: str, first: int) -> None:
    """Case, accents, width and endings do not matter; code identifiers and every script are found."""
    hits = said.search(query, tenant=None)
    assert hits
    assert hits[0].position == first
    assert hits == sorted(hits, key=lambda h: h.rank)


@given(query=st.text(st.characters(), max_size=60), text=st.text(st.characters(), max_size=400))
def test_any_query_on_any_text_gives_a_bounded_snippet(query: str, text: str) -> None:
    """Punctuation, operators, NUL, surrogates, half words: nothing raises, and a snippet is one short line."""
    terms = terms_of(query)
    if terms:
        cut = snippet(text, terms)
        assert len(cut) <= SNIPPET + 2
        assert "\n" not in cut


@pytest.mark.parametrize("query", ["", "   ", "\x00", "*", '"', "(((", "AND" * 0])
def test_a_query_without_words_finds_nothing(said: SessionLog, query: str) -> None:
    """It is no error."""
    assert said.search(query, tenant=None) == []


def test_a_pasted_page_is_a_query(said: SessionLog) -> None:
    """Ten thousand words are answered by their first ones."""
    assert said.search("alembic " + "unrelated " * 10_000, tenant=None)[0].position == 0


def test_hits_are_bounded_and_short(log: SessionLog) -> None:
    """At most so many hits, and a message of a million characters gives a short snippet around the word."""
    log.append(THREAD, [HumanMessage(f"apple {n}", id=f"m{n}") for n in range(50)])
    log.append(THREAD, [HumanMessage("x " * 250_000 + "needle " + "y " * 250_000, id="long")])
    assert len(log.search("apple", 7, tenant=None)) == 7
    assert log.search("apple", 0, tenant=None) == []
    (hit,) = log.search("needle", tenant=None)
    assert "needle" in hit.snippet
    assert len(hit.snippet) < 300


def test_tenants_do_not_find_each_others_messages(log: SessionLog) -> None:
    """A search sees the sessions of its tenant alone."""
    log.append(ThreadRef(thread_id="a", tenant="alice"), [HumanMessage("the secret is plum")])
    log.append(ThreadRef(thread_id="b", tenant="bob"), [HumanMessage("no plum here")])
    log.append(ThreadRef(thread_id="c"), [HumanMessage("shared plum")])
    assert [h.thread_id for h in log.search("plum", tenant="alice")] == ["a"]
    assert [h.thread_id for h in log.search("plum", tenant=None)] == ["c"]
    assert {h.thread_id for h in log.search("plum", tenant=ANY)} == {"a", "b", "c"}


def test_results_of_our_own_search_are_not_found(log: SessionLog) -> None:
    """What a search tool said is found where it came from; the newest version of an edited message alone."""
    log.append(
        THREAD,
        [
            HumanMessage("the word is plum", id="m"),
            ToolMessage("plum plum plum", name="session_search", tool_call_id="c", id="t"),
            ToolMessage("a plum in a result", name="shop", tool_call_id="d", id="u"),
            AIMessage([{"type": "text", "text": "a block with plum"}, {"type": "image", "url": "plum"}], id="v"),
        ],
    )
    assert {h.position for h in log.search("plum", tenant=None)} == {0, 2, 3}
    log.append(THREAD, [HumanMessage("the word is pear", id="m")])
    assert {h.position for h in log.search("plum", tenant=None)} == {2, 3}
    assert log.search("pear", tenant=None)[0].role == "human"
