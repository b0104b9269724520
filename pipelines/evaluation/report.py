"""The report: one HTML page that opens from disk, asks nothing of a network and shows every value as text."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import polars as pl
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipelines.evaluation import plots
from pipelines.evaluation.groups import HIGH_ACTIVITY, LOW_ACTIVITY
from pipelines.evaluation.leaderboard import BOARD
from pipelines.evaluation.tables import STATUSES

PAPER_RECALL = {"remember": 0.612, "infer": 0.443}
"""BehaviorMem in the paper (arXiv:2610.34790): other data, other reader."""
FEW_USERS = 30
"""Below this many users the page calls intervals rough (ours)."""
READER_NOTES = {
    "embedding": "a weak reader: averaged static word vectors, no language model",
    "lexical": "a weak reader: word overlap, no language model",
}

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_HIDDEN = re.compile(r"[\x80-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def render(tables: Mapping[str, pl.DataFrame], card: Mapping[str, Any], provenance: Mapping[str, Any]) -> str:
    """The page as text.

    `tables` holds the table `leaderboard` and, each optional, `differences`,
    `positions` and `funnel`; what is absent is said to be. `card` is the release card.
    `provenance` maps headings to a value, a mapping, or a mapping of mappings
    (one row each): hashes, versions, settings of the run.
    """
    shown = {name: _visible_frame(frame) for name, frame in tables.items()}
    board = shown["leaderboard"]
    specs: list[plots.Spec] = []

    def chart(spec: plots.Spec) -> int:
        specs.append(spec)
        return len(specs) - 1

    views = [
        _view(shown, reader, budget, chart) for reader, budget in board.select(BOARD).unique().sort(BOARD).iter_rows()
    ]
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            views=views,
            card=_visible(card),
            funnel=shown["funnel"].to_dicts() if "funnel" in shown else _visible(card.get("funnel") or []),
            provenance=_sections(_visible(provenance)),
            cautions=_cautions(board, _visible(card)),
            statuses=STATUSES,
            paper_recall=PAPER_RECALL,
            activity_limits=(LOW_ACTIVITY, HIGH_ACTIVITY),
            specs=specs,
            script=_script(),
        )
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
    return {"reader": reader, "budget": budget, "note": READER_NOTES.get(reader, ""), "pools": pools}


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


def _cautions(board: pl.DataFrame, card: Mapping[str, Any]) -> list[str]:
    """What a reader of the page should know before trusting it."""
    out = [f"{what}: {why}" for what, why in sorted((card.get("refusals") or {}).items())]
    out += [str(warning) for warning in card.get("warnings") or []]
    whole = board.filter(pl.col("group_kind") == "all")
    out += [f"Reader {r} is {READER_NOTES[r]}." for r in board["reader"].unique().sort() if r in READER_NOTES]
    n_users = whole["n_users"].max()
    if isinstance(n_users, int) and n_users < FEW_USERS:
        out.append(f"Only {n_users} users: intervals are rough, and absent with one.")
    for row in whole.filter(pl.col("flags") != "").sort(*BOARD, "pool", "method").to_dicts():
        out.append(f"{row['method']} ({row['reader']}, {row['budget']} tokens, {row['pool']}): {row['flags']}.")
    out.append("The paper's numbers come from another log and another reader; they are shown for orientation only.")
    return out


def _sections(provenance: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tables of the provenance: columns and rows."""
    sections, loose = [], []
    for title, value in provenance.items():
        if not isinstance(value, Mapping):
            loose.append([title, value])
        elif value and all(isinstance(inner, Mapping) for inner in value.values()):
            columns = list(dict.fromkeys(name for inner in value.values() for name in inner))
            rows = [[key, *(inner.get(name, "") for name in columns)] for key, inner in value.items()]
            sections.append({"title": title, "columns": ["", *columns], "rows": rows})
        else:
            sections.append({"title": title, "columns": ["", "value"], "rows": [[k, v] for k, v in value.items()]})
    head = [{"title": "run", "columns": ["", "value"], "rows": loose}] if loose else []
    return head + sections


def _visible(value: Any) -> Any:
    """The value with control, bidirectional and zero-width characters of its texts made visible."""
    if isinstance(value, str):
        shown = _CONTROL.sub(lambda m: chr(0x2421 if m[0] == "\x7f" else 0x2400 + ord(m[0])), value)
        return _HIDDEN.sub(lambda m: f"⟨U+{ord(m[0]):04X}⟩", shown)
    if isinstance(value, Mapping):
        return {_visible(key): _visible(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_visible(inner) for inner in value]
    return value


def _visible_frame(frame: pl.DataFrame) -> pl.DataFrame:
    enums = pl.selectors.enum() | pl.selectors.categorical()
    texts = frame.with_columns(enums.cast(pl.String)).select(pl.col(pl.String))
    return frame.with_columns(
        pl.Series(name, _visible(texts[name].to_list()), dtype=pl.String) for name in texts.columns
    )


@cache
def _script() -> Markup:
    """Vega, Vega-Lite and Vega-Embed as one script; text that would end the element is broken up."""
    return Markup(
        re.sub(
            r"</(script)", r"<\\/\1", vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"), flags=re.IGNORECASE
        )
    )


def _number(value: Any, digits: int = 3) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.{digits}f}"
    return f"{value:,.0f}" if isinstance(value, (int, float)) else str(value)


def _fixed(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _interval(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "no interval" if low is None else f"{low:.3f} to {high:.3f}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pipelines.evaluation", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _number, "fixed": _fixed}
    environment.globals |= {"interval": _interval}
    return environment
