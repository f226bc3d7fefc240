"""For tests of queries: run a script in this process and look at the answers."""

from millstream.testing.run import run_script

__all__ = ["run_script"]
