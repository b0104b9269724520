"""The page of an app-log leaderboard: values as text, charts beside tables, what was not run named."""

import json
import re
import shutil
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from test_applog_board import CHECKPOINTS, GOOD, NOBODY, NONE, RULED, USERS, arm
from test_applog_calibrating import ARMS, NO, YES, labels, verdicts

from pipelines.applogs.board import applog_board, applog_differences, user_values
from pipelines.applogs.board_report import render_applogs
from pipelines.applogs.board_tables import APPLOG_BOARD_TABLES
from pipelines.applogs.calibrating import applog_calibration
from pipelines.applogs.tables import table_of
from pipelines.tables import TIME

HOSTILE = '<script>alert(1)</script>{{ 7*7 }}\x1b[31m"\u202e'
FUNNEL = {"step": "drops", "unit": "users", "reason": "", "n": 3}
CARD = {"release": "0123456789ab", "track": "applogs", "warnings": ["made up"], "funnel": [FUNNEL]}


def tables(*arms: pl.DataFrame) -> dict[str, pl.DataFrame]:
    values = user_values(pl.concat(arms), NOBODY, CHECKPOINTS)
    pairs = applog_differences(values, 7)
    return {
        **{name: APPLOG_BOARD_TABLES[name].empty() for name in ("applog_retention", "applog_attribution")},
        "applog_board": applog_board(values, pairs, 7),
        "applog_differences": pairs,
    }


def life() -> dict[str, pl.DataFrame]:
    key = "user_attributes_state:gym"
    intervals = table_of(
        "state_intervals",
        [
            {"user_id": USERS[0], "state_key": key, "value_id": "gym#1", "value": json.dumps(HOSTILE),
             "valid_from": datetime(2023, 10, 1), "valid_to": datetime(2024, 2, 1)},
            {"user_id": USERS[0], "state_key": key, "value_id": "gym#2", "value": '"B"',
             "valid_from": datetime(2024, 2, 1)},
        ],
    )  # fmt: skip
    evidence = table_of(
        "state_evidence",
        [
            {"user_id": USERS[0], "state_key": key, "value_id": "gym#1", "app_log_id": f"log_{n:05d}", "position": n,
             "role": role, "fields": []}
            for n, role in enumerate(("supports", "supports", "distractor"))
        ],
    ).with_columns(time=pl.lit(datetime(2023, 11, 5)).cast(TIME))  # fmt: skip
    return {
        "state_intervals": intervals,
        "state_evidence": evidence,
        "checkpoints": CHECKPOINTS.filter(pl.col("user_id") == USERS[0]),
    }


def specs_of(page: str) -> list[dict[str, object]]:
    found = re.search(r'<script type="application/json" id="specs">(.*?)</script>', page, re.DOTALL)
    assert found
    return list(json.loads(found[1]))


def test_values_ranks_and_checkpoints_stand_on_the_page() -> None:
    page = render_applogs(tables(NONE, GOOD, RULED), CARD, {"release": "0123456789ab"}, life())
    assert "0.750" in page and "5–10 %" not in page.split("Personalised service", 1)[0]
    assert "routine" in page and "C2" in page
    assert page.count('class="chart') == len(re.findall(r'data-spec="\d+"', page)) == len(specs_of(page))
    assert "gym#" not in page and "2024-02-01" in page


def test_labels_by_rule_and_by_judge_stand_side_by_side_with_their_agreement() -> None:
    given = tables(NONE, GOOD)
    at = {"method": "recent_k", "reader": "extractive", "budget": 600, "task": "state_completion", "family": "all"}
    rows = [("rule", "conflated", 3, 0.75), ("rule", "untold", 1, 0.25), ("judge", "conflated", 1, 0.5),
            ("judge", "judge_error", 1, 0.5)]  # fmt: skip
    given["applog_attribution"] = pl.DataFrame(
        [{**at, "by": by, "label": label, "n_items": n, "share": share} for by, label, n, share in rows],
        schema=APPLOG_BOARD_TABLES["applog_attribution"].schema,
    )
    counts = {"n_judged": 2, "n_errors": 1, "n_both": 1, "n_equal": 1, "n_users": 1, "agreement": 1.0}
    given["applog_agreement"] = pl.DataFrame(
        [{"board": "extractive, 600 tokens", "task": "state_completion", "judge": "j", "weak": True, **counts}],
        schema=APPLOG_BOARD_TABLES["applog_agreement"].schema,
    )
    page = render_applogs(given, CARD, {})
    row = r'<th scope="row">recent_k</th><td>(\w+)</td>' + "<td>([^<]*)</td>" * 4 + "</tr>"
    cells = {found[0]: found[1:] for found in re.findall(row, page)}
    assert cells == {
        "conflated": ("3", "0.750", "1", "0.500"),
        "judge_error": ("–", "–", "1", "0.500"),
        "untold": ("1", "0.250", "–", "–"),
    }
    assert "1 of 1 answers that both labelled have one label (1.000); Cohen's kappa is undefined." in page
    assert "The judge erred on 1 of 2; it is a weak model." in page and "A weak model is the judge" in page
    (bars,) = [spec for spec in specs_of(page) if "yOffset" in json.dumps(spec)]
    assert {row["by"] for row in bars["data"]["values"]} == {"rule", "judge"}
    given["applog_attribution"] = given["applog_attribution"].filter(pl.col("by") == "rule")
    del given["applog_agreement"]
    alone = render_applogs(given, CARD, {})
    assert (
        "by judge</th>" not in alone
        and "the lower one by judge" in page
        and "the lower one" not in alone
        and "yOffset" not in json.dumps(specs_of(alone))
    )


@pytest.mark.parametrize(
    ("said", "tells", "warns"),
    [
        (labels(), "Uncalibrated: nobody labelled a part yet", "The judge of core and detail is uncalibrated"),
        (labels(**YES), "Not corrected, after 5 labelled parts: no labelled answer is wrong", "cannot be corrected by"),
        (
            labels(**YES, **NO),
            "Calibrated on 10 parts that people labelled: of the right ones the judge finds 0.800",
            "",
        ),
    ],
)
def test_how_far_the_judge_can_be_believed_stands_on_the_page(said: pl.DataFrame, tells: str, warns: str) -> None:
    found = applog_calibration(ARMS, 9, verdicts(), said, weak=True)
    page = render_applogs({**tables(NONE, GOOD), "applog_calibration": found}, CARD, {})
    section = page.split('id="judged"', 1)[1].split("<h2", 1)[0]
    assert tells in section and "A weak model judged" in section
    shares = {
        method: cells for method, *cells in re.findall(r'<th scope="row">(\w+)</th>' + "<td>([^<]*)</td>" * 6, section)
    }
    corrected = "0.917" if not warns else "–"
    assert {method: (cells[0], cells[2], cells[4]) for method, cells in shares.items()} == {
        "recent_k": ("llm", "0.750", corrected),
        "routine": ("rule", "0.250", "0.083" if not warns else "–"),
        "silent": ("llm", "–", "–"),
    }
    assert list(shares) == ["recent_k", "routine", "silent"], "best first"
    cautions = page.split('id="boards"')[0]
    assert ("judge of core and detail" in cautions) == bool(warns) and warns in cautions
    assert "A weak model is the judge that marks core and detail." in cautions
    assert 'id="judged"' not in render_applogs({**tables(NONE, GOOD), "applog_calibration": found.clear()}, CARD, {})


def test_a_checkpoint_that_was_not_run_is_said() -> None:
    gap = arm("recent_k", {"habit": ((1.0,), (1.0,)), "attribute": ((1.0, 1.0), (1.0, 1.0))}, without=(USERS[1], 1))
    page = render_applogs(tables(NONE, gap), CARD, {})
    assert "not run" in page and "1 checkpoints not run" in page


def test_hostile_text_is_shown_as_text() -> None:
    named = GOOD.with_columns(method=pl.lit(HOSTILE))
    page = render_applogs(tables(NONE, named), CARD | {"warnings": [HOSTILE]}, {"seed": HOSTILE}, life())
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "&lt;script&gt;alert(1)" in shown and "{{ 7*7 }}" in shown
    assert "\x1b" not in page and "\u202e" not in page
    assert "<script>alert(1)" not in page


def test_nothing_is_loaded_from_anywhere() -> None:
    page = render_applogs(tables(NONE, GOOD), CARD, {})
    head = page.split("<script", 1)[0]
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', head)
    assert "default-src 'none'" in page


@pytest.mark.browser
def test_filters_and_keyboard_from_disk(tmp_path: Path) -> None:
    if (browser_file := shutil.which("chromium")) is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    hostile = RULED.with_columns(method=pl.lit(HOSTILE))
    file = tmp_path / "report.html"
    file.write_text(render_applogs(tables(NONE, GOOD, hostile), CARD, {}, life()), encoding="utf-8")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_file, args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append("a dialog opened"))
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((section) => { section.open = true; })")
        drawn = "[...document.querySelectorAll('.chart')].every((one) => !one.offsetParent || one.querySelector('svg'))"
        page.wait_for_function(drawn, timeout=20_000)

        def rows(method: str) -> int:
            return int(page.locator(f"tr[data-method='{method}']:visible").count())

        def in_chart(method: str) -> bool:
            """Whether the first leaderboard's chart has a row of a method."""
            return method in page.locator(".chart").first.inner_text()

        before = rows("recent_k")
        assert before > 3 and in_chart("recent_k") and in_chart("empty") and "alert(1)" in page.content()
        page.locator("#filters input[value=recent_k]").focus()
        page.keyboard.press("Space")
        page.wait_for_function("!document.querySelector('.chart').textContent.includes('recent_k')")
        assert rows("recent_k") == 0 < rows("empty") and in_chart("empty")
        # What has no method, such as the states of a user, is left as it is.
        assert page.locator("text=The states of").is_visible() and page.evaluate(drawn)
        assert "empty" in page.locator("#filters output").inner_text()
        page.locator("#filters button").focus()
        page.keyboard.press("Enter")
        page.wait_for_function("document.querySelector('.chart').textContent.includes('recent_k')")
        assert rows("recent_k") == before
        # Everything unticked is a page of empty charts, not of errors.
        for box in page.locator("#filters input[name=method]").all():
            box.uncheck()
        assert rows("empty") == 0
        page.wait_for_function("!document.querySelector('.chart').textContent.includes('empty')")
        # A summary opens by keyboard.
        page.locator("summary").first.focus()
        opened = page.evaluate("document.querySelector('details').open")
        page.keyboard.press("Enter")
        assert page.evaluate("document.querySelector('details').open") != opened
        browser.close()
    assert (asked, wrong) == ([file.as_uri()], [])


def test_cautions_name_the_methods_together_that_one_thing_makes_suspect() -> None:
    board = tables(NONE, GOOD)
    flagged = board["applog_board"].with_columns(
        flags=pl.when(pl.col("method") == "recent_k").then(pl.lit("coverage < 1; weak reader")).otherwise(pl.lit(""))
    )
    other = flagged.filter(pl.col("method") == "recent_k").with_columns(method=pl.lit("zz"), reader=pl.lit("llm"))
    page = render_applogs({**board, "applog_board": pl.concat([flagged, other])}, CARD, {})
    said = re.findall(r"<li>(.*?)</li>", page.split('id="boards"')[0])
    assert "State completion, what is true (extractive, 600 tokens), coverage &lt; 1: recent_k, zz." in said
    assert "Reader llm is a weak reader." in said
    assert sum("weak reader" in one for one in said) == 2, "each reader once"
