"""`MEMORY.md` by rules."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_harness_memory.curation.rules.merging import NewFact, merge, split_speaker

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


def merged(memory, *new, budget=4_000, removed=()):
    return merge(memory, [NewFact(text=text, day=day) for text, day in new], budget=budget, removed=removed)


def test_a_new_file_sorts_its_lines_under_three_headings():
    """Oldest first; each on one line, with the day behind it unless one stands there; blank ones and repeats are left out."""
    memory = merged(
        "",
        ("User: I prefer tabs.", MAY),
        ("User: We decided to migrate.", JUNE),
        ("User: Ada sails.", None),
        ("* User:  Eve\nruns", MAY),
        ("User: Bob rows (2026-04-01)", JUNE),
        ("  ", MAY),
        ("- (2026-04-01)", MAY),
        ("User: Ada sails!", JUNE),
    )
    assert memory == (
        "## People and facts\n\n- User: Ada sails.\n- User: Eve runs (2026-05-01)\n- User: Bob rows (2026-04-01)\n\n"
        "## Preferences and rules\n\n- User: I prefer tabs. (2026-05-01)\n\n"
        "## Decisions and plans\n\n- User: We decided to migrate. (2026-06-01)\n"
    )


def test_a_file_with_headings_of_its_own_keeps_them():
    """A line goes under the first heading that fits, else under ours; headings without lines and outer blanks go."""
    present = "# Mine\n\nfree line  \n\n## Rules I like\n\n- a b\n\n\n## Todo\n- c d\n# Empty\n## More rules\n- e f\n"
    memory = merged(present, ("User: I always sail.", MAY), ("User: We will go.", MAY), ("User: Ada sails.", MAY))
    assert memory == (
        "# Mine\n\nfree line\n\n## Rules I like\n\n- a b\n- User: I always sail. (2026-05-01)\n\n"
        "## Todo\n\n- c d\n- User: We will go. (2026-05-01)\n\n## More rules\n\n- e f\n\n"
        "## People and facts\n\n- User: Ada sails. (2026-05-01)\n"
    )


@pytest.mark.parametrize(
    ("standing", "new", "stay"),
    [
        ("I live in Oslo. (2026-05-01)", ("I moved to Rome.", JUNE), ["I moved to Rome. (2026-06-01)"]),
        ("I live in Oslo. (2026-06-01)", ("I moved to Rome.", MAY), ["I live in Oslo. (2026-06-01)"]),
        ("I live in Oslo. (2026-06-01)", ("I moved to Rome.", JUNE), ["I moved to Rome. (2026-06-01)"]),
        ("I live in Oslo. (2026-06-01)", ("I moved to Rome. (2026-06-02)", MAY), ["I moved to Rome. (2026-06-02)"]),
        ("I live in Oslo.", ("I moved to Rome.", None), ["I moved to Rome."]),
        ("I live in Oslo. (2026-02-31)", ("I moved to Rome.", MAY), ["I moved to Rome. (2026-05-01)"]),
        (
            "I live in Oslo. Ada  builds boats. (2026-05-01)",
            ("I moved to Rome.", JUNE),
            ["Ada builds boats. (2026-05-01)", "I moved to Rome. (2026-06-01)"],
        ),
        (
            "Ada builds boats. I live in Oslo. (2026-06-01)",
            ("I moved to Rome. It rains.", MAY),
            ["Ada builds boats. I live in Oslo. (2026-06-01)", "It rains. (2026-05-01)"],
        ),
        ("x", ("I live in Oslo. I moved to Rome.", MAY), ["x", "I live in Oslo. I moved to Rome. (2026-05-01)"]),
    ],
)
def test_of_two_values_the_later_days_stays(standing, new, stay):
    """The sentence that is outdated goes, and the line with its last one; a line is not held against itself."""
    memory = merged(f"- User: {standing}", (f"User: {new[0]}", new[1]))
    assert lines(memory) == [f"- User: {line}" for line in stay]


@pytest.mark.parametrize(
    ("standing", "new", "stays"),
    [
        ("The club meets Mondays at 18:00.", "The club meets at noon instead of Mondays at 18:00.", False),
        ("The club meets Mondays at 18:00.", "The club meets at noon rather than Mondays at 18:00, sadly.", False),
        ("The board meets Mondays at 18:00.", "The club rests at noon instead of Mondays at 18:00.", True),
        ("The club meets Mondays.", "The club meets at noon instead of Mondays.", True),
        ("No longer Mondays at 18:00 for the club.", "The club meets at noon instead of Mondays at 18:00.", True),
    ],
)
def test_a_line_that_names_what_it_replaces_strikes_it(standing, new, stays):
    """Where more than one word is named, both speak of the same matter, and the earlier one replaces nothing itself."""
    memory = merged(f"- User: {standing}", (f"User: {new}", JUNE))
    assert (f"- User: {standing}" in lines(memory)) == stays
    assert f"- User: {new} (2026-06-01)" in lines(memory)


def test_what_was_removed_is_not_merged_again():
    """With its day or without, and nothing else goes with it."""
    memory = merged(
        "", ("User: I like tea. (2026-05-01)", MAY), ("User: I like jam.", MAY), removed=["User: I like tea"]
    )
    assert lines(memory) == ["- User: I like jam. (2026-05-01)"]


@pytest.mark.parametrize(
    ("line", "speaker", "said"),
    [
        ("Ada: hi", "Ada", "hi"),
        ("Ada of Oslo:  hi: you", "Ada of Oslo", "hi: you"),
        ("hi", "", "hi"),
        ("Ada:hi", "", "Ada:hi"),
        ("x" * 41 + ": y", "x" * 41, "y"),
        ("x" * 42 + ": y", "", "x" * 42 + ": y"),
    ],
)
def test_a_line_begins_with_who_said_it(line, speaker, said):
    """Forty-one characters before the colon at most."""
    assert split_speaker(line) == (speaker, said)


FLEET = "".join(f"- User: I moved {n} boats to Port{n} on 2026-04-1{n}.\n" for n in range(4))
SMALL = "".join(f"- User: small thing {n} happened\n" for n in range(8))


def test_a_file_within_its_budget_is_left_alone():
    """The budget itself is within."""
    text = FLEET + "- User: well so\n- User: hm ok\n"
    assert merged(text, budget=len(text)) == text
    assert merged(text, budget=len(text) - 1) == text.replace("- User: hm ok\n", "")


@pytest.mark.parametrize(
    ("budget", "small", "has_wish"), [(400, 8, True), (300, 7, True), (260, 6, True), (250, 7, False), (100, 2, False)]
)
def test_where_there_is_no_room_three_quarters_of_the_file_come_first(budget, small, has_wish):
    """Then what is worth most; headings take their room too."""
    memory = merged(SMALL, ("User: I always prefer tea.", MAY), budget=budget)
    assert (memory.count("small"), "tea" in memory) == (small, has_wish)
    assert len(memory) <= budget


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("User: I moved 3 boats to Oslo.", "User: I moved the boats away."),
        ("User: I never moved 3 boats.", "User: I surely moved 3 boats."),
        ("User: I moved 3 boats to Oslo.", "Assistant: I moved 3 boats to Oslo."),
        ("User: I moved 3 boats to Oslo.", "User: I moved 3 boats to Oslo, " + "and well so and " * 12),
    ],
    ids=["tells more", "lasts longer", "a person's", "shorter"],
)
def test_a_line_is_worth_what_it_tells_for_its_length(more, less):
    """Of two lines for which there is no room the one that is worth more stays, in either order."""
    for pair in ((more, less), (less, more)):
        present = "".join(f"- {text}\n" for text in pair)
        assert merged(present, budget=max(len(more), len(less)) + 6) == f"- {more}\n"
