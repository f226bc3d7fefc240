"""The scalar functions in native form: what they give is what `algebra/functions.py` gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from millstream.algebra.expressions import Call, Literal
from millstream.algebra.types import DATE, DOUBLE, INTEGER, INTERVAL, STRING, TIMESTAMP
from millstream.blocks.native.kinds import REAL, NotNative, Value, all_valid, array_type, both
from millstream.blocks.native.place import Place, compares_by_order

Make = Callable[[Place, Call, Sequence[Value]], Value]

LEAST = "(-9223372036854775807 - 1)"
INFIX = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def compare(place: Place, operator: str, kind: pa.DataType, left: Value, right: Value) -> Value:
    """Two values of a type, compared."""
    array_type(kind)
    if operator not in ("=", "<>"):
        compares_by_order(place, kind)
    return Value(f"({left.code} {INFIX[operator]} {right.code})", all_valid(left, right))


def _comparison(place: Place, call: Call, values: Sequence[Value]) -> Value:
    left, right = values
    return compare(place, call.function, call.arguments[0].type, left, right)


def _and(place: Place, call: Call, values: Sequence[Value]) -> Value:
    left, right = values
    if left.valid is None and right.valid is None:
        return Value(f"({left.code} and {right.code})")
    left, right = place.w.fixed(left), place.w.fixed(right)
    false = [f"({both(v.valid, f'not {v.code}')})" for v in (left, right)]
    return Value(
        f"({left.code} and {right.code})", f"({all_valid(left, right)} or {' or '.join(false)})"
    )


def _or(place: Place, call: Call, values: Sequence[Value]) -> Value:
    left, right = values
    if left.valid is None and right.valid is None:
        return Value(f"({left.code} or {right.code})")
    left, right = place.w.fixed(left), place.w.fixed(right)
    true = [both(v.valid, v.code) or "" for v in (left, right)]
    valid = f"({all_valid(left, right)} or {' or '.join(true)})"
    return Value(f"({' or '.join(true)})", valid)


def _not(place: Place, call: Call, values: Sequence[Value]) -> Value:
    return Value(f"(not {values[0].code})", values[0].valid)


def _is_null(place: Place, call: Call, values: Sequence[Value]) -> Value:
    valid = values[0].valid
    return Value("False" if valid is None else f"(not {valid})")


def _distinct_from(place: Place, call: Call, values: Sequence[Value]) -> Value:
    array_type(call.arguments[0].type)
    left, right = values
    differ = f"{left.code} != {right.code}"
    if left.valid is None and right.valid is None:
        return Value(f"({differ})")
    if left.valid is None or right.valid is None:
        return Value(f"(not {left.valid or right.valid} or {differ})")
    return Value(f"({left.valid} != {right.valid} or ({left.valid} and {differ}))")


LARGEST = 2**63 - 1


def _add(place: Place, call: Call, values: Sequence[Value]) -> Value:
    x, y = values
    if call.type == DOUBLE:
        return Value(f"({x.code} + {y.code})", all_valid(x, y))
    if y.code.isdigit():
        if x.small:
            return Value(f"({x.code} + {y.code})", both(x.valid, y.valid))
        x = place.w.fixed(x)
        fits = f"{x.code} <= {LARGEST - int(y.code)}"
        return Value(f"({x.code} + {y.code})", both(x.valid, y.valid, fits))
    return _checked(place, "plus", x, y)


def _subtract(place: Place, call: Call, values: Sequence[Value]) -> Value:
    x, y = values
    if call.type == DOUBLE:
        return Value(f"({x.code} - {y.code})", all_valid(x, y))
    if y.code.isdigit():
        if x.small:
            return Value(f"({x.code} - {y.code})", both(x.valid, y.valid))
        x = place.w.fixed(x)
        fits = f"{x.code} >= {int(y.code) - LARGEST}"
        return Value(f"({x.code} - {y.code})", both(x.valid, y.valid, fits))
    return _checked(place, "minus", x, y)


def _checked(place: Place, called: str, x: Value, y: Value) -> Value:
    """Arithmetic of whole numbers that may be too large."""
    found, fits = place.w.name(), place.w.name()
    place.w.line(f"{found}, {fits} = {called}({x.code}, {y.code})")
    return Value(found, both(all_valid(x, y), fits))


def _multiply(place: Place, call: Call, values: Sequence[Value]) -> Value:
    x, y = values
    if call.type == DOUBLE:
        return Value(f"({x.code} * {y.code})", all_valid(x, y))
    return _checked(place, "product", x, y)


def _not_zero(value: Value) -> str | None:
    """Code of whether a divisor is not 0; None for a literal that is not."""
    literal = value.code.replace(".", "", 1)
    return None if literal.isdigit() and float(value.code) else f"{value.code} != 0"


def _divide(place: Place, call: Call, values: Sequence[Value]) -> Value:
    x, y = values
    y = place.w.fixed(y)
    return Value(f"({x.code} / {y.code})", both(all_valid(x, y), _not_zero(y)))


def _whole_division(place: Place, call: Call, values: Sequence[Value]) -> Value:
    x, y = (place.w.fixed(v) for v in values)
    if call.arguments[0].type == DOUBLE:
        return _whole(place, f"np.trunc({x.code} / {y.code})", all_valid(x, y), _not_zero(y))
    whole = f"not ({y.code} == -1 and {x.code} == {LEAST})"
    fits = both(_not_zero(y), None if y.code.isdigit() else whole)
    return Value(f"quotient({x.code}, {y.code})", both(all_valid(x, y), fits))


def _modulo(place: Place, call: Call, values: Sequence[Value]) -> Value:
    x, y = values
    if call.arguments[0].type == TIMESTAMP:
        x = Value(f"({x.code} // 1_000_000)", x.valid)
    if call.type == INTEGER and y.code.isdigit() and int(y.code).bit_count() == 1:
        x, mask = place.w.fixed(x), int(y.code) - 1
        rest = f"({x.code} & {mask} if {x.code} >= 0 else -(-{x.code} & {mask}))"
        return Value(rest, x.valid)
    y = place.w.fixed(y)
    called = "math.fmod" if call.type == DOUBLE else "remainder"
    return Value(f"{called}({x.code}, {y.code})", both(all_valid(x, y), _not_zero(y)))


def _negate(place: Place, call: Call, values: Sequence[Value]) -> Value:
    x = values[0]
    if call.type == DOUBLE:
        return Value(f"(-{x.code})", x.valid)
    x = place.w.fixed(x)
    return Value(f"(-{x.code})", both(x.valid, f"{x.code} != {LEAST}"))


def _abs(place: Place, call: Call, values: Sequence[Value]) -> Value:
    x = values[0]
    if call.type == DOUBLE:
        return Value(f"abs({x.code})", x.valid)
    x = place.w.fixed(x)
    return Value(f"abs({x.code})", both(x.valid, f"{x.code} != {LEAST}"))


def _sign(place: Place, call: Call, values: Sequence[Value]) -> Value:
    x = place.w.fixed(values[0])
    known = f"{x.code} == {x.code}" if call.arguments[0].type == DOUBLE else None
    return Value(f"sign({x.code})", both(x.valid, known))


def _coalesce(place: Place, call: Call, values: Sequence[Value]) -> Value:
    array_type(call.type)
    *first, last = values
    code, valids = last.code, [last.valid]
    for value in reversed(first):
        if value.valid is None:
            code, valids = value.code, [None]
        else:
            value = place.w.fixed(value)
            code, valids = f"({value.code} if {value.valid} else {code})", [value.valid, *valids]
    if None in valids:
        return Value(code)
    return Value(code, f"({' or '.join(v for v in valids if v is not None)})")


def _nullif(place: Place, call: Call, values: Sequence[Value]) -> Value:
    array_type(call.arguments[0].type)
    x, y = place.w.fixed(values[0]), place.w.fixed(values[1])
    same = both(y.valid, f"{x.code} == {y.code}")
    return Value(x.code, both(x.valid, f"(not ({same}))"))


def _extreme(place: Place, call: Call, values: Sequence[Value]) -> Value:
    """greatest and least: NULLs are passed over."""
    compares_by_order(place, call.type)
    largest = call.function == "greatest"
    real = array_type(call.type) == REAL
    found = place.w.fixed(values[0])
    for value in values[1:]:
        value = place.w.fixed(value)
        if real:
            better = f"{'larger' if largest else 'smaller'}({found.code}, {value.code})"
        else:
            sign = ">" if largest else "<"
            better = f"({value.code} if {value.code} {sign} {found.code} else {found.code})"
        if value.valid is not None:
            better = f"({better} if {value.valid} else {found.code})"
        if found.valid is not None:
            better = f"({better} if {found.valid} else {value.code})"
        either = None if None in (found.valid, value.valid) else f"{found.valid} or {value.valid}"
        found = place.w.fixed(Value(better, either and f"({either})"))
    return found


def _whole(place: Place, code: str, *valids: str | None) -> Value:
    """A double without digits behind the point as an integer."""
    found, fits = place.w.name(), place.w.name()
    place.w.line(f"{found}, {fits} = whole({code})")
    return Value(found, both(*valids, fits))


def _to_whole(name: str) -> Make:
    def make(place: Place, call: Call, values: Sequence[Value]) -> Value:
        x = values[0]
        if call.arguments[0].type == INTEGER:
            return x
        return _whole(place, f"np.{name}({x.code})", x.valid)

    return make


def _round(place: Place, call: Call, values: Sequence[Value]) -> Value:
    digits = 0
    if len(values) == 2:
        given = call.arguments[1]
        if not isinstance(given, Literal) or not isinstance(given.value, int):
            raise NotNative("round with digits that are no literal has no native form")
        digits = given.value
    x = values[0]
    if call.type == DOUBLE and -22 <= digits <= 22:
        if digits > 15:
            return x
        return Value(f"rounded({x.code}, {10.0 ** abs(digits)!r}, {digits < 0})", x.valid)
    if call.type == INTEGER and digits >= 0:
        return x
    raise NotNative("round of a whole number has no native form")


def _real(code: str, inside: str | None = None) -> Make:
    """A function of doubles, and where it is defined."""

    def make(place: Place, call: Call, values: Sequence[Value]) -> Value:
        x, *rest = (place.w.fixed(v) for v in values)
        names = {"x": x.code, **{name: v.code for name, v in zip("y", rest)}}
        defined = None if inside is None else f"({inside.format(**names)})"
        return Value(code.format(**names), both(all_valid(x, *rest), defined))

    return make


def _power(place: Place, call: Call, values: Sequence[Value]) -> Value:
    x, y = (place.w.fixed(v) for v in values)
    found = place.w.named(f"math.pow({x.code}, {y.code})")
    known = f"({found} == {found} or {x.code} != {x.code} or {y.code} != {y.code})"
    return Value(found, both(all_valid(x, y), known))


def _hash(place: Place, call: Call, values: Sequence[Value]) -> Value:
    if call.arguments[0].type not in (INTEGER, TIMESTAMP, DATE, INTERVAL):
        raise NotNative("hash of such a value has no native form")
    x, *rest = values
    seed = rest[0] if rest else Value("0")
    return Value(f"hash_of({x.code}, {seed.code})", all_valid(x, seed))


def _same(place: Place, call: Call, values: Sequence[Value]) -> Value:
    return values[0]


def _epoch(unit: int) -> Make:
    return lambda place, call, values: Value(f"({values[0].code} // {unit})", values[0].valid)


_POSITIVE = "{x} > 0.0"
_UNIT = "-1.0 <= {x} <= 1.0"

FUNCTIONS: dict[str, Make] = {
    **dict.fromkeys(INFIX, _comparison),
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _is_null,
    "distinct_from": _distinct_from,
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "div": _whole_division,
    "%": _modulo,
    "neg": _negate,
    "abs": _abs,
    "sign": _sign,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "greatest": _extreme,
    "least": _extreme,
    "round": _round,
    "floor": _to_whole("floor"),
    "ceil": _to_whole("ceil"),
    "trunc": _to_whole("trunc"),
    "sqrt": _real("math.sqrt({x})", "{x} >= 0.0"),
    "exp": _real("math.exp({x})"),
    "ln": _real("math.log({x})", _POSITIVE),
    "log10": _real("math.log10({x})", _POSITIVE),
    "log2": _real("math.log2({x})", _POSITIVE),
    "power": _power,
    "sin": _real("math.sin({x})"),
    "cos": _real("math.cos({x})"),
    "tan": _real("math.tan({x})"),
    "asin": _real("math.asin({x})", _UNIT),
    "acos": _real("math.acos({x})", _UNIT),
    "atan": _real("math.atan({x})"),
    "atan2": _real("math.atan2({x}, {y})"),
    "cbrt": _real("np.cbrt({x})"),
    "degrees": _real("math.degrees({x})"),
    "radians": _real("math.radians({x})"),
    "hash": _hash,
    "unix_micros": _same,
    "timestamp_micros": _same,
    "unix_millis": _epoch(1_000),
    "unix_seconds": _epoch(1_000_000),
    "epoch": lambda place, call, values: Value(f"({values[0].code} / 1000000.0)", values[0].valid),
    "datediff": _subtract,
}

_DAY = 86_400_000_000


def cast(place: Place, value: Value, have: pa.DataType, want: pa.DataType) -> Value:
    """A value as another type."""
    if have == want:
        return value
    if pa.types.is_null(have):
        return Value({REAL: "0.0", "np.bool_": "False"}.get(array_type(want), "0"), "False")
    match (have, want):
        case _ if STRING in (have, want):
            raise NotNative("a conversion from or to text has no native form")
        case _ if want == DOUBLE:
            array_type(have)
            return Value(f"np.float64({value.code})", value.valid)
        case _ if want == INTEGER and have == DOUBLE:
            return _whole(place, f"np.trunc({value.code})", value.valid)
        case _ if want == INTEGER or (have == INTEGER and want == INTERVAL):
            array_type(have)
            return Value(f"np.int64({value.code})", value.valid)
        case _ if array_type(want) == "np.bool_":
            return Value(f"({value.code} != 0)", value.valid)
        case _ if have == TIMESTAMP and want == DATE:
            return Value(f"({value.code} // {_DAY})", value.valid)
        case _ if have == DATE and want == TIMESTAMP:
            return Value(f"({value.code} * {_DAY})", value.valid)
    raise NotNative("this conversion has no native form")
