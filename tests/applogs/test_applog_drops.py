"""What no drop of app logs may hold: every refusal names user, file, place and remedy, and nothing is published."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from applog_drops import gold_rows, log_rows, write_gold, write_logs, write_pack, write_users
from applog_worlds import USER

from pipelines.applogs.drop_files import tell_apart
from pipelines.applogs.timelines import read_timeline
from pipelines.commerce.reading import SourceError
from resources.drops import expand

Cli = Callable[..., SimpleNamespace]

# -- hostile input ---------------------------------------------------------------


def spoilt(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        logs = log_rows(20)
        write_logs(folder, USER, change(logs) or logs)

    return write


def gold_of(table: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        logs = log_rows(60)
        gold = gold_rows(logs)
        change(gold[table][1])
        write_logs(folder, USER, logs)
        write_gold(folder, USER, gold)

    return write


def pack_of_another(folder: Path) -> None:
    write_logs(folder, USER, log_rows(20))
    write_pack(folder, USER, {"user_id": "007_user_007", "checkpoints": [{"checkpoint_id": "c"}]})


def generator_file(folder: Path) -> None:
    write_logs(folder, USER, log_rows(20))
    (folder / USER / "app_logs_final.json").write_text("[]")


overlapping = gold_of("state_intervals", lambda row: row.update(valid_from="2023-10-01 08:00:00"))
SPOILT = {
    "event": (spoilt(lambda logs: logs[4].update(event_id="e1")), "app_logs[4].event_id is none of the six fields"),
    "deep": (
        spoilt(lambda logs: logs[4]["response"].update(a=[{"golden_evidence": []}])),
        "app_logs[4].response.a[0].golden_evidence is a record of the generator",
    ),
    "index": (
        spoilt(lambda logs: {"app_logs": logs, "golden_evidence_index": {}}),
        "the file's head holds 'golden_evidence_index'",
    ),
    "twice": (spoilt(lambda logs: logs[4].update(app_log_id="log_00003")), "app_log_id 'log_00003' stands twice"),
    "time": (
        spoilt(lambda logs: logs[4].update(timestamp="31.12.2023")),
        "app_logs[4].timestamp '31.12.2023' cannot be read as a time",
    ),
    "pack": (pack_of_another, "user_id is '007_user_007', not '001_user_001'"),
    "file": (generator_file, "001_user_001/app_logs_final.json: is no file of app logs"),
    "key": (gold_of("state_intervals", lambda row: row.update(state_key="mood")), "'mood' is no state key"),
    "value": (gold_of("state_intervals", lambda row: row.update(value="Iron")), "jsonl:2: value holds no JSON"),
    "role": (gold_of("state_evidence", lambda row: row.update(role="proof")), "role is 'proof', none of supports"),
    "from": (
        gold_of("state_intervals", lambda row: row.update(valid_from="soon")),
        "jsonl:2: valid_from 'soon' cannot be read as a time",
    ),
    "column": (gold_of("state_changes", lambda row: row.update(note="x")), "jsonl:2: no column is named 'note'"),
    "bool": (gold_of("state_changes", lambda row: row.update(valid=1)), "jsonl:2: valid is no true or false"),
    "whose": (gold_of("state_evidence", lambda row: row.update(user_id="x")), "jsonl:2: user_id is 'x', not '001"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILT)
def test_hostile_input_is_refused_by_place_and_remedy(name: str, cli: Cli, tmp_path: Path) -> None:
    spoil, says = SPOILT[name]
    spoil(tmp_path / "drop")
    result = cli("validate", "--track", "applogs", tmp_path / "drop")
    said = " ".join(result.err.split())
    assert result.code == 2 and says in said
    assert USER in said, "the file is named by its user"


@pytest.mark.parametrize("spoil", [SPOILT["event"][0], SPOILT["value"][0], overlapping, pack_of_another])
def test_a_build_ends_with_nothing_published(spoil: Callable[[Path], None], cli: Cli, tmp_path: Path) -> None:
    spoil(tmp_path / "drop")
    result = cli("build", "--track", "applogs", tmp_path / "drop", "--home", tmp_path / "home", "--shards", 1)
    assert result.code == 2 and "Traceback" not in result.err and USER in result.err
    assert not (tmp_path / "home" / "store" / "releases").exists()


def test_two_files_of_a_user_in_one_drop_are_refused(tmp_path: Path) -> None:
    for part in ("a", "b"):
        write_logs(tmp_path / part, USER, log_rows(20))
    with pytest.raises(SourceError, match=r"there are two of them: .*Make two drops"):
        tell_apart(expand([tmp_path]))


def test_a_folder_whose_name_is_no_text_is_refused() -> None:
    """Linux gives names of any bytes; these two would be one user."""
    files = [Path(f"drop/u{byte}/app_log_large.json") for byte in ("\udcfe", "\udcff")]
    with pytest.raises(SourceError, match=r"^u\?/app_log_large\.json: .* is no UTF-8\. Give the folder another name"):
        tell_apart(files)


def test_an_empty_drop_says_what_belongs_there(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(SourceError, match=r"no file of app logs is in it.*USER/app_log_large\.json"):
        tell_apart(expand([tmp_path]))


def test_validate_says_what_would_be_read(cli: Cli, tmp_path: Path) -> None:
    drop = write_users(tmp_path)
    result = cli("validate", "--track", "applogs", drop, "--json")
    assert result.json["users"] == 3 and result.json["rows"]["app_logs"] == 1200
    assert (result.json["first"], result.json["last"]) == ("2023-10-01T08:00:00Z", "2024-04-17T13:02:00Z")
    shown = cli("validate", "--source", "app_logs", drop)
    assert shown.code == 0 and USER in shown.out
    bare = cli("validate", drop)
    assert bare.code == 2 and "--source NAME" in " ".join(bare.err.split())


def test_lines_are_read_in_any_order_and_columns_that_may_be_absent_are(tmp_path: Path) -> None:
    lines = [json.dumps(row) for row in gold_rows(log_rows(60))["state_intervals"]]
    whole = "\ufeff" + "\r\n\n".join(lines[::-1])
    read = read_timeline(whole.encode(), "f", USER, "state_intervals")
    bare = [json.dumps({name: v for name, v in json.loads(line).items() if v is not None}) for line in lines]
    assert read.equals(read_timeline("\n".join(bare).encode(), "f", USER, "state_intervals"))
    assert (
        read["value"].to_list()[0]
        == '{"schedule":{"days_of_week":[1,3],"frequency_type":"weekly"},"timing":{"start_time":"18:30"}}'
    )
    with pytest.raises(SourceError, match=r"f:7: a second row of 001_user_001, .*Leave one of them out"):
        read_timeline("\n".join([*bare, "", bare[0]]).encode(), "f", USER, "state_intervals")
    for wrong, says in (("[1]", "no object"), ('{"a":1,"a":2}', "names 'a' twice"), ("{", "Expecting")):
        with pytest.raises(SourceError, match=says):
            read_timeline(wrong.encode(), "f", USER, "state_intervals")
    evidence = gold_rows(log_rows(60))["state_evidence"][0]
    for number in (2**31, -1, True, 1.0):
        with pytest.raises(SourceError, match=r"f:1: position is no whole number from 0"):
            read_timeline(json.dumps({**evidence, "position": number}).encode(), "f", USER, "state_evidence")
    moment = {"state_key": evidence["state_key"], "scenario": "A page is open."}
    for slots in ("[]", "3", "null", '{"a":1}', '{"a":null}'):
        with pytest.raises(SourceError, match="f:1: slots is no object of texts"):
            read_timeline(json.dumps({**moment, "slots": slots}).encode(), "f", USER, "state_moments")
    with pytest.raises(SourceError, match=r"f:1: .*utf-8"):
        read_timeline(b"\xff{}", "f", USER, "state_intervals")
