"""`trailbench explain` and the pages of users of app logs: hostile logs, a real endpoint that answers and judges."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from model_server import Call, model_server

sys.path.insert(0, str(Path(__file__).parents[1] / "applogs"))
from applog_lives import RESTAURANT, write_drop

from pipelines.evaluation.drilldown.pages import file_name

Cli = Callable[..., SimpleNamespace]
HOSTILE = "<script>alert(1)</script>{{7*7}}{% raw %}\x1b[31m\u202e</pre>\"'><img src=x onerror=alert(1)>=1+1"
SHOWN = "<script>alert(1)</script>{{7*7}}{% raw %}␛[31m⟨U+202E⟩</pre>"
EXPERIMENT = """
name: told
methods: {recent_k: [{k: 12}], rag_bm25: [{}], shuffled_user: [{}], oracle: [{}]}
readers: [llm, extractive]
budgets: [1500]
judges: [core_detail, failure]
judged: 40
pages: 2
"""
CHECKPOINTS = 2
"""The quarters that 26 weeks hold."""


def answer(call: Call) -> str:
    """The value of every field is hostile and the newest log is cited; of one state there is no answer at all."""
    asked = call.body["response_format"]["json_schema"]
    if asked["name"] == "judgments":
        shape = asked["schema"]["properties"]["judgments"]["items"]["properties"]
        marks = {"label": "conflated"} if "label" in shape else {"core_correct": True, "detail_quality": 1}
        parts = [{"part": label, "analysis": HOSTILE, **marks} for label in shape["part"]["enum"]]
        return json.dumps({"judgments": parts})
    cited = re.findall(r'"app_log_id":"(log_\d+)"', call.text)
    if "music_genre" in call.text:
        return HOSTILE
    return json.dumps({"value": filled(asked["schema"]["properties"]["value"]), "evidence": cited[-1:]})


def filled(shape: dict[str, Any]) -> Any:
    if shape.get("type") == "object":
        return {name: filled(inner) for name, inner in shape["properties"].items()}
    return HOSTILE


def texts_of(value: Any) -> list[Any]:
    return [text for inner in value.values() for text in texts_of(inner)] if isinstance(value, dict) else [value]


@pytest.fixture(scope="module")
def told(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A home folder with a judged experiment on hostile logs, and what its endpoint was asked."""
    folder = tmp_path_factory.mktemp("told")
    drop, home, experiment = write_drop(folder / "drop"), folder / "home", folder / "told.yaml"
    for file in [*drop.rglob("*.json"), *drop.rglob("*.jsonl")]:
        # What stands in JSON inside of JSON is escaped twice.
        text = file.read_text().replace('\\"Olive Hill\\"', json.dumps(json.dumps(HOSTILE))[1:-1])
        file.write_text(text.replace("Olive Hill", json.dumps(HOSTILE)[1:-1]))
    experiment.write_text(EXPERIMENT)
    built = cli("build", "--track", "applogs", drop, "--home", home, "--shards", 2, "--json")
    assert built.code == 0, built.err
    with model_server(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAILBENCH_MODEL_BASE_URL", server.base_url)
        patch.setenv("TRAILBENCH_MODEL_NAME", "scripted")
        made = cli("evaluate", "--experiment", experiment, "--home", home, "--json")
        assert made.code == 0, made.err
        sent = [call.body["messages"] for call in server.chats]

    def ask(*words: object) -> SimpleNamespace:
        return cli("explain", *words, "--home", home)

    return SimpleNamespace(home=home, ask=ask, sent=sent, reports=Path(made.json["report"]).parent, cli=cli)


def arm_rows(told: SimpleNamespace, table: str, arm: str, wall: str = "gold") -> pl.DataFrame:
    """Rows of a table of an arm."""
    root, rows = told.home / wall, []
    for reference in sorted((root / "references" / table).glob(f"told~{arm}~*/*.json")):
        (part,) = (root / table / f"fingerprint={json.loads(reference.read_text())['fingerprint']}").glob("*.parquet")
        rows.append(pl.read_parquet(part, hive_partitioning=False))
    assert rows, f"{table} of {arm}"
    return pl.concat(rows)


@pytest.fixture(scope="module")
def units(told: SimpleNamespace) -> pl.DataFrame:
    rows = arm_rows(told, "applog_units", "recent_k-k12~llm~1500")
    return rows.with_columns(pl.col(pl.Enum).cast(pl.String)).sort("item")


def explained(told: SimpleNamespace, item: str, *words: object) -> dict[str, Any]:
    got = told.ask(item, *words, "--json")
    assert got.code == 0, got.err
    return dict(got.json)


def test_an_answer_is_explained_as_it_was_scored_and_judged(told: SimpleNamespace, units: pl.DataFrame) -> None:
    gold = pl.concat([pl.read_parquet(one, hive_partitioning=False) for one in
                      (told.home / "gold" / "gold_items").rglob("*.parquet")]).unique("item")  # fmt: skip
    verdicts = arm_rows(told, "applog_verdicts", "recent_k-k12~llm~1500")
    judged = arm_rows(told, "applog_judged", "recent_k-k12~llm~1500")
    assert verdicts.height and set(units["status"]) >= {"ok", "parse_error"}
    marked = units.join(verdicts, on="item", how="semi").head(2)
    for row in pl.concat([marked, units.filter(status="parse_error").head(1), units.head(1)]).to_dicts():
        got = explained(told, row["item"])
        assert (got["unit"], got["user"], got["checkpoint"]) == (row["item"], row["user_id"], row["checkpoint_id"])
        assert {(one["method"], one["reader"]) for one in got["answers"]} == {
            *((name, "rule") for name in ("routine", "last_value", "majority_choice")),
            *((name, reader) for name in ("recent_k-k12", "rag_bm25", "shuffled_user", "oracle")
              for reader in ("llm", "extractive")),
        }  # fmt: skip
        (mine,) = [one for one in got["answers"] if (one["method"], one["reader"]) == ("recent_k-k12", "llm")]
        assert (mine["status"], mine["mechanical"], mine["points"]) == (row["status"], row["mechanical"], row["points"])
        assert mine["evidence"] == [row[f"evidence_{name}"] for name in ("precision", "recall", "f1")]
        own = verdicts.filter(item=row["item"])
        assert [one["part"] for one in mine["verdicts"]] == own["part"].to_list()
        assert all(one["analysis"] == HOSTILE and one["detail_quality"] == 1 for one in mine["verdicts"])
        assert mine["score"] == (judged.filter(item=row["item"])["score"].to_list() or [None])[0]
        truth = gold.filter(item=row["item"]).row(0, named=True)
        assert got["reference"] == truth["reference"]
        roles = got["roles"]
        assert {one for one, role in roles.items() if role == "current"} == set(truth["evidence"])
        assert {one["id"] for one in got["logs"]} == set(roles) | {
            log for one in got["answers"] for log in one["cited"]
        }
        for one in got["logs"]:
            assert json.loads(one["record"])["app_log_id"] == one["id"] and one["position"] < got["n_visible"]


def test_prompt_and_reply_are_those_that_went_over_the_wire(told: SimpleNamespace, units: pl.DataFrame) -> None:
    replies = set()
    for row in units.gather_every(max(units.height // 5, 1)).to_dicts():
        for one in explained(told, row["item"], "--reader", "llm")["answers"]:
            if one["reader"] != "llm":
                continue
            messages = [{"role": speaker, "content": text} for speaker, text in one["call"]["messages"]]
            assert len(messages) == 2 and messages in told.sent
            assert (one["call"]["reply"] == HOSTILE) == (one["status"] == "parse_error")
            replies.add(one["status"])
    assert replies == {"ok", "parse_error"}


def test_what_was_delivered_is_told_by_what_it_shows(told: SimpleNamespace, units: pl.DataFrame) -> None:
    row = units.filter(state_key=RESTAURANT, task="state_completion").row(-1, named=True)
    got = explained(told, row["item"], "--reader", "extractive")
    told_by = {one["method"]: one for one in got["delivered"]}
    assert set(told_by) == {"oracle", "rag_bm25"}, "what is searched for each question"
    shared = {one["method"]: one for one in got["shared"]}
    assert set(shared) == {"recent_k-k12", "shuffled_user"} and shared["shuffled_user"]["logs"] is None
    proven = {one for one, role in got["roles"].items() if role == "current"}
    assert set(told_by["oracle"]["logs"]) == proven > set()
    for one in (*told_by.values(), shared["recent_k-k12"]):
        assert re.findall(r'"app_log_id":"(log_\d+)"', one["text"]) == one["logs"]
    # The earlier restaurant is told apart from the current one.
    assert set(got["roles"].values()) == {"current", "earlier"}
    (proof,) = [one for one in got["answers"] if one["method"] == "oracle"]
    assert proof["status"] == "ok" and set() < set(proof["cited"]) <= proven
    (said,) = [one for one in explained(told, row["item"], "--reader", "llm")["answers"] if one["method"] == "oracle"]
    assert texts_of(json.loads(said["answer"])) == [HOSTILE] and said["mechanical"] == 1.0 and said["label"] == ""


def test_the_terminal_shows_the_same_as_text(told: SimpleNamespace, units: pl.DataFrame) -> None:
    judged = arm_rows(told, "applog_judged", "recent_k-k12~llm~1500").select("item")
    row = units.filter(status="ok", state_key=RESTAURANT).join(judged, on="item", how="semi").row(-1, named=True)
    shown = told.ask(row["item"], "--method", "recent_k-k12").out
    said = re.sub(r"\s+", " ", shown)
    for part in (
        *(row["item"], "Answer of recent_k-k12, llm, 1,500 tokens", "Delivered by recent_k-k12, 1,500 tokens"),
        *("Field by field", "Marks of the judge", "Evidence and cited logs", "Prompt, user", "Reply │ {", "{{7*7}}"),
    ):
        assert part in said, part
    assert "\x1b" not in shown and "\u202e" not in shown and "rag_bm25" not in shown
    unread = told.ask(units.filter(status="parse_error")["item"][0], "--method", "recent_k-k12").out
    assert f"│ {SHOWN}" in unread and "\x1b" not in unread and "status: parse_error" in unread
    # Whatever is word for word stands behind a sign.
    assert all(line.startswith("│ ") for line in shown.split("Prompt, user")[1].split("Reply")[0].split("\n")[1:-1])


def test_why_an_answer_is_wrong_by_judge_is_told_with_its_words(told: SimpleNamespace) -> None:
    failures = arm_rows(told, "applog_failures", "recent_k-k12~llm~1500")
    assert failures.height and set(failures["status"]) == {"ok"} and set(failures["label"]) == {"conflated"}
    item = failures["item"][0]
    for one in explained(told, item)["answers"]:
        if one["method"] == "recent_k-k12" and one["reader"] == "llm":
            said = {"label": "conflated", "status": "ok", "reason": "", "analysis": HOSTILE}
            assert one["failure"] == said and one["label"]
        elif one["reader"] == "rule" and one["failure"]:
            assert (one["failure"]["label"], one["failure"]["status"]) == (None, "untold")
    shown = re.sub(r"\s+", " ", told.ask(item, "--method", "recent_k-k12", "--reader", "llm").out)
    assert "why wrong, by judge: conflated" in shown and "analysis: <script>alert(1)" in shown
    # Arms of one memory and two readers are shown to judges apart, and account for their own calls.
    for arm in ("recent_k-k12~llm~1500", "recent_k-k12~extractive~1500"):
        judged = pl.concat([arm_rows(told, f"applog_{name}", arm)["call"] for name in ("verdicts", "failures")])
        calls = arm_rows(told, "model_calls", arm, "store").filter(pl.col("step").cast(pl.String) == "judge")
        assert set(calls["key"]) == set(judged) != set()
    # What memories delivered was full of markup and orders; it went to the judge behind marks, line by line.
    prompts = [
        one[1]["content"] for one in told.sent if "label" in one[0]["content"] and "conflated" in one[0]["content"]
    ]
    texts = [
        one.partition("Answer to judge:\n")[2].partition("\n\nParts:\np01: delivered text\n")[0] for one in prompts
    ]
    assert len(prompts) > 5 and any("<script>" in text for text in texts)
    assert all(line.startswith("> ") or line == "(nothing)" for text in texts for line in text.split("\n"))


@pytest.mark.parametrize(
    ("cut", "says"),
    [
        (lambda item: item[:-1], "a unit is spelt user/checkpoint/task/name, and near ones are ITEM"),
        (lambda item: item.replace("/state/", "/stat/"), "near ones are ITEM"),
        (lambda item: "nobody at all", "there is none like it"),
    ],
)
def test_what_is_not_there_is_refused_with_near_ones(
    told: SimpleNamespace, units: pl.DataFrame, cut: Callable[[str], str], says: str
) -> None:
    item = units.filter(task="state_completion")["item"][0]
    got = told.ask(cut(item))
    error = re.sub(r"\s+", "", got.err)
    assert got.code == 2 and re.sub(r"\s+", "", says.replace("ITEM", item)) in error, got.err


def test_pages_are_linked_whole_and_hostile_text_is_text(told: SimpleNamespace, units: pl.DataFrame) -> None:
    report = (told.reports / "report.html").read_text()
    pages = {file.name: file.read_text() for file in (told.reports / "users").iterdir()}
    linked = re.findall(r'href="users/([^"]+)"', report)
    assert len(linked) == 2 and "2 of 3 users have a page" in report and set(linked) <= set(pages)
    assert len(pages) == 2 * CHECKPOINTS, "a page a checkpoint"
    first = next(user for user in ("u1", "u2", "u3") if file_name(user) in linked)
    anchors = {name: set(re.findall(r' id="([^"]+)"', text)) for name, text in pages.items()}
    for name, text in pages.items():
        assert "<script>alert" not in text and "\x1b" not in text and "\u202e" not in text and "<img" not in text
        assert text.count("<script>") == 1 and not re.search(r'\son\w+="', text) and len(text) < 1_500_000
        for link in re.findall(r'href="([^"]*)"', text):
            file, _, anchor = link.partition("#")
            assert file == "../report.html" or not anchor or anchor in anchors[file or name], link
    last = pages[file_name(first, CHECKPOINTS)]
    assert last.count("&lt;script&gt;alert(1)&lt;/script&gt;{{7*7}}{% raw %}␛[31m⟨U+202E⟩") > 8
    assert "<svg" in pages[file_name(first)] and "<svg" not in last, "the picture is on the first page"
    # Logs stand once, in full, on the page of the checkpoint that they came before.
    places = [re.findall(r' id="l([0-9]+)"', pages[file_name(first, number)]) for number in range(1, CHECKPOINTS + 1)]
    every = [int(one) for some in places for one in some]
    assert all(places) and every == list(range(len(every)))
    mine = units.filter(user_id=first)
    for number, checkpoint in enumerate(sorted(mine["checkpoint_id"].unique()), start=1):
        shown = pages[file_name(first, number)]
        assert all(f"<h3>{item}</h3>" in shown for item in mine.filter(checkpoint_id=checkpoint)["item"])
    # A log that a text holds is named in its place; other words stand as they are.
    assert re.search(r"<pre[^>]*>[^<]*⟦log_\d+⟧", last)
    foreign = re.search(r"Delivered by shuffled_user.*?<pre[^>]*>(.*?)</pre>", last, re.DOTALL)
    assert foreign and "⟦log_" not in foreign[1] and "PlaySong: " in foreign[1]


@pytest.mark.browser
def test_from_the_report_to_a_user_to_a_checkpoint_to_a_question_from_disk(told: SimpleNamespace) -> None:
    file = shutil.which("chromium")
    if file is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=file, args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append("a dialog opened"))
        page.goto((told.reports / "report.html").as_uri())
        page.wait_for_function("document.querySelectorAll('.chart svg').length > 2", timeout=20_000)
        page.click("a[href^='users/'] >> nth=0")
        page.wait_for_selector("figure svg")
        # By keyboard: the last checkpoint, which is on another page; there its first question that is in full.
        page.locator("table a[href$='#c2']").first.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("section#c2 h2")
        page.locator("#c2 td a[href^='#c2-q']").first.focus()
        page.keyboard.press("Enter")
        assert re.search(r"#c2-q[0-9]+$", page.url)
        section = page.evaluate("document.querySelector(':target').id")
        assert page.locator(f"#{section} h3").inner_text().count("/") == 3
        page.locator(f"#{section} summary").first.click()
        page.locator(f"#{section} td a[href*='#l'], #{section} dd a[href*='#l']").first.click()
        # The log is a row of the user's first page, which takes its time to load.
        page.wait_for_selector(":target td", state="attached")
        assert re.search(r"#l[0-9]+$", page.url)
        columns = page.locator("th[data-method=oracle]:visible").count()
        page.locator("#filters input[value=oracle]").uncheck()
        assert columns > 0 == page.locator("[data-method=oracle]:visible").count()
        page.click("nav a >> nth=0")
        page.wait_for_selector("#users")
        browser.close()
    assert wrong == [] and all(url.startswith("file://") for url in asked)
