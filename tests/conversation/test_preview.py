"""Head and tail of a text that does not fit, and the note between them."""

import pytest
from langchain_core.messages import HumanMessage

from langgraph_harness_memory.conversation.preview import Whereabouts, block_text, preview, text_of, with_text

TEXT = "abcdefghij" * 100
FILE = Whereabouts(path="/e/x.txt", reader="read_file")


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        (FILE, 'Whole text: /e/x.txt (read on with read_file(path="/e/x.txt")).'),
        (Whereabouts(path="/e/x.txt"), "Whole text: /e/x.txt (no tool here can open it)."),
        (
            Whereabouts(logged=True),
            "It could not be written to a file; the whole text is in the session log, out of your reach here.",
        ),
        (Whereabouts(reader="read_file"), "The rest is out of your reach here."),
        (Whereabouts(), "The rest is out of your reach here."),
    ],
)
def test_the_model_is_told_how_to_go_on(where, sentence):
    """A reader is named only where it can open something."""
    assert where.sentence() == sentence
    assert preview(TEXT, where=where, side=0) == f"[1,000 characters. {sentence}]"


def test_head_and_tail_stand_below_the_note():
    """With what is left out between them."""
    assert preview(TEXT, where=Whereabouts(), side=20) == (
        "[1,000 characters. The rest is out of your reach here. First 20 and last 20 follow.]\n"
        "abcdefghijabcdefghij\n[… 960 characters left out …]\nabcdefghijabcdefghij"
    )


def test_it_is_half_of_the_text_at_most():
    """However long the sides may be, and whatever it may have."""
    for most in (None, 5_000):
        shown = preview(TEXT, where=Whereabouts(), side=1_000, most=most)
        assert 490 <= len(shown) <= 500
    assert 390 <= len(preview(TEXT, where=Whereabouts(), side=1_000, most=400)) <= 400


def test_where_there_is_no_room_only_a_note_is_left():
    """A short one, or none where that would not be much shorter."""
    assert preview(TEXT, where=FILE, side=20, most=60) == "[1,000 characters: /e/x.txt]"
    assert preview(TEXT, where=Whereabouts(), side=20, most=60) == "[1,000 characters left out]"
    assert preview(TEXT, where=Whereabouts(), side=20, most=27) == "[1,000 characters left out]"
    assert preview(TEXT, where=Whereabouts(), side=20, most=26) is None
    assert preview(TEXT[:50], where=Whereabouts(), side=20) == "[50 characters left out]"
    assert preview(TEXT[:40], where=Whereabouts(), side=20) is None


def test_the_text_of_a_message_is_that_of_its_text_blocks():
    """Joined by line ends; media have none."""
    blocks = [
        "a",
        {"type": "text", "text": "b"},
        {"type": "image", "text": "no"},
        {"type": "output_text", "text": "c"},
        {"type": "text"},
    ]
    assert text_of(HumanMessage(blocks)) == "a\nb\nc\n"
    assert text_of(HumanMessage("plain")) == "plain"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("a", "a"),
        ({"type": "text", "text": "a"}, "a"),
        ({"type": "output_text", "text": "a"}, "a"),
        ({"type": "input_text", "text": "a"}, "a"),
        ({"type": "text", "text": None}, ""),
        ({"type": "image", "text": "a"}, None),
        ({"text": "a"}, None),
        (7, None),
    ],
)
def test_only_text_blocks_have_a_text(block, text):
    """In the words of each provider."""
    assert block_text(block) == text


def test_a_text_takes_the_place_of_the_first_text_block():
    """The others go, media stay, and the form of the block stays."""
    image = {"type": "image", "url": "u"}
    assert with_text("long", "short") == "short"
    assert with_text([image, {"type": "output_text", "text": "a"}, "b"], "short") == [
        image,
        {"type": "text", "text": "short"},
    ]
    assert with_text(["a", image, "b"], "short") == ["short", image]
    assert with_text([image], "short") == [image]
