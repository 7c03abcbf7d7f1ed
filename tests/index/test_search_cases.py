"""Whole searches that have gone wrong elsewhere, and over two hundred questions of our own."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from langgraph_harness_memory.index.sqlite import MemoryIndex
from langgraph_harness_memory.testing import FrozenClock

Open = Callable[..., MemoryIndex]

QUESTIONS = Path(__file__).parent / "data" / "questions.tsv"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MemoryIndex, dict[str, list[tuple[int, str]]]]]:
    root = tmp_path_factory.mktemp("questions") / "ws"
    lines: dict[str, list[str]] = defaultdict(list)
    questions: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for row in QUESTIONS.read_text(encoding="utf-8").split("\n"):
        if row and not row.startswith("# "):
            group, line, question = row.split("\t")
            lines[group].append(f"- {line}")
            questions[group].append((len(lines[group]), question))
    (root / "knowledge").mkdir(parents=True)
    for group, text in lines.items():
        (root / "knowledge" / f"{group}.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    with MemoryIndex(root, checks_files=False) as index:
        yield index, questions


def test_there_are_enough_questions(asked: tuple[MemoryIndex, dict[str, list[tuple[int, str]]]]) -> None:
    """At least two hundred questions in at least ten groups."""
    _, questions = asked
    assert len(questions) >= 10
    assert sum(map(len, questions.values())) >= 200


@pytest.mark.parametrize(
    "group",
    "english work german spanish french russian chinese japanese korean code toollog ids symbols".split(),  # noqa: SIM905  a list of names reads better so
)
def test_questions_find_their_line(asked: tuple[MemoryIndex, dict[str, list[tuple[int, str]]]], group: str) -> None:
    """A question in natural language, in eight languages, code, tool output and ids, finds its line among the first ten."""
    index, questions = asked
    missed = [
        question
        for number, question in questions[group]
        if (f"knowledge/{group}.md", number) not in {(h.path, h.line_number) for h in index.search(question, 10)}
    ]
    assert missed == []


def _memory(root: Path, *lines: str) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / "MEMORY.md").write_text("".join(f"- {line}\n" for line in lines), encoding="utf-8")
    return root


def test_one_symbol_makes_another_name(tmp_path: Path, opened: Open) -> None:
    """`C++` does not find `C#`, nor the other way round."""
    index = opened(_memory(tmp_path / "ws", "Uses C++ daily", "Uses C# rarely", "Grade C student"))
    assert [h.content for h in index.search("C++")] == ["- Uses C++ daily"]
    assert [h.content for h in index.search("C#")] == ["- Uses C# rarely"]


def test_an_identifier_finds_itself_alone(tmp_path: Path, opened: Open) -> None:
    """`POL-358` finds its line and not its neighbours in number."""
    index = opened(
        _memory(tmp_path / "ws", "POL-358 is open", "POL-359 is open", "358 people came", "Release 2026.4.10")
    )
    assert [h.content for h in index.search("POL-358")] == ["- POL-358 is open"]
    assert [h.content for h in index.search("2026.4.10")] == ["- Release 2026.4.10"]


@pytest.mark.parametrize("query", ["memory", "2026", "5", "03", "md"])
def test_paths_and_numbers_are_not_content(ws: Path, opened: Open, query: str) -> None:
    """A word of a path, a year or a line's number matches no line that does not hold it."""
    assert all(query in hit.content.lower() for hit in opened(ws).search(query, 50))


def test_a_question_of_stop_words(tmp_path: Path, opened: Open) -> None:
    """A query of nothing but stop words looks for them."""
    index = opened(_memory(tmp_path / "ws", "to be or not to be", "walrus"))
    assert index.search("to be or not to be")[0].line_number == 1


def test_ten_thousand_words(tmp_path: Path, opened: Open) -> None:
    """A pasted page asks with its rarest words."""
    index = opened(_memory(tmp_path / "ws", "the walrus swims", *(f"word{n} of many" for n in range(400))))
    page = " ".join(f"word{n % 400}" for n in range(5_000)) + " walrus " + "of " * 5_000
    assert isinstance(index.search(page), list)
    assert any(hit.line_number == 1 for hit in index.search("walrus swims " + page, 5))


def test_typos_only_where_nothing_matches(tmp_path: Path, opened: Open) -> None:
    """A misspelt query finds what was meant; one with a right word does not look for the misspelt one."""
    index = opened(_memory(tmp_path / "ws", "Chose Alembic", "Uses Kubernetes", "Likes tea"))
    assert index.search("Alembc")[0].line_number == 1
    assert index.search("kubernets")[0].line_number == 2
    assert [h.line_number for h in index.search("tea Alembc")] == [3]


def test_text_without_words(tmp_path: Path, opened: Open) -> None:
    """Signs alone are looked for character by character."""
    index = opened(_memory(tmp_path / "ws", r"shrug ¯\_(ツ)_/¯", "costs $$$", "plain"))
    assert [h.line_number for h in index.search("$$$")] == [2]
    assert index.search("§§§") == []


def test_days_in_a_query(tmp_path: Path, opened: Open) -> None:
    """A day that the query names prefers its lines; a day alone lists them, newest first."""
    root = tmp_path / "ws"
    (root / "memory").mkdir(parents=True)
    for day, line in (("2026-11-24", "met Ines about the budget"), ("2026-05-12", "met Karim about the budget")):
        (root / "memory" / f"{day}.md").write_text(f"- {line}\n", encoding="utf-8")
    index = opened(root, clock=FrozenClock("2026-12-01T09:00:00+00:00"))
    assert "Ines" in index.search("budget last week")[0].content
    assert "Karim" in index.search("budget in May")[0].content
    assert [h.date for h in index.search("last week")] == [date(2026, 11, 24)]
    assert index.search("yesterday") == []
    assert "Karim" in index.search("2026-05-12")[0].content


def test_a_question_about_last_week_finds_an_undated_line(tmp_path: Path, opened: Open) -> None:
    """A day in the question prefers, it does not exclude."""
    index = opened(_memory(tmp_path / "ws", "Chose Alembic for database migration", "Likes tea"))
    asked = "What did the user say about the database migration last week?"
    assert index.search(asked)[0].content == "- Chose Alembic for database migration"


@pytest.mark.asyncio
async def test_async_says_the_same(ws: Path) -> None:
    """The twins give what the sync methods give."""
    async with MemoryIndex(ws) as index:
        assert await index.asearch("lemon") == index.search("lemon")
        await index.aindex_text("notes.md", "- walrus\n")
        assert (await index.asearch("walrus"))[0].path == "notes.md"
        await index.areindex()
        await index.apurge(tenant=None)
        assert await index.asearch("lemon")
