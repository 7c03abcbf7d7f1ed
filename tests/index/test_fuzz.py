"""Any query is valid, any line is found by its words, and the index never disagrees with the files.

`HARNESS_MEMORY_FUZZ=100000 pytest tests/index/test_fuzz.py` runs the full count.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from langgraph_harness_memory.index.sqlite import MemoryIndex
from langgraph_harness_memory.index.text import terms_of

QUERIES = int(os.environ.get("HARNESS_MEMORY_FUZZ", "3000"))
"""Queries to generate."""

OPERATORS = [
    "AND",
    "OR",
    "NOT",
    "NEAR(",
    ")",
    '"',
    "'",
    "*",
    "^",
    "-",
    "+",
    ":",
    "{",
    "}",
    "terms:",
    "--",
    ";",
    "\\",
    "%",
    "\0",
]

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
QUERY = st.one_of(
    ANY_TEXT,
    st.lists(st.one_of(st.sampled_from(OPERATORS), st.text(max_size=8)), max_size=12).map(" ".join),
    st.lists(st.sampled_from(["tea", "lemon", "POL-358", "数据库", "끝말", "🚀", *OPERATORS]), max_size=10).map(
        "".join
    ),
    st.builds(lambda text, times: (text * times)[:10_000], ANY_TEXT, st.integers(1, 400)),
)

SCRIPTS = {
    "latin": "abcdefghijklmnopqrstuvwxyz",
    "accented": "aábcçdeéfghiílmnñoópqrstuúüvxyz",
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщыьэюя",
    "greek": "αβγδεζηθικλμνξοπρστυφχψω",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "hebrew": "אבגדהוזחטיכלמנסעפצקרשת",
    "devanagari": "कखगघचछजझटठडढतथदधनपफबभमयरलवशषसह",
    "han": "".join(map(chr, range(0x4E00, 0x4E00 + 800))),
    "hiragana": "".join(map(chr, range(0x3042, 0x3094))),
    "korean": "".join(map(chr, range(0xAC00, 0xAC00 + 4000, 11))),
    "thai": "กขคฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ",
}
"""Letters to make words of."""

WITHOUT_SPACES = {"han", "hiragana", "thai"}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    root = tmp_path_factory.mktemp("fuzz") / "ws"
    (root / "memory").mkdir(parents=True)
    lines = [
        "tea with lemon",
        "POL-358 is open",
        "用PostgreSQL作为主数据库",
        "오늘 끝말잇기 게임",
        "ship it 🚀",
        'a "quoted" 50% {brace}',
    ]
    (root / "MEMORY.md").write_text("".join(f"- {line}\n" for line in lines), encoding="utf-8")
    with MemoryIndex(root, checks_files=False) as opened:
        yield opened


@settings(max_examples=QUERIES, phases=[Phase.generate, Phase.shrink], suppress_health_check=[HealthCheck.too_slow])
@given(QUERY)
@pytest.mark.timeout(1200)
def test_any_query_is_valid(index: MemoryIndex, query: str) -> None:
    """No string makes a search fail, and every hit is a line of the file."""
    for hit in index.search(query, 5):
        assert hit.path == "MEMORY.md"
        assert 1 <= hit.line_number <= 6


@pytest.mark.parametrize("script", SCRIPTS)
def test_three_words_find_their_line(script: str, tmp_path: Path) -> None:
    """Three words of a line find it among the first ten, in at least 99 of 100 cases, in every script."""
    rng = random.Random(script)
    letters = SCRIPTS[script]
    shortest, longest = (2, 4) if script in WITHOUT_SPACES | {"korean"} else (4, 9)
    vocabulary = ["".join(rng.choices(letters, k=rng.randint(shortest, longest))) for _ in range(2_000)]
    lines = [rng.sample(vocabulary, rng.randint(5, 14)) for _ in range(1_000)]
    blank = "" if script in WITHOUT_SPACES else " "
    (tmp_path / "ws" / "knowledge").mkdir(parents=True)
    text = "".join(f"- {blank.join(words)}\n" for words in lines)
    (tmp_path / "ws" / "knowledge" / "x.md").write_text(text, encoding="utf-8")
    found = 0
    with MemoryIndex(tmp_path / "ws", checks_files=False) as index:
        for number, words in enumerate(lines, 1):
            hits = index.search(" ".join(rng.sample(words, 3)), 10)
            found += any(hit.line_number == number for hit in hits)
    assert found >= 0.99 * len(lines)


WORDS = ["walrus", "alpaca", "POL-7", "数据", "résumé", "node.js"]
PATHS = [
    "MEMORY.md",
    "memory/2026-01-01.md",
    "memory/2026-01-02.md",
    "memory/archive/2025-01-01.md",
    "knowledge/a/b.md",
]


class FilesAndIndex(RuleBasedStateMachine):
    """Files change in every way; after each step the index must know exactly their lines."""

    root: Path

    @initialize()
    def begin(self) -> None:
        self.root = type(self).home / f"ws{next(type(self).numbers)}"
        self.root.mkdir(parents=True)
        self.index = MemoryIndex(self.root, path=self.root / "index.db").open()

    def teardown(self) -> None:
        if hasattr(self, "index"):
            self.index.close()

    @rule(
        path=st.sampled_from(PATHS),
        words=st.lists(st.sampled_from([*WORDS, "", "# head"]), max_size=6),
        end=st.booleans(),
    )
    def write(self, path: str, words: list[str], end: bool) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(words) + ("\n" if end and words else ""), encoding="utf-8")

    @rule(path=st.sampled_from(PATHS), word=st.sampled_from(WORDS))
    def append(self, path: str, word: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a", encoding="utf-8") as file:
            file.write(f"- {word}\n")

    @rule(path=st.sampled_from(PATHS))
    def delete(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    @rule()
    def archive(self) -> None:
        source = self.root / "memory" / "2026-01-01.md"
        if source.exists():
            (self.root / "memory" / "archive").mkdir(exist_ok=True)
            source.replace(self.root / "memory" / "archive" / "2026-01-01.md")

    @rule(path=st.sampled_from(PATHS))
    def hand_in(self, path: str) -> None:
        target = self.root / path
        if target.exists():
            self.index.index_text(path, target.read_text(encoding="utf-8"))

    @rule()
    def reindex(self) -> None:
        self.index.reindex()

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = MemoryIndex(self.root, path=self.root / "index.db").open()

    @rule()
    def lose_the_index(self) -> None:
        (self.root / "index.db").unlink()

    @invariant()
    def knows_exactly_the_lines_of_the_files(self) -> None:
        if not hasattr(self, "index"):
            return
        for word in WORDS:
            found = {(hit.path, hit.line_number, hit.content) for hit in self.index.search(word, 200)}
            assert found == set(self._naive(word))

    def _naive(self, word: str) -> Iterator[tuple[str, int, str]]:
        for file in sorted(self.root.rglob("*.md")):
            for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
                if set(terms_of(word)[:1]) & set(terms_of(line)):
                    yield file.relative_to(self.root).as_posix(), number, line


@pytest.mark.timeout(300)
def test_files_and_index_never_disagree(tmp_path: Path) -> None:
    """Whatever is written, moved, deleted or lost, a search gives exactly the lines that the files hold."""
    machine = type("Machine", (FilesAndIndex,), {"home": tmp_path, "numbers": iter(range(1_000_000))})
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(machine, settings=settings(max_examples=25, stateful_step_count=25, deadline=None))
