"""The reader of app logs: six fields and nothing else, every refusal names its place."""

import json
from datetime import UTC, datetime

import polars as pl
import pytest
from applog_worlds import DATA, USER, as_bytes, log, logs_of
from hypothesis import given
from hypothesis import strategies as st

from pipelines.applogs.app_logs import FIELDS, read_app_logs
from pipelines.applogs.clock import wall_clock
from pipelines.commerce.reading import SourceError

ONE = log(1, "2024-01-01 10:00:00")


def refusal(value: object, file: str = "app_log_large.json") -> str:
    data = value if isinstance(value, bytes) else as_bytes(value)
    with pytest.raises(SourceError) as error:
        read_app_logs(data, file, USER)
    assert str(error.value).startswith(file)
    return str(error.value)


def test_list_and_object_files_are_read_alike_and_in_order() -> None:
    rows = [log(3, "2024-01-02 00:00:00"), log(2, "2024-01-01T10:00:00"), log(1, "2024-01-01 10:00:00")]
    frame = logs_of(rows)
    assert frame["app_log_id"].to_list() == ["log_00001", "log_00002", "log_00003"]
    assert frame["position"].to_list() == [0, 1, 2]
    assert frame.equals(read_app_logs(as_bytes({"app_logs": rows[::-1], "user_id": USER}), "f", USER))
    assert frame["time"][0] == datetime(2024, 1, 1, 10, tzinfo=UTC)


def test_the_record_is_the_whole_log() -> None:
    row = log(1, "2024-01-01 10:00:00", request={"q": "Über  <b>\n", "n": 12345678901234567890, "x": [None, 1.5]})
    assert json.loads(logs_of([row])["record"][0]) == row
    bare = {name: value for name, value in row.items() if name not in ("request", "response")}
    assert json.loads(logs_of([bare])["record"][0]) == bare


@pytest.mark.parametrize("field", ["event_id", "golden_evidence", "metadata", "chain_id", "user_intent"])
def test_any_other_field_is_refused_by_file_index_and_name(field: str) -> None:
    told = refusal([ONE, log(2, "2024-01-02 10:00:00", **{field: "w0"})])
    assert f"app_logs[1].{field}" in told and "input view" in told


def test_generator_records_are_refused_at_any_depth() -> None:
    assert "app_logs[0].response.a[1].golden_evidence" in refusal(
        [log(1, "2024-01-01 10:00:00", response={"a": [{}, {"golden_evidence": []}]})]
    )
    assert "'golden_evidence_index'" in refusal({"app_logs": [ONE], "golden_evidence_index": {}})


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"a": [{"Golden-Evidence": []}]}, "response.a[0].Golden-Evidence"),
        ({"goldenEvidence": []}, "response.goldenEvidence"),
        ({"GOLDEN EVIDENCE INDEX": {}}, "response.GOLDEN EVIDENCE INDEX"),
        ({"x": {"atomicEventID": "e"}}, "response.x.atomicEventID"),
        ({"ａtomic_event_id": "e"}, "response.ａtomic_event_id"),
        ({"about": {"domain": "Leisure", "window_id": "w0", "chainId": "c"}}, "response.about"),
        ({"user_intent": "buy", "llm_usage": {}}, "response"),
    ],
)
def test_a_generator_record_is_known_however_it_is_written(body: dict[str, object], place: str) -> None:
    told = refusal([ONE, log(2, "2024-01-02 10:00:00", response=body)])
    assert f"app_logs[1].{place} is a record of the generator" in told


@pytest.mark.parametrize(
    "body",
    [
        {"event_id": "e1", "metadata": {"domain": "example.org", "chain_id": "marriott"}},
        {"evidence": "a golden ticket", "golden": 1, "events": [{"id": 3}], "note": "golden_evidence"},
        {"user_intent": "find a dentist", "reply": "There are two."},
        {"golden_evidence_of_yeti": True, "atomic_event": "reactor tour"},
    ],
)
def test_what_an_app_may_say_itself_is_kept(body: dict[str, object]) -> None:
    row = log(1, "2024-01-01 10:00:00", response=body)
    assert json.loads(logs_of([row])["record"][0]) == row


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"app_log_id": 7}, "app_log_id is no text"),
        ({"app_log_id": "  "}, "app_log_id is no text"),
        ({"timestamp": "soon"}, "timestamp 'soon' cannot be read"),
        ({"timestamp": "2024-02-30 10:00:00"}, "timestamp '2024-02-30 10:00:00' cannot be read"),
        ({"timestamp": "2024-01-01"}, "cannot be read"),
        ({"request": "x"}, "request is no object"),
        ({"api_name": None}, "api_name is no text"),
    ],
)
def test_ids_times_and_bodies_are_strict(changes: dict[str, object], named: str) -> None:
    told = refusal([ONE, log(2, "2024-01-02 10:00:00", **changes)])
    assert "app_logs[1]" in told and named in told


def test_an_absent_id_and_a_repeated_one_are_refused() -> None:
    assert "app_logs[0].app_log_id is absent" in refusal([{k: v for k, v in ONE.items() if k != "app_log_id"}])
    assert "app_logs[1].app_log_id 'log_00001' stands twice" in refusal([ONE, ONE])


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"[]", "empty"),
        (b'{"app_logs": 3}', "no list"),
        (b"{", ":1: no JSON"),
        (b"[\n{},\nx]", ":3: no JSON"),
        (b'[{"app_log_id": "a", "app_log_id": "b"}]', "names 'app_log_id' twice"),
        (b"[NaN]", "NaN"),
        (b"[1e999]", "too large"),
        (b"[" + b"9" * 309 + b"]", "too large"),
        (b"[-" + b"9" * 5_000 + b"]", "too large"),
        (b'["\\ud800"]', "surrogate"),
        (b"[\n\xff]", ":2: not UTF-8"),
        (b"[" * 200 + b"]" * 200, "nested"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_files_that_are_no_logs(data: bytes, named: str) -> None:
    assert named in refusal(data)


def test_another_users_file_is_refused() -> None:
    assert "'b', not '001_user_001'" in refusal({"app_logs": [ONE], "user_id": "b"})


def test_forms_of_times() -> None:
    texts = ["2023-12-31 19:30:00", "2023-12-31T19:30:00", "2023-12-31T19:30:00.25+00:00", "2023-12-31T21:30:00+0200",
             "2023-12-31T14:30:00-05:00", "2023-12-31T19:30:00Z", "31.12.2023", "", "2023-12-31 24:00:00"]  # fmt: skip
    read = wall_clock(pl.Series("t", texts)).to_list()
    moment = datetime(2023, 12, 31, 19, 30, tzinfo=UTC)
    assert read == [moment, moment, moment.replace(microsecond=250_000), moment, moment, moment, None, None, None]


def test_what_looks_like_a_time_and_is_none() -> None:
    texts = ["2024-01-01 10:00:00+99:00", "2024-01-01 10:00:00+01:60", "2024-01-01 10:00:00+\u0660\u0661:00",
             "2024-01-01 10:00:00.\u0665", "\u0662024-01-01 10:00:00", "0000-01-01 00:00:00",
             "0001-01-01 00:00:00+00:01", "9999-12-31 23:59:59-00:01"]  # fmt: skip
    assert wall_clock(pl.Series("t", texts)).to_list() == [None] * len(texts)
    edges = ["0001-01-01 00:00:00", "9999-12-31 23:59:59"]
    assert [moment.year for moment in wall_clock(pl.Series("t", edges))] == [1, 9999]


@given(st.dictionaries(st.text(min_size=1, max_size=12), st.integers(), max_size=4))
def test_no_foreign_field_ever_gets_through(extra: dict[str, int]) -> None:
    foreign = extra.keys() - set(FIELDS)
    row = ONE | {name: extra[name] for name in foreign}
    if foreign:
        with pytest.raises(SourceError):
            logs_of([row])
    else:
        assert logs_of([row]).height == 1


@given(st.permutations(range(8)))
def test_the_order_of_the_file_does_not_matter(order: list[int]) -> None:
    rows = [log(i, f"2024-01-0{1 + i // 3} 10:00:00") for i in range(8)]
    assert logs_of([rows[i] for i in order]).equals(logs_of(rows))


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared real logs are not beside this checkout")
def test_a_real_log() -> None:
    frame = read_app_logs((DATA / "user001_app_log_excerpt.json").read_bytes(), "excerpt", USER)
    assert frame.row(0, named=True) | {"record": ""} == {
        "user_id": USER, "position": 0, "app_log_id": "log_00003", "time": datetime(2023, 10, 1, 9, 30, tzinfo=UTC),
        "app": "Chase", "api": "GetTransactions", "object": "Checking-9214", "record": "",
    }  # fmt: skip
    assert "Duquesne Light Company" in frame["record"][0]
