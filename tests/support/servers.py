"""Databases for tests: a PostgreSQL server of their own on loopback, and files of SQLite."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
import uuid
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import adbc_driver_postgresql.dbapi as postgresql

from crowdopt import Database

PASSWORD = "s3cret/@:#?%é"  # noqa: S105 -- of a server that lives for these tests
QUOTED = "s3cret%2F%40%3A%23%3F%25%C3%A9"


@dataclass(frozen=True)
class Server:
    """A running server; its one user may do everything."""

    port: int
    process: subprocess.Popen
    name: str = "postgres"

    @property
    def address(self) -> str:
        return f"postgresql://crowd:{QUOTED}@127.0.0.1:{self.port}/{self.name}"

    @property
    def shown(self) -> str:
        return f"postgresql://crowd@127.0.0.1:{self.port}/postgres"

    def run(self, *statements: str) -> list[tuple]:
        """Runs statements, and returns the rows of the last one."""
        with postgresql.connect(self.address, autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall()

    def load(self, table, name: str = "") -> Database:
        """Makes a table of an Arrow one."""
        name = name or f"t{uuid.uuid4().hex}"
        with postgresql.connect(self.address) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create")
            connection.commit()
        return Database(self.address, table=name)


def _programs() -> Path:
    found = shutil.which("postgres")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return Path(found).parent if found else folders[-1].parent


@cache
def server() -> Server:
    """Started once for each process that runs tests, and stopped at its end."""
    folder, programs = Path(tempfile.mkdtemp(prefix="crowdopt-postgresql-")), _programs()
    folder.chmod(0o711)
    user = "postgres" if os.geteuid() == 0 else None  # PostgreSQL does not run as root
    data, secret = folder / "data", folder / "secret"
    data.mkdir()
    secret.write_text(PASSWORD + "\n", encoding="utf-8")
    if user:
        shutil.chown(data, user)
        shutil.chown(secret, user)
    options = ["-U", "crowd", "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8", "--locale=C", "--no-sync"]
    subprocess.run([programs / "initdb", "-D", data, *options], user=user, check=True, capture_output=True, cwd=data)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    listen = ["-h", "127.0.0.1", "-p", str(port), "-k", "", "-F"]
    with (folder / "log").open("wb") as log:
        tied = ["setpriv", "--pdeathsig", "INT"]  # so that it ends with this process, however that ends
        command = [*tied, programs / "postgres", "-D", data, *listen]
        process = subprocess.Popen(command, user=user, cwd=data, stderr=log)
    atexit.register(_stop, process, folder)
    started = Server(port, process)
    for _ in range(300):
        try:
            started.run("SELECT 1")
        except postgresql.OperationalError:
            time.sleep(0.1)
        else:
            return started
    raise RuntimeError((folder / "log").read_text())


def _stop(process: subprocess.Popen, folder: Path) -> None:
    process.send_signal(2)  # without waiting for clients
    process.wait(timeout=30)
    shutil.rmtree(folder, ignore_errors=True)


def to_sqlite(table, path: Path, name: str = "responses") -> Database:
    """Makes a table of an Arrow one."""
    columns = ", ".join('"' + one.replace('"', '""') + '"' for one in table.column_names)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * table.num_columns)
        connection.executemany(
            f"INSERT INTO {name} VALUES ({marks})", [tuple(row.values()) for row in table.to_pylist()]
        )
    return Database(f"sqlite:///{path}", table=name)
