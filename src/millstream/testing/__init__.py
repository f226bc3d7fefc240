"""For tests of queries: run a script in this process, or a golden file, and look at the answers."""

from millstream.testing.run import run_script

__all__ = ["check_golden", "run_script"]


def __getattr__(name: str) -> object:
    """`check_golden` is found when it is asked for, so that the module can also be run."""
    if name == "check_golden":
        from millstream.testing.golden import check_golden

        return check_golden
    raise AttributeError(name)
