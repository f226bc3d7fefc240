"""Folders of every kind, and an S3 server in this process."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from millstream.files import ArrowFolder, Folder, open_folder

KINDS = ("local", "file", "arrow", "arrow local", "sub-tree", "s3")


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of an S3 server with a bucket "mill", which is gone after the tests."""
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask") is None:
        pytest.skip("needs moto[server], which is not installed")
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    before = {name: os.environ.get(name) for name in keys}
    os.environ.update(keys)
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    address = f"127.0.0.1:{server.get_host_and_port()[1]}"
    system = fs.S3FileSystem(
        endpoint_override=address, scheme="http", region="us-east-1", allow_bucket_creation=True
    )
    system.create_dir("mill")
    yield address
    server.stop()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


def s3_url(address: str, path: str) -> str:
    return f"s3://mill/{path}?endpoint_override={address}&scheme=http&region=us-east-1"


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """An empty folder of every kind."""
    match request.param:
        case "local":
            return open_folder(tmp_path / "folder")
        case "file":
            return open_folder(f"file://{tmp_path}/a%20folder")
        case "arrow":
            return open_folder(f"arrow+file://{tmp_path}/a%20folder")
        case "arrow local":
            return ArrowFolder.over(fs.LocalFileSystem(), f"{tmp_path}/folder")
        case "sub-tree":
            part = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
            return ArrowFolder.over(part, "folder")
    address = request.getfixturevalue("s3")
    return open_folder(s3_url(address, f"tests/{tmp_path.parent.name}/{tmp_path.name}"))
