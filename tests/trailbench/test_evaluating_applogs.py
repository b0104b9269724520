"""Experiments on a release of app logs from the command line: without a model, with one over HTTP, with plug-ins."""

import csv
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from inspecting import folder_of, lines
from model_server import (
    Answer,
    Call,
    ModelServer,
    content_filtered,
    empty,
    model_server,
    server_error,
    too_long,
    wrong_schema,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "applogs"))
from applog_lives import USERS
from prediction_reader import read_predictions

from pipelines.applogs.answers import standing
from pipelines.applogs.asking import NOTHING
from pipelines.applogs.board_summaries import published_metrics
from pipelines.applogs.mechanical import agreements
from pipelines.applogs.scores import points_by_rule, units
from pipelines.evaluation.judging.labelling import SHEET
from pipelines.prompts.quoting import quoted

Cli = Callable[..., SimpleNamespace]
WITHOUT_MODEL = """
name: small
methods:
  recent_k: [{}]
  rag_bm25: [{}]
  oracle: [{}]
readers: [extractive]
budgets: [3000]
"""
ASKING = """
name: asking
methods:
  recent_k: [{k: 12}]
  oracle: [{}]
readers: [llm]
budgets: [1500]
readings: 9
"""
KEY = "key-that-nobody-may-see"
HUNT = """
places = [*pathlib.Path({home!r}).rglob('*'), *pathlib.Path('.').absolute().rglob('*')]
seen = ' '.join(map(str, [vars(self), dict(os.environ), places]))
if any(word in seen for word in ('gold', 'evidence', 'reference', 'state_key', 'night_swim')):
    raise OSError('there it is')
"""


@pytest.fixture
def release(lives_built: SimpleNamespace) -> SimpleNamespace:
    return lives_built


@pytest.fixture(scope="module")
def small(cli: Cli, lives_built: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """What is said of `WITHOUT_MODEL` when it is evaluated first, and the `file` that it stands in."""
    file = tmp_path_factory.mktemp("small") / "small.yaml"
    file.write_text(WITHOUT_MODEL)
    result = cli("evaluate", "--experiment", file, "--home", lives_built.home, "--json")
    assert result.code == 0, result.err
    return SimpleNamespace(**vars(result), file=file)


@pytest.fixture
def evaluate(cli: Cli, release: SimpleNamespace, tmp_path: Path) -> Callable[..., SimpleNamespace]:
    def call(text: str, command: str = "evaluate") -> SimpleNamespace:
        file = tmp_path / "experiment.yaml"
        file.write_text(text)
        return cli(command, "--experiment", file, "--home", release.home, "--json")

    return call


def table(
    release: SimpleNamespace, name: str, arm: str = "", wall: str = "store", experiment: str = ""
) -> pl.DataFrame:
    """What an arm or the board of an experiment published, or the release."""
    from resources.home import open_home
    from resources.settings import HomeSettings

    home = open_home(HomeSettings(home=release.home), make=False)
    catalog = home.gold if wall == "gold" else home.store
    if experiment:
        return catalog.scan(name, {"experiment": f"{experiment}~{release.release}"}).collect()
    axes = {"arm": f"{arm}~{release.release}"} if arm else {"release": release.key}
    return catalog.scan(name, axes, home.shards).collect()


def test_every_question_is_answered_or_counted_and_the_second_run_makes_nothing(
    release: SimpleNamespace, small: SimpleNamespace, evaluate: Callable[..., SimpleNamespace]
) -> None:
    answer = small.json
    questions = table(release, "answers", "small~routine~rule")
    assert answer["units"] == 6 * questions.height > 0 and answer["users"] == len(USERS)
    assert sum(answer["statuses"].values()) == answer["units"] and set(answer["statuses"]) == {"ok", "abstained"}
    assert [answer[name] for name in ("model_calls", "cache_hits", "tokens", "cost")] == [0, 0, 0, 0]
    assert table(release, "contexts", "small~oracle~extractive").is_empty()
    assert table(release, "answers", "small~oracle~extractive").is_empty()
    proven = table(release, "oracle_answers", "small~oracle~extractive", "gold")
    assert proven.height == questions.height
    arms = ("oracle~extractive", "recent_k~extractive~3000", "routine~rule", "last_value~rule")
    units = {arm: table(release, "applog_units", f"small~{arm}", "gold") for arm in arms}
    keys = [units[arm].select("user_id", "item").rows() for arm in units]
    assert all(one == keys[0] for one in keys), "one frozen set"
    completed = {
        arm: dict(
            rows.filter(pl.col("task").cast(pl.String) == "state_completion")
            .group_by(pl.col("family").cast(pl.String))
            .agg(pl.col("mechanical").mean())
            .iter_rows()
        )
        for arm, rows in units.items()
    }
    assert completed["oracle~extractive"] == {"attribute": 1.0, "habit": 1.0, "preference": 1.0}
    assert completed["routine~rule"]["habit"] == 1.0 and completed["last_value~rule"]["habit"] == 0.0
    files = {file: file.stat().st_mtime_ns for wall in ("store", "gold") for file in
             (release.home / wall).rglob("*.parquet")}  # fmt: skip
    again = evaluate(WITHOUT_MODEL)
    assert again.code == 0 and again.json["statuses"] == answer["statuses"]
    assert {file: file.stat().st_mtime_ns for file in files} == files
    assert evaluate(WITHOUT_MODEL, "estimate").json["estimate"] == []


def sensible(call: Call) -> str:
    """Nothing for a message, the template filled with one word for all else, and the first id of the memory."""
    value = call.schema["properties"]["value"]
    cited = re.findall(r'"app_log_id":"(log_\d+)"', call.text)
    return json.dumps({"value": filled(value), "evidence": cited[:1]})


def filled(shape: dict[str, Any]) -> Any:
    if shape.get("type") == "object":
        return {name: filled(inner) for name, inner in shape["properties"].items()}
    return None if shape == {"type": ["string", "null"]} else "x"


@pytest.fixture
def asking(evaluate: Callable[..., SimpleNamespace], monkeypatch: pytest.MonkeyPatch) -> Callable[..., SimpleNamespace]:
    def call(server: ModelServer, command: str = "evaluate", text: str = ASKING) -> SimpleNamespace:
        monkeypatch.setenv("TRAILBENCH_MODEL_BASE_URL", server.base_url)
        monkeypatch.setenv("TRAILBENCH_MODEL_NAME", "scripted")
        monkeypatch.setenv("TRAILBENCH_MODEL_API_KEY", KEY)
        monkeypatch.setenv("TRAILBENCH_MODEL_RETRIES", "0")
        monkeypatch.setenv("TRAILBENCH_MODEL_BACKOFF_SECONDS", "0.001")
        return evaluate(text, command)

    return call


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
    release: SimpleNamespace, asking: Callable[..., SimpleNamespace]
) -> None:
    text = ASKING + "judges: [failure]\njudged: 8\n"
    with model_server(labelling) as server:
        estimated = asking(server, "estimate", text).json["estimate"]
        assert [row["role"] for row in estimated] == ["judge", "reader"] and server.count == 0
        assert estimated[1]["calls"] == 2 * 9 and 0 < estimated[0]["calls"] <= 2 * 8
        first = asking(server, text=text)
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
        again = asking(server, text=text)
        assert (again.json["model_calls"], again.json["cache_hits"]) == (0, made + 18 - asked) and server.count == made
        assert again.json["statuses"] == first.json["statuses"]
    answers = table(release, "answers", "asking~recent_k-k12~llm~1500")
    proven = table(release, "oracle_answers", "asking~oracle~llm", "gold")
    assert answers.height == proven.height == 9 and answers["item"].equals(proven["item"])
    cited = proven.filter(pl.col("evidence").list.len() > 0)
    assert cited.height and all(row["evidence"][0] in row["retrieved"] for row in cited.to_dicts())
    calls = table(release, "model_calls", "asking~recent_k-k12~llm~1500")
    mine = calls.filter(pl.col("step").cast(pl.String) == "read")
    assert set(mine["key"]) == set(answers["call"]) and set(mine["unit"]) == set(answers["item"])
    assert not [file for file in release.home.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]

    arms = ("recent_k-k12~llm~1500", "oracle~llm", "routine~rule")
    units, failures = (
        {arm: table(release, name, f"asking~{arm}", "gold") for arm in arms}
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
        table(release, f"applog_{name}", wall="gold", experiment="asking") for name in ("attribution", "agreement")
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
    release: SimpleNamespace,
    small: SimpleNamespace,
    asking: Callable[..., SimpleNamespace],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from trailbench.judging import print_marked

    text = ASKING.replace("asking", "marked").replace(": 9", ": 30") + "judges: [core_detail]\njudged: 20\n"
    sheet, filled = tmp_path / "sheet.csv", tmp_path / "filled.csv"

    def labels(*words: object, experiment: Path = tmp_path / "experiment.yaml") -> SimpleNamespace:
        return cli("labels", "--experiment", experiment, "--home", release.home, "--json", *words)

    with model_server(marking) as server:
        first = asking(server, text=text)
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
        verdicts = {name: table(release, "applog_verdicts", f"marked~{arm}", "gold") for name, arm in arms.items()}
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
        stored = json.loads((release.home / "gold/labels/core_detail.json").read_text())
        assert stored == {row["id"]: row["label"] == "yes" for row in rows}

        boards = {one: one.stat().st_mtime_ns for one in (release.home / "gold/applog_board").rglob("*.parquet")}
        after = asking(server, "report", text)
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
        nobody = labels("--to", tmp_path / "none.csv", experiment=small.file)
        assert nobody.code == 2
        assert "names no judge core_detail; add `judges: [core_detail]` to it" in " ".join(nobody.err.split())


def test_faults_are_statuses_and_only_errors_are_asked_again(
    release: SimpleNamespace, asking: Callable[..., SimpleNamespace]
) -> None:
    text = ASKING.replace("asking", "faulty").replace("  oracle: [{}]\n", "").replace("readings: 9", "readings: 13")
    faults: dict[str, Answer | str] = {}
    script: list[Answer | str] = [
        server_error(), too_long(), empty(), content_filtered(), wrong_schema(), "It is so.",
        '{"value": null, "evidence": []}',
    ]  # fmt: skip

    def faulty(call: Call) -> Answer | str:
        if call.text not in faults and script:
            faults[call.text] = script.pop(0)
        return faults.get(call.text) or sensible(call)

    with model_server(faulty) as server:
        result = asking(server, text=text)
        assert result.code == 0, result.err
        answers = table(release, "answers", "faulty~recent_k-k12~llm~1500")
        reasons = dict(answers["reason"].drop_nulls().value_counts().iter_rows())
        # What a script answers to two equal prompts it answers alike, so that there may be more of a kind.
        assert set(reasons) == {
            *("reply_failed", "reply_truncated", "reply_empty", "reply_refused", "reply_wrong_schema"),
            "reply_not_json",
        }
        assert set(answers["status"].cast(pl.String)) >= {"transport_error", "parse_error", "abstained", "ok"}
        assert result.json["units"] == 13 * 4 == sum(result.json["statuses"].values())
        scored = table(release, "applog_units", "faulty~recent_k-k12~llm~1500", "gold")
        errors = pl.col("status").cast(pl.String).str.ends_with("error")
        told = scored.filter(errors & (pl.col("expectation").cast(pl.String) == "value"))
        assert told.height and told["mechanical"].fill_null(0).max() == 0
        before = server.count
        faults.clear()
        again = asking(server, text=text)
        assert again.code == 0, again.err
        # A reply without a text is none, and is not kept; one that cannot be read is.
        lost = {"reply_failed", "reply_empty", "reply_refused"}
        assert server.count - before == sum(n for reason, n in reasons.items() if reason in lost)
        later = table(release, "answers", "faulty~recent_k-k12~llm~1500")
        assert dict(later["reason"].drop_nulls().value_counts().iter_rows()) == {
            reason: n for reason, n in reasons.items() if reason not in lost
        }


def test_a_plug_in_is_evaluated_and_finds_no_gold(
    release: SimpleNamespace, evaluate: Callable[..., SimpleNamespace], install: Callable[..., Path]
) -> None:
    install("hunter", "import os, pathlib", HUNT.format(home=str(release.home)))
    result = evaluate("name: theirs\nmethods:\n  hunter: [{}]\nreaders: [extractive]\nbudgets: [500]\n")
    assert result.code == 0, result.err
    contexts = table(release, "contexts", "theirs~hunter~extractive~500")
    asked = table(release, "tasks").select("user_id", "checkpoint_id").unique().sort("user_id", "checkpoint_id")
    assert contexts.select("user_id", "checkpoint_id").equals(asked) and set(contexts["item"]) == {""}
    assert contexts["text"].str.contains("playsong").all(), "it remembers something"
    assert result.json["units"] == sum(result.json["statuses"].values())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: x\nmethods:\n  recal: [{}]\n", "no method recal on a release of app logs"),
        ("name: x\nmethods:\n  recent_k: [{}]\nreaders: [embedding]\n", "there are extractive, llm, rule"),
        ("name: x\nmethods:\n  recent_k: [{n: 5}]\n", "method recent_k does not take its configuration: n"),
        ("name: x\nmethods:\n  recent_k: [{}]\nsplit: train\n", "split belongs to on-chain releases; take it out"),
        ("name: x\nmethods:\n  recent_k: [{}]\nbudgets: [0]\n", "experiment.yaml, line 4: budgets"),
        (
            "name: x\nmethods:\n  recent_k: [{}]\njudges:\n- failure\n- failure:m\n",
            "line 6: two judges are called failure",
        ),
        ("name: x\nmethods:\n  recent_k: [{}]\njudges: [grounded]\n", "there are core_detail, failure"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_message(
    evaluate: Callable[..., SimpleNamespace], text: str, says: str
) -> None:
    result = evaluate(text)
    assert result.code == 2 and says in " ".join(result.err.split())


def profile(call: Call) -> str:
    """A profile that names how much it was written from."""
    names = ("interests", "habits", "preferences", "current_needs", "circumstances")
    summary = f"The user's takeout restaurant is known from {len(call.text)} letters"
    return json.dumps({"summary": summary, **{name: [] for name in names}})


def test_a_memory_that_asks_a_model_goes_on_where_it_was_cut_off(
    release: SimpleNamespace, asking: Callable[..., SimpleNamespace]
) -> None:
    text = "name: building\nmethods:\n  profile_gen: [{every_batches: 8}]\nreaders: [extractive]\nusers: 1\n"
    kept = release.home / "memories"
    gone = [10]

    def script(call: Call) -> Answer | str:
        return profile(call) if call.number < gone[0] else server_error()

    # Calls go one by one, a batch after another; the endpoint is gone in the second half.
    with model_server(script) as server:
        estimated = asking(server, "estimate", text).json["estimate"]
        assert [row["role"] for row in estimated] == ["profile"]
        broken = asking(server, text=text)
        assert broken.code != 0 and "gave no reply" in broken.err and server.count == 11
        assert len(list(kept.glob("*/*/*"))) == 1, "that of the first checkpoint"
        gone[0] = 1_000
        whole = asking(server, text=text)
        assert whole.code == 0, whole.err
        made = server.count - 11
        assert (whole.json["model_calls"], whole.json["cache_hits"]) == (made, 10), "none is made again"
        assert len({call.text for call in server.chats}) == 10 + made <= estimated[0]["calls"]
        again = asking(server, text=text)
        assert (again.json["model_calls"], again.json["statuses"]) == (0, whole.json["statuses"])
    contexts = table(release, "contexts", "building~profile_gen-every_batches8~extractive~600")
    assert contexts["text"].str.contains("takeout restaurant is known").all()
    answers = table(release, "answers", "building~profile_gen-every_batches8~extractive~600")
    said = answers.filter(pl.col("item").str.contains("/state/user_attributes_state:takeout_restaurant"))
    assert said["status"].cast(pl.String).unique().to_list() == ["ok"]
    # Its own words, or a log that waits to be taken in and stands there as it is.
    assert said["answer"].str.contains("letters|Olive Hill").all() and said["answer"].str.contains("letters").any()


def test_prompts_are_handed_on_with_what_a_memory_delivered_and_never_with_what_the_oracle_is_shown(
    release: SimpleNamespace, small: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    def prompts(*words: object) -> dict[str, str]:
        samples = lines(folder_of(cli, release, tmp_path / "folder", *words) / "samples.jsonl")
        return {one["id"]: one["input"][1]["content"] for one in samples}

    bare = prompts()
    assert sorted(bare) == sorted(table(release, "tasks")["item"])
    assert "needs polars" in (tmp_path / "folder" / "README.md").read_text()
    words = ("--experiment", small.file, "--method")
    searched = prompts(*words, "rag_bm25")
    delivered = dict(table(release, "contexts", "small~rag_bm25~extractive~3000").select("item", "text").iter_rows())
    assert searched.keys() == bare.keys() == delivered.keys() and any(delivered.values())
    for item, prompt in searched.items():
        before, after = bare[item].split(NOTHING, 1)
        assert prompt == before + quoted(delivered[item], NOTHING) + after
    for method in ("oracle", "routine"):
        refused = cli("export", "--as", "inspect", "--to", tmp_path / "x", "--home", release.home, *words, method)
        assert refused.code == 2 and "by --method: recent_k, rag_bm25" in " ".join(refused.err.split())


@pytest.mark.parametrize(
    ("method", "reader"), [("recent_k", "extractive"), ("oracle", "extractive"), ("routine", "rule")]
)
def test_prediction_files_give_the_published_metrics_again(
    release: SimpleNamespace, small: SimpleNamespace, cli: Cli, tmp_path: Path, method: str, reader: str
) -> None:
    to = tmp_path / "predictions"
    words = ("export", "--as", "dynamicmem", "--experiment", small.file, "--method", method, "--home", release.home)
    assert "add --gold" in cli(*words, "--to", to).err
    result = cli(*words, "--gold", "--to", to, "--json")
    assert result.code == 0, result.err
    users = sorted(path.parent.name for path in to.glob("*/predictions.json"))
    assert users == list(USERS) and result.json["users"] == 3
    places = table(release, "checkpoints")
    published = pl.col("task").cast(pl.String).is_in(["state_completion", "personalised_service"])
    items = table(release, "gold_items", wall="gold").filter(published)
    read = []
    for user in users:
        own = places.filter(user_id=user).select("as_of", "checkpoint_id").iter_rows()
        as_of = {f"{moment:%Y-%m-%d %H:%M:%S}": name for moment, name in own}
        read.append(read_predictions((to / user / "predictions.json").read_text(), as_of, items))
    stand = standing(items, pl.concat(read))
    agreed = agreements(table(release, "gold_parts", wall="gold"), stand)
    again = published_metrics((method, reader, 0), units(stand, agreed, correct=points_by_rule(agreed)), stand)
    board = pl.read_parquet(Path(small.json["report"]).parent / "applog_compat.parquet")
    ours = board.filter(method=method, reader=reader)
    metrics = [dict(rows.select("metric", "value").iter_rows()) for rows in (again, ours)]
    assert metrics[0] == pytest.approx(metrics[1]) and len(metrics[1]) >= 15
    assert metrics[1]["rq3_apply_key_coverage_mean"] > 0 and ours["value"].n_unique() > 4


def test_whose_answers_are_handed_on_is_asked_where_it_is_open(
    release: SimpleNamespace, small: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    words = ("export", "--as", "dynamicmem", "--to", tmp_path / "x", "--home", release.home, "--gold")
    named = ("--experiment", small.file)
    for more, says in (
        ((), "name its experiment by --experiment"),
        (named, "by --method: routine, last_value, majority_choice, recent_k, rag_bm25, oracle"),
        ((*named, "--method", "recent_k", "--reader", "llm"), "name a reader of small by --reader: extractive"),
        ((*named, "--method", "recent_k", "--budget", 9), "name a budget of small by --budget: 3000"),
    ):
        refused = cli(*words, *more)
        assert refused.code == 2 and says in " ".join(refused.err.split()), refused.err
    assert list(tmp_path.iterdir()) == []
