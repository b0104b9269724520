"""Judging through the command line, against a scripted endpoint: exact shares, faults, labels of people, reuse."""

import csv
import json
import re
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from model_server import Answer, Call, ModelServer, empty, model_server, two_choices, wrong_schema

Cli = Callable[..., SimpleNamespace]
EXPERIMENT = """
name: told
methods:
  empty: [{}]
  recent_k: [{k: 4}]
readers: [lexical]
judges: [grounded]
judged: 7
users: 12
"""
ALONE = EXPERIMENT.replace("  empty: [{}]\n", "")
PART = re.compile(r"^(p\d+): (\w+ \d+) \| answer: (.*)$", re.MULTILINE)


def supported(line: str) -> bool:
    """What the scripted judge says of a line."""
    return zlib.crc32(line.encode()) % 3 > 0


def judgments(call: Call) -> list[dict[str, Any]]:
    return [
        {"part": label, "analysis": "seen", "supported": supported(line), "specific": zlib.crc32(line.encode()) % 3}
        for label, _, line in PART.findall(call.text)
    ]


class Judge:
    """The endpoint's script; `fault` may answer in its place."""

    def __init__(self) -> None:
        self.fault: Callable[[Call], str | Answer | None] = lambda call: None

    def __call__(self, call: Call) -> str | Answer:
        found = self.fault(call)
        return json.dumps({"judgments": judgments(call)}) if found is None else found


class World:
    """A home folder with an experiment that was judged, and the endpoint that judges."""

    def __init__(self, home: Path, release: str, cli: Cli, judge: Judge, server: ModelServer) -> None:
        self.home, self.release, self._cli, self.judge, self.server = home, release, cli, judge, server
        self.experiment = home.parent / "told.yaml"
        self.experiment.write_text(EXPERIMENT)

    def run(self, command: str, *words: object) -> SimpleNamespace:
        asked = (self.release, "--experiment", self.experiment, "--home", self.home, "--json")
        return self._cli(command, *asked, *words)

    def evaluated(self, command: str = "evaluate") -> SimpleNamespace:
        """The answer of a command, with the row of recent_k as `row`, and how many calls the endpoint got."""
        before = self.server.count
        result = self.run(command)
        assert result.code == 0, result.err
        rows = {row["method"]: row for row in result.json["judged"]}
        return SimpleNamespace(json=result.json, rows=rows, row=rows["recent_k-k4"], calls=self.server.count - before)

    @property
    def arm(self) -> dict[str, Any]:
        """The arm that says something, as it was bound."""
        (file,) = (self.home / "store/specs/arm").glob("told~recent_k*~lexical~*.json")
        return json.loads(file.read_text())

    def table(self, name: str) -> pl.DataFrame:
        """Rows of a table of that arm, read from its files."""
        return pl.concat(pl.read_parquet(folder / told["file"]) for folder, told in self.sidecars(name))

    def sidecars(self, name: str) -> list[tuple[Path, dict[str, Any]]]:
        """Folder and sidecar of every shard of a table of that arm."""
        root, key = self.home / "store", f"{self.arm['arm']['key']}~{self.arm['arm']['release']}"
        references = sorted((root / "references" / name / key).glob("*.json"))
        prints = [json.loads(reference.read_text())["fingerprint"] for reference in references]
        folders = [root / name / f"fingerprint={fingerprint}" for fingerprint in prints]
        return [(folder, json.loads((folder / "part.json").read_text())) for folder in folders]

    def files(self, name: str) -> dict[Path, int]:
        """Every file of a table with the time of its last change."""
        return {file: file.stat().st_mtime_ns for file in (self.home / "store" / name).rglob("*.parquet")}

    def lines(self) -> list[str]:
        """Every line of the judged readouts."""
        judged = pl.DataFrame(self.arm["judged"], schema=["user_id", "transition_index"], orient="row")
        rows = self.table("readouts").with_columns(pl.col("transition_index").cast(pl.Int64))
        texts = rows.join(judged, on=judged.columns).select("description", "tree").rows()
        return [line for pair in texts for text in pair for line in text.split("\n") if line]


@pytest.fixture(scope="module")
def world(built: SimpleNamespace, cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = tmp_path_factory.mktemp("judged") / "home"
    shutil.copytree(built.home, home)
    judge = Judge()
    with pytest.MonkeyPatch.context() as patch, model_server(judge) as server:
        patch.setenv("TRAILBENCH_MODEL_BASE_URL", server.base_url)
        patch.setenv("TRAILBENCH_MODEL_NAME", "scripted")
        patch.setenv("TRAILBENCH_MODEL_RETRIES", "1")
        patch.setenv("TRAILBENCH_MODEL_BACKOFF_SECONDS", "0.001")
        yield World(home, built.release, cli, judge, server)


@pytest.fixture(scope="module")
def first(world: World) -> SimpleNamespace:
    """The first evaluation."""
    estimated = world.run("estimate").json["estimate"]
    return SimpleNamespace(**vars(world.evaluated()), estimated=estimated)


def test_the_share_is_that_of_the_lines_that_the_judge_supports(world: World, first: SimpleNamespace) -> None:
    lines = world.lines()
    assert len(world.arm["judged"]) == 7 and len(lines) == 7 * 4
    row = first.row
    assert row["supported"] == pytest.approx(sum(map(supported, lines)) / len(lines))
    detail = sum(zlib.crc32(line.encode()) % 3 / 2 for line in lines)
    assert row["score"] == pytest.approx((0.8 * sum(map(supported, lines)) + 0.2 * detail) / len(lines))
    assert (row["lines"], row["errors"], row["readouts"], row["model"]) == (28, 0, 7, "scripted")
    assert row["supported_low"] < row["supported"] < row["supported_high"]
    assert (row["calibration"], row["corrected"], row["labelled"]) == ("uncalibrated", None, 0)
    nothing = first.rows["empty"]
    assert (nothing["lines"], nothing["supported"], nothing["readouts"]) == (0, None, 7), "it says nothing"


def test_one_call_a_readout_is_estimated_made_and_accounted_for(world: World, first: SimpleNamespace) -> None:
    assert first.calls == first.json["model_calls"] == 7
    (row,) = first.estimated
    assert (row["role"], row["model"], row["calls"]) == ("judge", "scripted", 7) and row["tokens_in"] > 1000
    costs = pl.read_csv(Path(first.json["leaderboard"]).with_name("costs.csv"))
    assert costs.select("method", "step", "n_calls", "n_failed").rows() == [("recent_k-k4", "judge", 7, 0)]
    assert sorted(world.table("model_calls")["key"]) == sorted(world.table("verdicts")["call"].unique())


def test_the_judge_is_shown_the_history_and_no_name_of_a_method(world: World, first: SimpleNamespace) -> None:
    for call in world.server.chats[:7]:
        assert "recent_k" not in call.text + call.system
        shown = re.findall(r"^> (\d{4}-\d\d-\d\d \d\d:\d\d) \|", call.text, re.MULTILINE)
        reference = call.text.split("Answer to judge:")[0]
        for _, _, line in PART.findall(call.text):
            assert line in reference, "what it remembers is of the history shown"
        assert shown


def test_the_report_says_what_was_judged_by_whom(first: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(first.json["report"]).read_text()
    section = page[page.index('id="judged"') :]
    assert "judged by scripted" in section and "Uncalibrated" in section
    assert f"{first.row['supported']:.3f}" in section
    from trailbench.judging import print_judged

    print_judged(first.json["judged"])
    told = capsys.readouterr().out
    assert "Grounded, judged by scripted, 600 tokens" in told and "uncalibrated: nothing is labelled" in told
    assert f"{first.row['supported']:.3f}" in told


def test_a_second_run_asks_nothing_and_arms_with_the_same_readouts_share_their_verdicts(
    world: World, first: SimpleNamespace
) -> None:
    world.experiment.write_text(ALONE.replace("[lexical]", "[lexical, embedding]"))
    again = world.evaluated()
    assert again.calls == again.json["model_calls"] == 0
    assert again.json["judged"] == [first.row], "verdicts do not depend on the reader"
    references = sorted((world.home / "store/references/verdicts").glob("told~recent_k*/*.json"))
    behind = {(file.parent.name.split("~")[2], file.name): json.loads(file.read_text()) for file in references}
    assert set(behind) == {(reader, f"s0{n}.json") for reader in ("lexical", "embedding") for n in range(2)}
    assert all(behind["lexical", shard] == behind["embedding", shard] for _, shard in behind)


def fill(sheet: Path, to: Path, label: Callable[[dict[str, str]], str | None]) -> list[dict[str, str]]:
    """The sheet with labels; lines without one are left out. The rows kept."""
    with sheet.open(newline="") as file:
        rows = [row | {"label": said} for row in csv.DictReader(file) if (said := label(row)) is not None]
    with to.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_labels_of_people_correct_the_share(world: World, first: SimpleNamespace, tmp_path: Path) -> None:
    sheet, filled = tmp_path / "sheet.csv", tmp_path / "filled.csv"
    drawn = world.run("labels", "--to", sheet, "--n", "20")
    assert drawn.code == 0 and drawn.json["lines"] == 20, drawn.err
    text = sheet.read_text()
    assert "recent_k" not in text and "seen" not in text and "scripted" not in text
    assert world.run("labels", "--to", sheet).code == 2, "a sheet that somebody may have filled in is not written over"

    # People call every fourth line, counted among those of one verdict, otherwise than the judge does.
    counted = {True: 0, False: 0}

    def people(row: dict[str, str]) -> str:
        said = supported(row["given"])
        counted[said] += 1
        return "yes" if said != (counted[said] % 4 == 1) else "no"

    rows = fill(sheet, filled, people)
    table = {(v, p): 0 for v in (True, False) for p in (True, False)}
    for row in rows:
        table[supported(row["given"]), row["label"] == "yes"] += 1
    assert min(table.values()) > 0
    imported = world.run("labels", "--from", filled)
    assert imported.code == 0, imported.err
    assert (imported.json["labels"], imported.json["new"], imported.json["replaced"]) == (20, 20, 0)

    row = world.evaluated("report").row
    tpr = table[True, True] / (table[True, True] + table[False, True])
    tnr = table[False, False] / (table[False, False] + table[True, False])
    agreed = (table[True, True] + table[False, False]) / 20
    yes = ((table[True, True] + table[True, False]) / 20, (table[True, True] + table[False, True]) / 20)
    chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    assert (row["calibration"], row["labelled"]) == ("calibrated", 20)
    assert (row["tpr"], row["tnr"]) == pytest.approx((tpr, tnr))
    assert row["kappa"] == pytest.approx((agreed - chance) / (1 - chance))
    assert row["supported"] == first.row["supported"]
    assert row["corrected"] == pytest.approx(min(max((row["supported"] + tnr - 1) / (tpr + tnr - 1), 0), 1))
    assert row["corrected_low"] < row["corrected"] < row["corrected_high"]
    page = Path(first.json["report"]).read_text()
    assert "Calibrated on 20 lines" in page and f"{row['corrected']:.3f}" in page
    assert f"{row['tpr']:.3f} (TPR, {row['tpr_low']:.3f} to {row['tpr_high']:.3f})" in page

    replaced = fill(sheet, filled, lambda one: "no" if one["id"] == rows[0]["id"] else None)
    assert len(replaced) == 1
    again = world.run("labels", "--from", filled).json
    assert (again["new"], again["replaced"], again["labels_in_store"]) == (0, 1, 20)
    kept = json.loads((world.home / "gold/labels/grounded.json").read_text())
    before = {row["id"]: row["label"] == "yes" for row in rows}
    assert kept == before | {rows[0]["id"]: False}


def test_a_bad_sheet_is_refused_by_line_and_nothing_of_it_is_kept(
    world: World, first: SimpleNamespace, tmp_path: Path
) -> None:
    sheet, filled = tmp_path / "sheet.csv", tmp_path / "filled.csv"
    world.run("labels", "--to", sheet, "--n", "3")
    store = world.home / "gold/labels/grounded.json"
    before = store.read_text() if store.exists() else None
    said = iter(["yes", "perhaps", ""])
    fill(sheet, filled, lambda row: next(said))
    refused = world.run("labels", "--from", filled)
    assert refused.code == 2
    assert re.search(r"filled\.csv, line \d+: label 'perhaps' is neither yes nor no", refused.err)
    assert re.search(r"line \d+: no label; write yes or no", refused.err)
    assert (store.read_text() if store.exists() else None) == before
    assert world.run("labels").code == world.run("labels", "--from", filled, "--to", sheet).code == 2


FAULTS: list[Callable[[Call], str | Answer]] = [
    lambda call: empty(),
    lambda call: wrong_schema(),
    lambda call: json.dumps({"judgments": [one | {"specific": 3} for one in judgments(call)]}),
    lambda call: json.dumps({"judgments": [*judgments(call), *judgments(call)]}),
    lambda call: two_choices(json.dumps({"judgments": judgments(call)})),
]


def test_another_model_is_another_judge_whose_faults_are_errors_and_never_a_no(
    world: World, first: SimpleNamespace
) -> None:
    broken: dict[str, Callable[[Call], str | Answer]] = {}

    def fault(call: Call) -> str | Answer | None:
        if call.text not in broken and len(broken) < len(FAULTS):
            broken[call.text] = FAULTS[len(broken)]
        return broken[call.text](call) if call.text in broken else None

    memories = world.files("readouts")
    world.experiment.write_text(ALONE.replace("[grounded]", "['grounded:other']"))
    world.judge.fault = fault
    try:
        other = world.evaluated()
    finally:
        world.judge.fault = lambda call: None
    assert {call.model for call in world.server.chats[7:]} == {"other"}, "old verdicts are not met again"
    assert world.files("readouts") == memories, "judging again builds no memory again"
    verdicts = world.table("verdicts")
    errors = verdicts.filter(pl.col("status") == "judge_error")
    assert errors["supported"].null_count() == errors["specific"].null_count() == errors.height == 4 * len(broken)
    assert set(errors["reason"]) == {"reply_empty", "reply_wrong_schema", "part_judged_twice", "reply_failed"}
    assert verdicts["judge"].n_unique() == 1 and verdicts.height == 28
    # A call without any reply may be no fault of the judge: the next run makes that shard again.
    assert sum(told["extra"]["unanswered"] for _, told in world.sidecars("verdicts")) == 1
    row = other.row
    whole = verdicts.filter(pl.col("status") == "ok")["line"]
    assert (row["model"], row["lines"], row["errors"]) == ("other", 28, errors.height)
    assert row["supported"] == pytest.approx(sum(map(supported, whole)) / 28), "errors stay in the denominator"
    flags = pl.read_csv(Path(other.json["leaderboard"]))["flags"].fill_null("")
    assert not flags.str.contains("without a whole reply").any(), "a judge's faults weaken no recall"


def test_another_prompt_is_another_judge(world: World, first: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from assets import judges

    judge = world.table("verdicts")["judge"].unique().to_list()
    reworded = replace(judges.RUBRICS["grounded"], instructions="judge/core_detail")
    monkeypatch.setitem(judges.RUBRICS, "grounded", reworded)
    # A limit stops it with a reason; what was asked is kept, and the next run goes on there.
    before = world.server.count
    world.experiment.write_text(ALONE + "limits: {calls: 3}\n")
    stopped = world.run("evaluate")
    assert stopped.code == 2 and "judge of arm" in stopped.err, stopped.err
    assert world.server.count - before == 3
    world.experiment.write_text(ALONE)
    assert world.evaluated().calls == 4
    assert world.table("verdicts")["judge"].unique().to_list() != judge


def test_a_judge_that_there_is_not_is_refused(world: World) -> None:
    for judges, why in (
        ("[fair]", "line 7: no judge fair on such a release; there are"),
        ("[grounded, 'grounded:scripted']", "before"),
    ):
        world.experiment.write_text(EXPERIMENT.replace("[grounded]", judges))
        refused = world.run("evaluate")
        assert refused.code == 2 and why in refused.err
    world.experiment.write_text(EXPERIMENT)


def test_a_larger_sample_accounts_for_the_calls_that_a_smaller_one_made(world: World, first: SimpleNamespace) -> None:
    world.experiment.write_text(ALONE.replace("judged: 7", "judged: 9"))
    assert world.evaluated().calls == 2
    costs = pl.read_parquet(world.home / "reports" / f"told~{world.release}" / "costs.parquet")
    assert costs.filter(step="judge")["n_calls"].to_list() == [9]
