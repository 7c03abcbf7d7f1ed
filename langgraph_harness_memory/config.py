"""Every setting, its unit, what `0` and `None` mean, and why its default is what it is.

All groups are frozen and keyword-only and check themselves when they are built, so that a bad value is refused where
it was written and never inside a run. `MemoryConfig()` has every part on; `None` in place of a group switches the
part off. The documentation's table of settings is generated from here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import BaseMessage

from langgraph_harness_memory.clock import zone
from langgraph_harness_memory.errors import SettingError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

READER_TOOL_NAMES = frozenset(
    {
        "read_file",
        "write_file",
        "edit_file",
        "grep",
        "glob",
        "ls",
        "grep_files",
        "glob_files",
        "list_files",
        "memory_search",
        "memory_get",
        "session_search",
    }
)
"""Tools whose results are not evicted one by one: what they return was asked for a page at a time, and evicting the
reader of an evicted file would never end."""

TokenCounter = Callable[[list[BaseMessage]], int]
"""Counts the tokens of a list of messages, oldest first."""


def _check(holds: bool, name: str, value: object, allowed: str) -> None:  # noqa: FBT001  a condition, read with its words
    if not holds:
        raise SettingError.refused(name, value, allowed)


def _check_count(group: str, name: str, value: Any, *, least: int = 0) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    _check(whole and value >= least, f"{group}.{name}", value, f"give a whole number of at least {least}")


def _check_duration(group: str, name: str, value: Any) -> None:
    holds = isinstance(value, timedelta) and value > timedelta(0)
    _check(holds, f"{group}.{name}", value, "give a timedelta longer than zero")


@dataclass(frozen=True, kw_only=True, slots=True)
class TruncateArgsConfig:
    """Shortens long arguments of old tool calls without asking a model."""

    trigger_messages: int = 25
    """Shorten at this many messages; 0 = never by count. The page's default."""
    trigger_tokens: int = 40_000
    """… or at this many estimated tokens; 0 = never by tokens. The page's default."""
    keep_messages: int = 20
    """The newest messages that are left alone: what the agent is working on."""
    keep_tokens: int = 0
    """Tokens of the newest part that is left alone; above 0 it takes the place of `keep_messages`."""
    max_arg_length: int = 2_000
    """Characters a string argument may have, nested ones too. The page's default."""
    truncation_text: str = "…(argument truncated)"
    """What stands after the part that is kept; an argument never grows by it."""

    def __post_init__(self) -> None:
        group = "truncate_args"
        for name in ("trigger_messages", "trigger_tokens", "keep_messages", "keep_tokens"):
            _check_count(group, name, getattr(self, name))
        _check_count(group, "max_arg_length", self.max_arg_length, least=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class CompactionConfig:
    """When a conversation is folded into a summary, and what stays as it is."""

    trigger_messages: int = 50
    """Compact at this many messages; 0 = never by count. The page's default."""
    trigger_tokens: int = 80_000
    """… or at this many estimated tokens of the whole request; 0 = never by tokens. The page's default."""
    trigger_fraction: float = 0.85
    """… or at this part of the agent model's context window, where its profile tells it; 0 = never by fraction.
    80 000 tokens do not fit a 32k model."""
    keep_messages: int = 20
    """Newest messages that stay; a call and its results are never parted for it."""
    keep_tokens: int = 0
    """Tokens of the newest part that stays; above 0 it takes the place of `keep_messages`."""
    flush_before_compact: bool = True
    """Queue the folded part for the daily log first."""
    offload_before_compact: bool = True
    """Write the raw messages to the session log first."""
    summary_prompt: str | None = None
    """The instruction for the summary, with the place `{messages}` for the conversation; `None` = the built-in one with SESSION
    INTENT, SUMMARY, ARTIFACTS and NEXT STEPS. Other braces are plain text."""
    model: "BaseChatModel | str | None" = None
    """Who summarises; `None` = the agent's own model. The window that triggers is always the agent's."""
    history: Literal["replace", "keep"] = "replace"
    """`replace`: the state shrinks. `keep`: the state keeps everything and only the model sees the compacted view."""
    truncate_args: TruncateArgsConfig | None = None
    """Shorten long arguments of old calls; `None` = leave them. The page leaves it off."""
    token_counter: Literal["auto", "estimate"] | TokenCounter = "auto"
    """`auto`: tiktoken for OpenAI models where its vocabulary is already on disk, else the estimate; a function of your own counts instead."""
    max_summary_tokens: int = 2_000
    """What the summary may cost, told to its model and used to judge the answer: a longer one than its input is refused."""
    timeout: timedelta = timedelta(seconds=60)
    """How long one summary call may take before the turn goes on without it."""
    max_failures: int = 3
    """Failed summaries in a row, per thread, after which the rules summarise when the context is about to overflow."""
    clip_chars: int = 8_000
    """Characters that stay of one oversized message when the newest part alone is over budget; the rest lies in a file."""

    def __post_init__(self) -> None:
        group = "compaction"
        for name in ("trigger_messages", "trigger_tokens", "keep_messages", "keep_tokens"):
            _check_count(group, name, getattr(self, name))
        for name in ("max_summary_tokens", "max_failures", "clip_chars"):
            _check_count(group, name, getattr(self, name), least=1)
        fraction = self.trigger_fraction
        _check(
            isinstance(fraction, int | float) and 0 <= fraction <= 1,
            "compaction.trigger_fraction",
            fraction,
            "give a number from 0 (off) to 1",
        )
        _check(
            self.keep_messages > 0 or self.keep_tokens > 0,
            "compaction.keep_messages",
            self.keep_messages,
            "keep at least 1 message, or set keep_tokens",
        )
        _check(
            not 0 < self.trigger_messages <= self.keep_messages or self.keep_tokens > 0 or self.trigger_messages == 1,
            "compaction.keep_messages",
            self.keep_messages,
            f"keep fewer messages than trigger_messages={self.trigger_messages}",
        )
        _check(self.history in ("replace", "keep"), "compaction.history", self.history, "give 'replace' or 'keep'")
        _check_duration(group, "timeout", self.timeout)
        if self.summary_prompt is not None:
            _check(
                "{messages}" in self.summary_prompt,
                "compaction.summary_prompt",
                self.summary_prompt,
                "put {messages} where the conversation belongs",
            )
        _check(
            callable(self.token_counter) or self.token_counter in ("auto", "estimate"),
            "compaction.token_counter",
            self.token_counter,
            "give 'auto', 'estimate' or a function of a list of messages",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResultEvictionConfig:
    """When a tool's result goes to a file and a preview takes its place."""

    max_result_chars: int = 80_000
    """Characters a result may have; evicted strictly above. 0 = no limit for one result. The page's default."""
    max_total_chars: int = 200_000
    """Characters that one step's parallel results may have together; the largest go first. 0 = no limit for a step."""
    preview_chars: int = 2_000
    """Characters of the head and of the tail, each, that stay in view; fewer where the placeholder would not be much shorter."""
    eviction_path: str = "large_tool_results"
    """Folder for the results, relative to the workspace."""
    excluded_tool_names: frozenset[str] = READER_TOOL_NAMES
    """Tools whose single results stay; a set that is passed takes the place of this one. The limit of a step holds for them too."""

    def __post_init__(self) -> None:
        group = "eviction"
        for name in ("max_result_chars", "max_total_chars", "preview_chars"):
            _check_count(group, name, getattr(self, name))
        parts = self.eviction_path.replace("\\", "/").split("/")
        _check(
            bool(self.eviction_path) and not any(p in ("", ".", "..") or ":" in p for p in parts),
            "eviction.eviction_path",
            self.eviction_path,
            "give a folder below the workspace, for example 'large_tool_results'",
        )
        object.__setattr__(self, "excluded_tool_names", frozenset(self.excluded_tool_names))


@dataclass(frozen=True, kw_only=True, slots=True)
class FlushConfig:
    """When and from what facts are written to the daily log."""

    trigger: Literal["always", "never"] | timedelta = "always"
    """At the end of every run, never (compaction still flushes what it folds), or at most once per this gap and thread."""
    min_new_tokens: int = 2_000
    """Background only: wait until this many estimated tokens are new, so that short turns share one call (one call a turn
    cost six times what the agent itself did on recorded chats, `python -m benchmarks cost`); 0 = do not wait. What waits
    stays unmarked and is flushed once all the same: after `quiet`, before it is folded, on close, or by a tick."""
    quiet: timedelta = timedelta(seconds=60)
    """Time without a new turn after which a thread is flushed however little is new."""
    sources: frozenset[str] = frozenset({"user", "assistant"})
    """Whose words are sources of facts: `user`, `assistant`, `tool` for every tool, or `tool:<name>` for one. Tool output is left
    out since it is the way in for text that asks to be remembered."""
    mode: Literal["background", "inline"] = "background"
    """`background`: the answer is not held up; what a crash cuts off is recovered from the session log. `inline`: the run waits."""
    prompt: str | None = None
    """The instruction to the model; `None` = the built-in one."""
    max_input_tokens: int = 24_000
    """Budget of one flush call; a longer stretch is flushed in several."""
    timeout: timedelta = timedelta(seconds=120)
    """How long one flush call may take; it is retried later."""
    drain_timeout: timedelta = timedelta(seconds=30)
    """How long closing waits for flushes that are under way."""
    subagents: bool = False
    """Also flush what sub-agents said."""

    def __post_init__(self) -> None:
        gap = isinstance(self.trigger, timedelta) and self.trigger > timedelta(0)
        _check(
            gap or self.trigger in ("always", "never"),
            "flush.trigger",
            self.trigger,
            "give 'always', 'never' or a timedelta longer than zero",
        )
        _check(self.mode in ("background", "inline"), "flush.mode", self.mode, "give 'background' or 'inline'")
        _check_count("flush", "min_new_tokens", self.min_new_tokens)
        _check_count("flush", "max_input_tokens", self.max_input_tokens, least=500)
        _check_duration("flush", "timeout", self.timeout)
        _check_duration("flush", "quiet", self.quiet)
        _check_duration("flush", "drain_timeout", self.drain_timeout)
        object.__setattr__(self, "sources", frozenset(self.sources))
        for source in self.sources:
            _check(
                source in ("user", "assistant", "tool") or source.startswith("tool:"),
                "flush.sources",
                source,
                "give 'user', 'assistant', 'tool' or 'tool:<name>'",
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsolidationConfig:
    """How daily logs become `MEMORY.md`."""

    max_memory_tokens: int = 4_000
    """Budget of `MEMORY.md`, told to the model as characters (× 4) and enforced. The page's default."""
    max_input_tokens: int = 24_000
    """Budget of one call; more new lines are merged in several batches."""
    prompt: str | None = None
    """The instruction to the model; `None` = the built-in one."""
    timeout: timedelta = timedelta(seconds=180)
    """How long one call may take; the lines are merged at a later tick."""
    max_shrink: float = 0.5
    """Part of the memory that one run may drop while it is under budget; more is refused and kept aside."""
    backups: int = 20
    """Earlier versions of `MEMORY.md` that are kept."""

    def __post_init__(self) -> None:
        _check_count("consolidation", "max_memory_tokens", self.max_memory_tokens, least=50)
        _check_count("consolidation", "max_input_tokens", self.max_input_tokens, least=500)
        _check_count("consolidation", "backups", self.backups, least=1)
        _check(
            0 < self.max_shrink <= 1, "consolidation.max_shrink", self.max_shrink, "give a number above 0 and up to 1"
        )
        _check_duration("consolidation", "timeout", self.timeout)


@dataclass(frozen=True, kw_only=True, slots=True)
class MaintenanceConfig:
    """How often the workspace is looked after, and how long things are kept."""

    interval: timedelta = timedelta(hours=6)
    """Time between two ticks. The page's default."""
    min_gap: timedelta = timedelta(minutes=30)
    """Least time between two consolidations that flushes ask for. The page's default."""
    daily_file_retention_days: int = 90
    """Days before a merged daily log moves to the archive; 0 = keep for ever. The page's default."""
    session_retention_days: int = 180
    """Days since the last message before a session is deleted; 0 = keep for ever. The page's default."""
    archive_retention_days: int = 0
    """Days before an archived log is deleted; 0 = keep for ever."""
    autostart: bool = True
    """The first run of an agent starts the in-process scheduler."""
    lease: timedelta = timedelta(minutes=15)
    """How long a tick's claim on the workspace holds without a sign of life."""

    def __post_init__(self) -> None:
        for name in ("interval", "min_gap", "lease"):
            _check_duration("maintenance", name, getattr(self, name))
        for name in ("daily_file_retention_days", "session_retention_days", "archive_retention_days"):
            _check_count("maintenance", name, getattr(self, name))


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceContextConfig:
    """What of the workspace every model call sees."""

    max_context_tokens: int = 8_000
    """Budget of everything that is injected together; cut at line ends, with a notice."""
    include_agents_md: bool = True
    """Inject `AGENTS.md`, the persona."""
    include_memory_md: bool = True
    """Inject `MEMORY.md`."""
    include_knowledge_list: bool = True
    """List the files under `knowledge/`."""

    def __post_init__(self) -> None:
        _check_count("context", "max_context_tokens", self.max_context_tokens, least=100)


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageConfig:
    """Where and how safely files are written."""

    fsync: bool = True
    """Wait for the disk at each append and rewrite (0.2 and 0.6 ms here). `False` keeps every acknowledged write through a killed
    process and loses the last seconds in a power cut."""
    timezone: str | None = None
    """IANA zone whose calendar names daily logs and headings; `None` = the machine's own."""
    index_path: Path | None = None
    """The index file; `None` = beside the workspace, or inside it where the parent cannot be written."""
    lock_timeout: timedelta = timedelta(seconds=5)
    """How long an operation waits for another process before it gives up with `LockTimeout`. In a folder, those that follow
    one that waited in vain wait a tenth of it, so that a turn with several steps is not held up by each."""

    def __post_init__(self) -> None:
        zone(self.timezone)
        _check_duration("storage", "lock_timeout", self.lock_timeout)


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a scanner says of a text that is about to be remembered."""

    action: Literal["allow", "redact", "block"]
    """`redact` writes `text` in its place; `block` writes nothing and reports it."""
    text: str | None = None
    """The text to write instead, for `redact`."""
    reason: str = ""
    """Why, for the event and the log."""


Scanner = Callable[[str, str], Verdict]
"""Takes a text and its destination (`daily_log`, `memory`, `evicted`) and gives a verdict."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivacyConfig:
    """What may reach the disk."""

    redact_secrets: bool = True
    """Put placeholders for keys, tokens, passwords and private keys into daily logs, `MEMORY.md`, the index, events and summaries."""
    redact_sessions: bool = False
    """Also into session logs, checkpoints and evicted files, which then no longer hold messages as they were."""
    scanner: Scanner | None = None
    """Looks at every text before it becomes a memory; `None` = none."""
    review: bool = False
    """Consolidation writes a proposal beside `MEMORY.md` and a person accepts it."""

    def __post_init__(self) -> None:
        _check(
            self.scanner is None or callable(self.scanner), "privacy.scanner", self.scanner, "give a function or None"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryConfig:
    """All settings of a memory. `None` in place of a group switches that part off."""

    compaction: CompactionConfig | None = field(default_factory=CompactionConfig)
    """Keeping a conversation small."""
    eviction: ToolResultEvictionConfig | None = field(default_factory=ToolResultEvictionConfig)
    """Moving oversized tool results to files."""
    flush: FlushConfig | None = field(default_factory=FlushConfig)
    """Writing facts to daily logs."""
    consolidation: ConsolidationConfig | None = field(default_factory=ConsolidationConfig)
    """Curating daily logs into `MEMORY.md`."""
    maintenance: MaintenanceConfig | None = field(default_factory=MaintenanceConfig)
    """Ticks and retention."""
    context: WorkspaceContextConfig | None = field(default_factory=WorkspaceContextConfig)
    """Injecting the workspace into each model call."""
    storage: StorageConfig = field(default_factory=StorageConfig)
    """Files."""
    privacy: PrivacyConfig = field(default_factory=PrivacyConfig)
    """Secrets and review."""


def fill_prompt(template: str, **places: str) -> str:
    """Put texts into a prompt's named places and leave every other brace alone.

    Args:
        template: The prompt; only the places that are passed are filled.
        **places: The texts by place name; braces in them are plain text.
    """
    out: list[str] = []
    rest = template
    while rest:
        at, name = min(((rest.find("{" + n + "}"), n) for n in places if "{" + n + "}" in rest), default=(-1, ""))
        if at < 0:
            out.append(rest)
            break
        out += [rest[:at], places[name]]
        rest = rest[at + len(name) + 2 :]
    return "".join(out)
