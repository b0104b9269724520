"""Judges of app-log answers from the command line: why answers are wrong, core and detail, and labels of people."""

import csv
import json
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from applog_experiments import ASKING, KEY, sensible, table
from figures import unpublished
from model_server import Call, model_server

from pipelines.evaluation.judging.labelling import SHEET

Cli = Callable[..., SimpleNamespace]


def labelling(call: Call) -> str:
    """What `sensible` answers; of a judge no label but words where the answer would be jazz, else one of three."""
    if "judgments" not in call.schema["properties"]:
        return sensible(call)
    (part,) = call.schema["properties"]["judgments"]["items"]["properties"]["part"]["enum"]
    if "jazz" in call.text.partition("Answer to judge:")[0]:
        return "The text is all clear."
    label = ("irrelevant", "identity_miss", "conflated")[len(call.text) % 3]
    return json.dumps({"judgments": [{"part": part, "analysis": "so it is", "label": label}]})


def test_a_model_is_asked_each_question_once_ever_and_its_judge_why_answers_are_wrong(
    lives_built: SimpleNamespace, ask_lives: Callable[..., SimpleNamespace]
) -> None:
    text = ASKING + "judges: [failure]\njudged: 8\n"
    with model_server(labelling) as server:
        estimated = ask_lives(server, "estimate", text).json["estimate"]
        assert [row["role"] for row in estimated] == ["judge", "reader"] and server.count == 0
        assert estimated[1]["calls"] == 2 * 9 and 0 < estimated[0]["calls"] <= 2 * 8
        first = ask_lives(server, text=text)
        assert first.code == 0, first.err
        judged = [call for call in server.chats if "judgments" in call.schema["properties"]]
        read = [call for call in server.chats if call not in judged]
        # A question that neither memory says anything of is one prompt.
        asked = len({call.text for call in read})
        assert 9 < len(read) == asked <= 18
        assert (first.json["model_calls"], first.json["cache_hits"]) == (server.count, 18 - asked)
        once = {call.text: call for call in judged}.values()
        assert 0 < len(once) == estimated[0]["calls"] < len(judged), "what is not read is asked for again"
        for calls, row in ((once, estimated[0]), (read, estimated[1])):
            sent = sum(len(call.text) + len(call.system) for call in calls)
            assert 0.1 < sent / 4 / row["tokens_in"] < 2, "about what was estimated"
        made = server.count
        again = ask_lives(server, text=text)
        assert (again.json["model_calls"], again.json["cache_hits"]) == (0, made + 18 - asked) and server.count == made
        assert again.json["statuses"] == first.json["statuses"]
    answers = table(lives_built, "answers", "asking~recent_k-k12~llm~1500")
    proven = table(lives_built, "oracle_answers", "asking~oracle~llm", "gold")
    assert answers.height == proven.height == 9 and answers["item"].equals(proven["item"])
    cited = proven.filter(pl.col("evidence").list.len() > 0)
    assert cited.height and all(row["evidence"][0] in row["retrieved"] for row in cited.to_dicts())
    calls = table(lives_built, "model_calls", "asking~recent_k-k12~llm~1500")
    mine = calls.filter(pl.col("step").cast(pl.String) == "read")
    assert set(mine["key"]) == set(answers["call"]) and set(mine["unit"]) == set(answers["item"])
    assert not [file for file in lives_built.home.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]

    arms = ("recent_k-k12~llm~1500", "oracle~llm", "routine~rule")
    units, failures = (
        {arm: table(lives_built, name, f"asking~{arm}", "gold") for arm in arms}
        for name in ("applog_units", "applog_failures")
    )
    drawn = set.union(*(set(rows["item"]) for rows in failures.values()))
    assert 0 < len(drawn) <= 8
    for arm, rows in failures.items():
        wrong = units[arm].filter(pl.col("expectation").cast(pl.String) == "value", pl.col("mechanical") < 1)
        assert set(rows["item"]) == set(wrong["item"]) & drawn, "the same questions, as far as they are wrong"
    assert set(failures["routine~rule"]["status"]) <= {"untold"}, "a rule asks no memory"
    told = failures["recent_k-k12~llm~1500"]
    assert set(told["status"]) == {"ok", "judge_error"}
    assert told.filter(status="judge_error")["reason"].unique().to_list() == ["reply_not_json"]
    assert set(told["call"]) <= set(calls.filter(pl.col("step").cast(pl.String) == "judge")["key"])
    attribution, agreement = (
        table(lives_built, f"applog_{name}", wall="gold", experiment="asking") for name in ("attribution", "agreement")
    )
    whole = attribution.filter(pl.col("family").cast(pl.String) == "all", pl.col("by").cast(pl.String) == "judge")
    errors = sum(rows.filter(status="judge_error").height for rows in failures.values())
    assert whole.filter(pl.col("label").cast(pl.String) == "judge_error")["n_items"].sum() == errors
    assert agreement["n_errors"].sum() == errors and 0 < agreement["n_both"].sum() < agreement["n_judged"].sum()
    assert "Rule and judge, all methods together" in Path(first.json["report"]).read_text()


def marking(call: Call) -> str:
    """A formula for every text that is asked for; of a judge a mark by its prompt and the place of the part."""
    if "judgments" not in call.schema["properties"]:
        return sensible(call).replace('"x"', '"=1+1"')
    labels = call.schema["properties"]["judgments"]["items"]["properties"]["part"]["enum"]
    marks = [
        {"part": one, "analysis": "marked", "core_correct": zlib.crc32(f"{one}{call.text}".encode()) % 3 > 0,
         "detail_quality": 1} for one in labels
    ]  # fmt: skip
    return json.dumps({"judgments": marks})


def test_labels_of_people_calibrate_the_judge_of_core_and_detail_without_a_call(
    cli: Cli,
    lives_built: SimpleNamespace,
    ask_lives: Callable[..., SimpleNamespace],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from trailbench.judging import print_marked

    text = ASKING.replace("asking", "marked").replace(": 9", ": 30") + "judges: [core_detail]\njudged: 20\n"
    sheet, filled = tmp_path / "sheet.csv", tmp_path / "filled.csv"

    def labels(*words: object, experiment: Path = tmp_path / "experiment.yaml") -> SimpleNamespace:
        return cli("labels", "--experiment", experiment, "--home", lives_built.home, "--json", *words)

    with model_server(marking) as server:
        first = ask_lives(server, text=text)
        assert first.code == 0, first.err
        made = server.count
        before = {row["method"]: row for row in first.json["judged"]}
        assert {(row["calibration"], row["corrected"], row["labelled"]) for row in before.values()} == {
            ("uncalibrated", None, 0)
        }
        page = Path(first.json["report"]).read_text()
        assert "The judge of core and detail is uncalibrated" in page and "Uncalibrated: nobody labelled a part" in page
        arms = {"recent_k-k12": "recent_k-k12~llm~1500", "oracle": "oracle~llm"}
        arms |= {rule: f"{rule}~rule" for rule in ("routine", "last_value", "majority_choice")}
        verdicts = {name: table(lives_built, "applog_verdicts", f"marked~{arm}", "gold") for name, arm in arms.items()}
        assert before.keys() == verdicts.keys()
        for method, row in before.items():
            assert row["parts"] == verdicts[method].height and row["questions"] == 20
            assert row["right"] == pytest.approx(verdicts[method]["core_correct"].mean())

        drawn = labels("--to", sheet, "--n", 24)
        assert drawn.code == 0 and drawn.json["lines"] == 24, drawn.err
        with sheet.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert tuple(rows[0]) == SHEET
        shown = sheet.read_text()
        blind = ("recent_k", "oracle", "last_value", "majority_choice", "marked", "scripted", "core_correct")
        assert not [word for word in blind if word in shown]
        cells = [cell for row in rows for cell in row.values()]
        assert '"=1+1"' in cells and not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
        marks = dict(pl.concat(verdicts.values()).select("content", "core_correct").iter_rows())
        counted: Counter[tuple[bool, bool]] = Counter()
        for row in rows:
            # Of the parts of one mark people call every fourth one otherwise than the judge does.
            mark = marks[row["id"]]
            label = mark != (sum(n for (one, _), n in counted.items() if one == mark) % 4 == 1)
            counted[mark, label] += 1
            row["label"] = "yes" if label else "no"
        assert len(counted) == 4
        with filled.open("w", newline="") as file:
            writer = csv.DictWriter(file, SHEET)
            writer.writeheader()
            writer.writerows(rows)
        kept = labels("--from", filled)
        assert kept.code == 0 and (kept.json["new"], kept.json["replaced"]) == (24, 0), kept.err
        stored = json.loads((lives_built.home / "gold/labels/core_detail.json").read_text())
        assert stored == {row["id"]: row["label"] == "yes" for row in rows}

        boards = {one: one.stat().st_mtime_ns for one in (lives_built.home / "gold/applog_board").rglob("*.parquet")}
        after = ask_lives(server, "report", text)
        assert after.code == 0, after.err
        assert server.count == made and {one: one.stat().st_mtime_ns for one in boards} == boards, "no call again"
        tpr = counted[True, True] / (counted[True, True] + counted[False, True])
        tnr = counted[False, False] / (counted[False, False] + counted[True, False])
        for row in after.json["judged"]:
            assert (row["calibration"], row["labelled"]) == ("calibrated", 24)
            assert row["right"] == before[row["method"]]["right"]
            assert (row["tpr"], row["tnr"]) == pytest.approx((tpr, tnr))
            assert row["tpr_low"] < row["tpr"] < row["tpr_high"] and row["kappa_low"] < row["kappa"] < row["kappa_high"]
            expected = min(max((row["right"] + tnr - 1) / (tpr + tnr - 1), 0), 1)
            assert row["corrected"] == pytest.approx(expected)
            assert row["corrected_low"] <= row["corrected"] <= row["corrected_high"]
        page = Path(after.json["report"]).read_text()
        assert "Calibrated on 24 parts that people labelled" in page and "is uncalibrated" not in page
        print_marked(after.json["judged"])
        told = capsys.readouterr().out
        assert "Core, as core_detail judges it" in told and f"calibrated: 24 labels, TPR {tpr:.3f} (" in told

        filled.write_text(filled.read_text().replace(rows[0]["id"], "0" * 64))
        foreign = labels("--from", filled)
        assert foreign.code == 2 and "line 2: id" in foreign.err
        assert "is of no answer judged here" in " ".join(foreign.err.split())
        nobody = labels("--to", tmp_path / "none.csv", experiment=lives_built.experiment)
        assert nobody.code == 2
        assert "names no judge core_detail; add `judges: [core_detail]` to it" in " ".join(nobody.err.split())


def test_figures_come_again_byte_for_byte(lives_built: SimpleNamespace) -> None:
    seen, found = unpublished(lives_built.home)
    assert seen > 2_000 and found == set()
