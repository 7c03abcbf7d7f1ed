"""A server that goes away and comes back, connections that break at any moment, and forks."""

import asyncio
import contextlib
import subprocess
import sys
import textwrap
import threading
import time
from datetime import timedelta
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from langgraph_harness_memory.errors import SettingError, WorkspaceError
from langgraph_harness_memory.testing.tcp_proxy import TcpProxy
from langgraph_harness_memory.workspace.postgres import PostgresWorkspace
from langgraph_harness_memory.workspace.postgres_play import split_schema


@pytest.fixture
def proxy(postgres_url):
    parts = urlsplit(postgres_url)
    with TcpProxy(parts.hostname, parts.port or 5432) as proxy:
        yield proxy


@pytest.fixture
def ws(postgres_url, schema, proxy):
    parts = urlsplit(postgres_url)
    user = parts.netloc.rpartition("@")[0]
    netloc = f"{user}@127.0.0.1:{proxy.port}" if user else f"127.0.0.1:{proxy.port}"
    url = urlunsplit(parts._replace(netloc=netloc, query=f"application_name={schema}"))
    with PostgresWorkspace.from_conn_string(url, schema=schema) as workspace:
        yield workspace


def test_down_and_back(ws, proxy):
    """While the server is away operations fail soon and say so; when it is back they work, with no help."""
    ws.append("log", b"before\n")
    proxy.stop()
    began = time.perf_counter()
    with pytest.raises(WorkspaceError, match="cannot be reached"):
        ws.append("log", b"away\n")
    assert time.perf_counter() - began < 5
    began = time.perf_counter()
    for _ in range(20):
        with pytest.raises(WorkspaceError, match="in the background"):
            ws.append("log", b"away\n")
    assert time.perf_counter() - began < 0.2
    proxy.start()
    back = eventually(lambda: ws.append("log", b"after\n"))
    assert back < 3
    assert ws.read("log").data == b"before\nafter\n"


def test_back_before_anybody_noticed(ws, proxy):
    """Connections that broke while nobody used them cost nothing but a second try, sync and async."""
    ws.append("log", b"1\n")

    async def use():
        await ws.aappend("log", b"2\n")
        proxy.stop()
        proxy.start()
        await ws.aappend("log", b"3\n")
        await ws.areplace("a", b"x", create=True)
        await ws.aclose()

    asyncio.run(use())
    ws.append("log", b"4\n")
    proxy.stop()
    proxy.start()
    ws.append("log", b"5\n")
    proxy.stop()
    proxy.start()
    with ws.lock("a"):
        pass
    assert ws.read("log").data == b"1\n2\n3\n4\n5\n"


def eventually(act, seconds=10):
    """Try until it works; return how long it took."""
    began = time.perf_counter()
    while True:
        try:
            act()
        except WorkspaceError:
            if time.perf_counter() - began > seconds:
                raise
            time.sleep(0.05)
        else:
            return time.perf_counter() - began


@pytest.mark.parametrize("call", ["append", "replace", "lock"])
def test_connection_killed_under_load_loses_and_doubles_nothing(ws, postgres_url, call):
    """A session that the server ends again and again in the middle of writes: every write is there exactly once."""
    stopped = threading.Event()

    def kill():
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            while not stopped.wait(0.03):
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = %s AND state = 'active'",
                    [ws.schema],
                )

    killer = threading.Thread(target=kill)
    ws.replace("n", b"0")
    killer.start()
    failed = 0
    try:
        for n in range(150):
            line = b"%03d\n" % n
            try:
                match call:
                    case "append":
                        ws.append("log", line)
                    case "replace":
                        ws.replace(f"files/{n:03}", line, create=True)
                    case "lock":
                        with ws.lock("n"):
                            ws.append("log", line)
            except WorkspaceError:
                failed += 1
    finally:
        stopped.set()
        killer.join()
    written = ws.read("log").data if call != "replace" else b"".join(ws.read(f.path).data for f in ws.files("files"))
    lines = written.split()
    assert len(lines) == len(set(lines))
    assert 150 - failed <= len(lines) <= 150


def test_commit_that_got_no_answer_is_found(ws, monkeypatch):
    """The connection breaks after the server committed and before we heard of it: the append is there once."""
    connections = ws.connections
    ws.append("log", b"first\n")
    original = connections.play
    cut = []

    def play_and_lose(work):
        done = original(work)
        if not cut:
            cut.append(done)
            from langgraph_harness_memory.workspace.postgres_connections import CutOff

            raise CutOff("the answer was lost")
        return done

    monkeypatch.setattr(connections, "play", play_and_lose)
    assert ws.append("log", b"second\n") == 6
    cut.clear()
    version = ws.replace("a", b"x", create=True)
    monkeypatch.undo()
    assert ws.read("log").data == b"first\nsecond\n"
    assert ws.read("a").version == version


def test_cancelled_write_is_known(ws):
    """A cancelled append is waited for: it is there, once, and the workspace goes on."""

    async def use():
        await ws.aappend("log", b"0\n")
        for n in range(1, 30):
            task = asyncio.create_task(ws.aappend("log", b"%d\n" % n))
            await asyncio.sleep(0.0004 * (n % 5))
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):  # it may have been done before
                await task
        await ws.aappend("log", b"end\n")
        await ws.aclose()

    asyncio.run(use())
    lines = ws.read("log").data.split()
    assert len(lines) == len(set(lines))
    assert lines[0] == b"0"
    assert lines[-1] == b"end"


def test_forked_child_opens_its_own(ws):
    """A fork uses connections of its own, and the parent's go on."""
    program = textwrap.dedent(f"""
        import os
        from langgraph_harness_memory.workspace.postgres import PostgresWorkspace
        ws = PostgresWorkspace({ws.connections.conninfo!r}, schema={ws.schema!r})
        ws.append("log", b"parent\\n")
        with ws.lock("a"):
            pid = os.fork()
            if pid == 0:
                ws.append("log", b"child\\n")
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            ws.append("log", b"parent\\n")
        with ws.lock("a"):
            ws.append("log", b"parent\\n")
        ws.close()
    """)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ws.read("log").data == b"parent\nchild\nparent\nparent\n"


def test_many_event_loops(ws, postgres_url):
    """Each `asyncio.run` gets connections of its own, and those of loops that ended are closed."""
    for n in range(5):
        asyncio.run(ws.aappend("log", b"%d\n" % n))
    ws.close()
    assert ws.read("log").data == b"0\n1\n2\n3\n4\n"
    with psycopg.connect(postgres_url) as connection:
        (count,) = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [ws.schema]
        ).fetchone()
    assert count <= 2


def test_killed_holder_leaves_no_lock(ws):
    """A process that dies inside a section frees the lock at once."""
    program = textwrap.dedent(f"""
        import time
        from langgraph_harness_memory.workspace.postgres import PostgresWorkspace
        ws = PostgresWorkspace({ws.connections.conninfo!r}, schema={ws.schema!r})
        with ws.lock("a"):
            print("held", flush=True)
            time.sleep(60)
    """)
    holder = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline()
    holder.kill()
    holder.wait()
    holder.stdout.close()
    began = time.perf_counter()
    with ws.lock("a", timeout=timedelta(seconds=3)):
        assert time.perf_counter() - began < 1


def test_more_threads_than_connections(postgres_url, schema):
    """Threads that hold different locks and work inside them do not starve each other of connections."""
    from concurrent.futures import ThreadPoolExecutor

    with PostgresWorkspace(postgres_url, schema=schema, max_connections=3) as ws:

        def work(n):
            with ws.lock(f"lock{n % 5}", timeout=timedelta(seconds=30)):
                ws.append("log", b"%02d\n" % n)

        with ThreadPoolExecutor(12) as pool:
            list(pool.map(work, range(48)))
        assert sorted(ws.read("log").data.split()) == [b"%02d" % n for n in range(48)]


# -- roles, schemas and URLs ---------------------------------------------------------------------------------------------


def test_plain_role_is_enough(postgres_url, schema):
    """A role that may only create a schema needs no more; one that may create nothing uses a schema that is there."""
    role = f"r_{schema}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = connection.info.dbname
        if not connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()[0]:
            pytest.skip("only a superuser can make roles for this test")
        connection.execute(f"CREATE ROLE \"{role}\" LOGIN PASSWORD 'p'")
        connection.execute(f"CREATE ROLE \"{role}_2\" LOGIN PASSWORD 'p'")
        connection.execute(f'GRANT CREATE ON DATABASE "{name}" TO "{role}"')
    parts = urlsplit(postgres_url)
    host = parts.netloc.rpartition("@")[2]
    try:
        with PostgresWorkspace(urlunsplit(parts._replace(netloc=f"{role}:p@{host}")), schema=schema) as ws:
            ws.append("a", b"x\n")
            with psycopg.connect(ws.connections.conninfo, autocommit=True) as connection:
                connection.execute(f'GRANT USAGE ON SCHEMA "{schema}" TO "{role}_2"')
                connection.execute(f'GRANT ALL ON ALL TABLES IN SCHEMA "{schema}" TO "{role}_2"')
                connection.execute(f'GRANT ALL ON ALL SEQUENCES IN SCHEMA "{schema}" TO "{role}_2"')
        with PostgresWorkspace(urlunsplit(parts._replace(netloc=f"{role}_2:p@{host}")), schema=schema) as ws:
            assert ws.append("a", b"y\n") == 2
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            for each in (role, f"{role}_2"):
                connection.execute(f'DROP OWNED BY "{each}" CASCADE')
                connection.execute(f'DROP ROLE "{each}"')


def test_messages_keep_the_password():
    """No name, message or representation shows the password."""
    ws = PostgresWorkspace("postgresql://me:hunter2@127.0.0.1:1/db", schema="s")
    with pytest.raises(WorkspaceError, match="cannot be reached") as failure:
        ws.append("a", b"x\n")
    assert "hunter2" not in f"{ws.name} {ws!r} {failure.value} {failure.value!r}"
    assert ws.name == "postgresql://me@127.0.0.1:1/db?schema=s"


@pytest.mark.parametrize("name", ["", "A", "a-b", 'a"b', "a;drop", "pg_x", "a" * 64, "1a", "a.b"])
def test_schema_names_are_plain(name):
    """A schema's name is an identifier and nothing else."""
    with pytest.raises(SettingError, match="schema"):
        PostgresWorkspace("postgresql://h/d", schema=name)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://h/d", ("postgresql://h/d", None)),
        ("postgresql://h/d?schema=s", ("postgresql://h/d", "s")),
        ("postgresql://h/d?sslmode=require&schema=s", ("postgresql://h/d?sslmode=require", "s")),
        ("postgresql://h/d?schema=s&sslmode=require", ("postgresql://h/d?sslmode=require", "s")),
        ("host=h dbname=d", ("host=h dbname=d", None)),
    ],
)
def test_schema_in_the_url(url, expected):
    """The schema may stand in the URL; the rest is libpq's."""
    assert split_schema(url) == expected


def test_two_schemas_do_not_meet(postgres_url, schema):
    """Two workspaces of one database see their own files and locks alone."""
    other = f"{schema}_b"
    with PostgresWorkspace(postgres_url, schema=schema) as one, PostgresWorkspace(postgres_url, schema=other) as two:
        one.append("a", b"1\n")
        assert two.files() == []
        with one.lock("x"), two.lock("x", timeout=timedelta(seconds=0.2)):
            pass
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA "{other}" CASCADE')


def test_deleted_bytes_leave_the_table(ws):
    """What is deleted or replaced leaves no row behind."""
    ws.append("s/log", b"secret\n" * 100)
    ws.append("s/log", b"more\n")
    ws.replace("s/log", b"short\n")
    ws.delete("s")
    with psycopg.connect(ws.connections.conninfo) as connection:
        assert connection.execute(f'SELECT count(*) FROM "{ws.schema}".chunks').fetchone() == (0,)
