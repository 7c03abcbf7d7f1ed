"""The LoCoMo conversations are read whole, where they lie beside the checkout."""

import json
from datetime import UTC, datetime

import pytest

from benchmarks._locomo import DATA, read_sample, samples, session_time

SELF_WRITTEN = json.dumps(
    {
        "sample_id": "conv-x",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_2_date_time": "12:05 am on 1 March, 2024",
            "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "I moved\nto Oslo."}],
            "session_10_date_time": "1:00 pm on 2 March 2024",
            "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "Look", "blip_caption": "a cat"}],
            "session_11_date_time": "1:00 pm on 3 March 2024",
        },
        "qa": [
            {"question": "Where?", "answer": 5, "evidence": ["D:2:01; D10:1", "D2:1", "D9:9"], "category": 1},
            {"question": "Why?", "evidence": [], "category": 5},
        ],
    }
)


def test_sessions_are_read_in_their_order_with_speakers_as_roles():
    """Numbers count as numbers, an announced session without turns is none, captions stay with their turn."""
    sample = read_sample(SELF_WRITTEN)
    assert [s.thread_id for s in sample.sessions] == ["conv-x-02", "conv-x-10"]
    assert [(m.type, m.text, m.id) for s in sample.sessions for m in s.messages] == [
        ("ai", "Bob: I moved to Oslo.", "D2:1"),
        ("human", "Ann: Look [shared photo: a cat]", "D10:1"),
    ]
    assert sample.sessions[0].conversation.started_at == datetime(2024, 3, 1, 0, 5, tzinfo=UTC)


def test_evidence_names_existing_turns_once():
    """However it is written."""
    where, why = read_sample(SELF_WRITTEN).questions
    assert (where.answer, where.evidence) == ("5", ("D2:1", "D10:1"))
    assert (why.answer, why.evidence) == (None, ())


def test_a_moment_that_is_none_is_refused():
    """Nothing is guessed."""
    with pytest.raises(ValueError, match="is no moment"):
        session_time("yesterday")


@pytest.mark.skipif(not DATA.exists(), reason="LoCoMo does not lie beside this checkout (CC BY-NC, never shipped)")
def test_all_seven_conversations_are_read():
    """Counted in the files: sessions, turns and questions."""
    read = samples()
    assert [s.name for s in read] == [f"conv-{n}" for n in (26, 30, 41, 42, 43, 44, 47)]
    raw = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("conv-*.json"))]
    turns = [sum(len(v) for v in r["conversation"].values() if isinstance(v, list)) for r in raw]
    assert [sum(len(s.messages) for s in sample.sessions) for sample in read] == turns
    assert [len(s.questions) for s in read] == [len(r["qa"]) for r in raw]
