"""Write packed.csv and passed.csv: what RFID readers saw at packing lines and at doors.

    python generate.py [--products 150] [--passages 80] [--seed 5] [--to FOLDER]

The same options give the same rows.
"""

from __future__ import annotations

import argparse
import random
from datetime import datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 1, 8)


def packed(products: int, chance: random.Random) -> list[tuple[str, ...]]:
    """Products on three lines: in cases of up to eight, with a pause after each."""
    rows, clocks = [], {f"line {n}": chance.random() * 10 for n in (1, 2, 3)}
    while len(rows) < products:
        line = min(clocks, key=lambda name: clocks[name])
        for _ in range(chance.randint(1, 8)):
            clocks[line] += chance.uniform(0.2, 2.0)
            rows.append((clocks[line], line, f"p{len(rows) + 1:04}"))
        clocks[line] += chance.uniform(2.1, 12)
    return _arriving(rows, chance)


def passed(passages: int, chance: random.Random) -> list[tuple[str, ...]]:
    """Carts with products at two doors; three quarters have somebody with a badge near."""
    rows, clocks = [], {"north": 0.0, "south": 3.0}
    for passage in range(passages):
        door = chance.choice(sorted(clocks))
        clocks[door] += chance.uniform(6, 30)
        at = clocks[door]
        if chance.random() < 0.75:
            badge = at + chance.uniform(-4.5, 4.5)
            rows.append((badge, door, f"b{chance.randint(1, 9)}", "badge"))
        for product in range(chance.randint(1, 3)):
            tag = f"q{passage + 1:03}-{product + 1}"
            rows.append((at + product * 0.1, door, tag, "product"))
    return _arriving(rows, chance)


def _arriving(rows: list[tuple], chance: random.Random) -> list[tuple[str, ...]]:
    """In the order in which they arrive: less than a second after they were seen."""
    late = sorted(rows, key=lambda row: row[0] + chance.random())
    return [(f"{START + timedelta(seconds=round(row[0], 3))}", *row[1:]) for row in late]


def write(folder: Path, products: int, passages: int, seed: int) -> None:
    chance = random.Random(seed)
    for name, head, rows in (
        ("packed", "at,line,tag", packed(products, chance)),
        ("passed", "at,door,tag,kind", passed(passages, chance)),
    ):
        text = "".join(",".join(row) + "\n" for row in rows)
        (folder / f"{name}.csv").write_text(f"{head}\n{text}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write what RFID readers saw.")
    parser.add_argument("--products", type=int, default=150)
    parser.add_argument("--passages", type=int, default=80)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--to", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    write(asked.to, asked.products, asked.passages, asked.seed)


if __name__ == "__main__":
    main()
