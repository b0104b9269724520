"""The report of an experiment on an app-log release."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from pipelines.applogs import board_plots
from pipelines.applogs.board import WEAK, on_boards
from pipelines.applogs.board_tables import ALL, BOARD_EXPECTATION, JUDGED_METRICS, PLAIN_METRICS
from pipelines.applogs.compat_2026 import COMPAT
from pipelines.applogs.drilldown.item_names import FORM
from pipelines.applogs.drilldown.states_in_time import state_rows
from pipelines.applogs.tables import EVIDENCE_ROLES, FAMILIES, TASK, TASKS, UNIT_STATUSES
from pipelines.evaluation import plots
from pipelines.evaluation.drilldown.index import USERS, user_index
from pipelines.evaluation.page import card_cautions, few, offered, page, visible, visible_frame
from pipelines.evaluation.report import FEW_USERS, READER_NOTES

TITLES = {
    "mechanical": "agreement by rule, mean over questions",
    "mechanical_micro": "agreement by rule, over fields",
    "mechanical_families": "agreement by rule, mean of families",
    "list_precision": "precision of lists",
    "list_recall": "recall of lists",
    "points": "points by rule, with the identity gate",
    "evidence_precision": "evidence precision",
    "evidence_recall": "evidence recall",
    "evidence_f1": "evidence F1",
    "stale_evidence": "stale evidence (lower is better)",
    "score": "Core+Detail, strict, mean over questions",
    "score_micro": "Core+Detail, strict, over fields",
    "score_families": "Core+Detail, strict, mean of families",
    "score_bound": "Core+Detail, were every failed mark right",
    "compat_score": "Core+Detail as published",
    "compat_score_micro": "Core+Detail as published, over fields",
    "compat_score_families": "Core+Detail as published, mean of families",
}
TASK_TITLES = {
    "state_completion": "State completion",
    "personalised_service": "Personalised service",
    "free_form": "Free form, with what is true no longer or never was",
    "no_key": "Without a key: a list of all that is true",
}
EXPECTED = {"value": "what is true", "no_longer": "true no longer", "never": "never true"}
HEADLINES = {
    "points": "points",
    "list_precision": "precision",
    "list_recall": "recall",
    "evidence_f1": "evidence F1",
    "stale_evidence": "stale evidence",
    "mechanical": "by rule",
}
"""Metrics that the first table of a board shows beside its own, and what it calls them."""
PAPER_HABITS = {"state_completion": "53–57 %", "personalised_service": "5–10 %"}
"""Habits in the paper, of all its memory systems, with another reader and judge (arXiv:2606.22877)."""
NOTES = {
    **READER_NOTES,
    "extractive": "a weak reader: word overlap and the rules of the baselines over what the memory delivered, no model",
}


def render_applogs(
    tables: Mapping[str, pl.DataFrame],
    card: Mapping[str, Any],
    provenance: Mapping[str, Any],
    life: Mapping[str, pl.DataFrame] | None = None,
) -> str:
    """The page as text.

    `tables` holds `applog_board` and, each optional, `applog_differences`, `applog_retention`, `applog_attribution`,
    `applog_agreement`, `applog_calibration`, `applog_compat`, `costs` and `users` (`drilldown.index.USERS`: those who
    have pages). `card` is the release card; `provenance` as in `page.page`. `life` holds one user's `state_intervals`,
    `state_evidence` with the `time` of the logs, and `checkpoints`: the states that are drawn in time.
    """
    shown = {name: visible_frame(frame) for name, frame in tables.items()}
    board = shown["applog_board"]
    specs: list[plots.Spec] = []

    def chart(spec: plots.Spec) -> int:
        specs.append(spec)
        return len(specs) - 1

    names = board["board"].unique().sort().to_list()
    views = [
        {"board": name, "tasks": [_task(board.filter(pl.col("board") == name), task, shown, chart) for task in TASKS]}
        for name in names
    ]
    return page(
        "applogs.html.j2",
        card=card,
        funnel=visible(card.get("funnel") or []),
        provenance=provenance,
        cautions=_cautions(shown, card),
        specs=specs,
        views=views,
        filters=offered(
            board=names,
            task=[task for task in TASKS if task in board["task"].to_list()],
            method=board["method"].unique().sort().to_list(),
        ),
        users=user_index(
            tables.get("users", USERS.to_frame()), "user", "agreement by rule, all methods", "questions", FORM
        ),
        titles=TITLES,
        task_titles=TASK_TITLES,
        headlines=HEADLINES,
        statuses=UNIT_STATUSES,
        families=FAMILIES,
        paper_habits=PAPER_HABITS,
        life=_life(life, chart),
        retention=_retention(shown, chart),
        attribution=_attribution(shown, chart),
        marked=_marked(shown),
        compat=_compat(shown),
        compat_name=COMPAT,
        costs=shown["costs"].to_dicts() if "costs" in shown else None,
    )


def _task(mine: pl.DataFrame, task: str, tables: Mapping[str, pl.DataFrame], chart: Any) -> dict[str, Any]:
    rows = mine.filter(pl.col("task") == task)
    expectations = rows["expectation"].unique(maintain_order=True).to_list()
    return {"task": task, "parts": [_part(rows, one, tables, chart) for one in sorted(expectations, key=_order)]}


def _order(expectation: str) -> int:
    return ("value", "no_longer", "never").index(expectation)


def _part(rows: pl.DataFrame, expectation: str, tables: Mapping[str, pl.DataFrame], chart: Any) -> dict[str, Any]:
    mine = rows.filter(pl.col("expectation") == expectation)
    whole = mine.filter((pl.col("place") == 0) & (pl.col("family") == ALL))
    known = set(whole.filter(pl.col("value").is_not_null())["metric"])
    first = "score" if "score" in known else "mechanical"
    main = whole.filter(pl.col("metric") == first).sort("rank", "method", nulls_last=True)
    curve = mine.filter((pl.col("metric") == first) & (pl.col("family") == ALL))
    axis = plots.share_axis("value", TITLES[first])
    by_metric = {
        method: part.rows_by_key("metric", named=True, unique=True)
        for (method,), part in whole.group_by("method", maintain_order=True)
    }
    part: dict[str, Any] = {
        "expectation": expectation,
        "first": first,
        "rows": main.to_dicts(),
        "metrics": by_metric,
        "shown": [one for one in (*PLAIN_METRICS, *JUDGED_METRICS) if one in known],
        "headlines": [one for one in HEADLINES if one in known and one != first],
        "plot": chart(plots.ranked(main, "value", low="low", high="high", axis=axis)),
        "curve": chart(board_plots.over_checkpoints(curve)),
        "places": sorted(set(curve["checkpoint"].to_list()) - {ALL}),
        "by_checkpoint": _crossed(curve.filter(pl.col("place") > 0), "checkpoint"),
        "by_family": _crossed(
            mine.filter((pl.col("place") == 0) & (pl.col("family") != ALL) & (pl.col("metric") == first)), "family"
        ),
        "differences": None,
    }
    if "applog_differences" in tables and mine.height:
        wanted = {"board": mine["board"][0], "task": mine["task"][0], "expectation": expectation, "metric": first}
        pairs = tables["applog_differences"].filter(*(pl.col(name) == value for name, value in wanted.items()))
        part["differences"] = pairs.sort("p_holm", "method", "other", nulls_last=True).to_dicts()
    return part


def _crossed(rows: pl.DataFrame, column: str) -> dict[str, dict[str, Any]]:
    """Method → value of the column → row."""
    cells: dict[str, dict[str, Any]] = {}
    for row in rows.sort("method").to_dicts():
        cells.setdefault(row["method"], {})[row[column]] = row
    return cells


def _life(life: Mapping[str, pl.DataFrame] | None, chart: Any) -> dict[str, Any] | None:
    """The user, the chart of its states, and the same as rows."""
    if life is None or life["state_intervals"].is_empty():
        return None
    intervals, evidence, checkpoints = (
        visible_frame(life[name]) for name in ("state_intervals", "state_evidence", "checkpoints")
    )
    return {
        "user": intervals["user_id"][0],
        "plot": chart(board_plots.state_timeline(intervals, evidence, checkpoints)),
        "rows": state_rows(intervals, evidence).to_dicts(),
        "checkpoints": checkpoints.sort("as_of").to_dicts(),
        "roles": EVIDENCE_ROLES,
    }


def _retention(tables: Mapping[str, pl.DataFrame], chart: Any) -> list[dict[str, Any]]:
    """A view a board, metric and family, those of all families first."""
    if "applog_retention" not in tables or tables["applog_retention"].is_empty():
        return []
    views = []
    kinds = ["board", "metric", "family"]
    for kind, rows in on_boards(tables["applog_retention"]).sort(*kinds).group_by(kinds, maintain_order=True):
        later = rows.filter(pl.col("place") > 1)
        if later["value"].drop_nulls().is_empty():
            continue
        cells: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
        for row in later.sort("method", "history", "place").to_dicts():
            cells.setdefault((row["method"], row["history"]), {})[row["place"]] = row
        places = later["place"].unique().sort().to_list()
        view = dict(zip(kinds, kind, strict=True))
        views.append({**view, "plot": chart(board_plots.by_history(rows)), "rows": cells, "places": places})
    return sorted(views, key=lambda view: view["family"] != ALL)


def _attribution(tables: Mapping[str, pl.DataFrame], chart: Any) -> list[dict[str, Any]]:
    if "applog_attribution" not in tables or tables["applog_attribution"].is_empty():
        return []
    kinds = ["board", "task"]
    whole = on_boards(tables["applog_attribution"].filter(pl.col("family") == ALL)).sort(*kinds, "method", "label")
    agreement = tables["applog_agreement"].to_dicts() if "applog_agreement" in tables else []
    known = {(row["board"], row["task"]): row for row in agreement}
    return [
        {
            **dict(zip(kinds, kind, strict=True)),
            "plot": chart(board_plots.why_wrong(rows)),
            "rows": _by_label(rows),
            "judged": (rows["by"] == "judge").any(),
            "agreement": known.get((str(kind[0]), str(kind[1]))),
        }
        for kind, rows in whole.group_by(kinds, maintain_order=True)
    ]


def _marked(tables: Mapping[str, pl.DataFrame]) -> list[dict[str, Any]]:
    """Rows of `applog_calibration`, best first."""
    if "applog_calibration" not in tables:
        return []
    order = ["core", "method", "reader", "budget"]
    return tables["applog_calibration"].sort(order, descending=[True, *[False] * 3], nulls_last=True).to_dicts()


def _by_label(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """A row a method, reader and label: the counts by rule beside those by the judge, each None where there is none."""
    cells: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows.to_dicts():
        arm = {name: row[name] for name in ("method", "reader", "label")}
        cells.setdefault(tuple(arm.values()), {**arm, "rule": None, "judge": None})[row["by"]] = row
    return list(cells.values())


def _compat(tables: Mapping[str, pl.DataFrame]) -> dict[str, Any] | None:
    if "applog_compat" not in tables or tables["applog_compat"].is_empty():
        return None
    rows = tables["applog_compat"]
    cells: dict[str, dict[str, Any]] = {}
    for row in rows.to_dicts():
        cells.setdefault(f"{row['method']} ({row['reader']}, {row['budget']})", {})[row["metric"]] = row["value"]
    return {"metrics": rows["metric"].unique().sort().to_list(), "arms": cells}


def _flagged(whole: pl.DataFrame) -> list[str]:
    """A sentence a board, kind of question and what makes methods of it suspect; one alone of a weak reader."""
    each = whole.with_columns(flag=pl.col("flags").str.split("; "))
    weak = each.filter(pl.col("flag").list.contains(WEAK), ~pl.col("reader").is_in(list(NOTES)))["reader"].unique()
    out = [f"Reader {reader} is a {WEAK}." for reader in weak.sort()]
    each = each.with_columns(
        pl.col("task").cast(TASK),
        pl.col("expectation").cast(BOARD_EXPECTATION),
        pl.col("flag").list.filter(pl.element() != WEAK).list.join("; "),
    )
    cell = ["board", "task", "expectation", "flag"]
    for key, rows in each.filter(pl.col("flag") != "").sort(*cell, "method").group_by(cell, maintain_order=True):
        board, task, expectation, flag = map(str, key)
        where = f"{TASK_TITLES[task].partition(',')[0].partition(':')[0]}, {EXPECTED[expectation]}"
        out.append(f"{where} ({board}), {flag}: {', '.join(rows['method'].unique(maintain_order=True))}.")
    return out


_BELIEVED = {
    "uncalibrated": "The judge of core and detail is uncalibrated: nobody labelled what it marks.",
    "refused": "The judge of core and detail cannot be corrected by what people labelled.",
}
"""What is said of a judge that is not calibrated."""


def _cautions(tables: Mapping[str, pl.DataFrame], card: Mapping[str, Any]) -> list[str]:
    out, board = card_cautions(card), tables["applog_board"]
    readers = board["reader"].unique().sort().to_list()
    out += [f"Reader {reader} is {NOTES[reader]}." for reader in readers if reader in NOTES]
    whole = board.filter((pl.col("place") == 0) & (pl.col("family") == ALL) & (pl.col("metric") == "mechanical"))
    users = whole["n_users"].max()
    if isinstance(users, int) and users < FEW_USERS:
        out.append(few(users, "user"))
    out += _flagged(whole)
    weak = tables["applog_agreement"].filter("weak") if "applog_agreement" in tables else pl.DataFrame()
    if weak.height:
        out.append("A weak model is the judge that says why answers are wrong.")
    for judge in _marked(tables)[:1]:
        out += ["A weak model is the judge that marks core and detail."] if judge["weak"] else []
        out += [_BELIEVED[judge["calibration"]]] if judge["calibration"] in _BELIEVED else []
    if "score" not in board["metric"].to_list():
        out.append("No judge marked these answers: scores are agreements by rule, strict on wording.")
    return [*out, "The paper's numbers come from other users, readers and judges; they are shown for orientation only."]
