"""The operators, one file each; OPERATORS lists them."""

from millstream.operators.active import Active
from millstream.operators.anti_join import AntiJoin
from millstream.operators.begin import Begin
from millstream.operators.coalesce import Coalesce
from millstream.operators.copies import Copies
from millstream.operators.dated import Dated
from millstream.operators.delta_star import DeltaStar
from millstream.operators.distinct import Distinct
from millstream.operators.exchange import Exchange
from millstream.operators.feed import Feed
from millstream.operators.fill import Fill
from millstream.operators.filter import Filter
from millstream.operators.group_by import GroupBy
from millstream.operators.hop import Hop
from millstream.operators.instants import Instants
from millstream.operators.intersect import Intersect
from millstream.operators.join import Join
from millstream.operators.lateral import Lateral
from millstream.operators.lookup_join import LookupJoin, StaticTable
from millstream.operators.match import Match
from millstream.operators.merge import Merge
from millstream.operators.minus import Minus
from millstream.operators.missed import Missed
from millstream.operators.non_retroactive_join import NonRetroactiveJoin
from millstream.operators.now_view import NowView
from millstream.operators.over import Over
from millstream.operators.panes import Panes
from millstream.operators.partial import Partial
from millstream.operators.partial_top_k import PartialTopK
from millstream.operators.project import Project
from millstream.operators.range_slide import RangeSlide
from millstream.operators.recomputed import Recomputed
from millstream.operators.rematch import Rematch
from millstream.operators.retime import Retime
from millstream.operators.retract import Retract
from millstream.operators.rows import Rows
from millstream.operators.rstream import Rstream
from millstream.operators.scan import Scan
from millstream.operators.semi_join import SemiJoin
from millstream.operators.session import Session
from millstream.operators.single_join import SingleJoin
from millstream.operators.skew_split import SkewSplit
from millstream.operators.stamp import Stamp
from millstream.operators.stored import Stored
from millstream.operators.sync import Sync
from millstream.operators.sync_at import SyncAt
from millstream.operators.table_scan import TableScan
from millstream.operators.tagged import Tagged
from millstream.operators.tagger import Tagger
from millstream.operators.ticks import Ticks
from millstream.operators.to_stream import Dstream, Elements, Istream
from millstream.operators.top_k import TopK
from millstream.operators.union_all import UnionAll
from millstream.operators.windows import Now, Range, Unbounded
from millstream.operators.within import Within

OPERATORS = (
    Scan,
    Ticks,
    Instants,
    Stamp,
    Retime,
    Missed,
    Fill,
    Merge,
    Now,
    Range,
    Unbounded,
    RangeSlide,
    Rows,
    Hop,
    Session,
    Over,
    Match,
    Panes,
    Sync,
    SyncAt,
    NowView,
    Within,
    Filter,
    Project,
    LookupJoin,
    Lateral,
    TableScan,
    Tagger,
    Copies,
    Dated,
    NonRetroactiveJoin,
    Join,
    SingleJoin,
    SemiJoin,
    AntiJoin,
    UnionAll,
    Intersect,
    Minus,
    Distinct,
    DeltaStar,
    Coalesce,
    TopK,
    PartialTopK,
    Partial,
    GroupBy,
    Feed,
    Recomputed,
    Rematch,
    Istream,
    Dstream,
    Active,
    Rstream,
    Elements,
    Tagged,
    Stored,
    Exchange,
    Retract,
    SkewSplit,
    Begin,
)

__all__ = [*(operator.__name__ for operator in OPERATORS), "OPERATORS", "StaticTable"]
