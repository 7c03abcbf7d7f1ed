"""The parts of one memory, wired once. Front doors hold on to these, so that a memory lives as long as its agents."""

import dataclasses
import threading
import weakref
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from langgraph_harness_memory.clock import Clock, zone
from langgraph_harness_memory.config import MaintenanceConfig, MemoryConfig, ToolResultEvictionConfig
from langgraph_harness_memory.conversation.overflow import classify
from langgraph_harness_memory.curation.flush import FlushReport, flush
from langgraph_harness_memory.curation.redaction import redact
from langgraph_harness_memory.curation.screening import Blocked, Screening
from langgraph_harness_memory.errors import WriteRefused
from langgraph_harness_memory.events import OnEvent
from langgraph_harness_memory.formats.maintenance_state import MaintenanceState
from langgraph_harness_memory.index.hits import Index
from langgraph_harness_memory.maintenance.due import due
from langgraph_harness_memory.maintenance.graph import build_maintenance_graph
from langgraph_harness_memory.maintenance.report import TickInput, TickReport, TickState
from langgraph_harness_memory.maintenance.scheduler import Scheduler
from langgraph_harness_memory.maintenance.tasks import Upkeep
from langgraph_harness_memory.maintenance.throttle import change_state, known_tenants, read_state
from langgraph_harness_memory.memory.backends import open_checkpointer, open_index
from langgraph_harness_memory.models import resolve_model
from langgraph_harness_memory.outcome import finish_in_thread
from langgraph_harness_memory.performers import Caller, Flush, FlushQueue, Meter, Models, Performer, Teller, attempt
from langgraph_harness_memory.sessions.log import SessionLog
from langgraph_harness_memory.steps import Failed, Steps, adrive, drive
from langgraph_harness_memory.workspace import Workspace
from langgraph_harness_memory.workspace.opening import open_workspace

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

LONGEST_SILENCE = timedelta(minutes=15)
"""A run that showed no sign of life for so long has ended without saying so (an error, an interrupt)."""

AFTER_TROUBLE = timedelta(minutes=1)
"""Least sleep of the scheduler after a run, so that a workspace which cannot remember its runs is not run in a loop."""


class Parts:
    """What a memory consists of. Built without any I/O and without a thread.

    Args:
        workspace: A folder, or a workspace.
        model: Curates; `None` = the agent's own model, else the rules.
        config: All settings.
        on_event: Receives events.
        clock: Tells the time.
    """

    def __init__(
        self,
        workspace: Workspace | Path | str,
        *,
        model: "BaseChatModel | str | None",
        config: MemoryConfig,
        on_event: OnEvent | None,
        clock: Clock,
    ) -> None:
        hides = config.privacy.redact_secrets
        self.config = config
        self.clock = clock
        self.teller = Teller(on_event, redact=redact if hides else None)
        self.workspace = open_workspace(
            workspace,
            fsync=config.storage.fsync,
            lock_timeout=config.storage.lock_timeout,
            clock=clock,
            on_event=self.teller.tell,
        )
        self._is_own_workspace = self.workspace is not workspace
        self.meter = Meter(self.workspace, clock, zone(config.storage.timezone))
        self.teller.listen(self.meter.hear)
        self.eviction_path = (config.eviction or ToolResultEvictionConfig()).eviction_path
        self.sessions = SessionLog(
            self.workspace,
            clock=clock,
            redact=redact if config.privacy.redact_sessions else None,
            on_event=self.teller.tell,
            evicted_folder=self.eviction_path,
        )
        self.screening = Screening(redact=redact if hides else None, scanner=config.privacy.scanner)
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._checkpointer: BaseCheckpointSaver[Any] | None = None
        self._asked: set[str | None] = set()
        self._agent: BaseChatModel | None = None
        self._is_begun = False
        self._has_looked = False
        self._running: dict[str, float] = {}
        self.queue = FlushQueue()
        self.acting = self._wire(model)
        self.upkeep = Upkeep(
            workspace=self.workspace,
            sessions=self.sessions,
            index=self.index,
            performer=self.performer,
            teller=self.teller,
            clock=clock,
            config=config,
            screening=self.screening,
            forget_checkpoints=self._forget_checkpoints,
            is_running=self.is_running,
        )
        self.scheduler = Scheduler(self, Parts.run_due)
        weakref.finalize(self, self.queue.drain, self._patience())

    def _wire(self, model: "BaseChatModel | str | None") -> Performer:
        # Loaded when a memory is built: the rules are a third of what the import would cost.
        from langgraph_harness_memory.curation.extractor import ExtractiveChatModel  # noqa: PLC0415

        config = self.config
        summarises = config.compaction.model if config.compaction else None
        return Performer(
            workspace=self.workspace,
            sessions=self.sessions,
            index=self.index,
            teller=self.teller,
            clock=self.clock,
            timezone=zone(config.storage.timezone),
            models=Models(
                curates=None if model is None else resolve_model(model),
                summarises=None if summarises is None else resolve_model(summarises),
                rules=ExtractiveChatModel(),
            ),
            flushes=self,
            is_overflow=classify,
            eviction_path=self.eviction_path,
            backups=config.consolidation.backups if config.consolidation else 20,
            screen_evicted=self._screen_evicted if _looks_at_evicted(config) else None,
        )

    def _screen_evicted(self, text: str) -> str:
        hides = self.config.privacy.redact_sessions
        screened = Screening(redact=redact if hides else None, scanner=self.screening.scanner).screen(text, "evicted")
        if isinstance(screened, Blocked):
            raise WriteRefused(screened.reason)
        return screened

    # -- what is opened when it is first needed

    def index(self) -> Index:
        """Return the index, opened at the first call."""
        with self._lock:
            if self._index is None:
                self._index = open_index(self.workspace, self.config, clock=self.clock, on_event=self.teller.tell)
            return self._index

    def checkpointer(self) -> BaseCheckpointSaver[Any]:
        """Return the checkpointer, opened at the first call."""
        with self._lock:
            if self._checkpointer is None:
                self._checkpointer = open_checkpointer(self.workspace, self.sessions)
            return self._checkpointer

    def _forget_checkpoints(self, thread_id: str) -> None:
        if self._checkpointer is not None:
            self._checkpointer.delete_thread(thread_id)

    # -- who acts

    def performer(self, model: "BaseChatModel | None" = None) -> Performer:
        """Return who acts outside a turn: with this agent's model, else with the one of the last agent that ran."""
        return self.acting.for_caller(Caller(model=model or self._agent))

    def speaker(self) -> "BaseChatModel | None":
        """Return the model of the last agent that ran, else the one that curates; `None` where no model exists."""
        return self._agent or self.acting.models.curates

    def bind(self, model: "BaseChatModel | None") -> None:
        """Note the model of an agent, for whatever curates without one of its own."""
        self._agent = model or self._agent

    def begin_run(self, thread_id: str, model: "BaseChatModel | None") -> None:
        """Note whose turn it is; the first one starts the scheduler, which recovers what an earlier process left."""
        self.bind(model)
        self._running[thread_id] = self.clock.monotonic()
        if not self._is_begun:
            self._is_begun = True
            if self.config.maintenance is not None and self.config.maintenance.autostart:
                self.scheduler.start()

    def end_run(self, thread_id: str) -> None:
        """Note that a run came to its end and looks after its own flush."""
        self._running.pop(thread_id, None)

    def is_running(self, thread_id: str) -> bool:
        """Say whether a run of a thread is under way in this process, which will flush what it says itself."""
        begun = self._running.get(thread_id)
        return begun is not None and self.clock.monotonic() - begun < LONGEST_SILENCE.total_seconds()

    # -- flush

    def soon(self, entry: Flush) -> None:
        """Flush a thread in the background."""
        self.queue.soon(entry, self.now)

    def now(self, entry: Flush) -> FlushReport:
        """Flush a thread now."""
        report = drive(self._flush_rule(entry), self._flusher(entry).perform)
        self._wait_for_more(entry, report)
        self.meter.write()
        self.scheduler.wake()
        return report

    async def anow(self, entry: Flush) -> FlushReport:
        """Flush a thread now, on the event loop."""
        report = await adrive(self._flush_rule(entry), self._flusher(entry).aperform)
        self.scheduler.wake()
        return report

    def _wait_for_more(self, entry: Flush, report: FlushReport) -> None:
        """Flush what is too little for a call of its own once its thread has gone quiet."""
        if report.waiting and self.config.flush is not None:
            self.queue.soon(dataclasses.replace(entry, everything=True), self.now, after=self.config.flush.quiet)

    def _flusher(self, entry: Flush) -> Performer:
        return self.acting.for_caller(Caller(model=entry.model or self._agent, run_id=entry.run_id))

    def _flush_rule(self, entry: Flush) -> Steps[FlushReport]:
        """Flush, and note for maintenance that there is something new."""
        if self.config.flush is None:
            return FlushReport()
        report = yield from flush(
            entry.thread, settings=self.config.flush, screening=self.screening, everything=entry.everything
        )
        if report.facts and self.config.consolidation is not None:
            yield from self.request(entry.thread.tenant)
        return report

    # -- maintenance

    def request(self, tenant: str | None) -> Steps[None]:
        """Ask for a consolidation of a tenant's memory when the gap allows it."""
        at = self.clock.now()
        yield from change_state(tenant, lambda state: dataclasses.replace(state, requested_at=at))
        with self._lock:
            self._asked.add(tenant)

    def run_due(self) -> timedelta:
        """Do what maintenance is due and return how long until something may be; the scheduler calls it."""
        settings = self.config.maintenance or MaintenanceConfig()
        waits = [settings.interval]
        has_run = False
        now = self.clock.now()
        is_due = due(self._state(None), settings, now=now).tick
        if is_due:
            has_run |= self._tick({})
        if is_due or not self._has_looked:
            # Requests of an earlier process, and of other processes since the last tick.
            left = self._left_over()
            with self._lock:
                self._asked.update(left)
            self._has_looked = True
        for tenant in self._take_asked():
            state = self._state(tenant)
            if state.requested_at is not None and due(state, settings, now=now).consolidation:
                has_run |= self._tick({"user_id": tenant, "steps": ["consolidate"], "force": True})
                state = self._state(tenant)
            if state.requested_at is not None:  # the model failed, or the gap is not over
                with self._lock:
                    self._asked.add(tenant)
            waits.append(due(state, settings, now=self.clock.now()).wait)
        waits.append(due(self._state(None), settings, now=self.clock.now()).wait)
        return max(min(waits), AFTER_TROUBLE if has_run or min(waits) == timedelta(0) else timedelta(0))

    def _state(self, tenant: str | None) -> MaintenanceState:
        return drive(read_state(tenant), self.acting.perform)

    def _left_over(self) -> list[str | None]:
        """List the tenants whose request no consolidation has served."""
        tenants = attempt(lambda: known_tenants(self.workspace))
        if isinstance(tenants, Failed):
            return []
        return [tenant for tenant in tenants if self._state(tenant).requested_at is not None]

    def _take_asked(self) -> list[str | None]:
        # Taken before their states are read: who asks meanwhile is noted anew.
        with self._lock:
            asked, self._asked = self._asked, set()
        return sorted(asked, key=lambda tenant: (tenant is not None, tenant or ""))

    def graph(self) -> CompiledStateGraph[TickState, None, TickInput, TickReport]:
        """Return one tick of maintenance as a graph."""
        return build_maintenance_graph(self.upkeep)

    def _tick(self, asked: TickInput) -> bool:
        done = attempt(lambda: self.graph().invoke(asked))
        if isinstance(done, Failed):
            self.teller.degraded("maintenance", done.error)
            return True
        return True

    # -- the end

    def settle(self) -> None:
        """Wait for the flushes that are under way, as long as closing would."""
        self.queue.drain(self._patience())

    def _patience(self) -> timedelta:
        return self.config.flush.drain_timeout if self.config.flush else timedelta(seconds=1)

    def close(self) -> bool:
        """Drain the flushes, stop the scheduler, close the index and the connections of a workspace that was opened here.

        Returns:
            `False` when something was still under way when its time was over; it is recovered at the next start.
        """
        drained = self.queue.drain(self._patience())
        stopped = self.scheduler.stop(self._patience())
        self.meter.write(now=True)
        with self._lock:
            index, self._index = self._index, None
            self._is_begun = False
        for part in (index, self.workspace if self._is_own_workspace else None):
            closing = getattr(part, "close", None)
            if closing is not None:
                closing()
        return drained and stopped

    async def aclose(self) -> bool:
        """Close on the event loop; the twin of `close`."""
        done = await finish_in_thread(self.close)
        closing = getattr(self.workspace, "aclose", None) if self._is_own_workspace else None
        if closing is not None:
            await closing()  # connections belong to the event loop that opened them
        return done


def _looks_at_evicted(config: MemoryConfig) -> bool:
    return config.privacy.redact_sessions or config.privacy.scanner is not None
