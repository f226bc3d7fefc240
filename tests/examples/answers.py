"""Golden answers of an example: the CSV files that `millstream run --changes --out` would write.

`cd tests && python -m examples.answers FOLDER …` writes those of examples/FOLDER anew.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from docs.examples import ROOT, as_csv
from millstream.testing import run_script

EXAMPLES = ROOT / "examples"


def script_of(name: str) -> Path:
    return EXAMPLES / name / f"{name}.sql"


def answers_of(name: str) -> dict[str, str]:
    """The text of every kept answer, by the name of the result."""
    files = sorted((EXAMPLES / name / "answers").glob("*.csv"))
    return {path.name.removesuffix(".csv"): path.read_text(encoding="utf-8") for path in files}


def texts_of(results: Mapping[str, pa.Table]) -> dict[str, str]:
    """All results but late and bad rows, as text."""
    sides = (".late", ".errors")
    return {name: as_csv(table) for name, table in results.items() if not name.endswith(sides)}


def rewrite(name: str) -> None:
    script = script_of(name)
    folder = EXAMPLES / name / "answers"
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.csv"):
        path.unlink()
    for result, text in texts_of(run_script(script.read_text(), script.parent)).items():
        (folder / f"{result}.csv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        rewrite(folder)
