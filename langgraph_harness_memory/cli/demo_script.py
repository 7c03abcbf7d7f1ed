"""The conversations of the demonstration: a bicycle rental's engineer and her agent, over a few days.

Written for this package. What the agent says is fixed; what its tools return is not: they run.
"""

from dataclasses import dataclass
from typing import Any

from langgraph_harness_memory.testing.scripted import Reply


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """What the user says, and what the agent does until it has answered."""

    user: str
    steps: tuple[Reply | str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    """One session."""

    thread_id: str
    title: str
    day: int
    """Days after the first session."""
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What is asked in a new session, and the word that only memory can know."""

    text: str
    needle: str


def _say(user: str, *steps: Reply | str) -> Exchange:
    return Exchange(user=user, steps=steps)


def _use(tool: str, **arguments: Any) -> Reply:
    return Reply(calls=[(tool, arguments)])


def _both(*calls: tuple[str, dict[str, Any]]) -> Reply:
    return Reply(calls=list(calls))


_MIGRATION = '''"""Give each booking its customer."""

from alembic import op
import sqlalchemy as sa

revision = "0007_booking_customer"
down_revision = "0006_bikes"


def upgrade() -> None:
    op.add_column("bookings", sa.Column("customer_id", sa.BigInteger(), nullable=True))
    op.execute("UPDATE bookings SET customer_id = c.id FROM customers c WHERE c.email = bookings.email")
    op.alter_column("bookings", "customer_id", nullable=False)
    op.create_foreign_key("bookings_customer", "bookings", "customers", ["customer_id"], ["id"])
'''

TALKS = (
    Talk(
        thread_id="demo-1-move",
        title="The database move",
        day=0,
        exchanges=(
            _say(
                "Hi, I'm Nora Falk. I run the booking system of Fernweh Bikes, a bicycle rental in Graz.",
                "Hello Nora! What shall we look at in the booking system?",
            ),
            _say(
                "I prefer short answers with bullet points, and no emojis please.",
                "Understood: short, bullet points, no emojis.",
            ),
            _say(
                "What tables does the shop database have?",
                _use("list_tables", database="fernweh"),
                "- bikes\n- bookings\n- customers\n- invoices\n- stations",
            ),
            _say(
                "We decided to use Alembic for the database migration, not plain SQL files.",
                "Noted:\n- Alembic for the migration",
            ),
            _say(
                "How large are bookings and customers?",
                _both(("count_rows", {"table": "bookings"}), ("count_rows", {"table": "customers"})),
                "- bookings: 184,220 rows\n- customers: 12,408 rows",
            ),
            _say(
                "The staging database is called fernweh_stage and is rebuilt every Monday at 06:00.",
                "Then we test migrations from Monday noon on.",
            ),
            _say(
                "Write the migration that gives bookings a customer_id.",
                _use("write_file", path="migrations/0007_booking_customer.py", text=_MIGRATION),
                "- written to migrations/0007_booking_customer.py\n- backfills by e-mail, then sets NOT NULL",
            ),
            _say(
                "Customer data must stay in Frankfurt, region eu-central-1, because of our contract with the city.",
                "Then backups and logs stay there too.",
            ),
            _say(
                "Is the staging database up?",
                _use("check_service", name="fernweh_stage"),
                "- fernweh_stage is up\n- last rebuilt 3 hours ago",
            ),
            _say(
                "My manager Ines Carvalho approves every expense above 500 euros.",
                "I will name Ines when something costs more than that.",
            ),
            _say(
                "Run the migration on staging.",
                _use("run_migration", database="fernweh_stage", revision="0007_booking_customer"),
                "- 184,220 rows changed in 41 seconds\n- no errors",
            ),
            _say(
                "The go-live of the move is planned for 14 March at night.",
                "- 14 March, at night\n- I would freeze bookings for ten minutes",
            ),
            _say("Thanks, that is all for today.", "Good luck with the preparations, Nora."),
        ),
    ),
    Talk(
        thread_id="demo-2-checkout",
        title="A slow checkout",
        day=1,
        exchanges=(
            _say(
                "Customers complain that the checkout is slow since yesterday. Look at the log of the web service.",
                _use("read_log", service="web", day="yesterday"),
                "- most requests take 90 ms\n- POST /checkout takes 840 ms since 14:05\n- I need the slow queries",
            ),
            _say(
                "Then look at the slow queries.",
                _use("slow_queries", database="fernweh"),
                "The checkout is slow because the index on bookings.customer_id is missing.",
            ),
            _say(
                "Add it on staging first.",
                _use("run_sql", database="fernweh_stage", sql="CREATE INDEX ON bookings (customer_id)"),
                "- index built in 2.1 seconds\n- the query now takes 3 ms",
            ),
            _say(
                "Great. Deployments go out on Thursdays at 17:00, so production gets it then.",
                "- production gets the index on Thursday at 17:00",
            ),
            _say(
                "And the database log of yesterday, is there anything else in it?",
                _use("read_log", service="database", day="yesterday"),
                "- nothing but the slow query",
            ),
            _say("Good. Close it.", "Closed."),
        ),
    ),
    Talk(
        thread_id="demo-3-spring",
        title="Ready for spring",
        day=3,
        exchanges=(
            _say(
                "Our brake pads come from Koloss in Villach, and the lead time is 12 days.",
                "Then order by the end of February for the spring.",
            ),
            _say(
                "How many bikes are in the workshop?",
                _use("count_rows", table="bikes"),
                "- 312 bikes in all; the workshop list is not in the database",
            ),
            _say(
                "Remember that the station at Lendplatz is closed until 2 April because of road works.",
                "Noted:\n- Lendplatz closed until 2 April",
            ),
            _say(
                "Is the web service healthy?",
                _use("check_service", name="web"),
                "- web is up\n- 92 ms at the median",
            ),
            _say(
                "My colleague Tarik Demir looks after the payment provider; ask him about refunds.",
                "Refunds go to Tarik.",
            ),
        ),
    ),
    Talk(
        thread_id="demo-4-change",
        title="A decision changes",
        day=7,
        exchanges=(
            _say(
                "Change of plan: deployments now go out on Tuesdays at 10:00 instead of Thursdays at 17:00.",
                "- deployments: Tuesdays at 10:00 from now on",
            ),
            _say(
                "The go-live of the move is postponed to 21 March, since Ines is on leave before.",
                "- go-live: 21 March at night",
            ),
            _say("That is it.", "Until next time."),
        ),
    ),
)

QUESTIONS = (
    Question(text="Which tool did we choose for the database migration?", needle="Alembic"),
    Question(text="What is the staging database called, and when is it rebuilt?", needle="fernweh_stage"),
    Question(text="In which region must customer data stay?", needle="eu-central-1"),
    Question(text="Who approves expenses above 500 euros?", needle="Ines"),
    Question(text="Why was the checkout slow?", needle="bookings.customer_id"),
    Question(text="Where do our brake pads come from?", needle="Koloss"),
    Question(text="Until when is the station at Lendplatz closed?", needle="2 April"),
    Question(text="Whom do I ask about refunds?", needle="Tarik"),
    Question(text="When do deployments go out now?", needle="Tuesday"),
)
