"""A state file that is cut off anywhere is told to be damaged, whatever its last bytes are."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from millstream.engine.store import BucketStore, DamagedState
from millstream.files import LocalFolder


@pytest.mark.slow
def test_a_file_cut_off_anywhere_is_damaged(tmp_path: Path) -> None:
    bucket_store = BucketStore(LocalFolder(tmp_path / "bucket store"))
    table = pa.record_batch({"n": pa.array(np.arange(-40, 40)), "x": pa.array(np.full(80, -1))})
    bucket_store.write(0, {"operator": {"table": table}})
    path = tmp_path / "bucket store" / bucket_store.file(0)
    whole = path.read_bytes()
    bucket_store.check(0)
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(DamagedState):
            bucket_store.check(0)
