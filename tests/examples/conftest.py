"""The Spark session of the tests on Spark."""

from spark.conftest import spark

__all__ = ["spark"]
