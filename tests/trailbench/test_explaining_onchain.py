"""`trailbench explain` on a chain: targets with what was shown, answered and true; markets with hostile names."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from model_server import Call, model_server

from pipelines.onchain.generator import Plan
from trailbench.generating import write_chain

Cli = Callable[..., SimpleNamespace]
PLAN = Plan(seed=5, wallets=30, markets=12, neg_risk_markets=4, operations=1_800)
LOOSE = "min_markets: 2\nmin_trades: 5\nmin_rows: 2\nmax_concentration_percent: 100\nmax_burst_percent: 100\n"
EXPERIMENT = "name: asked\nmethods: {direct: [{}], profile: [{}]}\nreaders: [llm]\nreadings: 12\npages: 3\n"
HOSTILE = "<script>alert(1)</script>{{7*7}}\x1b[31m\u202e=1+1"


def answer(call: Call) -> str:
    """The first side of a belief; of a trade no answer that can be read."""
    schema = call.body["response_format"]["json_schema"]
    if schema["name"] == "belief":
        return json.dumps({"side": schema["schema"]["properties"]["side"]["enum"][0], "confidence": 0.5})
    return HOSTILE


@pytest.fixture(scope="module")
def asked(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A home folder with an experiment on a chain whose markets have hostile names, and what its endpoint was asked."""
    folder = tmp_path_factory.mktemp("asked")
    write_chain(PLAN, folder / "chain", lambda _: None)
    markets = folder / "chain" / "markets.json"
    listed = json.loads(markets.read_text())
    rows = listed if isinstance(listed, list) else listed["markets"]
    for number, row in enumerate(rows):
        row["question"] = f"{HOSTILE} {number}?"
    markets.write_text(json.dumps(listed))
    config, experiment, home = folder / "loose.yaml", folder / "asked.yaml", folder / "home"
    config.write_text(LOOSE)
    experiment.write_text(EXPERIMENT)
    logs = (folder / "chain/logs-001.jsonl", markets)
    built = cli("build", *logs, "--source", "polygon_logs", "--config", config, "--home", home, "--json")
    assert built.code == 0, built.err
    with model_server(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAILBENCH_MODEL_BASE_URL", server.base_url)
        patch.setenv("TRAILBENCH_MODEL_NAME", "scripted")
        made = cli("evaluate", "--experiment", experiment, "--home", home, "--json")
        assert made.code == 0, made.err
        sent = [call.text for call in server.chats]

    def ask(*words: object) -> SimpleNamespace:
        return cli("explain", *words, "--home", home)

    return SimpleNamespace(home=home, ask=ask, sent=sent, reports=Path(made.json["report"]).parent)


@pytest.fixture(scope="module")
def units(asked: SimpleNamespace) -> pl.DataFrame:
    parts = [pl.read_parquet(one) for one in (asked.home / "gold" / "prediction_units").rglob("*.parquet")]
    rows = pl.concat(parts).unique().filter(reader="llm", method="direct")
    return rows.with_columns(pl.col("layer", "split").cast(pl.String)).sort("wallet", "event", "layer")


def gold(asked: SimpleNamespace, table: str, wall: str = "gold") -> pl.DataFrame:
    return pl.concat([pl.read_parquet(one) for one in (asked.home / wall / table).rglob("*.parquet")]).unique()


def spelt(row: dict[str, Any]) -> str:
    return f"0x{row['wallet'].hex()}:{row['event']}:{row['layer']}"


def test_every_target_is_explained_as_it_was_scored(asked: SimpleNamespace, units: pl.DataFrame) -> None:
    assert set(units["layer"]) == {"belief", "trade"} and units.height == 12
    trades = gold(asked, "cohort_trades", "store")
    for row in units.to_dicts():
        got = asked.ask(spelt(row), "--json").json
        assert (got["name"], got["layer"], got["split"]) == (spelt(row), row["layer"], "test")
        (mine,) = [one for one in got["predictions"] if one["method"] == "direct"]
        scale = 1 if row["layer"] == "belief" else 1e6
        assert (mine["status"], mine["correct"]) == (row["status"], row["correct"])
        assert mine["counted"] == row["error_all"] / scale
        assert mine["call"]["messages"] == [["user", mine["call"]["messages"][0][1]]]
        assert mine["call"]["messages"][0][1] in asked.sent and mine["call"]["reply"] is not None
        # What is shown are the wallet's own trades in that market, all of them before the cut.
        own = trades.filter(wallet=row["wallet"], condition_id=row["condition_id"]).sort("event")
        before = own.filter(pl.col("event") < row["event"])["event"].to_list()
        direct = next(one for one in got["shown"] if one["interface"] == "direct")
        assert direct["events"] == before[-len(direct["events"]) :] and bool(direct["events"]) == bool(before)
        assert {one["event"] for one in got["trades"]} == {event for one in got["shown"] for event in one["events"]}
        baselines = {one["method"] for one in got["predictions"]} - {"direct", "profile"}
        assert baselines == ({"majority_side", "last_side"} if row["layer"] == "belief" else
                             {"last_direction", "wallet_median", "market_median"})  # fmt: skip


def test_labels_are_those_of_the_instances(asked: SimpleNamespace, units: pl.DataFrame) -> None:
    trade = units.filter(layer="trade").row(0, named=True)
    label = gold(asked, "trade_instances").filter(wallet=trade["wallet"], event=trade["event"]).row(0, named=True)
    got = asked.ask(spelt(trade), "--json").json
    assert (
        got["label"] == f"{label['direction']} {label['amount'] / 1e6:,.6g} shares" and got["action"] == label["action"]
    )
    belief = units.filter(layer="belief").row(0, named=True)
    truth = (
        gold(asked, "belief_instances").filter(wallet=belief["wallet"], cut_event=belief["event"]).row(0, named=True)
    )
    assert asked.ask(spelt(belief), "--json").json["label"].endswith(f", confidence {truth['confidence']:.3f}")


def test_addresses_are_found_in_any_case_and_without_their_sign(asked: SimpleNamespace, units: pl.DataFrame) -> None:
    name = spelt(units.row(0, named=True))
    for other in (name.upper().replace("0X", "0x"), name.removeprefix("0x")):
        assert asked.ask(other, "--json").json["name"] == name
    got = asked.ask(name.rpartition(":")[0] + ":other")
    assert (
        got.code == 2
        and "a unit is spelt wallet:event:layer, and near ones are" in got.err
        and name in got.err.replace("\n", "")
    )


def test_the_terminal_shows_hostile_names_as_text(asked: SimpleNamespace, units: pl.DataFrame) -> None:
    row = units.filter(layer="trade").row(0, named=True)
    shown = asked.ask(spelt(row), "--method", "direct").out
    assert "\x1b" not in shown and "\u202e" not in shown
    assert "market: <script>alert(1)</script>{{7*7}}␛[31m⟨U+202E⟩=1+1" in shown
    said = re.sub(r"\s+", " ", shown)
    for part in (
        spelt(row),
        "Trades it could be shown",
        "│ <script>alert(1)</script>{{7*7}}␛[31m⟨U+202E⟩=1+1",
        "wrong,",
    ):
        assert part in said, part


def test_pages_of_wallets_are_linked_and_hostile_names_are_text(asked: SimpleNamespace) -> None:
    report = (asked.reports / "report.html").read_text()
    pages = {file.name: file.read_text() for file in (asked.reports / "users").iterdir()}
    linked = re.findall(r'href="users/([^"]+)"', report)
    assert len(linked) == 3 and set(linked) <= set(pages)
    for text in pages.values():
        assert "<script>alert" not in text and "\x1b" not in text and "\u202e" not in text
        assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;{{7*7}}␛[31m⟨U+202E⟩=1+1") > 3
        assert "<svg" in text and "Final positions, in shares" in text
        anchors = set(re.findall(r' id="([^"]+)"', text))
        assert set(re.findall(r'href="#([^"]+)"', text)) <= anchors
