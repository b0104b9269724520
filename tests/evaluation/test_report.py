"""The page: complete, self-contained, and safe whatever names it is given."""

import json
import re
import shutil
from html.parser import HTMLParser

import polars as pl
import pytest
import vl_convert
from evaluation_world import public, random_cohort, random_gold, readouts

from pipelines.commerce.settings import CommerceSettings
from pipelines.evaluation import plots
from pipelines.evaluation.differences import differences
from pipelines.evaluation.leaderboard import leaderboard
from pipelines.evaluation.page import few
from pipelines.evaluation.readers import readings_from_scores
from pipelines.evaluation.report import render
from pipelines.evaluation.scores import oracle, recall_by_position, score
from pipelines.thresholds import settings_table

HOSTILE = "<script>alert(1)</script>{{7*7}}\x1b[31m\u202e</style>"


class Page(HTMLParser):
    """Collects what a browser would load, and the text it would show."""

    def __init__(self, html):
        super().__init__()
        self.loads, self.text, self.scripts, self.inside = [], [], 0, None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.inside = tag
        self.scripts += tag == "script"
        for name, value in attrs:
            if name in ("src", "srcset", "data", "poster", "action") or (
                name == "href" and not (value or "").startswith("#")
            ):
                self.loads.append((tag, name, value))

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside not in ("script", "style"):
            self.text.append(data)


def tables(method="frequency_profile"):
    gold = random_gold()
    keys = gold.select("user_id", "transition_index").unique().iter_rows()
    said = readouts(dict.fromkeys(keys, "x"))
    arms, places = [oracle(gold, random_cohort(gold))], []
    for name, favour in (("empty", 0.0), (method, 1.0)):
        scored = public(gold).with_columns((pl.col("l2").hash(seed=1) % 3 * favour).cast(pl.Float64).alias("score"))
        readings = readings_from_scores(scored)
        labels = {"method": name, "reader": "embedding", "budget": 600}
        arms.append(score(readings, gold, said, random_cohort(gold), **labels))
        places.append(recall_by_position(readings, gold, **labels))
    units = pl.concat(arms)
    pairs = differences(units)
    return {"leaderboard": leaderboard(units, pairs), "differences": pairs, "positions": pl.concat(places)}


def card(text="kept as it is"):
    return {
        "release": "abc123",
        "track": "commerce",
        "settings": [{**row, "value": row["default"]} for row in settings_table(CommerceSettings)],
        "statistics": [
            {"name": "visits per batch", "value": 60.71, "paper": 52.3},
            {"name": "x", "value": None, "paper": None},
        ],
        "funnel": [
            {"step": "events", "unit": "rows", "reason": "", "n": 1469307},
            {"step": "events", "unit": "rows", "reason": text, "n": 3},
        ],
        "facts": [text],
        "refusals": {"infer": text},
        "warnings": [text],
    }


PROVENANCE = {
    "seed": 7,
    "versions": {"polars": "2.1.0"},
    "arms": {"demo~empty": {"dataset": "abc"}, "demo~b": {"reader": "e"}},
}


@pytest.fixture(scope="module")
def html():
    return render(tables(), card(), PROVENANCE)


def test_the_page_loads_nothing_and_is_small(html):
    page = Page(html)
    assert page.loads == []
    assert not re.search(r"@import|url\((?!#)", html.split("<main>")[0])
    assert "default-src 'none'" in html
    assert len(html.encode()) < 5_000_000
    assert page.scripts == 3


def test_the_page_shows_every_part(html):
    text = " ".join(Page(html).text)
    for part in (
        "frequency_profile",
        "oracle",
        "chance",
        "Paired differences",
        "1,469,307",
        "52.300",
        "60.710",
        "0.612",
        "0.443",
    ):
        assert part in text, part
    for part in (
        "Seen",
        "seen",
        "≤ 3 batches",
        "≥ 16 batches",
        "failed",
        "demo~empty",
        "polars",
        "paper §A.1.1",
        "weak reader",
    ):
        assert part.lower() in text.lower(), part
    assert html.count("data-spec=") == 2 * 4


def test_few_users_are_counted_in_words():
    assert few(1, "user").startswith("Only 1 user: ") and few(2, "wallet").startswith("Only 2 wallets: ")


def test_hostile_names_are_shown_as_text():
    html = render(tables(HOSTILE), card(HOSTILE), {HOSTILE: {HOSTILE: HOSTILE}})
    page = Page(html)
    shown = "<script>alert(1)</script>{{7*7}}␛[31m⟨U+202E⟩</style>"
    assert "".join(page.text).count(shown) >= 8
    assert page.scripts == 3 and page.loads == []
    assert "\x1b" not in html.split('id="specs"')[0] and "\u202e" not in html
    assert "<script>alert" not in html and "49\x1b" not in html
    specs = re.search(r'<script type="application/json" id="specs">(.*?)</script>', html, re.S)
    assert any(row["method"] == shown for row in json.loads(specs[1])[0]["data"]["values"])


def test_parts_that_were_not_computed_are_said_to_be_missing():
    html = render({"leaderboard": tables()["leaderboard"]}, {}, {})
    text = " ".join(Page(html).text)
    assert text.count("Not computed in this run.") == 4 and text.count("Not available.") == 3 and "Not stated." in text


def test_the_page_is_a_function_of_its_inputs(html):
    assert render(tables(), card(), PROVENANCE) == html


def test_every_chart_compiles_and_holds_the_tables_numbers():
    made = tables()
    board = made["leaderboard"]
    specs = [
        plots.recall(board, "embedding", 600, "remember"),
        plots.by_group(board, "embedding", 600, "infer", "familiarity"),
        plots.by_group(board, "embedding", 600, "infer", "activity"),
        plots.by_position(made["positions"], "embedding", 600, "remember"),
    ]
    for spec in specs:
        assert spec["data"]["values"] and "<svg" in vl_convert.vegalite_to_svg(spec)
    best = board.filter((pl.col("group_kind") == "all") & (pl.col("pool") == "remember")).sort(
        "recall", descending=True
    )
    assert specs[0]["data"]["values"][0]["recall"] == round(best["recall"][0], 4)


@pytest.mark.browser
def test_the_page_draws_every_chart_from_disk_without_a_request(html, tmp_path):
    browser_file = shutil.which("chromium")
    if browser_file is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    hostile = render(tables(HOSTILE), card(HOSTILE), {HOSTILE: HOSTILE})
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_file, args=["--no-sandbox"])
        for name, text in (("plain.html", html), ("hostile.html", hostile)):
            file = tmp_path / name
            file.write_text(text, encoding="utf-8")
            for scheme in ("light", "dark"):
                page = browser.new_context(color_scheme=scheme).new_page()
                asked, said = [], []
                page.on("request", lambda request, asked=asked: asked.append(request.url))
                page.on("console", lambda message, said=said: said.append(message.text))
                page.on("pageerror", lambda error, said=said: said.append(str(error)))
                page.on("dialog", lambda dialog, said=said: said.append("a dialog opened"))
                page.goto(file.as_uri())
                page.evaluate("document.querySelectorAll('details').forEach((section) => { section.open = true; })")
                page.wait_for_function("document.querySelectorAll('.chart svg').length === 8", timeout=20_000)
                assert (asked, said) == ([file.as_uri()], [])
        browser.close()
