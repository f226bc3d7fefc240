"""Look for cases on which the engine and the oracle differ: python -m laws.fuzz join 0 500.

Run it in the folder `tests`. The first word is a focus of the generator, `any` for all of them.
`turns=negative,direct` restarts after every batch, with these strategies in turn.
Failures are shrunk and printed as files; what the engine refuses is counted by its message.
"""

import sys
from collections import Counter

from laws.engine import kind_of, outcome, shrunk
from oracle.generate import random_case


def main(only: str, first: int, last: int, *words: str) -> None:
    settings = dict(word.split("=") for word in words)
    turns = tuple(filter(None, settings.pop("turns", "").split(",")))
    counts: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for seed in range(first, last):
        case = random_case(seed, None if only == "any" else only)
        found = outcome(case, settings, turns)
        kind = kind_of(found)
        counts[kind] += 1
        if kind == "refused":
            refusals[(found or "").split("\n")[0]] += 1
        elif kind != "agreed":
            print(f"=== {only} {seed}: {shrunk(case, settings, turns)}", flush=True)
    print(dict(counts))
    for message, count in refusals.most_common(20):
        print(f"{count:5} {message}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
