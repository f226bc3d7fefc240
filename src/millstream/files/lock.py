"""One user of a folder at a time: a lock that ends with the process that holds it."""

from __future__ import annotations

import datetime as dt
import fcntl
import json
import os
import socket
import uuid
from dataclasses import dataclass, field
from typing import IO, Protocol

from millstream.errors import MillstreamError
from millstream.files.folder import Folder, MissingFile, cannot
from millstream.files.local import LocalFolder

NAME = "lock"


class Lock(Protocol):
    """Held by one process; while it is, nobody else gets it, or else `check` finds out."""

    def check(self) -> None:
        """Raise if somebody else has the folder by now."""

    def release(self) -> None: ...


@dataclass(frozen=True)
class Holder:
    """Who holds a lock, as the file says it."""

    pid: int
    machine: str
    since: str
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @staticmethod
    def this() -> Holder:
        now = dt.datetime.now(dt.UTC).isoformat(sep=" ", timespec="seconds")
        return Holder(os.getpid(), socket.gethostname(), now)

    def to_bytes(self) -> bytes:
        return json.dumps(vars(self)).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Holder | None:
        try:
            return Holder(**json.loads(data))
        except (ValueError, TypeError):
            return None

    def __str__(self) -> str:
        return f"process {self.pid} on {self.machine}, since {self.since}"


def lock(folder: Folder) -> Lock:
    """The lock of a folder, which is made if it does not exist."""
    return LocalLock.of(folder) if isinstance(folder, LocalFolder) else Claim.of(folder)


class LocalLock:
    """The lock of a folder on this machine.

    Law: the system takes it from a process that ends, however it ends; nothing has to be cleaned
    up. The file stays, and says who had the lock last.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    @staticmethod
    def of(folder: LocalFolder) -> Lock:
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
            file = open(folder.path / NAME, "a+b")  # noqa: SIM115
        except OSError as problem:
            raise cannot("written", folder, NAME, problem) from problem
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = Holder.from_bytes(file.read())
            file.close()
            raise MillstreamError(
                f'checkpoint "{folder.shown}" is in use by {holder or "another process"}',
                hint="Wait until that run has ended, stop it, or name another checkpoint.",
            ) from None
        except OSError:  # some mounted file systems have no locks
            file.close()
            return Claim.of(folder)
        try:
            file.truncate(0)
            file.write(Holder.this().to_bytes())
            file.flush()
        except OSError as problem:
            raise cannot("written", folder, NAME, problem) from problem
        return LocalLock(file)

    def check(self) -> None: ...

    def release(self) -> None:
        self._file.close()


@dataclass(frozen=True)
class Claim:
    """The lock of a folder in a store, where nothing ends with a process.

    Law: the last process to claim the folder has it. One that had it before finds out before it
    puts the next commit there, and ends. So a process that died is in nobody's way.
    """

    folder: Folder
    holder: Holder

    @staticmethod
    def of(folder: Folder) -> Claim:
        claim = Claim(folder, Holder.this())
        folder.put(NAME, [claim.holder.to_bytes()])
        return claim

    def check(self) -> None:
        try:
            now = Holder.from_bytes(self.folder.get(NAME).to_pybytes())
        except MissingFile:
            now = None
        if now is not None and now.token != self.holder.token:
            raise MillstreamError(
                f'checkpoint "{self.folder.shown}" was taken over by {now}',
                hint="Let one run at a time use a checkpoint, or name another.",
            )

    def release(self) -> None: ...
