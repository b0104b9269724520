"""The report of an experiment on a commerce release."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from pipelines.evaluation import plots, sections
from pipelines.evaluation.ablations import CONFIGURATIONS
from pipelines.evaluation.drilldown.index import USERS, user_index
from pipelines.evaluation.drilldown.units import POOL_UNIT
from pipelines.evaluation.faults import ARMS, COUNTS
from pipelines.evaluation.groups import HIGH_ACTIVITY, LOW_ACTIVITY
from pipelines.evaluation.judging.judged_section import judged_boards
from pipelines.evaluation.leaderboard import BOARD
from pipelines.evaluation.page import card_cautions, few, offered, page, visible, visible_frame
from pipelines.evaluation.tables import GROUP_KINDS, STATUSES
from pipelines.schema import TABLES

PAPER_RECALL = {"remember": 0.612, "infer": 0.443}
"""BehaviorMem in the paper (arXiv:2610.34790): other data, other reader."""
FEW_USERS = 30
"""Below this many users the page calls intervals rough (ours)."""
READER_NOTES = {
    "embedding": "a weak reader: averaged static word vectors, no language model",
    "lexical": "a weak reader: word overlap, no language model",
}

_NONE = {
    "arms": ARMS.to_frame(),
    "builds": COUNTS.to_frame(),
    "configurations": CONFIGURATIONS.to_frame(),
    "costs": TABLES["costs"].empty(),
    "differences": TABLES["differences"].empty(),
}


def render(tables: Mapping[str, pl.DataFrame], card: Mapping[str, Any], provenance: Mapping[str, Any]) -> str:
    """The page as text.

    `tables` holds the table `leaderboard` and, each optional, `differences`,
    `positions` and `funnel`; what is absent is said to be. Without rows of
    `verdict_summary` nothing is said of judges, without those of `costs` of
    model calls, of `builds` (method, count, n) of what memories counted, of
    `configurations` (`ablations.CONFIGURATIONS`) of ablations, of `arms`
    (`faults.ARMS`) of weak readers, of `users` (`drilldown.index.USERS`) of
    pages of users. `card` is the release card, `provenance`
    as for `page`.
    """
    shown = {name: visible_frame(frame) for name, frame in tables.items()}
    known = _NONE | shown
    board = shown["leaderboard"]
    specs: list[plots.Spec] = []

    def chart(spec: plots.Spec) -> int:
        specs.append(spec)
        return len(specs) - 1

    views = [
        {**_view(shown, reader, budget, chart), **_weakness(known, reader, budget)}
        for reader, budget in board.select(BOARD).unique().sort(BOARD).iter_rows()
    ]
    return page(
        "report.html.j2",
        card=card,
        funnel=shown["funnel"].to_dicts() if "funnel" in shown else visible(card.get("funnel") or []),
        provenance=provenance,
        cautions=_cautions(board, card, views),
        specs=specs,
        views=views,
        budget_curves=sections.budget_curves(board, chart),
        ablations=sections.ablated(board, known["differences"], known["configurations"], chart),
        spent=sections.spent(board, known["costs"], chart),
        counted=sections.counted(known["builds"]),
        filters=offered(
            board=[view["name"] for view in views],
            pool=board["pool"].unique().sort().to_list(),
            method=board["method"].unique().sort().to_list(),
            group=[kind for kind in GROUP_KINDS if kind != "all"],
        ),
        users=user_index(tables.get("users", USERS.to_frame()), "user", "recall, all memories", "pools", POOL_UNIT),
        judged=judged_boards(shown["verdict_summary"]) if "verdict_summary" in shown else [],
        statuses=STATUSES,
        paper_recall=PAPER_RECALL,
        activity_limits=(LOW_ACTIVITY, HIGH_ACTIVITY),
    )


def _view(tables: Mapping[str, pl.DataFrame], reader: str, budget: int, chart: Any) -> dict[str, Any]:
    """What the page shows of one board."""
    mine = (pl.col("reader") == reader) & (pl.col("budget") == budget)
    board = tables["leaderboard"].filter(mine)
    pools = []
    for pool in board["pool"].unique(maintain_order=True):
        rows = board.filter(pl.col("pool") == pool)
        whole = rows.filter(pl.col("group_kind") == "all").sort("recall", "method", descending=[True, False])
        view: dict[str, Any] = {
            "pool": pool,
            "rows": whole.to_dicts(),
            "plot": chart(plots.recall(board, reader, budget, pool)),
            "groups": _groups(rows),
            "group_plots": {
                kind: chart(plots.by_group(board, reader, budget, pool, kind)) for kind in ("familiarity", "activity")
            },
            "differences": None,
            "positions": None,
        }
        if "differences" in tables:
            pairs = tables["differences"].filter(mine & (pl.col("pool") == pool))
            view["differences"] = pairs.sort("p_holm", "method", "other", nulls_last=True).to_dicts()
        if "positions" in tables:
            view["positions"] = chart(plots.by_position(tables["positions"], reader, budget, pool))
        pools.append(view)
    name = f"{reader}, {budget:,} tokens"
    return {"reader": reader, "budget": budget, "name": name, "note": READER_NOTES.get(reader, ""), "pools": pools}


def _weakness(tables: Mapping[str, pl.DataFrame], reader: str, budget: int) -> dict[str, Any]:
    """Whether a weak model read the memories of a board, and which."""
    mine = (pl.col("reader") == reader) & (pl.col("budget") == budget)
    asked = tables["costs"].filter(mine, pl.col("step").cast(pl.String) == "read")["model"].unique().sort().to_list()
    return {"weak": tables["arms"].filter(mine, "weak_reader").height > 0, "models": asked}


def _groups(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Group tables: one line a method, one cell a group."""
    tables = []
    for kind in ("familiarity", "activity", "activity_fixed"):
        part = rows.filter(pl.col("group_kind") == kind)
        names = part["group"].unique(maintain_order=True).to_list()
        cells: dict[str, dict[str, Any]] = {}
        for row in part.to_dicts():
            cells.setdefault(row["method"], {})[row["group"]] = row
        sizes = part.group_by("group").agg(pl.max("n_units", "n_users")).rows_by_key("group", named=True, unique=True)
        tables.append({"kind": kind, "groups": names, "sizes": sizes, "methods": dict(sorted(cells.items()))})
    return tables


def _cautions(board: pl.DataFrame, card: Mapping[str, Any], views: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a reader of the page should know before trusting it."""
    out = card_cautions(card)
    whole = board.filter(pl.col("group_kind") == "all")
    out += [f"Reader {r} is {READER_NOTES[r]}." for r in board["reader"].unique().sort() if r in READER_NOTES]
    weak = sorted({view["reader"] for view in views if view["weak"]})
    out += [f"Reader {reader} is a weak model: its boards say little of the memories." for reader in weak]
    n_users = whole["n_users"].max()
    if isinstance(n_users, int) and n_users < FEW_USERS:
        out.append(few(n_users, "user"))
    for row in whole.filter(pl.col("flags") != "").sort(*BOARD, "pool", "method").to_dicts():
        out.append(f"{row['method']} ({row['reader']}, {row['budget']} tokens, {row['pool']}): {row['flags']}.")
    out.append("The paper's numbers come from another log and another reader; they are shown for orientation only.")
    return out
