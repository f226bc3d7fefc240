"""Write the files of the example: clicks, speeds, reports, prices, logins and states.

    python generate.py [--seed 7] [--folder .]

The same options give the same rows.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

START = datetime(2024, 5, 1, 9)
Line = tuple[object, ...]

PLACES = ("bridge", "tunnel", "exit to the airport", "two lanes", "service area")
SHARES = ("anchor", "barrel", "candle")
ACCOUNTS = ("ann", "bob", "cid", "dora")
MACHINES = ("press", "lathe", "oven")


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat(sep=" ")


def clicks(chance: Random) -> Iterator[Line]:
    """Twelve visits; whoever sees an advert often follows it."""
    now, last = 0.0, dict.fromkeys(range(1, 13), "other")
    follows = {"advert": "description", "description": "purchase"}
    for number in range(600):
        now += chance.choice((1, 2, 5, 9))
        visit = chance.randint(1, 12)
        kind = chance.choice(("other", "other", "other", "other", "advert", "description"))
        if last[visit] in follows and chance.random() < 0.6:
            kind = follows[last[visit]]
        elif chance.random() < 0.04:
            kind = "purchase"
        last[visit] = kind
        yield at(now), visit, f"page {number % 37}", kind


def speeds(chance: Random) -> Iterator[Line]:
    """Five stations, a minute each; jams begin now and then, and go through."""
    slow = dict.fromkeys(range(1, 6), 0)
    speed = dict.fromkeys(range(1, 6), 95.0)
    for minute in range(240):
        for station in slow:
            if slow[station] == 0 and chance.random() < 0.015:
                slow[station] = chance.randint(5, 25)
            if slow[station] > 0:
                slow[station] -= 1
                speed[station] *= chance.uniform(0.6, 0.9) if speed[station] > 20 else 1.05
            else:
                speed[station] += (chance.uniform(84, 100) - speed[station]) * 0.6
            calm = 4.0 * station
            yield at(60 * minute), station, round(speed[station] - calm, 1)


def reports(chance: Random) -> Iterator[Line]:
    for number in range(160):
        when = at(3600 * number + chance.randint(0, 3000))
        if chance.random() < 0.25:
            yield when, "volcano", f"volcano {chance.randint(1, 9)}", ""
        elif chance.random() < 0.1:
            yield when, "storm", f"storm {number}", ""
        else:
            yield when, "earthquake", f"quake {number}", round(chance.uniform(5.5, 8.2), 1)


def moves(chance: Random) -> Iterator[float]:
    """Falls and rises in turns, between which prices often stay about where they are."""
    way = 1
    while True:
        way = -way
        for _ in range(chance.choice((1, 2, 5, 6, 8))):
            yield way * chance.uniform(0.022, 0.035)
        for _ in range(chance.choice((0, 0, 1, 3))):
            yield chance.uniform(-0.01, 0.01)


def prices(chance: Random) -> Iterator[Line]:
    """A price of each share every minute."""
    price = dict.fromkeys(SHARES, 100.0)
    legs = {share: moves(chance) for share in SHARES}
    for minute in range(600):
        for share in SHARES:
            price[share] = round(price[share] * (1 + next(legs[share])), 2)
            yield at(60 * minute), share, price[share]


def logins(chance: Random) -> Iterator[Line]:
    now = 0.0
    for _ in range(400):
        now += chance.choice((5, 20, 60, 150))
        yield at(now), chance.choice(ACCOUNTS), str(chance.random() < 0.35).lower()


def states(chance: Random) -> Iterator[Line]:
    now = 0.0
    for _ in range(400):
        now += chance.choice((10, 30, 60, 90))
        state = chance.choices(("fine", "hot", "reset"), (6, 2, 1))[0]
        yield at(now), chance.choice(MACHINES), state


FILES = {
    "clicks": (("at", "visit", "page", "kind"), clicks),
    "speeds": (("at", "station", "speed"), speeds),
    "reports": (("at", "kind", "name", "magnitude"), reports),
    "prices": (("at", "share", "price"), prices),
    "logins": (("at", "account", "worked"), logins),
    "states": (("at", "machine", "state"), states),
}


def write(path: Path, header: Line, lines: Iterable[Line]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


def write_all(folder: Path, seed: int) -> None:
    for name, (header, lines) in FILES.items():
        write(folder / f"{name}.csv", header, lines(Random(f"{seed} {name}")))
    write(folder / "stations.csv", ("station", "place"), enumerate(PLACES, 1))


def main() -> None:
    parser = argparse.ArgumentParser(prog="generate.py")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    write_all(options.folder, options.seed)


if __name__ == "__main__":
    main()
