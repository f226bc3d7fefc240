"""Write reports.csv and segments.csv: cars on toll roads, where some of them collide.

    python generate.py [--cars 240] [--minutes 20] [--roads 2] [--accidents 4] [--seed 7] [--to DIR]

The same options give the same files, on every machine.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 1, 7)
SEGMENTS = 10  # of a mile each, on every road and in both directions
MILE = 5_280  # feet
PER_MPH = 44  # a car with one mile per hour makes 44 feet in 30 seconds
ENTRY, EXIT = 0, 4  # lanes; 1, 2 and 3 are for travel
COLUMNS = ("ts", "car", "speed", "road", "lane", "direction", "segment", "position")


@dataclass
class Car:
    """A car on its way from one segment to another; it reports every 30 seconds."""

    number: int
    road: int
    direction: int  # 0 to higher segments, 1 to lower ones
    enters: int  # seconds after the start
    position: int  # feet from the beginning of the road
    goal: int
    fastest: int
    lane: int = ENTRY
    speed: int = 0
    stopped: int = 0  # reports that the car has still to make where it stands
    towed: bool = False

    @property
    def segment(self) -> int:
        return self.position // MILE

    @property
    def place(self) -> tuple[int, int, int]:
        return self.road, self.direction, self.segment

    @property
    def has_arrived(self) -> bool:
        return self.position >= self.goal if self.direction == 0 else self.position <= self.goal

    def drive(self, load: int, chance: random.Random) -> None:
        """Thirty seconds further; the more cars are in the segment, the slower."""
        if self.stopped:
            self.stand(chance)
            return
        self.speed = max(8, self.fastest - 4 * load - chance.randrange(6))
        step = self.speed * PER_MPH
        self.position += step if self.direction == 0 else -step
        self.position = min(max(self.position, 0), SEGMENTS * MILE - 1)
        self.lane = EXIT if self.has_arrived else chance.randrange(1, EXIT)

    def stand(self, chance: random.Random) -> None:
        """One report more in the same spot; in the end one car in three is towed away."""
        self.stopped -= 1
        self.speed = 0
        if chance.random() < 0.1:
            self.lane = chance.randrange(1, EXIT)
        self.towed = self.stopped == 0 and chance.random() < 0.3


def make_cars(count: int, seconds: int, roads: int, chance: random.Random) -> list[Car]:
    """Cars with their ways; half of them want to enter within the first third of the time."""
    cars = []
    for number in range(1, count + 1):
        first, last = sorted(chance.sample(range(SEGMENTS), 2))
        direction = chance.randrange(2)
        begin, goal = (first, last) if direction == 0 else (last, first)
        rush = chance.random() < 0.5
        enters = chance.randrange(max(1, seconds // 3 if rush else seconds - 60))
        position = begin * MILE + chance.randrange(MILE)
        road, fastest = chance.randrange(roads), chance.randrange(45, 80)
        goal = goal * MILE + MILE // 2
        cars.append(Car(number, road, direction, enters, position, goal, fastest))
    return cars


def collide(cars: list[Car], chance: random.Random) -> None:
    """Two cars of one segment stand in one spot, for four to eight reports after this one."""
    for car in chance.sample(cars, len(cars)):
        if car.stopped or car.lane in (ENTRY, EXIT):
            continue
        others = [c for c in cars if c.place == car.place and c is not car and not c.stopped]
        if others:
            other = chance.choice(others)
            other.position, other.lane = car.position, car.lane
            car.stopped, other.stopped = chance.randrange(4, 9), chance.randrange(4, 9)
            return


def drive(
    cars: list[Car], seconds: int, accidents: int, chance: random.Random
) -> Iterator[tuple[int, Car]]:
    """The cars as they stand whenever they report, with the second, in the order of time."""
    crashes = {chance.randrange(seconds // 6, seconds * 2 // 3) for _ in range(accidents)}
    there: list[Car] = []
    for second in range(seconds):
        if second in crashes:
            collide(there, chance)
        for car in [c for c in there if (second - c.enters) % 30 == 0]:
            if car.lane == EXIT or car.towed:
                there.remove(car)
                continue
            car.drive(sum(5 if c.stopped else 1 for c in there if c.place == car.place), chance)
            yield second, car
        for car in (c for c in cars if c.enters == second):
            there.append(car)
            car.speed = 25
            yield second, car


def reports(cars: int, minutes: int, roads: int, accidents: int, seed: int) -> Iterator[tuple]:
    """The position reports, as rows of COLUMNS."""
    chance, seconds = random.Random(seed), 60 * minutes
    fleet = make_cars(cars, seconds, roads, chance)
    for second, car in drive(fleet, seconds, accidents, chance):
        where = car.road, car.lane, car.direction, car.segment, car.position
        yield START + timedelta(seconds=second), car.number, car.speed, *where


def segments(roads: int) -> Iterator[tuple[int, int, int]]:
    """Every segment of every road, with its rate: the toll in cents before it gets crowded."""
    for road in range(roads):
        for segment in range(SEGMENTS):
            yield road, segment, 20 + 5 * ((segment + road) % 3)


def write(path: Path, header: tuple[str, ...], rows: Iterator[tuple]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write reports.csv and segments.csv.")
    parser.add_argument("--cars", type=int, default=240)
    parser.add_argument("--minutes", type=int, default=20)
    parser.add_argument("--roads", type=int, default=2)
    parser.add_argument("--accidents", type=int, default=4)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--to", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    asked.to.mkdir(parents=True, exist_ok=True)
    rows = reports(asked.cars, asked.minutes, asked.roads, asked.accidents, asked.seed)
    write(asked.to / "reports.csv", COLUMNS, rows)
    write(asked.to / "segments.csv", ("road", "segment", "rate"), segments(asked.roads))


if __name__ == "__main__":
    main()
