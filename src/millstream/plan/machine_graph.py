"""The machines of patterns for Graphviz."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream.patterns.machine import MATCH, START, Edge, Machine, State
from millstream.plan.machine_text import Shown

HEAD = """  rankdir = LR;
  node [shape = box, style = rounded, fontname = "Helvetica", fontsize = 11];
  edge [fontname = "Helvetica", fontsize = 10];"""


def machine_graph(name: str, patterns: Iterable[Shown]) -> str:
    """One graph in the language of `dot`; each pattern is a cluster with its title."""
    lines = [f"digraph {_quoted(name)} {{", HEAD]
    for number, pattern in enumerate(patterns):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label = {_quoted(pattern.title)};")
        lines += [f"    {line}" for line in _cluster(number, pattern.machine)]
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _cluster(number: int, machine: Machine) -> Iterator[str]:
    for at, state in machine.numbered:
        look = {START: ", shape = circle", MATCH: ", shape = doublecircle"}.get(state.name, "")
        yield f"p{number}_{at} [label = {_quoted(_label(state))}{look}];"
    for at, _ in machine.numbered:
        edges = machine.after(at)
        for order, edge in enumerate(edges, 1):
            label = _edge_label(edge, order if len(edges) > 1 else 0)
            yield f"p{number}_{at} -> p{number}_{edge.target}{label};"


def _label(state: State) -> str:
    counts = [f"counting {tally}" for tally in state.counts]
    ends = [f"at its end: {condition}" for condition in state.ends]
    return "\n".join([state.name, *state.asks, *ends, *counts])


def _edge_label(edge: Edge, order: int) -> str:
    words = " ".join(filter(None, (str(order or ""), edge.anchors)))
    return f" [label = {_quoted(words)}]" if words else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + "".join(c for c in escaped if c.isprintable()) + '"'
