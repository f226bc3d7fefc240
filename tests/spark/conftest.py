"""One Spark session for all tests that need one."""

import pytest


@pytest.fixture(scope="session")
def spark():
    from millstream.spark.session import make_session

    session = make_session("local[2]")
    yield session
    session.stop()
