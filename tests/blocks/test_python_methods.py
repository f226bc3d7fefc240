"""Classes in Python as machine code: what it gives and keeps is what Python gives and keeps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from millstream.bind.blocks import routine_from_text
from millstream.blocks.general import GeneralMachine
from millstream.blocks.machine import Ending, Fed, Frame, Machine, Ran
from millstream.blocks.native import MethodMachine, NativeMachine, source_of, why_not
from millstream.blocks.routine import Routine
from millstream.database.python_routines import handed_over
from millstream.state.ordered_run import Order

KEEP = 0.9
GROUPS = 7


class Decay:
    total: float
    times: int = 0
    calm: bool = True

    def initialize(self, x: float, k: int) -> None:
        self.total = x
        self.times += 1

    def iterate(self, x: float, k: int) -> float | None:
        bonus = 0
        if x > self.total / 2 and not self.calm:
            bonus = math.exp(-abs(x))
        elif k % 3 == 1 or -1 < x < 0:
            bonus = math.floor(x) - k // 2
        self.calm = k != 2
        self.times += k
        self.total = KEEP * self.total + math.sqrt(x * x) + bonus
        if self.times % 2 == 0:
            return None
        return self.total / max(self.times, 1) + min(bonus, k)

    def terminate(self) -> float:
        return self.total - self.times

    def expire(self, x: float, k: int) -> float:
        self.times -= k
        return math.log(abs(x) + 1.0) if k > 1 else int(x)


class Fragile:
    """Divides by zero, outgrows 64 bits, and takes the root of negative numbers."""

    product: int = 1
    last: float = 0.0

    def iterate(self, x: float, k: int) -> tuple[int, float]:
        self.product = self.product * (k + 1)
        self.last = math.sqrt(x + 2.5)
        return self.product, 1 / k + self.last

    def expire(self, x: float, k: int) -> None:
        self.last = x / (k - 1)


def some_events(seed: int, size: int, leavers: bool, nulls: bool = False) -> Fed:
    rng = np.random.default_rng(seed)
    count = size + size // 2 if leavers else size
    owner = np.concatenate([np.sort(rng.integers(0, GROUPS, size)), rng.integers(0, GROUPS, size)])
    order = np.argsort(owner[:count], kind="stable")
    starts = np.searchsorted(owner[:count][order], np.arange(GROUPS + 1))
    x, k = rng.normal(size=count), rng.integers(0, 5, count)
    mask = rng.random(count) < 0.1 if nulls else None
    arguments = pa.array(x, mask=mask), pa.array(k)
    return Fed(Order(order, starts, np.arange(count), size), arguments, np.arange(count))


def same(one: Ran, other: Ran) -> None:
    assert one.rows.equals(other.rows)
    assert one.event.tolist() == other.event.tolist()
    assert one.failed == other.failed or [f.reason for f in one.failed] == [
        f.reason for f in other.failed
    ]
    assert one.after.slots.to_pylist() == other.after.slots.to_pylist()
    for mine, theirs in zip(one.after.tables, other.after.tables):
        assert mine.rows.equals(theirs.rows)


def machines(routine: Routine, ending: Ending, frame: Frame) -> tuple[Machine, GeneralMachine]:
    assert why_not(routine, ending, frame) is None
    general = GeneralMachine(routine, ending, frame)
    return MethodMachine(routine, ending, frame, general), general


@pytest.mark.parametrize("given", [Decay, Fragile])
@pytest.mark.parametrize("version", ["base", "each", "wanted", "last", "window"])
@pytest.mark.parametrize("nulls", [False, True])
def test_native_is_python(given: type, version: str, nulls: bool) -> None:
    base, window = handed_over("f", given, None, None).routines
    routine = window if version == "window" else base
    endings = {"each": Ending.EACH, "wanted": Ending.WANTED, "last": Ending.LAST}
    ending = endings.get(version, Ending.NEVER)
    frame = Frame(rows=20) if version == "window" else Frame()
    native, general = machines(routine, ending, frame)
    before = general.nothing
    for seed in range(4):
        fed = some_events(seed, 60, version == "window", nulls and seed == 2)
        if version == "wanted" or seed == 3:
            fed = replace(fed, wanted=np.arange(len(fed.order.event)) % 3 == 0)
        ran = native.run(fed, before, GROUPS)
        same(ran, general.run(fed, before, GROUPS))
        before = ran.after


def test_doubles_are_those_of_python() -> None:
    class Functions:
        def iterate(self, x: float) -> float:
            return math.exp(x) + math.log(abs(x) + 0.1) * math.sqrt(abs(x)) - math.fabs(x) / 3

    (routine,) = handed_over("f", Functions, None, None).routines
    native, general = machines(routine, Ending.NEVER, Frame())
    x = pa.array(np.random.default_rng(5).normal(size=20_000) * 20)
    count = len(x)
    order = Order(np.arange(count), np.array([0, count]), np.arange(count), count)
    fed = Fed(order, (x,), np.arange(count))
    same(native.run(fed, general.nothing, 1), general.run(fed, general.nothing, 1))


def reason_of(given: type) -> str:
    routine = handed_over("f", given, None, None).routines[0]
    reason = why_not(routine, Ending.NEVER, Frame())
    return "" if reason is None else reason.why


def test_what_is_not_native_says_why() -> None:
    class Texts:
        words: str = ""

        def iterate(self, x: int) -> int:
            return x

    class Loops:
        def iterate(self, x: int) -> int:
            while x > 10:
                x = x // 2
            return x

    class Unset:
        n: int

        def iterate(self, x: int) -> int:
            return self.n + x

    class Powers:
        def iterate(self, x: int) -> int:
            return x**2

    class Lists:
        seen: list[int]

        def iterate(self, x: int) -> int:
            return len(self.seen)

    assert reason_of(Texts) == '"words" is no number'
    assert reason_of(Loops).startswith("While in line ")
    assert reason_of(Unset) == 'attribute "n" may have no value'
    assert reason_of(Powers) == "Pow of such numbers has no native form"
    assert reason_of(Lists) == 'what "seen" holds is no single number'


def test_no_text_of_the_author_is_in_the_program() -> None:
    class Hostile:
        system_exit: float = 1.5

        def iterate(self, import_os: float) -> float:
            "rm -rf"
            evil_name = import_os
            self.system_exit = evil_name + self.system_exit
            return self.system_exit

    (routine,) = handed_over("drop_all", Hostile, None, None).routines
    source = source_of(routine, Ending.NEVER, Frame())
    for word in ("system_exit", "import_os", "rm -rf", "evil_name", "Hostile", "drop_all"):
        assert word not in source


def test_a_class_gives_what_blocks_give() -> None:
    class Decayed:
        total: float

        def initialize(self, x: float) -> float:
            self.total = x
            return x

        def iterate(self, x: float) -> float:
            self.total = 0.9 * self.total + x
            return self.total

    blocks = routine_from_text("""AGGREGATE decayed(x double) : double {
      TABLE state(total double);
      INITIALIZE : { INSERT INTO state VALUES (x); INSERT INTO RETURN VALUES (x); }
      ITERATE : {
        UPDATE state SET total = 0.9 * total + x;
        INSERT INTO RETURN SELECT total FROM state;
      }
    }""")
    (routine,) = handed_over("decayed", Decayed, None, None).routines
    native, general = machines(routine, Ending.NEVER, Frame())
    fed = some_events(3, 500, False)
    fed = replace(fed, arguments=fed.arguments[:1])
    esl = NativeMachine(blocks)
    expected = esl.run(fed, GeneralMachine(blocks).nothing, GROUPS)
    for machine in (native, general):
        ran = machine.run(fed, general.nothing, GROUPS)
        assert ran.rows.column(0).equals(expected.rows.column(0))
        assert ran.after.slots.column("t0.c0").equals(expected.after.slots.column("t0.c0"))
