"""Several scripts as one, so that one run checks many."""

from dataclasses import fields, is_dataclass, replace

from .spec import Script

NAMING = ("name", "source", "qualifier", "last", "sync", "stream", "clock", "left", "right")


def combine(scripts: list[Script]) -> Script:
    """All streams, tables, derived streams and queries side by side, under names of their own."""
    renamed = [_renamed(script, f"c{i}_") for i, script in enumerate(scripts)]
    parts = {
        f.name: tuple(item for script in renamed for item in getattr(script, f.name))
        for f in fields(Script)
    }
    return Script(**parts)


def _renamed(script: Script, prefix: str) -> Script:
    names = {s.name for s in (*script.streams, *script.tables, *script.derived, *script.syncs)}

    def change(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(change(v) for v in value)
        if not is_dataclass(value):
            return value
        updates = {}
        for f in fields(value):
            inner = getattr(value, f.name)
            updates[f.name] = renamed(inner) if f.name in NAMING else change(inner)
        return replace(value, **updates)

    def renamed(value: object) -> object:
        if isinstance(value, str):
            return prefix + value if value in names else value
        return tuple(map(renamed, value)) if isinstance(value, tuple) else change(value)

    return change(script)
