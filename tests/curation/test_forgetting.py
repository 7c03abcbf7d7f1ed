"""Forgetting on request, each step answered by hand."""

import contextlib
import json
from dataclasses import replace
from datetime import timedelta

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langgraph_harness_memory.config import ConsolidationConfig, FlushConfig
from langgraph_harness_memory.curation.consolidation import consolidate
from langgraph_harness_memory.curation.finding import Target, find
from langgraph_harness_memory.curation.flush import flush
from langgraph_harness_memory.curation.forgetting import ForgetReport, forget
from langgraph_harness_memory.curation.restoring import restore, versions
from langgraph_harness_memory.curation.saving import save
from langgraph_harness_memory.curation.screening import Screening
from langgraph_harness_memory.errors import SettingError
from langgraph_harness_memory.events import Forgotten
from langgraph_harness_memory.formats import changes, consolidation_state, daily_log, memory_md, tombstones
from langgraph_harness_memory.formats.daily_log import BlockHeading, render_block
from langgraph_harness_memory.steps import Conflict, IndexFile, RemoveLines

LOG = "memory/2026-04-12.md"
KEY = "ab" * 16
STEPS = 23
"""Steps of a forget over two layers and a version; each may fail."""


def users(request):
    if request["task"] == "flush":
        return "\n".join("- " + m["text"] for m in request["messages"] if m["role"] == "user") or "NO_REPLY"
    old = [line for line in request["memory"].split("\n") if line.startswith("- ")]
    return "\n".join(dict.fromkeys([*old, *(f"- {line['text']}" for line in request["new"])]))


def flushed(world, thread):
    return world.run(flush(thread, settings=FlushConfig(min_new_tokens=0), screening=Screening()))


def merged(world, **settings):
    return world.run(consolidate(None, settings=ConsolidationConfig(**settings), screening=Screening()))


def forgotten(world, *, backups=False, sessions=False, **target) -> ForgetReport:
    return world.run(forget(None, Target(**target), key=KEY, backups=backups, sessions=sessions))


def everything(world) -> str:
    return "\n".join(data.decode("utf-8", "replace") for data in world.files.values())


@pytest.fixture
def world(world, thread):
    """A world in which three facts were flushed and merged, twice, so that there is a version too."""
    world.model = users
    world.hear("My partner is called Bob", "I live in Oslo")
    flushed(world, thread)
    merged(world)
    world.later(minutes=5)
    world.hear("I play chess")
    flushed(world, thread)
    merged(world)
    return world


def test_a_fact_goes_from_both_layers_and_every_record(world):
    """Daily log, MEMORY.md, archive, change log and consolidation state no longer hold it; the report says where it was."""
    world.put("memory/archive/2026-01-01.md", "- Bob is the partner's name\n- Plays chess\n")
    report = forgotten(world, query="partner Bob", backups=True)
    assert (report.lines, report.failed) == (3, None)
    assert set(report.paths) == {"MEMORY.md", LOG, "memory/archive/2026-01-01.md"}
    assert "Bob" not in everything(world)
    assert "I live in Oslo" in world.text("MEMORY.md")
    assert "I play chess" in world.text(LOG)
    assert "- Plays chess" in world.text("memory/archive/2026-01-01.md")
    assert world.events[-1] == Forgotten(lines=3)


def test_the_index_is_purged_for_each_file(world):
    """Each file that lost a line is indexed again, freed pages included."""
    forgotten(world, query="partner Bob")
    purged = {step.path for step in world.steps if isinstance(step, IndexFile) and step.purge}
    assert purged == {"MEMORY.md", LOG}


def test_backups_are_named_and_cleaned_on_request_alone(world):
    """By default earlier versions stay restorable and are named; on request they are cleaned too, and no new one is made."""
    report = forgotten(world, query="partner Bob")
    assert report.backups
    assert all("Bob" in world.text(path) for path in report.backups)
    again = forgotten(world, query="partner Bob", backups=True)
    assert again.backups == ()
    assert "Bob" not in everything(world)


def test_session_logs_are_named_as_the_remaining_copy(world):
    """The conversation that a forgotten line came from is named; its log is untouched."""
    report = forgotten(world, query="partner Bob")
    assert report.sessions == ("t1",)
    assert report.redacted == 0
    assert "Bob" in world.logs["t1"][0].message.text


def test_session_logs_are_redacted_on_request(world):
    """The messages that the line came from lose their content, and no others."""
    report = forgotten(world, query="partner Bob", sessions=True)
    assert (report.redacted, report.sessions) == (1, ())
    texts = [logged.message.text for logged in world.logs["t1"]]
    assert texts == ["[redacted]", "Noted.", "I live in Oslo", "Noted.", "I play chess", "Noted."]


def test_lines_of_a_file_are_forgotten_everywhere(world):
    """Path and lines name what is to go; the same fact in the other layer goes with it."""
    (line,) = [line for line in daily_log.lines(world.text(LOG)) if "Bob" in line.text]
    report = forgotten(world, path=LOG, lines=(line.number, line.number))
    assert report.lines == 2
    assert "Bob" not in world.text("MEMORY.md")


def test_it_does_not_come_back_through_a_rebuild(world):
    """MEMORY.md is deleted and rebuilt from the logs, of which an old copy was put back."""
    old = world.files[None, LOG]
    forgotten(world, query="partner Bob")
    world.put("memory/2026-04-11.md", old)
    del world.files[None, "MEMORY.md"]
    merged(world)
    assert [fact.text for fact in memory_md.facts(world.text("MEMORY.md"))] == ["I live in Oslo", "I play chess"]


def test_it_does_not_come_back_through_a_late_flush(world, thread):
    """What was said before and not flushed yet is recovered later: the forgotten fact stays out, in other words too."""
    world.say(HumanMessage("Bob, my partner, cooks"), AIMessage("Nice."))
    forgotten(world, query="Bob")
    world.later(hours=2)
    world.model = lambda request: "- The partner Bob is called a cook\n- Somebody cooks"
    flushed(world, thread)
    assert "Bob" not in world.text(LOG)
    assert "Somebody cooks" in world.text(LOG)


def test_it_does_not_come_back_through_a_restore(world):
    """An earlier version is restored without the line."""
    forgotten(world, query="partner Bob")
    (version, *_) = world.run(versions(None))
    done = world.run(restore(None, version.name))
    assert done.left_out == 1
    assert "Bob" not in world.text("MEMORY.md")


def test_it_does_not_come_back_from_a_model_that_remembers(world):
    """A consolidation whose answer holds it anyway is written without it."""
    forgotten(world, query="partner Bob")
    world.put("memory/2026-04-13.md", "- Has a boat\n")
    world.model = lambda request: users(request) + "\n- My partner is called Bob"
    merged(world)
    assert "Bob" not in world.text("MEMORY.md")
    assert "Has a boat" in world.text("MEMORY.md")


def test_saying_it_again_on_purpose_lifts_the_stone(world, thread):
    """A save by a person writes it at once and lets it be merged again."""
    forgotten(world, query="partner Bob")
    saved = world.run(save(thread, "My partner is called Bob", screening=Screening(), key=KEY))
    assert saved.path == LOG
    merged(world)
    assert "My partner is called Bob" in world.text("MEMORY.md")


def test_a_stone_does_not_tell_what_it_buries(world):
    """The tombstone file holds no word of what was forgotten, and the change log only a number."""
    forgotten(world, query="partner Bob")
    text = world.text(tombstones.PATH).casefold()
    assert "bob" not in text
    assert "partner" not in text
    entry = changes.parse(world.text(changes.PATH))[-1]
    assert entry.changes[0].text == f"forgot 2 line(s) at a person's request in MEMORY.md, {LOG}"


def test_forgetting_is_no_removal_by_hand(world):
    """The next consolidation does not take the missing line for one that a person took out, which would keep its text."""
    forgotten(world, query="partner Bob")
    merged(world)
    assert "Bob" not in world.text(consolidation_state.PATH)


def test_a_query_that_matches_nothing_still_holds_for_what_was_said_before(world, thread):
    """Nothing stands in memory yet; what is still unflushed does not become a memory, and what is said later does."""
    world.say(HumanMessage("Carol is my boss"))
    assert forgotten(world, query="Carol").lines == 0
    flushed(world, thread)
    assert "Carol" not in everything(world)
    world.later(hours=1)
    world.say(HumanMessage("Carol became a friend"))
    flushed(world, thread)
    assert "Carol became a friend" in world.text(LOG)


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("tea", "- Likes tea"),
        ("TEA!", "- Likes tea"),
        ("café", "- Meets at the cafe"),
        ("Bob's number", "- The number of Bob is 555-0100"),
        ("喝茶", "- 喜欢喝茶"),
        ("茶", "- 茶"),
        ("しりとり", "- 今日は成語しりとりをした"),
        ("POL-358", "- Tracks POL-358"),
        ("C++", "- Writes C++"),
        ("hidden", "- hid\u200bden"),
    ],
)
def test_a_query_finds_its_words_in_any_form(new_world, query, line):
    """Case, accents, invisible characters, scripts and punctuation do not hide a line."""
    world = new_world()
    world.put(LOG, line + "\n- Unrelated fact\n")
    assert [found.number for found in world.run(find(None, Target(query=query)))] == [1]


@pytest.mark.parametrize(
    ("query", "line"), [("C#", "- Writes C++"), ("tea coffee", "- Likes tea"), ("ten", "- Attends often")]
)
def test_a_query_takes_nothing_else(new_world, query, line):
    """All words must be there as words."""
    world = new_world()
    world.put(LOG, line + "\n")
    assert world.run(find(None, Target(query=query))) == ()


def test_forgetting_one_word_takes_no_sentence_with_it(world):
    """A line that is a single word is forgotten as a line, not as a word."""
    world.put("memory/2026-04-13.md", "- Chess\n- I play chess with Ada\n")
    report = forgotten(world, path="memory/2026-04-13.md", lines=(1, 1))
    assert report.lines == 1
    assert "I play chess" in world.text("MEMORY.md")


def test_headings_that_a_person_wrote_go_too(world):
    """A heading of one's own is content of one's own."""
    world.put("memory/2026-04-13.md", "## Dinner with Bob\n\n- It was late\n")
    forgotten(world, query="Bob")
    assert world.text("memory/2026-04-13.md") == "\n- It was late\n"


def test_other_bytes_of_a_log_stay(world):
    """Invalid UTF-8 and CRLF beside a forgotten line are as they were."""
    world.put("memory/2026-04-13.md", b"- caf\xe9\r\n- Bob\r\n- end")
    forgotten(world, query="Bob")
    assert world.files[None, "memory/2026-04-13.md"] == b"- caf\xe9\r\n- end"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ({}, "query, or path"),
        ({"query": "x", "path": LOG, "lines": (1, 1)}, "query, or path"),
        ({"query": " \n"}, "at least one word"),
        ({"path": "knowledge/a.md", "lines": (1, 1)}, "MEMORY.md or a daily log"),
        ({"path": "../secret.md", "lines": (1, 1)}, "MEMORY.md or a daily log"),
        ({"path": "memory/2026-13-45.md", "lines": (1, 1)}, "MEMORY.md or a daily log"),
        ({"path": LOG}, "first and the last line"),
        ({"path": LOG, "lines": (3, 2)}, "first and the last line"),
    ],
)
def test_a_target_that_names_nothing_is_refused(target, name):
    """The message says what to give."""
    with pytest.raises(SettingError, match=name):
        Target(**target)


def test_somebody_else_writes_meanwhile(world):
    """A log that grows while lines are removed keeps what was appended and loses what is forgotten."""
    appended = []

    def append_once(step):
        if type(step).__name__ == "RemoveLines" and not appended:
            appended.append(True)
            world._append(None, LOG, "- Appended meanwhile\n")

    world.before = append_once
    assert forgotten(world, query="partner Bob").failed is None
    assert "Bob" not in world.text(LOG)
    assert world.text(LOG).endswith("- Appended meanwhile\n")


def test_a_forget_has_as_many_steps_as_are_made_to_fail(world):
    """The loop below reaches every step."""
    before = len(world.steps)
    forgotten(world, query="partner Bob", backups=True)
    assert len(world.steps) - before == STEPS


@pytest.mark.parametrize("number", range(STEPS))
def test_any_step_may_fail_or_be_the_last_and_asking_again_finishes(world, crash, number):
    """A forget that failed says so; one that died is finished by the next; then no byte of it is left."""
    world.crash_at = len(world.steps) + number
    with contextlib.suppress(crash):
        forgotten(world, query="partner Bob", backups=True)
    world.crash_at = None
    world.fail_at = len(world.steps) + number
    forgotten(world, query="partner Bob", backups=True)
    world.fail_at = None
    assert forgotten(world, query="partner Bob", backups=True).failed is None
    assert "Bob" not in everything(world)
    merged(world)
    assert "Bob" not in everything(world)
    assert "I live in Oslo" in world.text("MEMORY.md")


def test_a_crash_after_the_stone_lets_nothing_back(world, crash, thread):
    """It died right after the tombstone was set: whatever runs next, the fact only gets fewer."""
    world.before = lambda step: (
        (_ for _ in ()).throw(crash) if getattr(step, "path", "") == consolidation_state.PATH else None
    )
    with contextlib.suppress(crash):
        forgotten(world, query="partner Bob")
    world.before = lambda step: None
    world.put("memory/2026-04-13.md", "- Has a boat\n")
    merged(world)
    assert "Bob" not in world.text("MEMORY.md")
    json.loads(world.text(tombstones.PATH))


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("number", range(30))
def test_a_forget_between_any_two_steps_of_a_flush_wins(new_world, thread, number, goes_on):
    """A person forgets while a flush is under way, before whichever step: what was forgotten is nowhere afterwards.

    Nor where the conversation went on after they asked and before it was noted, so that one stretch holds both.
    """
    world = new_world(model=users)
    world.hear("My partner is called Bob", "I live in Oslo")
    begun, asked_at = [], world.at + timedelta(seconds=1)
    if goes_on:
        world.at += timedelta(minutes=1)
        world.hear("I like tea")

    def forget_now(step):
        begun.append(step)
        if len(begun) == number + 1:
            world.at, later = asked_at, world.at
            forgotten(world, query="partner Bob", backups=True)
            world.at = later

    world.before = forget_now
    flushed(world, thread)
    world.before = lambda step: None
    if len(begun) <= number:
        forgotten(world, query="partner Bob", backups=True)
    assert "Bob" not in everything(world)
    assert "I live in Oslo" in world.text(LOG)
    merged(world)
    assert "Bob" not in everything(world)


@pytest.mark.parametrize("number", range(30))
def test_a_forget_between_any_two_steps_of_a_consolidation_wins(new_world, thread, number):
    """The same while a consolidation is under way that merges the line for the first time."""
    world = new_world(model=users)
    world.hear("My partner is called Bob", "I live in Oslo")
    flushed(world, thread)
    begun = []

    def forget_now(step):
        begun.append(step)
        if len(begun) == number + 1:
            forgotten(world, query="partner Bob", backups=True)

    world.before = forget_now
    merged(world)
    world.before = lambda step: None
    if len(begun) <= number:
        forgotten(world, query="partner Bob", backups=True)
    merged(world)
    assert "Bob" not in everything(world)
    assert "I live in Oslo" in world.text("MEMORY.md")


def test_what_a_person_writes_by_hand_after_forgetting_it_stays(world):
    """Two owners: a forgotten line that stands in MEMORY.md again by a person's hand is theirs, whatever is merged later."""
    forgotten(world, query="partner Bob")
    merged(world)
    world.put("MEMORY.md", world.text("MEMORY.md") + "- My partner is called Bob\n")
    world.put("memory/2026-04-13.md", "- Has a boat\n")
    merged(world)
    world.put("memory/2026-04-14.md", "- Has a car\n")
    merged(world)
    assert [fact.text for fact in memory_md.facts(world.text("MEMORY.md"))] == [
        "I live in Oslo",
        "I play chess",
        "My partner is called Bob",
        "Has a boat",
        "Has a car",
    ]
    forgotten(world, query="partner Bob", backups=True)
    assert "Bob" not in everything(world)


def test_the_report_and_the_records_say_what_was_done(world):
    """How many lines of which files, from which conversation, in which versions; the change log and an event say so once."""
    (version,) = world.run(versions(None))
    world.later(minutes=5)
    report = forgotten(world, query="partner Bob")
    (newer, _) = world.run(versions(None))
    assert report == ForgetReport(
        lines=2, paths=("MEMORY.md", LOG), sessions=("t1",), backups=(version.path, newer.path)
    )
    entry = changes.parse(world.text(changes.PATH))[-1]
    said = f"forgot 2 line(s) at a person's request in MEMORY.md, {LOG}"
    assert (entry.at, entry.what) == (world.at, "forget")
    assert entry.changes == (changes.Change(kind="note", text=said),)
    assert entry.id == consolidation_state.text_hash(f"{world.at.isoformat()} {said}")
    assert [event for event in world.events if isinstance(event, Forgotten)] == [Forgotten(lines=2)]
    log = world.text(changes.PATH)
    assert forgotten(world, query="partner Bob", backups=True).lines == 0
    assert world.text(changes.PATH) == log


def test_a_version_of_the_memory_before_is_kept_unless_versions_are_cleaned(world):
    """So that a forget by mistake can be taken back by hand."""
    before = len(world.run(versions(None)))
    forgotten(world, query="chess", backups=True)
    assert len(world.run(versions(None))) == before
    world.later(minutes=5)
    forgotten(world, query="Oslo")
    assert len(world.run(versions(None))) == before + 1


def test_every_field_of_the_state_forgets(world):
    """The memory it compares with, what was removed and written by hand, a rewrite under way, and a proposal."""
    written = consolidation_state.Written(text="# M\n- Bob sails\n- Eve rows\n", writer="model")
    note = consolidation_state.Pending(
        text="- Bob sails\n- Eve rows\n",
        writer="model",
        keys=frozenset({b"k" * 8}),
        changes="## head\n- added: Bob sails\n- added: Eve rows\n",
        entry_id="e1",
        base="b1",
    )
    full = consolidation_state.ConsolidationState(
        merged=frozenset({b"m" * 8}),
        memory=written,
        removed=("Bob rows", "Eve sails"),
        by_hand=("Eve rows", "Bob sails"),
        pending=note,
        proposal=note,
    )
    world.put(consolidation_state.PATH, consolidation_state.render(full))
    assert forgotten(world, query="Bob").failed is None
    left = replace(note, text="- Eve rows\n", changes="## head\n- added: Eve rows\n")
    after = consolidation_state.parse(world.text(consolidation_state.PATH))
    assert after == replace(
        full,
        memory=replace(written, text="# M\n- Eve rows\n"),
        removed=("Eve sails",),
        by_hand=("Eve rows",),
        pending=left,
        proposal=left,
    )


def test_records_beside_the_memory_forget_too(world):
    """Refused texts, torn files, the proposal; a damaged state is deleted, and the same words in other files stay."""
    kept = {
        "memory/.rejected/20260412T000000000000Z-00000000.md": "- Eve rows\n",
        "memory/2026-04-12.md.torn-1": "- Eve rows\n",
        memory_md.PROPOSAL: "- Eve rows\n",
        "memory/.other": "- Bob sails\n- Eve rows\n",
    }
    for path in kept:
        world.put(path, "- Bob sails\n- Eve rows\n")
    world.put(f"{consolidation_state.PATH}.damaged", "Bob")
    assert forgotten(world, query="Bob").failed is None
    assert {path: world.text(path) for path in kept} == kept
    assert world.text(f"{consolidation_state.PATH}.damaged") is None


def test_a_change_log_that_changes_each_time_is_given_up(world):
    """After five tries, with what to do."""
    answer = world._answer

    def is_faster(step):
        return isinstance(step, RemoveLines) and step.path == changes.PATH

    world._answer = lambda step: Conflict() if is_faster(step) else answer(step)
    failed = forgotten(world, query="partner Bob").failed
    assert failed == "WorkspaceError: memory/CHANGES.md changed 5 times while lines were removed; try again"
    assert sum(is_faster(step) for step in world.steps) == 5


def test_only_messages_that_the_lines_came_from_are_redacted(world, thread):
    """By the words of the query or of the line, among the positions of its block; a conversation without any is still named."""
    world.say(HumanMessage("Bob is no partner of mine"), thread="t2")
    world.put(
        "memory/2026-04-13.md",
        render_block(
            [(BlockHeading(at=world.at, session="t2", positions=frozenset(), sources=("user",)), ["My partner Bob"])]
        ),
    )
    report = forgotten(world, query="partner Bob", sessions=True)
    assert (report.redacted, report.sessions) == (1, ("t2",))
    assert world.logs["t2"][0].message.text == "Bob is no partner of mine"


def test_a_conversation_without_positions_does_not_keep_the_next_from_being_redacted(world):
    """It is named, and the others are gone through all the same."""
    heading = BlockHeading(at=world.at, session="t0", positions=frozenset(), sources=("user",))
    world.put("memory/2026-04-01.md", render_block([(heading, ["My partner Bob"])]))
    report = forgotten(world, query="partner Bob", sessions=True)
    assert (report.redacted, report.sessions) == (1, ("t0",))
    assert world.logs["t1"][0].message.text == "[redacted]"
