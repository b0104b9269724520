"""What must hold of verdicts and of what they come to; each break is found by its name."""

import polars as pl
import pytest

from expectations.audits import audit_for
from expectations.invariants import INVARIANTS
from pipelines.commerce.settings import CommerceSettings
from pipelines.evaluation.judging.tables import JUDGING_TABLES
from pipelines.evaluation.judging.verdict_summary import Judged, verdict_summary
from pipelines.schema import TABLES, conform

Tables = dict[str, pl.DataFrame]
ARMS = (("tells", "lexical"), ("tells", "embedding"), ("silent", "lexical"))


@pytest.fixture(scope="module")
def tables() -> Tables:
    """Two lines each of 20 readouts of 10 users; one reply in ten could not be read. Half of it is labelled."""
    said, rows = [], []
    for n in range(20):
        key = {"user_id": f"u{n % 10}", "transition_index": n // 10}
        said.append(key | {"description": f"line a{n}\n\n", "tree": f"  line b{n}"})
        for part, line in (("description 001", f"line a{n}"), ("tree 001", f"line b{n}")):
            ok = n % 10 != 3
            told = {"supported": n % 3 > 0, "specific": n % 3} if ok else {}
            why = {"status": "ok", "reason": ""} if ok else {"status": "judge_error", "reason": "reply_empty"}
            names = {"rubric": "grounded", "judge": "j", "content": line, "analysis": "", "call": "c"}
            rows.append(key | names | why | told | {"part": part, "line": line})
    schema = TABLES["verdicts"].schema
    found = pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema, orient="row")
    verdicts = found.sort(TABLES["verdicts"].sort_by)
    # People agree with what the judge would say of every first line, but for the second one.
    labels = pl.DataFrame(
        {"content": [f"line a{n}" for n in range(20)], "label": [n % 3 > 0 and n != 1 for n in range(20)]}
    )
    judged = [
        Judged(
            method, reader, 60, "grounded", "j", "m", False, 900, 20, verdicts if method == "tells" else found.clear()
        )
        for method, reader in ARMS
    ]
    return {
        "verdicts": verdicts,
        "readouts": pl.DataFrame(said, schema_overrides={"transition_index": pl.Int32}),
        "verdict_summary": verdict_summary(judged, labels),
        "of_arms": pl.concat(
            one.verdicts.with_columns(method=pl.lit(one.method), reader=pl.lit(one.reader), budget=pl.lit(60))
            for one in judged
        ),
    }


def frames_of(tables: Tables, table: str) -> Tables:
    """The table and its companions."""
    if table == "verdicts":
        return {name: tables[name] for name in ("verdicts", "readouts")}
    return {"verdict_summary": tables["verdict_summary"], "verdicts": tables["of_arms"]}


def failed(tables: Tables, table: str, change: pl.Expr | None = None) -> list[str]:
    frames = {name: one.lazy() for name, one in frames_of(tables, table).items()}
    if change is not None:
        frames[table] = conform(frames[table].with_columns(change), table)
    return [
        one.name for one in INVARIANTS[table](frames, CommerceSettings()) if not one.passed and one.severity == "error"
    ]


@pytest.mark.parametrize("table", JUDGING_TABLES)
def test_tables_as_computed_pass_both_checks(tables: Tables, table: str) -> None:
    others = {name: one.lazy() for name, one in frames_of(tables, table).items() if name != table}
    findings = audit_for(table, others)(tables[table].lazy())
    assert [one.name for one in findings if not one.passed] == (["consistent/judged"] if table == "verdicts" else []), (
        "errors of the judge are a warning that everyone sees"
    )


def test_the_summary_counts_errors_and_silence(tables: Tables) -> None:
    rows = tables["verdict_summary"].select(
        "method", "reader", "n_parts", "n_errors", "n_readouts", "core", "calibration", "n_labelled"
    )
    # Of n = 0 … 19 seven are divisible by three, and 13 could not be read: the lines of 12 are supported.
    assert rows.rows() == [
        ("silent", "lexical", 0, 0, 20, None, "calibrated", 20),
        ("tells", "embedding", 40, 4, 20, 0.6, "calibrated", 20),
        ("tells", "lexical", 40, 4, 20, 0.6, "calibrated", 20),
    ]


first = pl.int_range(pl.len()) == 0
last = pl.int_range(pl.len()) == pl.len() - 1


def put(column: str, value: object, where: pl.Expr) -> pl.Expr:
    return pl.when(where).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)


@pytest.mark.parametrize(
    ("table", "change", "found"),
    [
        ("verdicts", put("supported", None, first), ["typed"]),
        ("verdicts", put("specific", 1, pl.col("status") == "judge_error"), ["typed"]),
        ("verdicts", put("reason", "", pl.col("status") == "judge_error"), ["reason"]),
        ("verdicts", put("line", "of nobody", first), ["every_line"]),
        ("verdict_summary", put("core", None, last), ["shares", "counts"]),
        ("verdict_summary", put("core", 0.0, first), ["shares"]),
        ("verdict_summary", put("coverage", 1.0, last), ["coverage"]),
        ("verdict_summary", put("n_errors", 40, last), ["coverage", "counts"]),
        ("verdict_summary", put("corrected_core", None, last), ["corrected"]),
        ("verdict_summary", put("n_labelled", 0, last), ["labelled"]),
        ("verdict_summary", put("n_parts", 39, last), ["coverage", "counts"]),
    ],
)
def test_a_break_is_found_by_its_name(tables: Tables, table: str, change: pl.Expr, found: list[str]) -> None:
    assert failed(tables, table, change) == found


def test_what_lacks_a_companion_is_said_not_to_be_checked(tables: Tables) -> None:
    for table, lacking in (("verdicts", "every_line"), ("verdict_summary", "counts")):
        findings = INVARIANTS[table]({table: tables[table].lazy()}, CommerceSettings())
        assert [one.name for one in findings if one.severity == "info"] == [lacking]


def test_a_line_left_out_or_of_another_readout_is_found(tables: Tables) -> None:
    fewer = {**tables, "verdicts": tables["verdicts"].head(-1)}
    assert failed(fewer, "verdicts") == ["every_line"]
    more = {**tables, "readouts": tables["readouts"].head(-1)}
    assert failed(more, "verdicts") == ["every_line"]
