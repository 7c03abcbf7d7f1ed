"""Every rule of curation, step by step: whose memory each step works on, and what is said when one of them fails."""

import pytest

from langgraph_harness_memory.config import ConsolidationConfig, FlushConfig
from langgraph_harness_memory.curation.consolidation import consolidate
from langgraph_harness_memory.curation.finding import Target
from langgraph_harness_memory.curation.flush import flush
from langgraph_harness_memory.curation.forgetting import forget
from langgraph_harness_memory.curation.restoring import restore, versions
from langgraph_harness_memory.curation.review import accept, reject
from langgraph_harness_memory.curation.saving import save
from langgraph_harness_memory.curation.screening import Screening
from langgraph_harness_memory.events import ConsolidationFailed, Degraded, FlushFailed
from langgraph_harness_memory.formats import changes, memory_md, tombstones
from langgraph_harness_memory.identifiers import ThreadRef
from langgraph_harness_memory.steps import (
    AppendText,
    Failed,
    IndexFile,
    Notify,
    Now,
    ReadLogged,
    ReadText,
    ReadUnflushed,
)

ALICE = ThreadRef(thread_id="t1", tenant="alice")
LOG, EARLIER = "memory/2026-04-12.md", "memory/2026-04-01.md"
KEY = "ab" * 16
FULL_DISK = "OSError: no space left on device"


def curates(request):
    """Answer a flush with what the user said, a consolidation with the memory and all that is new."""
    if request["task"] == "flush":
        return "\n".join("- " + m["text"] for m in request["messages"] if m["role"] == "user") or "NO_REPLY"
    old = [line for line in request["memory"].split("\n") if line.startswith("- ")]
    return "\n".join(dict.fromkeys([*old, *(f"- {line['text']}" for line in request["new"])]))


def lived(world):
    """Give Alice a life: a version, a removal by hand, an earlier conversation, and messages that wait for a flush."""
    world.model = curates
    world.hear("My partner is called Bob", "I live in Oslo", "I like tea")
    for texts in (("I play chess",), ("I drive a van",)):
        flushes(world)
        merges(world)
        world.later(minutes=5)
        world.hear(*texts)
    world.put("MEMORY.md", world.text("MEMORY.md", "alice").replace("- I like tea\n", ""), "alice")


def flushes(world):
    return world.run(flush(ALICE, settings=FlushConfig(min_new_tokens=0), screening=Screening(), everything=True))


def merges(world, *, review=False, **settings):
    return world.run(
        consolidate("alice", settings=ConsolidationConfig(**settings), screening=Screening(), review=review)
    )


def saves(world):
    return world.run(save(ALICE, "I like tea", screening=Screening(), key=KEY))


def forgets(world):
    return world.run(forget("alice", Target(query="Bob"), key=KEY, backups=False, sessions=True))


def forgets_versions_too(world):
    return world.run(forget("alice", Target(path="MEMORY.md", lines=(1, 1)), key=KEY, backups=True))


def restores(world):
    found = world.run(versions("alice"))
    return found if isinstance(found, Failed) else world.run(restore("alice", found[0].name))


def proposes(world):
    return merges(world, review=True)


def accepts(world):
    return world.run(accept("alice", screening=Screening()))


def rejects(world):
    return world.run(reject("alice"))


RULES = {
    "flush": (flushes,),
    "consolidation": (flushes, merges),
    "save": (saves,),
    "forget": (forgets,),
    "forget in versions": (forgets_versions_too,),
    "restore": (restores,),
    "proposal": (flushes, proposes),
    "accept": (flushes, proposes, accepts),
    "reject": (flushes, proposes, rejects),
}
"""Each rule, last, with what goes before it."""


def ready(new_world, name):
    """Return a world in which everything is done that goes before a rule, and the rule."""
    world = new_world()
    lived(world)
    *before, rule = RULES[name]
    for each in before:
        each(world)
    world.steps.clear()
    world.events.clear()
    return world, rule


def failing(new_world, name):
    """Run a rule once for each of its steps, which fails; give the step, the answer and the world."""
    whole, rule = ready(new_world, name)
    rule(whole)
    for number, step in enumerate(whole.steps):
        if not isinstance(step, Now | Notify):
            world, rule = ready(new_world, name)
            world.fail_at = number
            yield step, rule(world), world


def tenants(world):
    """Return whose memory the steps and events of a run name."""
    named = [step.event if isinstance(step, Notify) else step for step in world.steps]
    refs = [step.thread for step in named if hasattr(step, "thread")]
    return {each.tenant for each in [*named, *refs] if hasattr(each, "tenant")}


@pytest.mark.parametrize("name", RULES)
def test_every_step_and_event_names_its_tenant(new_world, name):
    """No rule reads, writes, indexes or tells of anybody else's memory."""
    world, rule = ready(new_world, name)
    rule(world)
    assert tenants(world) == {"alice"}
    assert {tenant for tenant, _ in [*world.files, *world.indexed]} == {"alice"}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_that_is_cut_short_names_its_tenant_too(new_world, name):
    """Whichever step fails, what is told of it and done about it is the tenant's."""
    for _, _, world in failing(new_world, name):
        assert tenants(world) == {"alice"}


def reads(step, path):
    return isinstance(step, ReadText) and step.path == path


def is_record(step):
    """Say whether a step keeps a record, which is no reason to stop."""
    return isinstance(step, IndexFile) or (isinstance(step, AppendText | ReadText) and step.path == changes.PATH)


@pytest.mark.parametrize("name", ["consolidation", "proposal"])
def test_a_consolidation_tells_why_it_stopped(new_world, name):
    """Once, in the report and in an event; records, and a last look at what was forgotten, may fail without stopping it."""
    for step, report, world in failing(new_world, name):
        stopped = [event for event in world.events if isinstance(event, ConsolidationFailed)]
        is_written = name == "consolidation" and any(isinstance(each, AppendText) for each in world.steps)
        if is_record(step) or (report.failed is None and is_written and reads(step, tombstones.PATH)):
            assert (report.failed, stopped) == (None, [])
        else:
            assert (step, report.failed) == (step, FULL_DISK)
            assert stopped == [ConsolidationFailed(tenant="alice", reason=FULL_DISK)]


def test_a_change_log_that_cannot_be_written_is_told(new_world):
    """The rewrite stands; what is missing is named."""
    seen = [
        [event for event in world.events if isinstance(event, Degraded)]
        for step, _, world in failing(new_world, "consolidation")
        if isinstance(step, AppendText | ReadText) and step.path == changes.PATH
    ]
    assert seen == [[Degraded(tenant="alice", what="the change log", reason=FULL_DISK)]] * 2


def test_a_flush_tells_why_it_stopped(new_world):
    """Once, in the report and in an event; without `MEMORY.md` it goes on and says so, and without the index too."""
    for step, report, world in failing(new_world, "flush"):
        stopped = [event for event in world.events if isinstance(event, FlushFailed)]
        degraded = [event for event in world.events if isinstance(event, Degraded)]
        if reads(step, memory_md.PATH):
            assert (report.failed, stopped) == (None, [])
            told = Degraded(tenant="alice", what="MEMORY.md as a reference for the flush", reason=FULL_DISK)
            assert degraded == [told]
        elif isinstance(step, IndexFile) or (report.failed is None and reads(step, tombstones.PATH)):
            assert (report.failed, stopped, degraded) == (None, [], [])
        else:
            assert report.failed == FULL_DISK
            assert stopped == [FlushFailed(thread_id="t1", tenant="alice", reason=FULL_DISK)]


@pytest.mark.parametrize("name", ["restore", "accept", "reject", "save"])
def test_a_request_that_fails_is_answered_with_the_failure(new_world, name):
    """As the step told it, and never raised. What a save cannot read of the conversation costs it the provenance alone."""
    for step, answer, _ in failing(new_world, name):
        if not is_record(step) and not isinstance(step, ReadLogged | ReadUnflushed):
            assert (step, getattr(answer, "reason", answer)) == (step, FULL_DISK)


@pytest.mark.parametrize("name", ["forget", "forget in versions"])
def test_a_forget_reports_why_it_stopped(new_world, name):
    """Whatever fails, but for its line in the change log."""
    for step, report, _ in failing(new_world, name):
        is_spared = isinstance(step, AppendText)
        assert (step, report.failed) == (step, None if is_spared else FULL_DISK)
