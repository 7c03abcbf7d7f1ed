"""The tools of the demonstration's agent: small, real, and the same at every run."""

from langchain_core.tools import BaseTool, tool

_ROWS = {"bikes": 312, "bookings": 184_220, "customers": 12_408, "invoices": 96_031, "stations": 27}


@tool
def list_tables(database: str) -> str:
    """List the tables of a database."""
    return f"{database}: {', '.join(sorted(_ROWS))}"


@tool
def count_rows(table: str) -> str:
    """Count the rows of a table."""
    return f"{table}: {_ROWS.get(table, 0)} rows"


@tool
def check_service(name: str) -> str:
    """Say whether a service is up."""
    return f"{name}: up, median 92 ms, last rebuilt 3 hours ago"


@tool
def run_migration(database: str, revision: str) -> str:
    """Run a migration on a database."""
    return f"{database}: {revision} done, {_ROWS['bookings']} rows in 41 s"


@tool
def run_sql(database: str, sql: str) -> str:
    """Run one statement on a database."""
    return f"{database}: {sql}: done in 2.1 s"


@tool
def slow_queries(database: str) -> str:
    """List the slowest queries of a database."""
    return f"{database}: SELECT … FROM bookings WHERE customer_id = $1: 801 ms, sequential scan of {_ROWS['bookings']} rows"


@tool
def write_file(path: str, text: str) -> str:
    """Write a file."""
    return f"{path}: {len(text)} characters written"


@tool
def read_log(service: str, day: str) -> str:
    """Read a service's log of a day."""
    lines = []
    for minute in range(0, 1440, 2):
        slow = minute >= 845
        path = ("GET /stations", "GET /bikes", "POST /checkout")[(minute // 2) % 3]
        took = 840 if slow and path == "POST /checkout" else 60 + (minute * 7) % 50
        lines.append(f"{minute // 60:02}:{minute % 60:02} {service} {day} {path} 200 {took} ms")
    return "\n".join(lines)


TOOLS: tuple[BaseTool, ...] = (
    list_tables,
    count_rows,
    check_service,
    run_migration,
    run_sql,
    slow_queries,
    write_file,
    read_log,
)
