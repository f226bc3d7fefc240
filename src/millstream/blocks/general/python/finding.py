"""From `module:Class` to the class: in a folder, or among what is installed."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

from millstream.blocks.foreign import PythonClass
from millstream.blocks.general.python.loading import class_of, needed, text_of_class
from millstream.errors import MillstreamError, closest


def class_named(named: str, folder: str) -> tuple[type, PythonClass]:
    """A class by its module and name; modules in the folder come first."""
    module, colon, name = named.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise MillstreamError(
            f'"{named}" does not name a class',
            hint="Write LANGUAGE python AS 'module:Class'.",
        )
    path = Path(folder, *module.split(".")).with_suffix(".py")
    if path.is_file():
        return _beside(module, name, path, str(Path(folder).absolute()))
    return _installed(module, name, folder)


def _beside(module: str, name: str, path: Path, folder: str) -> tuple[type, PythonClass]:
    try:
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
    except SyntaxError as error:
        raise MillstreamError(
            f'module "{module}" cannot be read: {error.msg}, line {error.lineno}',
            hint=f"Correct {path.name}.",
        ) from None
    except (OSError, ValueError) as error:
        raise MillstreamError(f'module "{module}" cannot be read: {error}') from None
    body: list[ast.stmt] = tree.body
    for part in name.split("."):
        classes = {s.name: s for s in body if isinstance(s, ast.ClassDef)}
        if part not in classes:
            known = [s.name for s in tree.body if isinstance(s, ast.ClassDef)]
            raise _no_class(module, name, known)
        body = classes[part].body
    first_name = name.partition(".")[0]
    node = next(s for s in tree.body if isinstance(s, ast.ClassDef) and s.name == first_name)
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    text = needed(source, first, node.end_lineno or first)
    code = PythonClass(module, name, text, folder=folder)
    return class_of(code), code


def _installed(module: str, name: str, folder: str) -> tuple[type, PythonClass]:
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{module}.".startswith(f"{error.name}."):
            raise _broken(module, error) from None
        raise MillstreamError(
            f'module "{module}" does not exist beside the script, nor is it installed',
            hint=f"Put {module.replace('.', '/')}.py into the folder of the script, {folder}, "
            "or install it.",
        ) from None
    except Exception as error:
        raise _broken(module, error) from None
    given: object = found
    for part in name.split("."):
        given = getattr(given, part, None)
    if not isinstance(given, type):
        raise _no_class(module, name, [n for n, v in vars(found).items() if isinstance(v, type)])
    return given, PythonClass(module, name, text_of_class(given), imported=True)


def _broken(module: str, error: Exception) -> MillstreamError:
    return MillstreamError(
        f'module "{module}" cannot be loaded: {type(error).__name__}: {error}',
        hint="Correct it, or install what it imports.",
    )


def _no_class(module: str, name: str, known: list[str]) -> MillstreamError:
    near = closest(name, known)
    listed = f"It has {', '.join(known)}." if known else "It has no class at all."
    return MillstreamError(
        f'class "{name}" does not exist in module "{module}"',
        hint=f'Did you mean "{near}"?' if near else listed,
    )
