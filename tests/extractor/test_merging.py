"""`MEMORY.md` by rules."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.curation.rules.merging import NewFact, merge

MAY, JUNE = date(2026, 5, 1), date(2026, 6, 1)


def lines(memory: str) -> list[str]:
    return [line for line in memory.splitlines() if line.startswith("- ")]


def test_new_lines_gain_their_day_and_a_heading():
    """The file has no other place that tells when a line was true."""
    memory = merge("", [NewFact(text="User: I prefer tabs.", day=MAY)], budget=4_000)
    assert memory == "## Preferences and rules\n\n- User: I prefer tabs. (2026-05-01)\n"


def test_a_persons_file_stays_as_it_is():
    """Headings, wording and order of what stands there; new lines go under a heading that fits."""
    present = "# Dana\n\nA note in prose.\n\n## My preferences\n\n- likes tea\n"
    memory = merge(present, [NewFact(text="User: I prefer tabs.", day=MAY)], budget=4_000)
    assert memory.startswith("# Dana\n\nA note in prose.\n\n## My preferences\n\n- likes tea\n- User: I prefer tabs.")


def test_nothing_new_changes_nothing():
    """The same file comes back."""
    present = "## People and facts\n\n- User: I live in Oslo.\n"
    assert merge(present, [NewFact(text="User: I live in Oslo.", day=MAY)], budget=4_000) == present


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("User: My favourite editor is Vim.", "User: My favourite editor is Helix now."),
        ("User: The deadline is May 3rd.", "User: The deadline is May 10th."),
        ("User: The launch has moved to 2026-07-01.", "User: The launch is now 2026-08-01."),
        ("User: I live in Oslo.", "User: I moved to Lisbon."),
        ("User: I work at Acme.", "User: I just joined Globex."),
        ("User: I prefer tabs over spaces.", "User: I prefer spaces over tabs."),
        ("User: We use Alembic for migrations.", "User: We switched to Atlas for migrations."),
        ("User: 我的名字是小王。", "User: 我的名字是小李。"),
    ],
)
def test_the_later_value_wins(earlier, later):
    """Where two lines give the same thing a value, the one of the later day stays alone."""
    memory = merge("", [NewFact(text=earlier, day=MAY), NewFact(text=later, day=JUNE)], budget=4_000)
    assert lines(memory) == [f"- {later} (2026-06-01)"]


def test_the_later_day_wins_in_any_order():
    """A late-coming line of an earlier day does not take the place of a later one."""
    new = [NewFact(text="User: I moved to Lisbon.", day=JUNE), NewFact(text="User: I live in Oslo.", day=MAY)]
    assert lines(merge("", new, budget=4_000)) == ["- User: I moved to Lisbon. (2026-06-01)"]


def test_a_later_value_takes_the_place_of_one_that_stands():
    """Also of one in the present file."""
    present = merge("", [NewFact(text="User: The deadline is May 3rd.", day=MAY)], budget=4_000)
    memory = merge(present, [NewFact(text="User: The deadline is May 10th.", day=JUNE)], budget=4_000)
    assert lines(memory) == ["- User: The deadline is May 10th. (2026-06-01)"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User: I like tea.", "User: I like coffee."),
        ("Alice: My favourite editor is Vim.", "Bob: My favourite editor is Helix."),
        ("User: The API is slow.", "User: The API is written in Go."),
        ("User: I moved to the next task.", "User: I live in Oslo."),
        ("User: The billing deadline is May 3rd.", "User: The search deadline is May 10th."),
    ],
)
def test_two_facts_are_not_taken_for_a_contradiction(one, other):
    """Several things liked, two people, two properties, two deadlines: both stay."""
    memory = merge("", [NewFact(text=one, day=MAY), NewFact(text=other, day=JUNE)], budget=4_000)
    assert len(lines(memory)) == 2


def test_what_a_later_line_says_to_hold_no_more_goes():
    """It names the old value itself."""
    new = [
        NewFact(text="User: Deployments go out on Thursdays at 17:00, after lunch.", day=MAY),
        NewFact(text="User: The board meets on Thursdays at 17:00 in Graz.", day=MAY),
        NewFact(
            text="User: Change of plan: deployments go out on Tuesdays at 10:00 instead of Thursdays at 17:00.",
            day=JUNE,
        ),
    ]
    memory = merge("", new, budget=4_000)
    assert "after lunch" not in memory
    assert "board meets" in memory
    assert "Tuesdays at 10:00" in memory


def test_one_word_that_is_replaced_strikes_nothing():
    """It may stand in lines that are still true."""
    new = [
        NewFact(text="User: The MongoDB ledger had 4 000 rows.", day=MAY),
        NewFact(text="User: We use Postgres for the ledger instead of MongoDB.", day=JUNE),
    ]
    assert len(lines(merge("", new, budget=4_000))) == 2


def test_a_preference_outlives_what_an_assistant_said():
    """Where there is no room for both."""
    said = [
        NewFact(text=f"Assistant: I have built index {n} in Graz on 2026-04-{n:02} in 2.1 seconds.", day=MAY)
        for n in range(1, 20)
    ]
    wish = NewFact(text="User: I prefer short answers with bullet points, and no emojis please.", day=MAY)
    assert "no emojis" in merge("", [wish, *said], budget=600)


def test_only_the_outdated_sentence_of_a_line_goes():
    """What else it said is still true."""
    new = [
        NewFact(text="User: I live in Oslo. My sister Ada builds boats in Bergen.", day=MAY),
        NewFact(text="User: I moved to Lisbon.", day=JUNE),
    ]
    memory = merge("", new, budget=4_000)
    assert "Oslo" not in memory
    assert "Ada builds boats" in memory


def test_near_duplicates_are_folded():
    """Nine copies of one fact are one line."""
    new = [NewFact(text=f"User: The staging database runs on host db-7{end}", day=MAY) for end in ("", ".", "!", " .")]
    assert len(lines(merge("", new, budget=4_000))) == 1


def test_what_a_person_removed_does_not_come_back():
    """In the same words or in nearly the same."""
    new = [NewFact(text="User: I like green tea in the morning!", day=MAY)]
    assert merge("", new, budget=4_000, removed=["User: I like green tea in the morning."]) == ""


def test_the_budget_holds_and_the_most_telling_lines_stay():
    """Small talk goes first."""
    small = [NewFact(text=f"User: that was nice and good and cool, number {n}", day=MAY) for n in range(60)]
    fact = NewFact(text="User: I am allergic to peanuts.", day=MAY)
    memory = merge("", [*small, fact], budget=800)
    assert len(memory) <= 800
    assert "peanuts" in memory


def test_a_flood_of_new_lines_does_not_wash_the_file_away():
    """At least three quarters of what stood there stay, so that the guard against shrinking has nothing to refuse."""
    present = merge("", [NewFact(text=f"User: small thing {n} happened", day=MAY) for n in range(60)], budget=2_500)
    flood = [
        NewFact(text=f"User: I decided to move {n} servers to Oslo on 2026-06-{n % 28 + 1:02}", day=JUNE)
        for n in range(99)
    ]
    memory = merge(present, flood, budget=2_500)
    stay = [line for line in lines(present) if line in memory]
    assert len(stay) >= 0.7 * len(lines(present))
    assert len(memory) <= 2_500


@given(
    st.lists(st.text(max_size=80), max_size=6),
    st.lists(st.tuples(st.text(max_size=80), st.sampled_from([None, MAY, JUNE])), max_size=6),
    st.integers(min_value=200, max_value=2_000),
)
def test_any_file_and_any_lines_can_be_merged(present, new, budget):
    """Within the budget, without raising, and with nothing that was not there."""
    memory = merge("\n".join(present), [NewFact(text=text, day=day) for text, day in new], budget=budget)
    assert len(memory) <= budget
    heard = {c for text in [*present, *(text for text, _ in new)] for c in text}
    allowed = heard | set("- #()0123456789\nPreferences and rulesDecisions and plansPeople and facts")
    assert set(memory) <= allowed
