"""Run golden files on a Spark master and print what is wrong, then a script with files for results:
`python golden_on.py MASTER SCRIPT OUT FILE …`."""

import sys
import tempfile
from pathlib import Path

from millstream.cli.running import Options, load, receivers_for, run_script
from millstream.spark.host import SparkHost
from millstream.spark.session import make_session
from millstream.testing.bounded import as_bounded_script
from millstream.testing.golden_file import read_golden


def faults(spark, path: Path, settings: tuple[str, ...] = ("batch_rows=6",)) -> list[str]:
    """What a golden file's whole run on Spark gives that it should not."""
    with tempfile.TemporaryDirectory() as folder:
        bounded = as_bounded_script(read_golden(path), folder)
        database = load(bounded.script, settings, tell=lambda text: None)
        options = Options(bounded.script, out=Path(folder) / "out", changes=True)
        job = database.job(frozenset(database.queries))
        host = SparkHost(spark, job, lambda commit: receivers_for(job, options, commit))
        try:
            host.run()
        finally:
            host.close()
        return bounded.differences(Path(folder) / "out")


def main() -> None:
    master, script, out, *names = sys.argv[1:]
    spark = make_session(master)
    for name in names:
        for fault in faults(spark, Path(name), ("batch_rows=6", "placement=executors")):
            print(f"{name}: {fault}")
    settings = ("batch_rows=150", "buckets=4", "placement=executors")
    run_script(Options(Path(script), Path(out), changes=True, master=master, settings=settings))
    print(f"{len(names)} files run on {master}")
    spark.stop()


if __name__ == "__main__":
    main()
