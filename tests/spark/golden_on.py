"""Run golden files on a Spark master, print what is wrong: `python golden_on.py MASTER FILE …`."""

import sys
import tempfile
from pathlib import Path

from millstream.cli.running import Options, load, receivers_for
from millstream.spark.host import SparkHost
from millstream.spark.session import make_session
from millstream.testing.bounded import as_bounded_script
from millstream.testing.golden_file import read_golden


def faults(spark, path: Path, settings: tuple[str, ...] = ("batch_rows=6",)) -> list[str]:
    """What a golden file's whole run on Spark gives that it should not."""
    with tempfile.TemporaryDirectory() as folder:
        bounded = as_bounded_script(read_golden(path), folder)
        session = load(bounded.script, settings, tell=lambda text: None)
        options = Options(bounded.script, out=Path(folder) / "out", changes=True)
        job = session.job(frozenset(session.queries))
        host = SparkHost(spark, job, lambda commit: receivers_for(job, options, commit))
        try:
            host.run()
        finally:
            host.close()
        return bounded.differences(Path(folder) / "out")


def main() -> None:
    spark = make_session(sys.argv[1])
    for name in sys.argv[2:]:
        for fault in faults(spark, Path(name)):
            print(f"{name}: {fault}")
    print(f"{len(sys.argv) - 2} files run on {sys.argv[1]}")
    spark.stop()


if __name__ == "__main__":
    main()
