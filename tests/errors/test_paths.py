"""Columns whose names are paths, written as if the path were of aliases."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.database import Database
from millstream.errors import MillstreamError


def test_a_path_without_quotes_is_shown_with_them(tmp_path: Path) -> None:
    (tmp_path / "o.jsonl").write_text('{"t": 1, "item": {"name": "lamp"}}\n')
    database = Database(base=str(tmp_path))
    database.execute("""CREATE STREAM o (t int, "item.Name" string) ORDER BY t SOURCE 'o.jsonl'""")
    with pytest.raises(MillstreamError) as caught:
        database.execute("SELECT item.name FROM o")
    assert 'hint: Write "item.Name": the column is called so' in str(caught.value)
    with pytest.raises(MillstreamError, match='Write one of "o"'):
        database.execute("SELECT item.price FROM o")
