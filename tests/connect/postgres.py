"""A PostgreSQL server of its own for a test: in a folder, on a socket and a free port."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "s3cret-word"
USERS = ("postgres", "nobody")


def missing() -> str | None:
    """Why no server can be started here, or None."""
    if binaries() is None:
        return "PostgreSQL is not installed"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        return "PostgreSQL does not run as root, and there is no runuser"
    return None


def binaries() -> Path | None:
    """The folder with initdb and pg_ctl, of the newest version there is."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    path = shutil.which("initdb")
    return Path(path).resolve().parent if path else None


@dataclass(frozen=True)
class Server:
    """A server that runs; `url` leads to its database, password and all."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql://miller:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def execute(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.url) as connection:
            for statement in statements:
                connection.execute(statement)

    def control(self, *words: str) -> None:
        folder = binaries()
        assert folder is not None
        run(str(folder / "pg_ctl"), "-D", str(self.folder / "data"), "-w", *words)


@contextmanager
def server(folder: Path) -> Iterator[Server]:
    """A fresh server in a folder, stopped at the end."""
    found = binaries()
    assert found is not None
    folder.mkdir(parents=True, exist_ok=True)
    for parent in (folder, *folder.parents):
        if os.access(parent, os.W_OK) and parent.stat().st_uid == os.geteuid():
            parent.chmod(parent.stat().st_mode | 0o711)
    (folder / "password").write_text(PASSWORD)
    if os.geteuid() == 0:
        for path in (folder, folder / "password"):
            shutil.chown(path, user())
    run(
        str(found / "initdb"),
        *("-D", str(folder / "data"), "-U", "miller", "-A", "scram-sha-256", "--no-sync"),
        f"--pwfile={folder / 'password'}",
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Server(folder, port)
    log, options = str(folder / "log"), f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    made.control("-l", log, "-o", f"{options} -c fsync=off", "start")
    try:
        yield made
    finally:
        made.control("-m", "immediate", "stop")


def user() -> str:
    known = Path("/etc/passwd").read_text()
    return next(name for name in USERS if f"\n{name}:" in f"\n{known}")


def run(*command: str) -> None:
    """Run a command as somebody whom PostgreSQL accepts."""
    words = ["runuser", "-u", user(), "--", *command] if os.geteuid() == 0 else list(command)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd="/", timeout=120)
