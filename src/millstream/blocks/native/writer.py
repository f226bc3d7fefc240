"""Source text that is written line by line, with names of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from millstream.blocks.native.kinds import Value

_ATOM = re.compile(r"-?[\w.]+")


class Writer:
    """Lines with indentation. `loops` is how many loops are open where the next line stands."""

    def __init__(self, depth: int = 0) -> None:
        self.lines: list[str] = []
        self.depth = depth
        self.loops = 0
        self._names: Counter[str] = Counter()

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def insert(self, at: int, depth: int, text: str) -> None:
        """Put in a line before those that were written since."""
        self.lines.insert(at, "    " * depth + text)

    def name(self, prefix: str = "k") -> str:
        """A name that was not used before."""
        self._names[prefix] += 1
        return f"{prefix}{self._names[prefix] - 1}"

    def named(self, code: str) -> str:
        """A name or literal for what the code gives, so that it can be used more than once."""
        if _ATOM.fullmatch(code):
            return code
        name = self.name()
        self.line(f"{name} = {code}")
        return name

    def fixed(self, value: Value) -> Value:
        """The same value, held by names."""
        valid = None if value.valid is None else self.named(value.valid)
        return Value(self.named(value.code), valid)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Lines under `if`, `for` and the like."""
        self.line(header + ":")
        begin = len(self.lines)
        loop = header.startswith(("for ", "while "))
        self.depth += 1
        self.loops += loop
        yield
        if all(line.lstrip().startswith("#") for line in self.lines[begin:]):
            self.line("pass")
        self.depth -= 1
        self.loops -= loop

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Lines under a condition, which may be known to hold."""
        if condition == "True":
            yield
        else:
            with self.block(f"if {condition}"):
                yield

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
