"""A class in Python as a routine: what its annotations and its methods declare."""

from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Any

import pyarrow as pa

from millstream.algebra.types import type_name
from millstream.blocks.foreign import MANY, NONE, ONE, SELF, Foreign, Form, PythonClass, State
from millstream.blocks.general.python.kinds import ANNOTATIONS, kind_of
from millstream.blocks.general.python.loading import METHODS
from millstream.blocks.general.python.tables import Table
from millstream.blocks.queries import Columns
from millstream.blocks.routine import LocalTable, Routine
from millstream.errors import MillstreamError, closest

KNOWN = "float, int, str, bool, datetime, date and timedelta"
WINDOW_NAMES = ("inwindow", "oldest")


@dataclass(frozen=True)
class Head:
    """What is declared of an aggregate besides its class; None where the annotations say it."""

    name: str
    arguments: Columns | None = None
    returns: Columns | None = None
    is_window: bool = False
    is_algebraic: bool = False
    text: str = ""


def routines_of(given: type, code: PythonClass, head: Head) -> tuple[Routine, ...]:
    """The versions that a class stands for: a base one, a window one, or both.

    With `expire` there is a window version, which answers by `terminate`, if there is one, after
    every tuple. What looks at `inwindow` has no base version.
    """
    reader = _Reader(given, code, head)
    code = replace(code, states=tuple(reader.states()), sees_window=reader.sees_window)
    arguments = head.arguments if head.arguments is not None else reader.arguments()
    returns = head.returns if head.returns is not None else reader.returns()
    for what, columns in (("argument", arguments), ("column", returns)):
        for name, kind in columns:
            if kind_of(kind) is None:
                raise MillstreamError(
                    f'{what} "{name}" of aggregate "{head.name}" is {type_name(kind)}, '
                    "which Python is not given",
                    hint=f"Write one of {KNOWN}.",
                )
    blocks = reader.blocks(code, len(arguments))
    values = [(s.name, s.columns[0][1]) for s in code.states if s.form is Form.VALUE]
    tables = [LocalTable(SELF, tuple(values))]
    tables += [LocalTable(s.name, s.columns) for s in code.states if s.form is not Form.VALUE]
    whole = Routine(
        head.name, arguments, returns, tuple(tables), is_algebraic=head.is_algebraic, text=head.text
    )
    begin = blocks.get("initialize", blocks["iterate"])
    made = []
    if not head.is_window and not reader.sees_window:
        base = replace(whole, initialize=begin, iterate=blocks["iterate"])
        made.append(replace(base, terminate=blocks.get("terminate")))
    if head.is_window or reader.sees_window or "expire" in blocks:
        answer = blocks.get("terminate", ())
        made.append(
            replace(
                whole,
                initialize=begin + answer,
                iterate=blocks["iterate"] + answer,
                expire=blocks.get("expire"),
                is_window=True,
                inwindow=arguments,
            )
        )
    return tuple(made)


class _Reader:
    """Reads the declarations of a class."""

    def __init__(self, given: type, code: PythonClass, head: Head) -> None:
        self.given, self.name, self.head = given, code.name, head
        name = code.name
        self.methods = {
            label: found
            for label in METHODS
            if callable(found := inspect.getattr_static(given, label, None))
        }
        if "iterate" not in self.methods:
            own = [n for n, v in vars(given).items() if callable(v)]
            near = closest("iterate", own)
            raise MillstreamError(
                f'class "{name}" has no method "iterate"',
                hint=f'Did you mean "{near}"?'
                if near
                else "Write def iterate(self, x): it is called for every tuple.",
            )
        if "__slots__" in vars(given) or (
            given.__init__ is not object.__init__ and not hasattr(given, "__dataclass_fields__")  # type: ignore[misc]
        ):
            word = "__slots__" if "__slots__" in vars(given) else "__init__"
            raise MillstreamError(
                f'class "{name}" has {word}, and its instances are made without it',
                hint="Give attributes their first values in the class, or in initialize.",
            )
        self.tree = _tree_of(code)
        self._check_attributes()

    @property
    def sees_window(self) -> bool:
        """Whether a method looks at the window; where that cannot be read, it may."""
        if self.tree is None:
            return "expire" in self.methods
        return any(name in WINDOW_NAMES for name, _ in _own_attributes(self.tree))

    def _check_attributes(self) -> None:
        """Every attribute that a method sets is declared, so that it is kept."""
        known = self._hints(self.given, "class")
        for name, is_set in _own_attributes(self.tree) if self.tree is not None else ():
            if is_set and name not in known:
                raise MillstreamError(
                    f'attribute "{name}" of class "{self.name}" is not declared',
                    hint=f"Write its type in the class, for example {name}: float.",
                )

    def _hints(self, of: Any, what: str) -> dict[str, Any]:
        try:
            return typing.get_type_hints(of)
        except Exception as error:
            raise MillstreamError(
                f'the annotations of {what} "{getattr(of, "__name__", self.name)}" cannot be read: '
                f"{error}",
                hint=f"Write types such as {KNOWN}.",
            ) from None

    def states(self) -> Iterator[State]:
        for name, hint in self._hints(self.given, "class").items():
            if typing.get_origin(hint) is typing.ClassVar:
                continue
            if name == SELF or name in WINDOW_NAMES:
                raise MillstreamError(
                    f'attribute "{name}" of class "{self.name}" has a meaning already',
                    hint="Give it another name.",
                )
            yield self._state(name, hint)

    def _state(self, name: str, hint: Any) -> State:
        plain, of = _without_none(hint), typing.get_args(_without_none(hint))
        origin = typing.get_origin(plain)
        if (kind := ANNOTATIONS.get(plain)) is not None:
            return State(name, Form.VALUE, ((name, kind),))
        if plain is Table and isinstance(declared := getattr(self.given, name, None), Table):
            return State(name, Form.TABLE, self._columns(name, declared.columns))
        if origin is list and (columns := _element("value", of[0])) is not None:
            return State(name, Form.LIST, columns)
        if origin is dict:
            keys, values = _element("key", of[0]), _element("value", of[1])
            if keys is not None and values is not None:
                return State(name, Form.DICT, (*keys, *values), len(keys))
        raise self._not_kept(name, hint)

    def _columns(self, name: str, declared: Mapping[str, Any]) -> Columns:
        found = [(name, ANNOTATIONS.get(_without_none(hint))) for name, hint in declared.items()]
        wrong = [column for column, kind in found if kind is None]
        if wrong or not found:
            raise self._not_kept(f"{name}.{wrong[0]}" if wrong else name, Table)
        return tuple((column, kind) for column, kind in found if kind is not None)

    def _not_kept(self, name: str, hint: Any) -> MillstreamError:
        written = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else hint
        return MillstreamError(
            f'attribute "{name}" of class "{self.name}" is {str(written).replace("typing.", "")}, '
            "which cannot be kept",
            hint=f"Values are {KNOWN}; list[…] and dict[…, …] hold them or tuples of them, and "
            "Table(column=type, …) rows.",
        )

    def arguments(self) -> Columns:
        method = self.methods["iterate"]
        hints = self._hints(method, "method")
        found = []
        for parameter in _parameters(method):
            kind = ANNOTATIONS.get(_without_none(hints.get(parameter)))
            if kind is None:
                raise MillstreamError(
                    f'argument "{parameter}" of iterate of class "{self.name}" has no type that '
                    "is known",
                    hint=f"Write {parameter}: float, or give "
                    f"arguments={{'{parameter}': 'double'}}.",
                )
            found.append((parameter, kind))
        return tuple(found)

    def returns(self) -> Columns:
        for label in ("terminate", "iterate", "initialize"):
            if label not in self.methods:
                continue
            hint = self._hints(self.methods[label], "method").get("return", NoneType)
            if hint is NoneType:
                continue
            columns = _returned(hint, self.head.name)
            if columns is None:
                break
            return columns
        raise MillstreamError(
            f'what class "{self.name}" returns has no type that is known',
            hint="Write def terminate(self) -> float, or give returns='double'.",
        )

    def blocks(self, code: PythonClass, count: int) -> dict[str, tuple[Foreign, ...]]:
        found: dict[str, tuple[Foreign, ...]] = {}
        for label, method in self.methods.items():
            takes = self._takes(label, method, count)
            found[label] = (Foreign(code, label, takes, self._gives(label)),)
        return found

    def _takes(self, label: str, method: Any, count: int) -> bool:
        """Whether a method takes the arguments: iterate does, the others may."""
        parameters = inspect.signature(method).parameters.values()
        own = list(parameters)[1:]
        may = [p for p in own if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        must = [p for p in may if p.default is p.empty]
        every = any(p.kind is p.VAR_POSITIONAL for p in own)
        if len(must) <= count and (every or count <= len(may)) and (may or every or not count):
            return True
        if label != "iterate" and not must:
            return False
        takes = f"{len(may)} argument{'' if len(may) == 1 else 's'}"
        raise MillstreamError(
            f'{label} of class "{self.name}" takes {takes}, and aggregate "{self.head.name}" has '
            f"{count}",
            hint="Methods take self, and then every argument of the aggregate.",
        )

    def _gives(self, label: str) -> int:
        """How many rows a method gives at most, as it is written or annotated."""
        hint = self._hints(self.methods[label], "method").get("return", Any)
        if hint is NoneType:
            return NONE
        if typing.get_origin(_without_none(hint)) is list or hint is Any:
            return NONE if hint is Any and self._returns_nothing(label) else MANY
        return ONE

    def _returns_nothing(self, label: str) -> bool:
        methods = _methods(self.tree) if self.tree is not None else {}
        if label not in methods:
            return False
        nodes = list(ast.walk(methods[label]))
        if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
            return False
        return not any(isinstance(node, ast.Return) and node.value is not None for node in nodes)


def _without_none(hint: Any) -> Any:
    """`X` for `X | None`."""
    if typing.get_origin(hint) in (UnionType, typing.Union):
        others = [one for one in typing.get_args(hint) if one is not NoneType]
        return others[0] if len(others) == 1 else hint
    return hint


def _element(name: str, hint: Any) -> Columns | None:
    """The columns of what a list or a dict holds."""
    hint = _without_none(hint)
    if hint in ANNOTATIONS:
        return ((name, ANNOTATIONS[hint]),)
    if typing.get_origin(hint) is not tuple:
        return None
    kinds = [ANNOTATIONS.get(_without_none(one)) for one in typing.get_args(hint)]
    known = [kind for kind in kinds if kind is not None]
    if len(known) != len(kinds) or len(known) < 2:
        return None
    return tuple((f"{name}{i}", kind) for i, kind in enumerate(known, 1))


def _returned(hint: Any, name: str) -> Columns | None:
    """The columns of a row: those of a named tuple, or numbered ones of a tuple."""
    hint = _without_none(hint)
    if typing.get_origin(hint) is list:
        hint = _without_none(typing.get_args(hint)[0])
    if hint in ANNOTATIONS:
        return ((name, ANNOTATIONS[hint]),)
    named = getattr(hint, "_fields", None)
    hints = typing.get_type_hints(hint) if named else {}
    if typing.get_origin(hint) is tuple:
        hints = {f"column{i}": one for i, one in enumerate(typing.get_args(hint), 1)}
    kinds: list[tuple[str, pa.DataType | None]] = [
        (column, ANNOTATIONS.get(_without_none(one))) for column, one in hints.items()
    ]
    found = tuple((column, kind) for column, kind in kinds if kind is not None)
    return found if found and len(found) == len(kinds) else None


def _parameters(method: Any) -> list[str]:
    return list(inspect.signature(method).parameters)[1:]


def _tree_of(code: PythonClass) -> ast.ClassDef | None:
    """The class in its text; None where that is not known."""
    name = code.name.rpartition(".")[2]
    nodes = ast.walk(ast.parse(code.text or ""))
    found = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name]
    return found[0] if len(found) == 1 else None


def _methods(tree: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _own_attributes(tree: ast.ClassDef) -> Iterator[tuple[str, bool]]:
    """Attributes of `self` in methods, and whether they are set there."""
    for method in _methods(tree).values():
        arguments = [*method.args.posonlyargs, *method.args.args]
        own = arguments[0].arg if arguments else ""
        for node in ast.walk(method):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name == own:
                    yield attribute, isinstance(node.ctx, ast.Store)
