"""EXPLAIN: the plans of a query at every stage, as text and as a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from millstream.algebra.node import Node
from millstream.catalog import kind_of
from millstream.database.contents import Contents
from millstream.database.explaining_reads import how_read
from millstream.database.serving import how_served
from millstream.engine.holdings import Held
from millstream.engine.job import Job
from millstream.engine.outputs import Query
from millstream.engine.state_report import state_report
from millstream.errors import MillstreamError, closest
from millstream.lang import commands
from millstream.plan.alternatives import Chooser
from millstream.plan.annotate import with_patterns, with_reasons
from millstream.plan.explain_cost import cost_text
from millstream.plan.legend import legend_of, legend_of_operators
from millstream.plan.machine_graph import machine_graph
from millstream.plan.machine_picture import machine_picture
from millstream.plan.machine_text import Shown, machine_text, shown
from millstream.plan.picture import Drawing, picture
from millstream.plan.points_report import with_points
from millstream.plan.statistics import NOTHING
from millstream.plan.strategy import physical
from millstream.plan.tables import with_time
from millstream.plan.taggers import read_by_several, run_anyhow
from millstream.settings import Settings
from millstream.sharing.telling import Told, sharing_of

STAGES = tuple(stage.lower() for stage in commands.STAGES)
PLAN_DRAWN = dict.fromkeys(("patterns", "cost", "legend"), "optimized") | {
    "state": "physical",
    "sharing": "optimized",
    "points": "bound",
}


@dataclass(frozen=True)
class Explainer:
    """Explains queries under settings; `held` is what a job holds and has measured, if any ran, and
    `queries` are all that are registered: what several of them read is planned for all of them."""

    settings: Settings
    held: Held | None = None
    queries: tuple[Query, ...] = ()

    def explain(self, query: Query, stage: str = "optimized") -> str:
        """The plan of a query at a stage, with the defaults that were used."""
        stage = checked_stage(stage)
        match stage:
            case "state":
                title, body = "state", self._state_of(query)
            case "patterns":
                title, body = "update patterns", with_reasons(self.plan_of(query, stage))
            case "sharing":
                title, body = "sharing", self._sharing_of(query)
            case "points":
                names = {other.plan: other.name for other in self.queries}
                title, body = "points", with_points(self.plan_of(query, "bound"), names)
            case "cost":
                title, body = "cost", self._cost_of(query)
            case "machine":
                title, body = "machine", machine_text(self._machines_of(query))
            case "legend":
                plan = with_patterns(self.plan_of(query, "optimized"))
                title, body = "optimized plan", f"{plan}\n{self.legend([query])}"
            case _:
                title, body = f"{stage} plan", with_patterns(self.plan_of(query, stage))
        if stage == "sharing":
            return f"-- {query.name}: {query.form}, {title}\n{body}"
        notes = [f"-- {notice.render()}" for notice in query.notices]
        notes += [f"-- {line}" for line in how_served(query.plan, self.settings)]
        if stage == "physical":
            read = how_read(query, self.queries, self.settings, self.held)
            notes += [f"-- {line}" for line in read]
        return "\n".join([f"-- {query.name}: {query.form}, {title}", *notes, body])

    def legend(self, queries: Iterable[Query], stage: str = "optimized") -> str:
        """What the words mean that occur in the plans of queries at a stage."""
        if stage in ("state", "cost"):
            return legend_of_operators(self.plan_of(query, "physical") for query in queries)
        return legend_of(self.plan_of(query, stage) for query in queries)

    def picture(self, queries: Iterable[Query], stage: str = "optimized", form: str = "svg") -> str:
        """The plans of queries at a stage as one SVG; machines also as "graphviz"."""
        stage = checked_stage(stage)
        if checked_form(form, stage) == "graphviz":
            asked = list(queries)
            patterns = (one for query in asked for one in self._machines_of(query))
            return machine_graph(", ".join(query.name for query in asked), patterns)
        if stage == "machine":
            return machine_picture(
                [(f"{q.name}: {q.form}", q.text, self._machines_of(q)) for q in queries]
            )
        kind = PLAN_DRAWN.get(stage, stage)
        return picture(
            [
                Drawing(f"{q.name}: {q.form}, {kind} plan", q.text, self.plan_of(q, stage))
                for q in queries
            ]
        )

    def _machines_of(self, query: Query) -> list[Shown]:
        """The patterns that a query looks for."""
        found = shown(self.plan_of(query, "optimized"), self.settings.search == "ops")
        if not found:
            raise MillstreamError(
                "the query looks for no pattern",
                hint="EXPLAIN MACHINE is for sequences, PARTITION BY k AS (X, *Y), and for "
                "MATCH_RECOGNIZE.",
            )
        return found

    def plan_of(self, query: Query, stage: str) -> Node:
        """The plan of a query as it is written, optimized, or carried out."""
        root = query.content_root or query.changes_root
        held = self.held if stage != "bound" else None
        chooser = Chooser() if held is None else Chooser(held.job.running, held.statistics)
        if self.settings.rules == "fixed":
            chooser = Chooser(most=1)
        if stage in ("physical", "state"):
            return physical(*self._carried_out(query), chooser=chooser)
        if stage == "bound":
            return root
        plan, settings, views = self._carried_out(query)
        return plan if settings.rules == "off" else chooser.optimized(plan, views)

    def _carried_out(self, query: Query) -> tuple[Node, Settings, tuple[Node, ...]]:
        """The root of a query over the queries that it is computed from, with what is known."""
        root = query.content_root or query.changes_root
        plan, views = query.carried_out(root, self.settings)
        every = {other.name: other for other in self.queries} | {query.name: query}
        return plan, self.settings, run_anyhow(views, read_by_several(every.values()))

    def _state_of(self, query: Query) -> str:
        """What the operators of a query keep; of a job that knows the query also what they hold."""
        held = self.held
        known = held is not None and any(
            q.name == query.name and q.text == query.text for q in held.job.queries
        )
        if held is None or not known:
            timed = replace(query, plan=with_time(query.plan, query.domain))
            return state_report(Job({}, (timed,), self.settings).roots_of(query.name), None)
        return state_report(held.job.roots_of(query.name), held)

    def _sharing_of(self, query: Query) -> str:
        """What it has in common with others."""
        others = [self._told(other) for other in self.queries]
        return sharing_of(self._told(query), others, self.settings.sharing == "on")

    def _told(self, query: Query) -> Told:
        on = query.shared is not None and self.settings.sharing == "on"
        shared = query.shared if on else None
        plan = query.plan if shared is None else shared.plan
        over = () if shared is None else shared.over
        common = () if shared is None else shared.common
        return Told(query.name, query.plan, plan, over, query.reads, common)

    def _cost_of(self, query: Query) -> str:
        """The plans to choose from; with what was measured, if a job runs or has run."""
        held, (root, _, views) = self.held, self._carried_out(query)
        running, statistics = (
            (frozenset[Node](), NOTHING) if held is None else (held.job.running, held.statistics)
        )
        settings = self.settings if held is None else held.job.settings
        return cost_text(root, views, running, statistics, query.domain, settings)


def asks_for_sharing(name: str | None, contents: Contents) -> bool:
    """Whether it is `EXPLAIN SHARING`, of all queries."""
    return (name or "").lower() == "sharing" and contents.queries.find("sharing") is None


def has_pattern(plan: Node) -> bool:
    """Whether a plan looks for a pattern, which has a machine to show."""
    return bool(shown(plan))


def asks_for_the_legend(name: str | None, contents: Contents) -> bool:
    """Whether it is `EXPLAIN LEGEND`; a query of that name would be explained instead."""
    return (name or "").lower() == "legend" and contents.queries.find("legend") is None


def found_query(name: str, contents: Contents) -> Query:
    """The query that EXPLAIN names."""
    if (query := contents.queries.find(name)) is not None:
        return query
    entry = contents.catalog.entries.get(name.lower())
    if entry is not None:
        raise MillstreamError(
            f'{kind_of(entry)} "{entry.name}" is not a query',
            hint=f"Write DESCRIBE {entry.name}, or EXPLAIN SELECT ….",
        )
    there = [query.name for query in contents.queries]
    near = closest(name, there)
    known = f"Write one of {', '.join(there)}." if there else "Write EXPLAIN SELECT …."
    if name.lower() in STAGES:
        near, known = None, f"After EXPLAIN {name.upper()} write a query, or the name of one."
    raise MillstreamError(
        f'query "{name}" does not exist', hint=f'Did you mean "{near}"?' if near else known
    )


def checked_stage(stage: str) -> str:
    if stage.lower() not in STAGES:
        near = closest(stage, STAGES)
        raise MillstreamError(
            f'stage "{stage}" does not exist',
            hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(STAGES)}.",
        )
    return stage.lower()


FORMS = ("svg", "graphviz")


def checked_form(form: str, stage: str) -> str:
    """The form of a picture."""
    if form.lower() not in FORMS:
        raise MillstreamError(
            f'form "{form}" of a picture does not exist', hint=f"Write one of {', '.join(FORMS)}."
        )
    if form.lower() == "graphviz" and stage != "machine":
        raise MillstreamError(
            f'stage "{stage}" is drawn as SVG only', hint="Graphviz is for the stage machine."
        )
    return form.lower()
