"""Market descriptions: the encoded lists, what may be absent, what is refused, and what a target may show."""

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from chain_worlds import market

from pipelines.onchain.drop_files import describes_markets
from pipelines.onchain.gamma import read_markets
from pipelines.onchain.ids import token_id
from pipelines.onchain.known_markets import all_markets, conditions_of_chain, contradicted, known_tokens
from pipelines.onchain.markets import TargetContext, latest, markets, target_context, token_map, unnamed_context
from pipelines.onchain.tables import ONCHAIN_TABLES

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "onchain"


def derive(condition: bytes, outcome: int, neg_risk: bool) -> bytes:
    """A stand-in for the contracts' ids."""
    return hashlib.blake2b(condition + bytes([outcome, neg_risk]), digest_size=32).digest()


def gamma(n: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "conditionId": "0x" + market(n).hex(),
        "question": "Will it rain?",
        "outcomes": '["Yes", "No"]',
        "outcomePrices": '["0.4", "0.6"]',
        "clobTokenIds": json.dumps([str(int.from_bytes(derive(market(n), i, False), "big")) for i in range(2)]),
        "startDate": "2024-01-02T03:04:05.123456Z",
        "endDate": "2024-02-01T00:00:00Z",
        "updatedAt": "2024-03-01T00:00:00Z",
        **more,
    }


def read(*values: dict[str, Any]) -> pl.DataFrame:
    frame, refused = read_markets(json.dumps(list(values)))
    assert not refused
    return frame


def test_encoded_lists_are_read_and_fields_may_be_absent() -> None:
    row = read(gamma()).row(0, named=True)
    assert row["outcomes"] == ["Yes", "No"]
    assert row["outcome_prices"] == ["0.4", "0.6"]
    assert row["neg_risk"] is None
    assert row["resolution_status"] is None
    assert row["start"].isoformat() == "2024-01-02T03:04:05.123456+00:00"
    bare = {name: gamma()[name] for name in ("conditionId", "outcomes")}
    row = read(bare).row(0, named=True)
    assert [row[name] for name in ("question", "source_token_ids", "end")] == [None, None, None]


def test_outcomes_need_not_be_yes_and_no_nor_two() -> None:
    teams = read(gamma(outcomes='["Reds", "Blues", "Draw"]', outcomePrices=None, clobTokenIds=None))
    assert teams["outcomes"].to_list() == [["Reds", "Blues", "Draw"]]
    assert markets(teams, derive)["token_ids"].list.len().to_list() == [3]


def test_one_object_an_array_and_one_a_line_read_the_same() -> None:
    values = [gamma(0), gamma(1, closedTime="2026-03-19 23:20:15+00")]
    array = read_markets(json.dumps(values, indent=1))[0]
    assert read_markets("\n".join(json.dumps(value) for value in values) + "\n")[0].equals(array)
    assert read_markets("\ufeff" + json.dumps(values[0]))[0].equals(array[:1])


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"conditionId": "0x12"}, "not 32 bytes"),
        ({"conditionId": None}, "not 32 bytes"),
        ({"outcomes": '["Yes"]'}, "two or more"),
        ({"outcomes": '["Yes", "Yes"]'}, "different names"),
        ({"outcomes": "Yes"}, "no JSON list"),
        ({"clobTokenIds": '["1"]'}, "1 entries for 2"),
        ({"clobTokenIds": '["-1", "2"]'}, "no 256-bit number"),
        ({"clobTokenIds": json.dumps(["1", str(1 << 256)])}, "no 256-bit number"),
        ({"clobTokenIds": [1, 2]}, "would have lost digits"),
        ({"endDate": "soon"}, "no instant"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_reason(more: dict[str, Any], reason: str) -> None:
    frame, refused = read_markets(json.dumps([gamma(0), gamma(1, **more)]))
    assert frame["condition_id"].to_list() == [market(0)]
    assert [(row.line, reason in row.reason) for row in refused] == [(2, True)]


def test_a_broken_line_is_refused_and_the_others_are_read() -> None:
    frame, refused = read_markets(json.dumps(gamma(0)) + "\n{broken\n[1]\n")
    assert frame.height == 1
    assert [row.line for row in refused] == [2, 3]


def test_the_latest_reading_stands_in_any_order_of_files() -> None:
    old, new = gamma(question="old"), gamma(question="new", updatedAt="2024-03-02T00:00:00Z")
    both = [read(old, new), read(new, old)]
    assert [markets(frame, derive)["question"].to_list() for frame in both] == [["new"], ["new"]]
    twin = [read(gamma(question="a"), gamma(question="b")), read(gamma(question="b"), gamma(question="a"))]
    assert markets(twin[0], derive).equals(markets(twin[1], derive))


@pytest.mark.parametrize("kind", [False, True])
def test_token_ids_are_derived_and_compared_for_both_kinds_of_collateral(kind: bool) -> None:
    ids = json.dumps([str(int.from_bytes(derive(market(0), i, kind), "big")) for i in range(2)])
    row = markets(read(gamma(clobTokenIds=ids)), derive).row(0, named=True)
    assert (row["neg_risk"], row["ids_match"]) == (kind, True)
    row = markets(read(gamma(clobTokenIds=ids, negRisk=not kind)), derive).row(0, named=True)
    assert (row["neg_risk"], row["ids_match"]) == (not kind, False)
    row = markets(read(gamma(clobTokenIds="")), derive).row(0, named=True)
    assert (row["neg_risk"], row["ids_match"]) == (None, None)


def test_every_token_has_one_outcome() -> None:
    table = markets(read(gamma(0), gamma(1)), derive)
    assert table.schema == ONCHAIN_TABLES["markets"].schema
    found = {token: (condition, outcome) for token, condition, outcome in token_map(table).rows()}
    assert found == {derive(market(m), i, False): (market(m), i) for m in range(2) for i in range(2)}
    with pytest.raises(ValueError, match="belongs to 4 outcomes"):
        token_map(table.with_columns(pl.Series("token_ids", [table["token_ids"][0]] * 2, dtype=pl.List(pl.Binary))))


def test_a_context_shows_nothing_of_the_future() -> None:
    value = gamma(closed=True, umaResolutionStatus="resolved", volume="12.5", lastTradePrice=0.9, category="Weather")
    row = markets(read(value), derive).row(0, named=True)
    context = target_context(row)
    assert set(context.model_dump()) == {"question", "outcomes", "category", "start", "end"}
    shown = context.model_dump_json()
    changed = {"outcomePrices": '["1", "0"]', "closed": False, "umaResolutionStatus": "proposed", "volume": "9"}
    assert target_context(markets(read({**value, **changed}), derive).row(0, named=True)).model_dump_json() == shown
    assert "Weather" in shown
    with pytest.raises(ValueError, match="Extra inputs"):
        TargetContext.model_validate({**context.model_dump(), "closed": True})
    assert unnamed_context(2).outcomes == ["outcome 0", "outcome 1"]


@pytest.mark.parametrize("folder", ["gamma_closed_binary", "gamma_legacy_zero_zero"])
def test_real_markets(folder: str) -> None:
    path = DATA / folder
    if not path.exists():
        pytest.skip(f"real markets are not at {path}")
    expected = json.loads((path / "expected.json").read_text())["values"]
    frame, refused = read_markets((path / "gamma_market.json").read_text())
    assert not refused
    row = frame.row(0, named=True)
    assert "0x" + row["condition_id"].hex() == expected["condition_id"]
    assert row["neg_risk"] is expected["neg_risk"]
    assert row["closed"] is expected["closed"]
    assert row["outcomes"] == expected["outcomes"]
    assert row["outcome_prices"] == expected["outcome_prices"]
    assert [str(int.from_bytes(token, "big")) for token in row["source_token_ids"]] == expected["clob_token_ids"]
    assert row["resolution_status"] == expected["uma_resolution_status"]
    pytest.importorskip("Crypto.Hash.keccak", reason="keccak comes with the package pycryptodome")
    derived = markets(frame, token_id).row(0, named=True)
    assert derived["ids_match"] is expected["token_ids_match_usdc_e"]
    assert derived["token_ids"] == row["source_token_ids"]
    assert derived["neg_risk"] is False


def test_hostile_descriptions_are_read_or_refused_line_by_line() -> None:
    """Separators inside a question, halves of characters, nesting without end, instants beyond the calendar."""
    lines = [
        json.dumps(gamma(0, question="a\u2028b\x85c"), ensure_ascii=False),
        json.dumps(gamma(1, question="half \ud800", outcomes=json.dumps(["\udfff", "No"]))),
        json.dumps(gamma(2, outcomes="[" * 100_000)),
        json.dumps(gamma(3, endDate="9999-12-31T23:59:59-05:00")),
        json.dumps(gamma(4, outcomes=[str(i) for i in range(257)], outcomePrices=None, clobTokenIds=None)),
        json.dumps(gamma(5, clobTokenIds=json.dumps(["1" * 5_000, "2"]))),
        "[" * 100_000,
        json.dumps(gamma(6, outcomes=[str(i) for i in range(256)], outcomePrices=None, clobTokenIds=None)),
    ]
    frame, refused = read_markets("\n".join(lines))
    assert frame["question"].to_list()[:2] == ["a\u2028b\x85c", "half ?"]
    assert frame["outcomes"].to_list()[1] == ["?", "No"]
    assert frame["outcomes"].list.len().to_list() == [2, 2, 256]
    reasons = ["no JSON list", "no instant", "at most 256", "no 256-bit number", "not a JSON object"]
    assert [row.line for row in refused] == [3, 4, 5, 6, 7]
    assert all(reason in row.reason for reason, row in zip(reasons, refused, strict=True))


def test_a_head_that_is_nested_too_deep_is_told_by_its_names(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text('{"conditionId": 1, "outcomes": ' + "[" * 100_000)
    assert describes_markets(path)


def chain_says(outcomes: int, neg_risk: bool) -> pl.DataFrame:
    schema = {"condition_id": pl.Binary, "outcomes": pl.Int16, "neg_risk": pl.Boolean}
    return pl.DataFrame([(market(0), outcomes, neg_risk)], schema=schema, orient="row")


@pytest.mark.parametrize("said", [None, True, False])
@pytest.mark.parametrize("wrapped", [True, False])
def test_what_a_contract_says_of_neg_risk_stands(said: bool | None, wrapped: bool) -> None:
    conditions = chain_says(2, wrapped)
    readings = read(gamma(negRisk=said, clobTokenIds=None))
    table = all_markets(markets(readings, conditions=conditions), conditions)
    assert table["neg_risk"].to_list() == [wrapped] and table["question"].to_list() == ["Will it rain?"]
    tokens = known_tokens(table, conditions)
    assert set(table["token_ids"][0]) == set(tokens["token_id"])


def test_a_description_with_another_number_of_outcomes_is_of_something_else() -> None:
    teams = read(gamma(outcomes='["Reds", "Blues", "Draw"]', outcomePrices=None, clobTokenIds=None))
    conditions = chain_says(2, False)
    assert contradicted(teams, conditions)["condition_id"].to_list() == [market(0)]
    table = all_markets(markets(teams, conditions=conditions), conditions)
    assert table.select("question", "outcomes").row(0) == (None, None)
    assert set(table["token_ids"][0]) == set(known_tokens(table, conditions)["token_id"])


def test_a_condition_known_by_its_changes_has_as_many_outcomes_as_are_described() -> None:
    """A redemption names the outcomes it pays, not all there are."""
    teams = read(gamma(outcomes='["Reds", "Blues", "Draw"]', outcomePrices=None, clobTokenIds=None))
    told = [ONCHAIN_TABLES[name].empty() for name in ("preparations", "resolutions", "token_registrations")]
    conditions = conditions_of_chain(*told, chain_says(2, False), latest(teams))
    assert conditions["outcomes"].to_list() == [3]
    assert contradicted(teams, conditions).is_empty()
    assert conditions_of_chain(*told, chain_says(4, False), latest(teams))["outcomes"].to_list() == [4]
