"""The on-chain page: it shows the board's numbers, says what is absent, loads nothing and runs no name it is given."""

import re
from typing import Any

import polars as pl
from chain_worlds import market, table, wallet

from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.label_statistics import LABELS, PAPER_INSTANCES, label_statistics
from pipelines.onchain.prediction_board import prediction_board
from pipelines.onchain.prediction_differences import prediction_differences
from pipelines.onchain.prediction_report import render_predictions, standing

HOSTILE = "<script>alert(1)</script>{{7*7}}\x1b[31m\u202e</style>"


def units(reader: str = "llm") -> pl.DataFrame:
    schema = PREDICTION_TABLES["prediction_units"].schema
    rows: list[dict[str, Any]] = []
    for number, (method, who) in enumerate((("direct", reader), ("none", reader), ("wallet_median", "rule"))):
        for u in range(14):
            for event in range(2):
                bad = method == "none" and u == 0
                error = None if bad else 1e6 * (number + 1 + u % 3)
                rows.append(
                    {
                        "method": method,
                        "reader": who,
                        "layer": "trade",
                        "split": "test",
                        "wallet": wallet(u),
                        "event": event,
                        "condition_id": market(0),
                        "status": "truncated" if bad else "ok",
                        "correct": None if bad else u % 4 > number,
                        "error": error,
                        "error_all": 5e6 if bad else error,
                        "action": ("accumulate", "close")[event],
                    }
                )
    return pl.DataFrame(rows, schema=schema)


def tables(reader: str = "llm") -> dict[str, pl.DataFrame]:
    scored = units(reader)
    pairs = prediction_differences(scored, resamples=50, flips=50)
    board = prediction_board(scored, pairs, resamples=50, weak=[reader])
    return {"prediction_board": board, "prediction_differences": pairs}


CARD = {
    "release": "abc123",
    "track": "onchain",
    "funnel": [
        {
            "step": 1,
            "filter": HOSTILE,
            "threshold": "≥ 10",
            "origin": "paper",
            "wallets": 12,
            "sequences": 3,
            "trades": 9,
        }
    ],
    "logs": [{"outcome": "foreign", "event": "OrderFilled", "rows": 1234}],
    "warnings": [HOSTILE],
    "refusals": {},
    "statistics": [{"name": "wallets", "value": 14, "paper": 2000}],
    "settings": [],
    "facts": [],
}


def text_of(page: str) -> str:
    return re.sub(r"<[^>]+>", " ", page)


def test_the_page_shows_the_numbers_of_the_board() -> None:
    made = tables()
    page = render_predictions(made, CARD, {"seed": 7, "arms": {"e~direct~llm": {"reader": "f"}}})
    best = made["prediction_board"].filter(metric="medae", reading="all", group_kind="all", method="direct")
    value, low, high = best.select("value", "low", "high").row(0)
    assert value == 2e6
    assert f"<td>2.00</td><td>{low / 1e6:.2f} to {high / 1e6:.2f}</td>" in page
    text = text_of(page)
    for said in (
        "Direction accuracy",
        "Amount median absolute error, shares",
        "By activity",
        "By action",
        "weak model",
    ):
        assert said in text
    assert "No target of this layer was asked." in text
    assert "No model was asked." in text
    assert "Only 14 wallets: intervals are rough" in text
    assert "none (llm, amount MAE, shares): coverage &lt; 1; weak model." in text
    assert "<td>paper</td><td>12</td><td>3</td><td>9</td>" in page
    assert '<th scope="row">foreign</th><td class="text">OrderFilled</td><td>1,234</td>' in page
    row = page[page.index('<th scope="row">none</th><td>llm</td><td>28</td>') :]
    assert row.startswith('<th scope="row">none</th><td>llm</td><td>28</td><td>26</td><td>0</td><td>0</td><td>2</td>')
    assert page.count('class="chart') == len(re.findall(r'"\$schema"', page)) == 3 * (1 + 2)


def test_what_is_absent_is_said_to_be() -> None:
    page = text_of(render_predictions({"prediction_board": tables()["prediction_board"]}, {}, {}))
    assert page.count("Not computed in this run.") == 3
    assert "Labels and splits   Not available." in re.sub(r"\n", " ", page)
    assert "Not stated." in page
    only = units().filter(reader="rule")
    board = prediction_board(only, prediction_differences(only), resamples=20)
    assert "Only baselines answered: no reader was asked." in text_of(
        render_predictions({"prediction_board": board, "prediction_differences": prediction_differences(only)}, {}, {})
    )


def test_a_hostile_name_is_text_and_nothing_is_loaded() -> None:
    page = render_predictions(tables(HOSTILE), CARD, {HOSTILE: HOSTILE})
    assert "alert(1)" in page
    assert "<script>alert" not in page and "\x1b" not in page and "\u202e" not in page
    assert len(re.findall(r"<script", page.partition('id="specs"')[0])) == 1
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", page.partition("<script>")[0])
    assert "{{7*7}}" in page


def test_the_plot_is_in_the_order_of_the_ranks_and_in_shares() -> None:
    spec = standing(tables()["prediction_board"], "llm", "trade", "medae")
    assert [row["method"] for row in spec["data"]["values"]] == ["direct", "none", "wallet_median"]
    assert spec["data"]["values"][0]["value"] == 2.0
    accuracy = standing(tables()["prediction_board"], "llm", "trade", "accuracy")
    assert accuracy["layer"][1]["encoding"]["x"]["scale"] == {"domain": [0, 1]}


def test_label_statistics_by_hand() -> None:
    beliefs = table(
        "belief_instances",
        *(
            {"wallet": wallet(u), "cohort": cohort, "split": split, "side": side, "side_full": full,
             "tie": tie, "flips": side != full}
            for u, cohort, split, side, full, tie in (
                (0, "evaluation", "train", 0, 0, False),
                (0, "evaluation", "train", -1, 1, False),
                (1, "evaluation", "train", 1, -1, True),
                (1, "evaluation", "test", 0, 0, False),
                (2, "support", "test", 0, 1, True),
            )
        ),
    )  # fmt: skip
    trades = table(
        "trade_instances",
        *(
            {"wallet": wallet(0), "cohort": "evaluation", "split": split, "direction": d, "amount": a, "action": action}
            for split, d, a, action in (
                ("train", "BUY", 4, "accumulate"),
                ("validation", "SELL", 9, "close"),
                ("validation", "BUY", 6, "accumulate"),
            )
        ),
    )
    found = label_statistics(beliefs, trades)
    assert found.schema == pl.Schema(LABELS)
    rows = {(row["layer"], row["split"]): row for row in found.iter_rows(named=True)}
    assert list(rows) == list(PAPER_INSTANCES)
    train = rows["belief", "train"]
    assert [train[name] for name in ("instances", "wallets", "flat", "flat_full", "tied", "flips", "buys")] == [
        *(3, 2, 1 / 3, 1 / 3, 1 / 3, 2 / 3, None)
    ]
    assert (rows["belief", "all"]["flips"], rows["belief", "all"]["paper"]) == (0.5, 141_445)
    assert (rows["belief", "validation"]["instances"], rows["belief", "validation"]["flips"]) == (0, None)
    validation = rows["trade", "validation"]
    assert [validation[name] for name in ("buys", "median_amount", "accumulate", "reduce", "close", "flat")] == [
        *(0.5, 7.5, 0.5, 0.0, 0.5, None)
    ]
    assert sum(PAPER_INSTANCES["trade", split] for split in ("train", "validation", "test")) == 1_485_972
