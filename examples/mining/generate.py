"""Write visits.csv, outcomes.csv and looks.csv: visitors of a shop, and what they did.

    python generate.py [--visits 900] [--looks 300] [--seed 9] [--to FOLDER]

The same options give the same rows.
"""

from __future__ import annotations

import argparse
import random
from datetime import datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 1, 12)
CHANCES = {
    "device": {"phone": 0.3, "tablet": 0.5, "desktop": 0.7},
    "origin": {"advert": 0.35, "search": 0.5, "letter": 0.75},
    "pages": {"few": 0.2, "some": 0.5, "many": 0.8},
}
"""How likely a visitor with a feature is to buy; the three of a visitor are taken together."""

CENTERS = ((30.0, 2.0), (120.0, 6.0), (300.0, 20.0))


def visitor(chance: random.Random) -> tuple[list[str], str]:
    """The features of a visitor, and whether there is a sale."""
    features = [chance.choice(sorted(values)) for values in CHANCES.values()]
    likely = sum(values[feature] for values, feature in zip(CHANCES.values(), features)) / 3
    sure = likely**2 / (likely**2 + (1 - likely) ** 2)
    return features, "yes" if chance.random() < sure else "no"


def write(folder: Path, visits: int, looks: int, seed: int) -> None:
    chance, seconds = random.Random(seed), 0.0
    asked, known = [], []
    for number in range(1, visits + 1):
        seconds += chance.expovariate(0.2)
        features, bought = visitor(chance)
        teaches = number <= 100 or chance.random() < 0.5
        asked.append([_time(seconds), str(number), *features, bought if teaches else ""])
        if not teaches:
            known.append((seconds + 60 + chance.random() * 200, str(number), bought))
    _put(folder / "visits.csv", "at,id,device,origin,pages,bought", asked)
    later = [[_time(when), *rest] for when, *rest in sorted(known)]
    _put(folder / "outcomes.csv", "at,id,bought", later)
    _put(folder / "looks.csv", "at,seconds,products", _looks(looks, chance))


def _looks(count: int, chance: random.Random) -> list[list[str]]:
    rows = []
    for number in range(count):
        long, many = CENTERS[number if number < 3 else chance.randrange(3)]
        values = (chance.gauss(long, long / 8), chance.gauss(many, many / 8))
        rows.append([_time(number * 3.0), *(f"{value:.2f}" for value in values)])
    return rows


def _time(seconds: float) -> str:
    return str(START + timedelta(seconds=round(seconds, 3)))


def _put(path: Path, head: str, rows: list[list[str]]) -> None:
    path.write_text("\n".join([head, *(",".join(row) for row in rows)]) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write what visitors of a shop did.")
    parser.add_argument("--visits", type=int, default=900)
    parser.add_argument("--looks", type=int, default=300)
    parser.add_argument("--seed", type=int, default=9)
    parser.add_argument("--to", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    write(asked.to, asked.visits, asked.looks, asked.seed)


if __name__ == "__main__":
    main()
