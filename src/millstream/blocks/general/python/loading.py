"""The code of classes: what is needed of their modules, and from that text the class again."""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType
from typing import Any

from millstream.blocks.foreign import PythonClass
from millstream.errors import MillstreamError

METHODS = ("initialize", "iterate", "terminate", "expire")

_GIVEN: dict[PythonClass, type] = {}
"""Classes that were handed over in this process. Law: the text gives the same class."""


def remember(code: PythonClass, given: type) -> None:
    """Use a class that is there, without carrying its text out again."""
    _GIVEN[code] = given


def class_of(code: PythonClass) -> type:
    """The class, in whichever process this is."""
    return _GIVEN.get(code) or _loaded(code)


@lru_cache(maxsize=256)
def _loaded(code: PythonClass) -> type:
    if not code.imported and code.text is None:
        raise MillstreamError(
            f'class "{code.name}" cannot be taken to another process: its source cannot be read',
            hint="Write it into a file.",
        )
    try:
        module = importlib.import_module(code.module) if code.imported else _carried_out(code)
    except Exception as error:
        raise MillstreamError(
            f'module "{code.module}" of class "{code.name}" cannot be loaded here: '
            f"{type(error).__name__}: {error}",
            hint="Install what it imports on every machine that takes part.",
        ) from None
    found: Any = module
    for name in code.name.split("."):
        found = found.__dict__["<locals>"] if name == "<locals>" else getattr(found, name)
    assert isinstance(found, type)
    return found


def _carried_out(code: PythonClass) -> ModuleType:
    """A module of its own with the text of a class."""
    assert code.text is not None
    name = f"millstream_python_{code.digest}"
    module = ModuleType(name)
    path = module.__file__ = f"<{code.module.replace('.', '/')}.py>"
    linecache.cache[path] = (len(code.text), None, code.text.splitlines(keepends=True), path)
    sys.modules[name] = module  # where dataclasses look for it
    with _reaching(code.folder):
        exec(compile(code.text, path, "exec"), module.__dict__)
    if "<locals>" in code.name:
        module.__dict__[code.name.split(".")[0]] = _Inside(module)
    return module


class _Inside:
    """A function whose classes lie in the module itself."""

    def __init__(self, module: ModuleType) -> None:
        self.__dict__["<locals>"] = module


@contextmanager
def _reaching(folder: str | None) -> Iterator[None]:
    """Let modules beside the script be imported."""
    if folder is None or folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def text_of_class(given: type) -> str | None:
    """The lines of its module that a class needs, at their places; None if they cannot be read."""
    if (found := lines_of(given)) is None:
        return None
    lines, first = found
    try:
        module = inspect.getsource(sys.modules[given.__module__])
    except (OSError, TypeError, KeyError):
        module = "\n" * (first - 1) + "".join(_dedented(lines))
    end = first + len(lines) - 1
    return needed(module, first, end)


def lines_of(given: type) -> tuple[list[str], int] | None:
    """The lines of a class and the number of the first; None if they are not sure to be its own."""
    try:
        lines, first = inspect.getsourcelines(given)
        path = inspect.getsourcefile(given)
    except (OSError, TypeError):
        return None
    methods = [v for n, v in vars(given).items() if n in METHODS and inspect.isfunction(v)]
    codes = [method.__code__ for method in methods]
    inside = [c for c in codes if c.co_filename == path and first <= c.co_firstlineno]
    return (lines, first) if codes and inside == codes else None


def needed(module: str, first: int, end: int) -> str:
    """Of a module, the lines of a class and of what it names; the others are empty.

    >>> print(needed("import math\\nimport os\\nclass A:\\n    x = math.pi\\n", 3, 4))
    import math
    <BLANKLINE>
    class A:
        x = math.pi
    """
    lines = module.splitlines()
    body = _unregistered(_dedented(lines[first - 1 : end]))
    own = ast.parse("\n".join(body))
    waiting, kept = _names(own), set(range(first, end + 1))
    statements = [s for s in ast.parse(module).body if not s.lineno <= first <= _end(s)]
    known: dict[str, list[ast.stmt]] = {}
    for statement in statements:
        for name in _bound(statement):
            known.setdefault(name, []).append(statement)
    waiting |= {name for name in known if name in ("*", "annotations")}
    done: set[str] = set()
    while waiting:
        name = waiting.pop()
        done.add(name)
        for statement in known.get(name, ()):
            kept |= set(range(_start(statement), _end(statement) + 1))
            waiting |= _names(statement) - done
    lines[first - 1 : end] = body
    return "\n".join(line if at in kept else "" for at, line in enumerate(lines[: max(kept)], 1))


def _unregistered(lines: list[str]) -> list[str]:
    """The lines of a class without decorators that hand it over: `@db.aggregate`."""
    node, found = ast.parse("\n".join(lines)).body[0], list(lines)
    for one in getattr(node, "decorator_list", ()):
        called = one.func if isinstance(one, ast.Call) else one
        if isinstance(called, ast.Attribute) and called.attr == "aggregate":
            for at in range(one.lineno - 1, one.end_lineno or one.lineno):
                found[at] = ""
    return found


def _dedented(lines: list[str]) -> list[str]:
    """Without the spaces that the first line begins with."""
    width = len(lines[0]) - len(lines[0].lstrip())
    return [line[width:] if line[:width].isspace() or not width else line for line in lines]


def _start(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def _end(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _bound(statement: ast.stmt) -> set[str]:
    """The names to which a statement of a module gives a meaning."""
    found: set[str] = set()
    for node in ast.walk(statement):
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {(n.asname or n.name).partition(".")[0] for n in names}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found
