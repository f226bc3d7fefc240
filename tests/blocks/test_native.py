"""Native programs: no text of an author in them, and kept on disk."""

import datetime as dt
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from blocks import built
from blocks.feeding import Tuple, returned
from millstream.algebra.types import INTEGER, STRING, TIMESTAMP
from millstream.blocks.choose import FEW, Patient, machine_for
from millstream.blocks.general import GeneralMachine
from millstream.blocks.leaves import Argument, SqlCode
from millstream.blocks.machine import Ending, Frame
from millstream.blocks.native import NativeMachine, keeping, source_of, why_not
from millstream.blocks.queries import Values
from millstream.blocks.routine import Insert, LocalTable, Routine, Update
from millstream.files import private_folder

HOSTILE = [
    "x; import os",
    '"""',
    "'); exit(1)  #",
    "a\nimport os\n",
    "__import__('os').system('true')",
    "{e}",
    "%s\\",
]


def routine_of(table: str, column: str, argument: str, text: str) -> Routine:
    """Keeps the last two texts, and tells whether the new one is a certain text."""
    columns = ((column, STRING),)
    new = Argument(argument, STRING)
    held = built.source(1, table, columns)
    same = built.op("=", built.col(held, column), built.lit(text))
    body = (
        Insert(table, Values(columns, ((new,), (built.lit(text),)))),
        built.give(built.select(held, built.col(held, column), where=same)),
    )
    return Routine(
        argument,
        ((argument, STRING),),
        ((column, STRING),),
        (LocalTable(table, columns),),
        initialize=body,
        iterate=body,
    )


@pytest.mark.parametrize("hostile", HOSTILE)
def test_source_has_no_text_of_the_author(hostile):
    harmless = source_of(routine_of("t", "c", "a", "word"), Ending.NEVER, None)
    routine = routine_of(hostile, hostile + "c", hostile + "a", hostile)
    assert source_of(routine, Ending.NEVER, None) == harmless
    tuples = [Tuple(0, at, (text,)) for at, text in enumerate([hostile, "b", hostile])]
    assert returned(NativeMachine(routine), tuples) == returned(GeneralMachine(routine), tuples)


def test_the_statement_that_has_no_native_form_is_named():
    kept = built.source(0, "kept", (("word", STRING),))
    spelt = built.op("upper", built.col(kept, "word"))
    routine = Routine(
        "spelt",
        (("next", STRING),),
        (("v", STRING),),
        (LocalTable("kept", (("word", STRING),)),),
        initialize=(built.give(built.select(kept, spelt)),),
    )
    reason = why_not(routine, Ending.NEVER, None)
    assert reason is not None
    assert reason.why == "the function upper has no native form"
    assert reason.statement == str(routine.initialize[0])
    assert isinstance(machine_for(routine, Ending.NEVER, Frame()), GeneralMachine)


def shouting() -> Routine:
    """Returns what a text is in capitals, and how often it came in a window, however spelt."""
    word = built.op("upper", Argument("next", STRING))
    columns = (("word", STRING), ("n", INTEGER))
    kept = built.source(0, "kept", columns)
    same = built.op("=", built.col(kept, "word"), word)

    def counted(name, by):
        return Update(
            "kept", 0, (("n", built.op(name, built.col(kept, "n"), built.lit(by))),), same
        )

    new = Values(columns, ((word, built.lit(1)),), built.op(">", SqlCode(), built.lit(0)))
    returns = (("word", STRING), ("n", INTEGER))
    found = built.select(kept, word, built.col(kept, "n"), where=same)
    body = (counted("+", 1), Insert("kept", new), built.give(found))
    return Routine(
        "shouting",
        (("next", STRING),),
        returns,
        (LocalTable("kept", columns),),
        initialize=body,
        iterate=body,
        expire=(counted("-", 1),),
        is_window=True,
        inwindow=(("other", STRING),),
    )


def test_functions_of_arguments_are_columns_of_a_native_program():
    routine = shouting()
    frame = Frame(rows=3)
    assert why_not(routine, Ending.NEVER, frame) is None
    texts = ["a", "A", None, "b", "B", "ä", "Ä", "a"]
    tuples = [Tuple(at % 2, at, (text,)) for at, text in enumerate(texts * 2)]
    expected = returned(GeneralMachine(routine, frame=frame), tuples, (5, 3))
    assert returned(NativeMachine(routine, frame=frame), tuples, (5, 3)) == expected
    assert returned(InTurn(routine, frame), tuples, (5, 3)) == expected


def test_a_time_counts_as_its_seconds():
    rest = built.op("%", Argument("at", TIMESTAMP), Argument("n", INTEGER))
    body = (built.give(built.values(replace(rest, type=INTEGER))),)
    arguments = (("at", TIMESTAMP), ("n", INTEGER))
    routine = Routine("rest", arguments, (("v", INTEGER),), initialize=body, iterate=body)
    micros = [-1, 0, 1, 59_999_999, 61_500_000, -3_600_000_001]
    times = [dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=at) for at in micros]
    tuples = [Tuple(0, at, (time, n)) for at, time in enumerate(times) for n in (7, 0, -1)]
    found = [row[2] for row in returned(NativeMachine(routine), tuples)]
    assert found == [row[2] for row in returned(GeneralMachine(routine), tuples)]
    assert found[::3] == [(-1,), (0,), (0,), (3,), (5,), (-3_601 % -7,)]


@pytest.mark.parametrize("n", [1, 7, 8, 2**62])
def test_remainders_have_the_sign_of_what_is_divided(n):
    body = (built.give(built.values(built.op("%", Argument("x", INTEGER), built.lit(n)))),)
    routine = Routine("rest", (("x", INTEGER),), (("v", INTEGER),), initialize=body, iterate=body)
    given = [-(2**63), -(2**63) + 1, -9, -8, -1, None, 0, 1, 7, 8, 2**63 - 1]
    tuples = [Tuple(0, at, (x,)) for at, x in enumerate(given)]
    found = [row[2] for row in returned(NativeMachine(routine), tuples)]
    rests = [None if x is None else abs(x) % n * (-1 if x < 0 else 1) for x in given]
    assert found == [(rest,) for rest in rests]


def test_native_is_chosen_where_it_can_be():
    assert isinstance(machine_for(built.DECAY, Ending.NEVER, Frame()), Patient)
    assert isinstance(machine_for(built.DECAY, Ending.NEVER, Frame(), False), GeneralMachine)


class InTurn:
    """Two machines of a routine: one takes a step, the other the next."""

    def __init__(self, routine, frame):
        self.machines = [NativeMachine(routine, frame=frame), GeneralMachine(routine, frame=frame)]
        first, second = self.machines
        assert first.slots == second.slots and first.tables == second.tables
        assert first.takes_leavers == second.takes_leavers

    def __getattr__(self, name):
        return getattr(self.machines[0], name)

    def run(self, *step):
        self.machines.reverse()
        return self.machines[0].run(*step)


@pytest.mark.parametrize("routine", [built.NAIVE, built.MAXIMUM, built.DELTA, built.DECAY])
def test_a_machine_goes_on_from_what_the_other_has_kept(routine):
    tuples = [Tuple(at % 2, at, (float(at % 3),)) for at in range(8)]
    frame = Frame(rows=3)
    expected = returned(GeneralMachine(routine, frame=frame), tuples, (2, 3, 5))
    assert returned(InTurn(routine, frame), tuples, (2, 3, 5)) == expected


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path / "cache"))
    keeping.compiled.cache_clear()
    yield tmp_path / "cache" / "native"
    keeping.compiled.cache_clear()


PRICES = [Tuple(0, at, (float(at),)) for at in range(3)]


def test_a_program_is_kept_and_found_again(folder):
    assert returned(NativeMachine(built.DECAY), PRICES)
    (kept,) = folder.glob("*.py")
    assert kept.read_text() == source_of(built.DECAY, Ending.NEVER, Frame())
    assert folder.stat().st_mode & 0o777 == 0o700
    program = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "from blocks import built\n"
        "from millstream.blocks.machine import Ending, Frame\n"
        "from millstream.blocks.native.keeping import compiled\n"
        "from millstream.blocks.native.machine import program_of, Variant\n"
        "found = program_of(built.DECAY, Ending.NEVER, Frame(), Variant())\n"
        "made = compiled(found.source, found.takes)\n"
        "assert made.stats.cache_hits.total() == 1, made.stats\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ))


def test_few_events_do_not_wait_for_machine_code(folder):
    machine_for.cache_clear()
    patient = machine_for(built.DECAY, Ending.NEVER, Frame())
    expected = returned(GeneralMachine(built.DECAY), PRICES)
    assert returned(patient, PRICES) == expected
    assert not list(folder.glob("*.py"))
    many = [Tuple(at % 2, at, (float(at),)) for at in range(FEW + 1)]
    assert returned(patient, many) == returned(GeneralMachine(built.DECAY), many)
    assert len(list(folder.glob("*.py"))) == 1
    machine_for.cache_clear()
    another = machine_for(built.DECAY, Ending.NEVER, Frame())
    assert returned(another, PRICES) == expected
    assert another.made


def test_a_folder_that_cannot_be_used_is_done_without(folder, tmp_path):
    (tmp_path / "cache").write_text("not a folder")
    assert private_folder("native") is None
    assert returned(NativeMachine(built.DECAY), PRICES)


def test_a_folder_that_others_may_write_is_not_read(folder):
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert private_folder("native") is None


def test_a_file_that_was_changed_is_not_run(folder):
    returned(NativeMachine(built.DECAY), PRICES)
    (kept,) = folder.glob("*.py")
    kept.write_text("raise SystemExit('run')")
    keeping.compiled.cache_clear()
    assert returned(NativeMachine(built.DECAY), PRICES)
