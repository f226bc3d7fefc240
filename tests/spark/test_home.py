"""Spark's folder of links: no archives of sources in it, and left alone where Spark was set up."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.find_spark_home import _find_spark_home

from millstream.spark.home import lean_home


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path))
    for name in ("SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "java"


def test_links_lead_to_spark_and_to_no_archive_of_sources(folder: Path) -> None:
    home = Path(lean_home() or "")
    assert home.parent == folder and str(home) == lean_home()
    spark = Path(_find_spark_home())
    assert (home / "jars").samefile(spark / "jars") and (home / "bin" / "spark-submit").exists()
    assert not (home / "python").exists()


def test_a_link_that_leads_elsewhere_is_not_followed(folder: Path, tmp_path: Path) -> None:
    jars = Path(lean_home() or "") / "jars"
    jars.unlink()
    jars.symlink_to(tmp_path)
    assert lean_home() is None


@pytest.mark.parametrize("name", ["SPARK_HOME", "SPARK_CONF_DIR"])
def test_a_spark_that_was_set_up_is_used_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "/opt/spark")
    assert lean_home() is None
