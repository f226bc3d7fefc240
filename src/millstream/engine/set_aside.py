"""Results of queries that start fresh: files are renamed, and never written over."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from itertools import chain, count
from pathlib import Path

from millstream.connect.parquet_sink import ParquetSink
from millstream.engine.spool import Spool
from millstream.files import Folder, LocalFolder, writing


def results_of(query: str) -> tuple[str, str]:
    """The names under which a query may have results."""
    return query, f"{query}.changes"


def set_files_aside(folder: Path, query: str, format: str, sizes: Mapping[str, int]) -> list[Path]:
    """Rename the result files of a query, `busy.csv` to `busy.1.csv` or the next number that is
    free, and cut them to the sizes they had when the last batch was finished."""
    number = _free(lambda n: any(_kept(folder, r, n, format).exists() for r in results_of(query)))
    found = []
    for result in results_of(query):
        kept = _kept(folder, result, number, format)
        size, path = sizes.get(result), folder / f"{result}.{format}"
        spool = folder / f".{result}.spool"
        if format == "parquet" and size and spool.exists():
            with closing(Spool(spool, size)) as left:
                batches = left.batches()
                first = next(batches)
                ParquetSink.write(str(kept), first.schema, chain([first], batches))
            path.unlink(missing_ok=True)
        elif path.exists():
            with writing(kept):
                os.rename(path, kept)
                if format != "parquet" and size is not None and kept.stat().st_size > size:
                    os.truncate(kept, size)
        if kept.exists():
            found.append(kept)
    return found


def set_log_aside(logged: Folder, beside: Callable[[int], Folder], upto: str) -> None:
    """Move the files of a log up to a name to the first of the folders beside it that is empty."""
    names = logged.list()
    for name in (name for name in names if name > upto):
        logged.remove(name)
    if not any(name <= upto for name in names):
        return
    target = beside(_free(lambda n: bool(beside(n).list())))
    if isinstance(logged, LocalFolder) and isinstance(target, LocalFolder):
        target.remove_all()
        os.rename(logged.path, target.path)
        return
    for name in logged.list():
        target.put(name, [logged.get(name)])
    logged.remove_all()


def _kept(folder: Path, result: str, number: int, format: str) -> Path:
    return folder / f"{result}.{number}.{format}"


def _free(is_taken: Callable[[int], bool]) -> int:
    return next(number for number in count(1) if not is_taken(number))
