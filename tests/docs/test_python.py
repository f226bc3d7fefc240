"""The Python examples of the README and of the manual run."""

from __future__ import annotations

import re

import pytest

from docs.examples import ROOT, pages

CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALL = [(page, code) for page in pages() for code in CODE.findall(page.read_text())]


@pytest.mark.spark
@pytest.mark.parametrize("page, code", ALL, ids=[str(p.relative_to(ROOT)) for p, _ in ALL])
def test_python_example(page, code, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(page), "exec"), {"__name__": "__main__"})
