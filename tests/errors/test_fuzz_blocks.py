"""Good definitions of aggregates, damaged: they give a routine, or an error with a place."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from errors.cases import database
from millstream.errors import MillstreamError
from millstream.lang import parse_script, to_sql

BIND = Path(__file__).parents[1] / "bind"
DEFINITIONS = [
    case.partition("\n----\n")[0].partition("\n")[2]
    for case in (BIND / "routines.txt").read_text().split("\n====\n")
] + [to_sql(statement) for statement in parse_script((BIND / "paper.sql").read_text())]
TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\s+|[^\w\s]")
WORDS = re.split(
    r"\s+",
    """NULL 1e999 '' 'x' * . -> { } ; ( ) , : TABLE RETURN inwindow sqlcode oldest() count(*)
    rank() lag(x) first(k) SELECT FROM WHERE bids items LIMIT -1 UNION DISTINCT EXISTS ANY ALL CASE
    END ORDER GROUP BY OVER Istream(
    WINDOW AGGREGATE FUNCTION INITIALIZE EXPIRE AS x t f int real""",
)


def damaged(chance: random.Random) -> str:
    tokens = TOKEN.findall(chance.choice(DEFINITIONS))
    for _ in range(chance.choice([1, 1, 2, 3])):
        at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        match chance.randrange(5):
            case 0:
                tokens[at] = f" {chance.choice(WORDS)} "
            case 1:
                tokens[at] = ""
            case 2:
                tokens.insert(at, f" {chance.choice(WORDS)} ")
            case 3:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 4:
                tokens[at:at] = tokens[at : at + chance.randrange(1, 8)]
    return "".join(tokens)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_definitions(seed: int) -> None:
    chance, defined = random.Random(seed), 0
    for _ in range(500):
        text = damaged(chance)
        try:
            database().execute(text)
        except MillstreamError as error:
            assert error.place is not None and error.render(), text
            continue
        defined += 1
        for statement in parse_script(text):
            assert parse_script(to_sql(statement)) == (statement,)
    assert defined > 10
