"""Sources opened on small files."""

import os

import pytest

from millstream.connect import open_source


@pytest.fixture
def opened(tmp_path):
    """Write a file and open it as a stream's source."""

    def make(name, content, schema, follow=False, **options):
        path = tmp_path / name
        if content is not None:
            os.makedirs(path.parent, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return open_source(name, "s", schema, options, str(tmp_path), follow)

    return make
