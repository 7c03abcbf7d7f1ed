"""Settings are refused where they are written."""

import ast
import itertools
from dataclasses import FrozenInstanceError, fields, is_dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory import config as settings
from langgraph_harness_memory.config import (
    CompactionConfig,
    ConsolidationConfig,
    FlushConfig,
    MaintenanceConfig,
    MemoryConfig,
    PrivacyConfig,
    StorageConfig,
    ToolResultEvictionConfig,
    TruncateArgsConfig,
    WorkspaceContextConfig,
    fill_prompt,
)
from langgraph_harness_memory.errors import SettingError

GROUPS = [value for value in vars(settings).values() if is_dataclass(value) and value.__module__ == settings.__name__]


def test_the_defaults_are_the_pages() -> None:
    """What the reference page's tables name as defaults is what a bare configuration holds."""
    made = MemoryConfig()
    assert made.compaction is not None
    assert (made.compaction.trigger_messages, made.compaction.trigger_tokens) == (50, 80_000)
    assert (made.compaction.keep_messages, made.compaction.keep_tokens) == (20, 0)
    assert made.compaction.flush_before_compact
    assert made.compaction.offload_before_compact
    assert made.compaction.truncate_args is None
    assert made.eviction is not None
    assert (made.eviction.max_result_chars, made.eviction.preview_chars) == (80_000, 2_000)
    assert made.eviction.eviction_path == "large_tool_results"
    assert made.consolidation is not None
    assert made.consolidation.max_memory_tokens == 4_000
    assert made.maintenance is not None
    assert (made.maintenance.interval, made.maintenance.min_gap) == (timedelta(hours=6), timedelta(minutes=30))
    assert (made.maintenance.daily_file_retention_days, made.maintenance.session_retention_days) == (90, 180)
    truncate = TruncateArgsConfig()
    assert (truncate.trigger_messages, truncate.trigger_tokens, truncate.max_arg_length) == (25, 40_000, 2_000)


@pytest.mark.parametrize(
    ("build", "names"),
    [
        (lambda: CompactionConfig(trigger_messages=-1), r"compaction\.trigger_messages=-1"),
        (lambda: CompactionConfig(trigger_tokens=1.5), r"compaction\.trigger_tokens=1\.5"),  # type: ignore[arg-type]
        (lambda: CompactionConfig(trigger_messages=True), r"compaction\.trigger_messages=True"),
        (lambda: CompactionConfig(keep_messages=0), r"compaction\.keep_messages=0"),
        (lambda: CompactionConfig(keep_messages=-1), r"compaction\.keep_messages=-1"),
        (lambda: CompactionConfig(trigger_messages=20, keep_messages=20), r"trigger_messages=20"),
        (lambda: CompactionConfig(trigger_fraction=1.2), r"compaction\.trigger_fraction=1\.2"),
        (lambda: CompactionConfig(history="gone"), r"compaction\.history='gone'"),  # type: ignore[arg-type]
        (lambda: CompactionConfig(summary_prompt="no place"), r"\{messages\}"),
        (lambda: CompactionConfig(token_counter="exact"), r"compaction\.token_counter"),  # type: ignore[arg-type]
        (lambda: CompactionConfig(timeout=timedelta(0)), r"compaction\.timeout"),
        (lambda: TruncateArgsConfig(max_arg_length=0), r"truncate_args\.max_arg_length=0"),
        (lambda: ToolResultEvictionConfig(max_result_chars=-5), r"eviction\.max_result_chars=-5"),
        (lambda: ToolResultEvictionConfig(eviction_path="../out"), r"eviction\.eviction_path"),
        (lambda: ToolResultEvictionConfig(eviction_path="/abs"), r"eviction\.eviction_path"),
        (lambda: ToolResultEvictionConfig(eviction_path=""), r"eviction\.eviction_path"),
        (lambda: FlushConfig(trigger="sometimes"), r"flush\.trigger='sometimes'"),  # type: ignore[arg-type]
        (lambda: FlushConfig(sources=frozenset({"web"})), r"flush\.sources='web'"),
        (lambda: FlushConfig(mode="later"), r"flush\.mode='later'"),  # type: ignore[arg-type]
        (lambda: ConsolidationConfig(max_memory_tokens=0), r"consolidation\.max_memory_tokens=0"),
        (lambda: ConsolidationConfig(max_shrink=0), r"consolidation\.max_shrink=0"),
        (lambda: MaintenanceConfig(daily_file_retention_days=-1), r"daily_file_retention_days=-1"),
        (lambda: MaintenanceConfig(interval=timedelta(0)), r"maintenance\.interval"),
        (lambda: WorkspaceContextConfig(max_context_tokens=0), r"context\.max_context_tokens=0"),
        (lambda: StorageConfig(timezone="Mars/Olympus"), r"storage\.timezone='Mars/Olympus'"),
        (lambda: StorageConfig(timezone="../../etc/passwd"), r"storage\.timezone"),
        (lambda: PrivacyConfig(scanner="clam"), r"privacy\.scanner='clam'"),  # type: ignore[arg-type]
    ],
)
def test_a_bad_value_is_refused_with_its_setting_and_what_is_allowed(build, names) -> None:
    """The error names the setting as the user typed it and says what would be accepted."""
    with pytest.raises(SettingError, match=names) as caught:
        build()
    assert any(word in str(caught.value) for word in ("give ", "keep ", "put "))


@pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.__name__)
def test_every_field_is_documented_below_itself(group) -> None:
    """The documentation's table of settings is generated from these strings."""
    tree = ast.parse(Path(settings.__file__).read_text(encoding="utf-8"))
    body = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == group.__name__).body
    documented = {
        node.target.id
        for node, after in itertools.pairwise(body)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
    }
    assert {f.name for f in fields(group)} == documented


@pytest.mark.parametrize("group", GROUPS, ids=lambda g: g.__name__)
def test_groups_are_frozen_and_keyword_only(group) -> None:
    """A configuration that was checked cannot become a bad one later."""
    assert all(f.kw_only for f in fields(group))
    if group.__name__ != "Verdict":
        with pytest.raises(FrozenInstanceError, match="cannot assign"):
            setattr(group(), fields(group)[0].name, 1)


def test_none_switches_a_part_off() -> None:
    """Each group of `MemoryConfig` that is a part of its own can be left out."""
    off = MemoryConfig(compaction=None, eviction=None, flush=None, consolidation=None, maintenance=None, context=None)
    assert off.flush is None


@given(st.text(), st.text())
def test_braces_in_a_prompt_and_in_what_fills_it_are_plain_text(before, conversation) -> None:
    """`{a: 1}` in a custom prompt, or `{messages}` in a conversation, raises nothing and is not filled again."""
    before = before.replace("{messages}", "")
    assert fill_prompt(before + "{messages}", messages=conversation) == before + conversation
    assert fill_prompt('{"a": 1} {messages}', messages="{messages}") == '{"a": 1} {messages}'
