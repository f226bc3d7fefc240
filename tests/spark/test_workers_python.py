"""A session whose workers would run another Python is refused before a job starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import millstream
from millstream.errors import MillstreamError
from millstream.spark.workers_python import explained

pytestmark = pytest.mark.spark
HERE = "{}.{}".format(*sys.version_info[:2])


def interpreter(folder: Path, says: str) -> str:
    """An executable that answers as another Python would."""
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return str(path)


def refusal(spark, monkeypatch: pytest.MonkeyPatch, command: str) -> str:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", command)
    with pytest.raises(MillstreamError) as caught:
        millstream.connect(spark=spark)
    assert caught.value.hint is not None
    assert f"PYSPARK_PYTHON={sys.executable}" in caught.value.hint
    assert "spark.pyspark.python" in caught.value.hint
    return caught.value.message


def test_another_version(spark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = interpreter(tmp_path, "echo 3.8")
    said = refusal(spark, monkeypatch, other)
    assert said == (
        f'the workers of the Spark session would run Python 3.8 ("{other}"), '
        f"and this is Python {HERE}"
    )


def test_another_environment(spark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same version without our packages: `-S` and `-I` leave all of them out."""
    other = interpreter(tmp_path, f'exec "{sys.executable}" -S -I "$@"')
    said = refusal(spark, monkeypatch, other)
    assert said.endswith(
        f'would run "{other}", which has no millstream and no pyarrow and no numpy and no numba'
    )


def test_no_such_interpreter(spark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = refusal(spark, monkeypatch, str(tmp_path / "python9"))
    assert said.endswith(f'cannot start: "{tmp_path / "python9"}" is not there')


def test_the_same_python_by_another_name(
    spark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    same = interpreter(tmp_path, f'exec "{sys.executable}" "$@"')
    monkeypatch.setattr(spark.sparkContext, "pythonExec", same)
    millstream.connect(spark=spark)
    (tmp_path / "silent").mkdir()
    silent = interpreter(tmp_path / "silent", "exit 3")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", silent)
    millstream.connect(spark=spark)


def test_a_cluster_that_failed_is_explained() -> None:
    told = explained(RuntimeError("[PYTHON_VERSION_MISMATCH] Python in worker has …"))
    assert isinstance(told, MillstreamError) and "another Python" in told.message
    told = explained(RuntimeError("ModuleNotFoundError: No module named 'millstream'"))
    assert isinstance(told, MillstreamError) and "no millstream" in told.message
    other = RuntimeError("disk full")
    assert explained(other) is other


SESSION = """
import millstream
from millstream.spark.java import find_java
from pyspark.sql import SparkSession

find_java()
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
try:
    millstream.connect(spark=session)
except millstream.MillstreamError as error:
    print(error.render())
"""


@pytest.mark.slow
def test_a_session_that_was_made_with_another_python(tmp_path: Path) -> None:
    """What is asked is what Spark would start: the setting of a session that somebody has made."""
    other = interpreter(tmp_path, "echo 3.8")
    done = subprocess.run(
        [sys.executable, "-c", SESSION],
        env={**os.environ, "PYSPARK_PYTHON": other, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert f'would run Python 3.8 ("{other}")' in done.stdout, done.stderr
    assert f"hint: Set PYSPARK_PYTHON={sys.executable}" in done.stdout
