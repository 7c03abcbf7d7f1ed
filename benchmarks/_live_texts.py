"""Self-written conversations with what a memory should keep of them.

A fact is a tuple of keywords: a line tells it when it holds each of them, whatever its wording; `a|b` takes either.
"""

from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

Fact = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Talk:
    """A conversation, user and assistant in turns, and the facts it tells."""

    turns: tuple[str, ...]
    facts: tuple[Fact, ...] = ()
    also: tuple[Fact, ...] = ()
    """What may be kept as well without being missed."""

    @property
    def messages(self) -> list[BaseMessage]:
        return [AIMessage(text) if n % 2 else HumanMessage(text) for n, text in enumerate(self.turns)]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A fact that changed: what was said first and later, and the words that tell the two apart."""

    earlier: str
    later: str
    stale: str
    current: str


TALKS = (
    Talk(
        turns=(
            "Hi! I'm Nadia, I just joined Corvid Labs as the data lead.",
            "Welcome, Nadia! What can I do for you?",
            "I need a nightly export of the orders table. It must be finished by 05:30, because finance starts at six.",
            "Understood. I will plan for a finish before 05:30.",
            "And please always answer me in short bullet points, I read on the phone.",
            "- Will do",
        ),
        facts=(
            ("nadia", "corvid"),
            ("data lead",),
            ("export", "order"),
            ("05:30|5:30",),
            ("bullet", "short|brief|phone"),
        ),
    ),
    Talk(
        turns=(
            "We finally decided: Postgres instead of MongoDB for the ledger, since we need transactions.",
            "That sounds sensible. Shall I draft the schema?",
            "Yes. Tomas reviews everything that touches the ledger, so add him. The schema goes to db/ledger.sql.",
            "I have written db/ledger.sql with four tables and added Tomas as the reviewer.",
        ),
        facts=(("postgres", "ledger"), ("transaction",), ("tomas", "review"), ("db/ledger.sql",)),
    ),
    Talk(
        turns=(
            "My daughter Ida turns seven on March 14 and she is allergic to hazelnuts.",
            "How lovely! Would you like ideas for a cake without nuts?",
            "Yes, and she loves dinosaurs. We celebrate at the Kesselhaus on the 15th because of the weekend.",
            "A dinosaur cake without nuts it is.",
        ),
        facts=(
            ("ida", "march 14|14 march|03-14"),
            ("ida|daughter", "seven|7"),
            ("hazelnut",),
            ("dinosaur",),
            ("kesselhaus",),
        ),
    ),
    Talk(
        turns=(
            "The build on machine osprey-2 fails with error E7741 again.",
            "Let me look at the log first. Did it work before?",
            "It was the clock last time: after we set NTP to pool.corp.example it worked.",
            "The clock is off by 40 seconds. Setting NTP to pool.corp.example fixed E7741 on osprey-2.",
            "Great, thanks!",
            "You're welcome.",
        ),
        facts=(("osprey-2", "e7741"), ("ntp|clock", "pool.corp.example")),
    ),
    Talk(
        turns=(
            "我叫李娜，住在杭州。我不吃辣，请以后推荐餐厅时注意。",
            "好的，李娜，我会记住。",
            "另外，我们的项目叫青鸟，截止日期是6月30日。",
            "明白了，青鸟项目6月30日截止。",
        ),
        facts=(("李娜", "杭州"), ("辣",), ("青鸟",), ("6月30|06-30|june 30",)),
    ),
    Talk(
        turns=(
            "Ich plane mit Jonas eine Radtour von Passau nach Wien, Start am 2. Juni.",
            "Klingt schön! Wie viele Kilometer am Tag sind geplant?",
            "Höchstens 60, Jonas hat ein kaputtes Knie. Und wir schlafen nur in Pensionen, nie im Zelt.",
            "Gut, dann plane ich Etappen bis 60 Kilometer mit Pensionen.",
        ),
        facts=(
            ("jonas", "passau"),
            ("wien",),
            ("2. juni|june 2|06-02",),
            ("60",),
            ("knie|knee",),
            ("pension|guesthouse",),
        ),
    ),
    Talk(
        turns=(
            "Can you compare the two hosting offers?",
            "Gladly. Which ones?",
            "Brightbox wants 79 euros a month, Harbor 64, but Harbor has no backups. Budget is 80. I lean to Brightbox.",
            "Then Brightbox fits: 79 euros and backups are included.",
            "OK, book Brightbox. Contract under account 55-1902.",
            "Booked Brightbox under account 55-1902.",
        ),
        facts=(("brightbox", "79"), ("harbor", "backup|64"), ("budget", "80"), ("brightbox", "55-1902")),
    ),
)

QUIET = (
    Talk(turns=("Hi there!", "Hello! How can I help?", "Just saying hi, have a nice day!", "You too!")),
    Talk(turns=("What is 17 times 23?", "391.", "Thanks!", "You're welcome.")),
    Talk(
        turns=(
            "Tell me a joke.",
            "Why did the scarecrow win a prize? It was outstanding in its field.",
            "Haha, good one.",
            "Glad you liked it!",
        )
    ),
    Talk(turns=("How do I say thank you in Italian?", "Grazie.", "Great.", "Prego!")),
    Talk(turns=("谢谢！", "不客气。", "再见。", "再见！")),
    Talk(turns=("Is water wet?", "People disagree about that.", "Lol ok.", "Anything else?")),
)

CHANGES = (
    Change(
        earlier="The launch date is April 10.",
        later="The launch date is April 24 now, marketing needs more time.",
        stale="april 10",
        current="april 24",
    ),
    Change(earlier="I live in Graz.", later="I moved to Linz last week.", stale="graz", current="linz"),
    Change(
        earlier="My favourite editor is Vim.",
        later="My favourite editor is Helix these days.",
        stale="vim",
        current="helix",
    ),
    Change(
        earlier="The staging server runs on port 8080.",
        later="The staging server runs on port 9443 since the upgrade.",
        stale="8080",
        current="9443",
    ),
    Change(
        earlier="I prefer tabs over spaces.",
        later="I prefer spaces over tabs, the team convinced me.",
        stale="tabs over spaces",
        current="spaces over tabs",
    ),
)

REPEATED = (
    ("peanut", ("I am allergic to peanuts.", "Remember, I'm allergic to peanuts.", "I am allergic to peanuts!")),
    (
        "rust",
        (
            "We write all services in Rust.",
            "All our services are written in Rust.",
            "We write all services in Rust, as you know.",
        ),
    ),
    ("biscuit", ("My dog is called Biscuit.", "Biscuit is my dog.", "My dog is called Biscuit, did I say that?")),
)
"""A keyword, and the same fact as it was said on three days."""

SURVIVORS: tuple[tuple[str, Fact], ...] = (
    ("Never deploy on Fridays, that is a rule of ours.", ("friday",)),
    ("My name is Petra Vondrak and I run the billing team.", ("vondrak",)),
    ("The customer number of Halden is H-48213.", ("h-48213",)),
    ("I am allergic to penicillin.", ("penicillin",)),
    ("The migration must be reversible, legal insists on it.", ("reversible",)),
    ("The report goes to reports/q3-final.md.", ("reports/q3-final.md",)),
    ("We agreed on a budget of 12 400 euros.", ("12 400|12,400|12400",)),
    ("The interview with Dr. Sato is on September 9.", ("sato",)),
)
"""Said at the very beginning, before three compactions."""

CHATTER = tuple(
    (
        f"What do you think about {topic}?",
        f"There are many ways to look at {topic}. Some people like it, others do not, and it depends on what you are used to.",
    )
    for topic in (
        "open offices", "dark mode", "long meetings", "standing desks", "paper notebooks", "remote work", "code golf", "tiny houses",
        "electric scooters", "podcasts", "crosswords", "cold brew", "vinyl records", "board games", "night trains", "sourdough",
        "fountain pens", "bird watching", "street food", "old maps", "puppet theatre", "knitting", "chess clocks", "rain jackets",
    )
)  # fmt: skip
"""Talk that nobody will ask about."""


def tells(line: str, fact: Fact) -> bool:
    """Say whether a line holds each keyword of a fact."""
    low = line.casefold()
    return all(any(choice in low for choice in keyword.split("|")) for keyword in fact)
