"""What the retention and tool-source benchmarks count, on self-written conversations."""

import json

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from benchmarks import retention
from benchmarks._locomo import read_sample
from benchmarks.tool_sources import used_values

SAMPLE = read_sample(
    json.dumps(
        {
            "sample_id": "conv-x",
            "conversation": {
                "speaker_a": "Ann",
                "speaker_b": "Bob",
                "session_1_date_time": "1:00 pm on 2 March, 2024",
                "session_1": [
                    {
                        "speaker": "Ann",
                        "dia_id": "D1:1",
                        "text": "Hi Bob! I moved to Oslo yesterday. The flat has a blue door.",
                    },
                    {"speaker": "Bob", "dia_id": "D1:2", "text": "Great! I moved to Oslo as well, in 2019."},
                    {"speaker": "Ann", "dia_id": "D1:3", "text": "Wow, that is nice to hear!"},
                ],
            },
            "qa": [
                {"question": "Where did Ann move?", "answer": "Oslo", "evidence": ["D1:1"], "category": 4},
                {"question": "What colour is Ann's door?", "answer": "blue", "evidence": ["D1:1"], "category": 4},
            ],
        }
    )
)


def test_a_bullet_is_traced_to_the_turn_it_comes_from():
    """By its speaker and its words; what was added to it does not count."""
    origins = retention._Origins(SAMPLE)
    assert origins.of("- Ann: I moved to Oslo yesterday (2024-03-01).") == "D1:1"
    assert origins.of("- Bob: (asked: Where do you live?) I moved to Oslo as well, in 2019.") == "D1:2"
    assert origins.of("- Bob: The flat has a blue door.") is None
    assert origins.of("- Ann: I moved to Bergen with three cats and a piano.") is None


def test_a_bullet_that_lost_the_answer_is_no_evidence():
    """A turn's first sentence does not answer a question about its second."""
    turn = SAMPLE.sessions[0].turns[0]
    assert retention._still_answers("- Ann: I moved to Oslo.", turn, "Oslo")
    assert not retention._still_answers("- Ann: I moved to Oslo.", turn, "blue")


def test_the_replay_is_measured_end_to_end(tmp_path):
    """Four memories of one conversation, each searchable, the raw one complete."""
    memories = retention._memories(SAMPLE, tmp_path)
    assert set(memories) == {"every turn", "daily logs", "MEMORY.md", "random bullets"}
    raw = retention._recall(SAMPLE, memories["every turn"][0])
    daily = retention._recall(SAMPLE, memories["daily logs"][0])
    assert (raw.by_turn, raw.whole, raw.questions) == (1.0, 1.0, 2)
    assert daily.by_turn == 1.0
    assert len(memories["random bullets"]) == 5


def test_a_value_counts_when_only_a_tool_told_it_and_the_run_used_it():
    """Not what the user said first, and not what nobody came back to."""
    run = [
        HumanMessage("My id is ann_77. Find my booking."),
        AIMessage("", tool_calls=[{"name": "find", "args": {"user": "ann_77"}, "id": "1"}]),
        ToolMessage('{"booking": "ZX90Q1", "user": "ann_77", "seat": "14C-window"}', tool_call_id="1", name="find"),
        AIMessage("Shall I cancel ZX90Q1?"),
    ]
    assert used_values(run) == {"ZX90Q1"}
