"""What the report shows of model calls, budgets, configurations and counts: its values, hostile names, its absence."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vl_convert
from evaluation_world import public, random_cohort, random_gold, readouts, table, taxonomy

from pipelines.evaluation import curve_plots
from pipelines.evaluation.ablations import configurations
from pipelines.evaluation.costs import models_asked
from pipelines.evaluation.curves import beside_cost, token_curve
from pipelines.evaluation.differences import differences
from pipelines.evaluation.experiment import Experiment
from pipelines.evaluation.faults import ARMS, COUNTS
from pipelines.evaluation.leaderboard import leaderboard
from pipelines.evaluation.readers.lexical import LexicalReader
from pipelines.evaluation.report import render
from pipelines.evaluation.scores import oracle, score
from pipelines.schema import TABLES

HOSTILE = "<img src=x onerror=alert(1)>{{7*7}}\u202e"
SHOWN = "<img src=x onerror=alert(1)>{{7*7}}⟨U+202E⟩"
EXPERIMENT = Experiment.model_validate({"name": "e", "methods": {"m": [{}, {"k": 5}], "n": [{}]}})
TEXTS = {"m": "milk", "m-k5": "milk\nbeef\nsoap", "n": ""}
SECTIONS = {"budgets", "ablations", "calls", "counted"}


class Page(HTMLParser):
    """Tables by the heading above them, as rows of texts; ids, all text, and the names of all elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.ids: set[str] = set()
        self.elements: set[str] = set()
        self.text: list[str] = []
        self._heading, self._inside = "", ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.ids |= {value for name, value in attrs if name == "id" and value}
        if tag in ("h2", "h3", "script", "style"):
            self._inside, self._heading = tag, "" if tag in ("h2", "h3") else self._heading
        elif tag == "tr":
            self.tables.setdefault(self._heading, []).append([])
        elif tag in ("td", "th"):
            self._inside = tag
            self.tables[self._heading][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag == self._inside else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside in ("h2", "h3"):
            self._heading += data
        elif self._inside in ("td", "th"):
            self.tables[self._heading][-1][-1] += data
        if self._inside not in ("script", "style"):
            self.text.append(data)


def board(budgets: tuple[int, ...] = (100, 400)) -> dict[str, pl.DataFrame]:
    """Real boards of three memories; a larger budget reads one line more."""
    gold = random_gold(users=8, transitions=3)
    cohort, pools, names = random_cohort(gold), public(gold), taxonomy()
    states = gold.select("user_id", "transition_index").unique().rows()
    units = [oracle(gold, cohort)]
    for budget in budgets:
        for method, text in TEXTS.items():
            said = readouts(dict.fromkeys(states, text + "\nwine" * (budget > 100)))
            readings = LexicalReader().read(said, pools, names)
            units.append(score(readings, gold, said, cohort, method=method, reader="llm", budget=budget))
    every = pl.concat(units)
    pairs = differences(every)
    return {"leaderboard": leaderboard(every, pairs), "differences": pairs}


def cost(method: str, budget: int, step: str, model: str = "scripted", **changes: Any) -> dict[str, Any]:
    return {
        "method": method, "reader": "llm", "budget": budget, "step": step, "model": model, "n_calls": 1234,
        "n_cached": 17, "n_failed": 3, "n_retries": 29, "prompt_tokens": 56_789, "reply_tokens": 4_321,
        "seconds": 98.76, "cost": 0.000_25,
    } | changes  # fmt: skip


def costs(model: str = "scripted") -> pl.DataFrame:
    arms = [(method, budget) for method in TEXTS for budget in (100, 400)]
    reads = [cost(method, budget, "read", model, n_calls=7) for method, budget in arms if method != "n"]
    unpriced = [cost("n", budget, "read", "free", cost=None) for budget in (100, 400)]
    return table("costs", [cost("m", 100, "build", model), *reads, *unpriced])


def builds(name: str = "m") -> pl.DataFrame:
    rows = [("batches", 24), ("calls", 31), ("lost_steps", 2), ("lost_steps:themes", 2), ("rejected", 0)]
    rows += [("parse_failures", 5), ("rejected:themes:unknown", 0)]
    return pl.DataFrame([*((name, count, n) for count, n in rows), ("n", "batches", 24)], schema=COUNTS, orient="row")


def arms(weak_reader: bool) -> pl.DataFrame:
    rows = [(method, "llm", budget, False, weak_reader) for method in TEXTS for budget in (100, 400)]
    return pl.DataFrame(rows, schema=ARMS, orient="row")


@pytest.fixture(scope="module")
def made() -> dict[str, pl.DataFrame]:
    return board()


def whole(made: dict[str, pl.DataFrame], model: str = "scripted", counts: str = "m") -> dict[str, pl.DataFrame]:
    shown = {"configurations": configurations(EXPERIMENT), "arms": arms(weak_reader=True)}
    return {**made, **shown, "costs": costs(model), "builds": builds(counts)}


@pytest.fixture(scope="module")
def page(made: dict[str, pl.DataFrame]) -> Page:
    return Page(render(whole(made), {}, {}))


def fixed(value: float) -> str:
    return f"{value:.3f}"


def test_calls_of_models_are_shown_as_they_were_counted(page: Page) -> None:
    rows = page.tables["Model calls"]
    assert [
        "m",
        "llm",
        "100",
        "build",
        "scripted",
        "1,234",
        "17",
        "3",
        "29",
        "56,789",
        "4,321",
        "98.8",
        "0.000250",
    ] in rows
    assert ["n", "llm", "400", "read", "free", "1,234", "17", "3", "29", "56,789", "4,321", "98.8", "no price"] in rows
    assert len(rows) == 1 + costs().height


def test_recall_stands_beside_what_it_cost(page: Page, made: dict[str, pl.DataFrame]) -> None:
    expected = beside_cost(made["leaderboard"], costs()).filter(pool="remember")
    rows = page.tables["Recall beside cost: remember, reader llm"][2:]
    assert [(row[0], row[1], row[2]) for row in rows] == [
        (one["method"], str(one["budget"]), fixed(one["recall"])) for one in expected.iter_rows(named=True)
    ]
    by_name = {(row[0], row[1]): row[4:] for row in rows}
    assert by_name["m", "100"][:4] == ["1,234", "7", "61,110", "61,110"]
    assert by_name["m", "100"][6:9] == ["0.000250", "0.000250", "0.000500"]
    assert by_name["m", "400"][:2] == ["0", "7"] and by_name["m", "400"][8] == "0.000250"
    assert by_name["n", "100"][8:] == ["no price", "–"]


def test_a_curve_needs_two_budgets(page: Page, made: dict[str, pl.DataFrame]) -> None:
    rows = page.tables["Infer, reader llm"]
    points = token_curve(made["leaderboard"]).filter(pool="infer", method="m-k5").sort("budget")
    small, large = points.iter_rows(named=True)
    (shown,) = [row for row in rows if row[0] == "m-k5"]
    assert shown[1] == fixed(small["recall"]) and shown[3:5] == ["–", "14"]
    assert shown[5] == fixed(large["recall"]) and shown[7:] == [fixed(large["gain"]), "19"]
    assert shown[6] == f"{fixed(large['recall_low'])} to {fixed(large['recall_high'])}"
    one = Page(render(board(budgets=(100,)), {}, {}))
    assert "budgets" not in one.ids and not any("budget" in heading for heading in one.tables)


def test_configurations_are_held_to_the_plain_one(page: Page, made: dict[str, pl.DataFrame]) -> None:
    rows = page.tables["m: remember, reader llm, readouts of 400 tokens"][1:]
    assert [row[:2] for row in rows] == [["m plain", "defaults"], ["m-k5", "k = 5"]]
    (pair,) = made["differences"].filter(budget=400, pool="remember", method="m", other="m-k5").to_dicts()
    assert rows[0][4:9] == ["–"] * 5
    assert rows[1][4] == fixed(-pair["difference"]) and rows[1][7] == f"{pair['p_holm']:.4f}"
    assert rows[1][5] == f"{fixed(-pair['high'])} to {fixed(-pair['low'])}"
    assert not any(heading.startswith("n: ") for heading in page.tables)


def test_what_was_lost_or_said_in_vain_is_degraded(page: Page) -> None:
    rows = page.tables["What the memories counted"]
    assert rows[0] == ["method", "batches", "calls", "lost steps", "parse failures", "rejected", "note"]
    assert rows[1] == ["m", "24", "31", "2", "5", "0", "degraded"]
    assert rows[2] == ["n", "24", "–", "–", "–", "–", ""]
    assert ["m", "lost_steps:themes", "2"] in rows and not any("rejected:themes:unknown" in row for row in rows)


def test_a_weak_reader_is_named_at_its_board_and_a_strong_one_is_not(made: dict[str, pl.DataFrame]) -> None:
    said = "Weak model: a weak model read these memories (free, scripted)"
    weak = "".join(Page(render(whole(made), {}, {})).text)
    assert weak.count(said) == 2 and "Reader llm is a weak model" in weak
    strong = "".join(Page(render({**whole(made), "arms": arms(weak_reader=False)}, {}, {})).text)
    assert "Weak model" not in strong and "is a weak model" not in strong


def test_sections_with_nothing_to_show_leave_no_trace(page: Page) -> None:
    assert page.ids >= SECTIONS
    single = board(budgets=(100,))
    plain = configurations(Experiment.model_validate({"name": "e", "methods": {"m": [{}], "n": [{}]}}))
    nothing = {"configurations": plain, "costs": TABLES["costs"].empty(), "builds": COUNTS.to_frame()}
    for given in (single, {**single, **nothing}):
        html = render(given, {}, {"models": []})
        bare = Page(html)
        assert not SECTIONS & bare.ids and "models" not in bare.tables
        assert not re.search(r'href="#(budgets|ablations|calls|counted)"', html)
        for words in ("Model calls", "Ablations", "What the memories counted", "Recall beside cost"):
            assert words not in "".join(bare.text)


def test_judges_alone_stand_beside_no_recall(made: dict[str, pl.DataFrame]) -> None:
    judged = Page(render({**made, "costs": table("costs", [cost("m", 100, "judge")])}, {}, {}))
    assert judged.tables["Model calls"][1][3] == "judge"
    assert not any(heading.startswith("Recall beside cost") for heading in judged.tables)


def test_hostile_names_of_models_counts_and_settings_are_shown_as_text(made: dict[str, pl.DataFrame]) -> None:
    hostile = whole(made, HOSTILE, HOSTILE)
    configured = hostile["configurations"].with_columns(config=pl.lit(HOSTILE), memory=pl.lit(HOSTILE))
    models = [{"role": "reader", "model": HOSTILE, "endpoint": HOSTILE, "weak": "yes"}]
    page = Page(html := render({**hostile, "configurations": configured}, {}, {"models": models}))
    assert "img" not in page.elements and "<img src=x" not in html
    assert any(SHOWN in row for row in page.tables["Model calls"])
    assert page.tables["What the memories counted"][1][0] == SHOWN
    assert [row[1] for row in page.tables[f"{SHOWN}: infer, reader llm, readouts of 100 tokens"][1:]] == [SHOWN] * 2
    assert page.tables["models"] == [["role", "model", "endpoint", "weak"], ["reader", SHOWN, SHOWN, "yes"]]


def test_the_charts_compile_and_hold_the_tables_numbers(made: dict[str, pl.DataFrame]) -> None:
    curve = token_curve(made["leaderboard"]).filter(pool="infer")
    points = beside_cost(made["leaderboard"], costs()).filter(pool="infer")
    line, priced = curve_plots.by_budget(curve), curve_plots.beside_cost(points)
    unpriced = curve_plots.beside_cost(points.with_columns(cost=pl.lit(None, pl.Float64)))
    for spec in (line, priced, unpriced):
        assert "<svg" in vl_convert.vegalite_to_svg(spec)
    assert [row["recall"] for row in line["data"]["values"]] == curve["recall"].round(4).to_list()
    assert [row["cost"] for row in priced["data"]["values"]] == points["cost"].to_list()
    panels = [[panel["encoding"]["x"]["field"] for panel in spec["hconcat"]] for spec in (priced, unpriced)]
    assert panels == [["cost", "tokens", "seconds"], ["tokens", "seconds"]]


def test_methods_that_share_a_colour_differ_in_dash_and_shape() -> None:
    names = [f"m{place:02}" for place in range(20)]
    rows = [
        {"reader": "llm", "budget": budget, "pool": "infer", "group_kind": "all", "place": 0, "group": "all",
         "method": name, "kind": "method", "recall": 0.5, "n_units": 1, "n_positives": 2, "tokens": 1.0}
        for name in names for budget in (1, 2)
    ]  # fmt: skip
    frame = table("leaderboard", rows)
    line = curve_plots.by_budget(token_curve(frame))["layer"][-1]["encoding"]
    panel = curve_plots.beside_cost(beside_cost(frame, table("costs", [])))["hconcat"][0]
    colours = line["color"]["scale"]["range"]
    dashes = map(tuple, line["strokeDash"]["scale"]["range"])
    shapes = panel["layer"][1]["encoding"]["shape"]["scale"]["range"]
    assert len(set(zip(colours, dashes, strict=True))) == len(set(zip(colours, shapes, strict=True))) == len(names)


def test_the_models_behind_an_arm_are_named_by_role_and_marked_weak() -> None:
    base = dict.fromkeys(TABLES["model_calls"].schema) | {"endpoint": "http://host/v1", "key": "secret"}
    calls = [
        base | {"step": "build", "role": "profile", "model": "strong"},
        base | {"step": "read", "role": "reader", "model": "small", "endpoint": "embedded"},
        base | {"step": "read", "role": "reader", "model": "small", "endpoint": "embedded"},
        base | {"step": "judge", "role": "judge", "model": "one"},
        base | {"step": "judge", "role": "judge", "model": "unsummed"},
    ]
    frame = pl.DataFrame(calls, schema=TABLES["model_calls"].schema).with_columns(
        method=pl.lit("m"), reader=pl.lit("llm"), budget=pl.lit(600, pl.Int32)
    )
    behind = pl.DataFrame([("m", "llm", 600, False, True)], schema=ARMS, orient="row")
    verdicts = table("verdict_summary", [{"method": "m", "reader": "llm", "budget": 600, "model": "one", "weak": True}])
    found = models_asked(frame.lazy(), behind, verdicts)
    assert found.rows() == [
        ("m", "llm", 600, "build", "profile", "strong", "http://host/v1", False),
        ("m", "llm", 600, "judge", "judge", "one", "http://host/v1", True),
        ("m", "llm", 600, "judge", "judge", "unsummed", "http://host/v1", None),
        ("m", "llm", 600, "read", "reader", "small", "embedded", True),
    ]
    assert "secret" not in json.dumps(found.to_dicts())
    assert models_asked(frame.lazy().clear(), behind, verdicts).is_empty()


@pytest.mark.browser
def test_every_chart_is_drawn_whatever_the_methods_are_called(made: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    browser_file = shutil.which("chromium")
    if browser_file is None:
        pytest.skip("chromium is not installed")
    from playwright.sync_api import sync_playwright

    names = pl.col("^(method|other)$")
    named = {
        name: frame.with_columns(names.replace({"m-k5": HOSTILE})) if "method" in frame.columns else frame
        for name, frame in whole(made).items()
    }
    file = tmp_path / "report.html"
    file.write_text(render(named, {}, {}), encoding="utf-8")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_file, args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        said: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append("a dialog opened"))
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((section) => { section.open = true; })")
        page.wait_for_function("[...document.querySelectorAll('.chart')].every((one) => one.querySelector('svg'))")
        drawn = page.evaluate("[...document.querySelectorAll('.chart')].map((one) => one.textContent)")
        browser.close()
    assert (asked, said) == ([file.as_uri()], [])
    budgets, configured, beside = 2, 4, 2
    assert len(drawn) == 2 * 2 * 3 + budgets + configured + beside
    assert all(SHOWN in text for text in drawn[-budgets - configured - beside :])
