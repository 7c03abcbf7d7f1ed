"""Moving oversized results to files."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from langgraph_harness_memory.config import ToolResultEvictionConfig
from langgraph_harness_memory.conversation.eviction import Place, choose, evict, evict_in_state
from langgraph_harness_memory.conversation.preview import Whereabouts, preview, text_of
from langgraph_harness_memory.events import Evicted, EvictionFailed
from langgraph_harness_memory.formats.forms import form_of
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.steps import AppendSessionLog, WriteEvicted, drive

PLACE = Place(thread=ThreadRef(thread_id="t1"), reader="read_file")
DEFAULT = ToolResultEvictionConfig()


def result(content: Any, call: str = "c", **fields: Any) -> ToolMessage:
    return ToolMessage(content, tool_call_id=call, **{"name": "work", **fields})


def run(
    script: Any, results: list[Any], settings: ToolResultEvictionConfig = DEFAULT, place: Place = PLACE
) -> list[Any]:
    evicted: list[Any] = script.run(evict(results, settings, place=place))
    return evicted


def test_exactly_the_limit_stays(script: Any) -> None:
    """Eviction begins strictly above."""
    fits = result("x" * 80_000)
    assert run(script(), [fits]) == [fits]
    assert run(script(), [result("x" * 80_001)])[0] is not fits


def test_a_single_long_line_shows_head_and_tail(script: Any) -> None:
    """Previews by lines showed no tail of one line of 100 000 characters."""
    done = script()
    (short,) = run(done, [result("HEAD" + "." * 100_000 + "TAIL")])
    assert "HEAD" in short.content
    assert short.content.endswith("TAIL")
    assert len(short.content) < 5_000
    assert done.written == {"large_tool_results/t/work-0.txt": "HEAD" + "." * 100_000 + "TAIL"}


def test_five_huge_lines_are_bounded(script: Any) -> None:
    """Five lines of 20 000 characters were all in the preview of five lines."""
    (short,) = run(script(), [result("\n".join(c * 20_000 for c in "abcde"))])
    assert len(short.content) < 5_000


def test_blocks_beside_the_text_stay(script: Any) -> None:
    """An image between two texts stays, the texts go to one file."""
    image = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    done = script()
    (short,) = run(
        done, [result([{"type": "text", "text": "a" * 50_000}, image, {"type": "text", "text": "b" * 40_000}])]
    )
    assert short.content[1] == image
    assert len(short.content) == 2
    assert next(iter(done.written.values())) == "a" * 50_000 + "\n" + "b" * 40_000


def test_status_and_artifact_are_kept(script: Any) -> None:
    """What a tool attached is not part of the text."""
    (short,) = run(script(), [result("x" * 90_000, status="error", artifact={"rows": [1]})])
    assert (short.status, short.artifact, short.tool_call_id) == ("error", {"rows": [1]}, "c")


@pytest.mark.parametrize("shape", ["dict", "pairs", "list", "message"])
def test_commands_keep_everything_but_the_text(script: Any, shape: str) -> None:
    """A tool that returns a command keeps its route and its other updates."""
    message = result("x" * 90_000)
    update: Any = {
        "dict": {"messages": [message], "count": 3},
        "pairs": [("messages", [message]), ("count", 3)],
        "list": [message, result("short", "d")],
        "message": message,
    }[shape]
    (command,) = run(script(), [Command(goto="next", update=update, resume="r")])
    assert (command.goto, command.resume) == ("next", "r")
    text = str(command.update)
    assert "large_tool_results/" in text
    assert len(text) < 6_000
    assert ("count" in text) == (shape in ("dict", "pairs"))


@pytest.mark.parametrize("call", ["", "x" * 1_420, "call_0", "../../etc"])
def test_any_call_id_is_evicted(script: Any, call: str) -> None:
    """Where a text lies does not depend on what the model named its call."""
    (short,) = run(script(), [result("x" * 90_000, call)])
    assert short.tool_call_id == call
    assert form_of(short) == "evicted"


def test_a_step_keeps_to_its_budget(script: Any) -> None:
    """200 parallel results, each just under the limit of one, were 16 million characters."""
    results = [result(f"{i:03}" + "x" * 79_996, f"c{i}") for i in range(200)]
    evicted = run(script(), results)
    assert sum(len(text_of(m)) for m in evicted) <= DEFAULT.max_total_chars
    assert [m.tool_call_id for m in evicted] == [m.tool_call_id for m in results]


def test_the_largest_results_go_first(script: Any) -> None:
    """What is small stays in view."""
    sizes = [70_000, 2_000, 79_000, 60_000, 500]
    evicted = run(script(), [result("x" * size, str(size)) for size in sizes])
    assert [form_of(m) for m in evicted] == [None, None, "evicted", None, None]


def test_readers_results_stay_alone_and_obey_the_step(script: Any) -> None:
    """Evicting the reader of an evicted file would never end; a flood of readers is bounded all the same."""
    one = result("x" * 90_000, name="read_file")
    assert run(script(), [one]) == [one]
    many = [result("x" * 90_000, f"c{i}", name="read_file") for i in range(4)]
    assert sum(len(text_of(m)) for m in run(script(), many)) <= DEFAULT.max_total_chars


def test_without_limits_nothing_is_evicted(script: Any) -> None:
    """0 switches each limit off."""
    settings = ToolResultEvictionConfig(max_result_chars=0, max_total_chars=0)
    many = [result("x" * 900_000, f"c{i}") for i in range(3)]
    done = script()
    assert run(done, many, settings) == many
    assert done.steps == []


def test_a_placeholder_is_always_much_shorter(script: Any) -> None:
    """With `max_result_chars=1000, preview_chars=2000` 1 001 characters became 4 000."""
    settings = ToolResultEvictionConfig(max_result_chars=1_000, preview_chars=2_000)
    (short,) = run(script(), [result("x" * 1_001)], settings)
    assert len(short.content) <= 500


def test_what_cannot_become_shorter_stays(script: Any) -> None:
    """Nothing is written for a text whose placeholder would be as long."""
    settings = ToolResultEvictionConfig(max_result_chars=10)
    done = script()
    fits = result("x" * 40)
    assert run(done, [fits], settings)[0].content == fits.content
    assert done.of(WriteEvicted) == []


def test_a_placeholder_names_only_a_reader_that_is_bound(script: Any) -> None:
    """A model that was told to call a tool it does not have called it for ever."""
    (bound,) = run(script(), [result("x" * 90_000)])
    assert 'read_file(path="large_tool_results/t/work-0.txt")' in bound.content
    (unbound,) = run(script(), [result("x" * 90_000)], place=Place(thread=PLACE.thread, reader=None))
    assert "read_file" not in unbound.content
    assert "large_tool_results/t/work-0.txt" in unbound.content


def test_a_folder_that_cannot_be_written_clips_the_view(script: Any) -> None:
    """The turn goes on, the model is told, and the log has the whole text."""
    done = script(fails=(WriteEvicted,))
    (short,) = run(done, [result("HEAD" + "x" * 90_000 + "TAIL")])
    assert form_of(short) == "clipped"
    assert "session log" in short.content
    assert "HEAD" in short.content
    assert short.content.endswith("TAIL")
    assert [text_of(m) for m in done.logged] == ["HEAD" + "x" * 90_000 + "TAIL"]
    assert [type(e) for e in done.events] == [EvictionFailed]


def test_a_text_that_nothing_holds_stays_in_view(script: Any) -> None:
    """Where neither file nor log can be written the result is not cut."""
    done = script(fails=(WriteEvicted, AppendSessionLog))
    (kept,) = run(done, [result("x" * 90_000)])
    assert len(kept.content) == 90_000


def test_the_original_is_logged_before_its_placeholder_is_made(script: Any) -> None:
    """Forms are never logged, so that the log has to have the result first, under the id that the state will see."""
    done = script()
    history: list[BaseMessage] = [HumanMessage("q", id="h"), AIMessage("", id="a")]
    (short,) = done.run(evict([result("x" * 90_000)], DEFAULT, place=PLACE, history=history))
    assert done.kinds == ["AppendSessionLog", "WriteEvicted"]
    assert [m.id for m in done.logged] == ["h", "a", short.id]
    assert len(done.logged[-1].content) == 90_000


def test_events_tell_what_went_where(script: Any) -> None:
    """User interfaces show it."""
    done = script()
    run(done, [result("x" * 90_000)])
    assert done.events == [
        Evicted(thread_id="t1", tool="work", characters=90_000, path="large_tool_results/t/work-0.txt")
    ]


def test_results_that_are_no_messages_pass(script: Any) -> None:
    """Whatever else a tool node returns is not ours."""
    odd = [{"messages": "x"}, Command(goto="a"), None, "text" * 90_000]
    assert run(script(), odd) == odd


def test_results_in_the_state_are_evicted_in_their_place(script: Any) -> None:
    """A graph with another tool node is served before the model is called."""
    old = result("x" * 90_000, "a", id="r0")
    messages: list[BaseMessage] = [
        old,
        AIMessage("", id="a"),
        result("y" * 90_000, "b", id="r1"),
        result("z", "c", id="r2"),
    ]
    done = script()
    update = drive(evict_in_state(messages, DEFAULT, place=PLACE), done)
    assert [(m.id, form_of(m)) for m in update] == [("r1", "evicted")]
    assert drive(evict_in_state([*messages[:2], *update, messages[3]], DEFAULT, place=PLACE), done) == []


@given(
    st.lists(st.integers(0, 3_000), max_size=12),
    st.integers(0, 1_500),
    st.integers(0, 4_000),
    st.integers(0, 800),
)
def test_any_step_is_within_its_limits_or_cannot_shrink(sizes: list[int], single: int, total: int, side: int) -> None:
    """No result grows, order and ids stay, and the step fits wherever placeholders can be short enough."""
    from langgraph_harness_memory.steps import Logged

    settings = ToolResultEvictionConfig(max_result_chars=single, max_total_chars=total, preview_chars=side)
    results = [result("ab" * (size // 2), f"c{i}") for i, size in enumerate(sizes)]

    def perform(step: Any) -> Any:
        return "large_tool_results/t/w.txt" if isinstance(step, WriteEvicted) else Logged(positions={})

    evicted = drive(evict(results, settings, place=PLACE), perform)
    for before, after in zip(results, evicted, strict=True):
        assert after.tool_call_id == before.tool_call_id
        assert after.content == before.content or len(after.content) <= len(before.content) // 2
    left = sum(len(m.content) for m in evicted)
    if total > 0 and left > total:
        # What is left is small results and placeholders that need their few words.
        assert all(len(m.content) <= 700 for m in evicted)


def test_choose_is_free_where_all_fits() -> None:
    """Nothing is chosen, and nothing is asked of the disk, for a usual step."""
    assert choose([result("x" * 100, f"c{i}") for i in range(10)], DEFAULT) == {}


def test_a_preview_counts_what_it_leaves_out() -> None:
    """Head, tail and the middle add up."""
    text = "a" * 500 + "b" * 9_000 + "c" * 500
    shown = preview(text, where=Whereabouts(path="p", reader="r"), side=500)
    assert shown is not None
    assert shown.endswith("c" * 500)
    assert "9,000 characters left out" in shown
    assert "[10,000 characters." in shown


def test_control_characters_in_a_text_do_not_break_its_preview() -> None:
    """A NUL in the head is a character like any other."""
    text = "\0\1" * 3_000
    shown = preview(text, where=Whereabouts(path="p", reader="r"), side=300)
    assert shown is not None
    assert shown.endswith(text[-300:])
    assert text[:300] in shown
