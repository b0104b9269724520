"""What pages of users of app logs are made from: names of units, texts with their logs, questions, the picture."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from applog_worlds import USER, as_bytes, hourly

from pipelines.applogs.app_logs import read_app_logs
from pipelines.applogs.drilldown.item_names import item_named
from pipelines.applogs.drilldown.question_worded import Logs, question_section, question_told
from pipelines.applogs.drilldown.state_tracing import IN_FULL, StateTables, items_in_full, state_trail
from pipelines.applogs.drilldown.state_trail import Agreement, Field, Log, Role, StateTrail
from pipelines.applogs.drilldown.states_in_time import log_anchor, state_rows, states_picture
from pipelines.applogs.tables import APPLOG_TABLES, table_of
from pipelines.evaluation.drilldown.parts import Facts, Fold, Grid, Jumps, Mark, Words
from pipelines.evaluation.drilldown.units import UnknownUnit
from pipelines.models import Message, prompt_hash
from pipelines.prompts import load
from pipelines.schema import TABLES
from resources.tokenizer import load_tokens

ITEM = f"{USER}/c1/state/habits_state:gym"
KNOWN = [("a/b", "c1", "a/b/c1/state/x:one"), ("a/b", "c1", "a/b/c1/state/x:two"), ("a/b", "c2", "a/b/c2/state/x:one"),
         ("z", "c1", "z/c1/free/x:one")]  # fmt: skip
ARM = {"method": "recent_k", "reader": "llm", "budget": 600}
LOGS = hourly(6)


def named(rows: pl.DataFrame, **arm: object) -> pl.DataFrame:
    own = ARM | arm
    return rows.with_columns(method=pl.lit(own["method"]), reader=pl.lit(own["reader"]), budget=pl.lit(600, pl.Int32))


def tables(prompt: str = "", status: str = "ok") -> StateTables:
    """One question; log 1 shows its value and an earlier one, log 2 an earlier one, log 3 imitates it."""
    place = {"user_id": USER, "checkpoint_id": "c1"}
    key = {"user_id": USER, "item": ITEM}
    app_logs = read_app_logs(as_bytes(LOGS), "f", USER)
    said = "\n".join(f"12:00 | {record}" for record in app_logs["record"][:3]) + "\nthe user likes sports"
    gold = {"task": "state_completion", "state_key": "habits_state:gym", "family": "habit", "expectation": "value"}
    score = dict.fromkeys(("mechanical", "evidence_precision", "evidence_recall", "evidence_f1"), 0.5)
    calls = TABLES["model_calls"].empty()
    call = {name: {pl.String: "", pl.Boolean: False}.get(dtype, 0) for name, dtype in calls.schema.items()}
    call |= {"step": "read", "key": "k1", "prompt": prompt, "status": "ok", "unit": ITEM}
    return StateTables(
        app_logs=app_logs,
        checkpoints=table_of("checkpoints", [
            {**place, "checkpoint_index": 0, "as_of": datetime(2024, 1, 2), "n_visible": 5, "last_log_id": "log_00005",
             "cut_by": "index"}]),
        tasks=table_of("tasks", [
            {**key, **place, "as_of": datetime(2024, 1, 2), "task": "state_completion", "state_key": gold["state_key"],
             "question_text": "Which gym?", "retrieval_query": "Which gym?", "answer_template": '{"gym":""}'}]),
        gold_items=table_of("gold_items", [
            {**key, **place, **gold, "truth": "as_of", "reference": '{"gym":"B"}', "evidence": ["log_00001"],
             "evidence_previous": ["log_00001", "log_00002"], "distractors": ["log_00003"]}]),
        gold_parts=table_of("gold_parts", [
            {**key, "part": "gym", "place": 0, "gate": False, "judged": True, "point": False, "path": "gym",
             "expected": '"B"', "kind": "entity"}]),
        state_intervals=APPLOG_TABLES["state_intervals"].empty(),
        state_evidence=APPLOG_TABLES["state_evidence"].empty(),
        units=named(table_of("applog_units", [
            {**key, **place, **gold, **score, "status": status, "n_fields": 1, "evidence_exact": False,
             "n_judge_errors": 0}])),
        answers=named(table_of("answers", [
            {**key, "status": "ok", "answer": '{"gym":"A"}', "evidence": ["log_00002"], "retrieved": ["log_00001"],
             "call": "k1"}])),
        agreed=named(pl.DataFrame([{**key, "part": "gym", "place": 0, "given": '"A"', "agreement": 0.0}])),
        labels=named(pl.DataFrame([{**key, "label": "identity_miss"}])),
        contexts=named(table_of("contexts", [
            {**place, "item": "", "text": said, "tokens": 9, "tokens_cut": 1, "state_hash": "h",
             "retrieved": ["log_00001", "log_00002", "log_00003"]}])),
        verdicts=named(pl.DataFrame(schema=TABLES["applog_verdicts"].schema)),
        judged=named(APPLOG_TABLES["applog_units"].empty()),
        failures=named(pl.DataFrame([
            {**key, "label": "conflated", "status": "ok", "reason": "", "analysis": "both are there"}])),
        model_calls=named(pl.DataFrame([call], schema=calls.schema)),
        replies={"k1": "said"},
        full=frozenset([ITEM]),
    )  # fmt: skip


def trail(prompt: str = "", status: str = "ok") -> StateTrail:
    return state_trail(USER, tables(prompt, status), load_tokens())


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("a/b/c1/state", "a/b/c1/state/x:one, a/b/c1/state/x:two"),
        ("a/b/c2/state/x:on", "a/b/c2/state/x:one"),
        ("a/b/c2/stat/x:two", "a/b/c2/state/x:one"),
        ("a/b/", "a/b/c1/state/x:one, a/b/c1/state/x:two, a/b/c2/state/x:one"),
        ("z/c1/free/x:onw", "z/c1/free/x:one"),
    ],
)
def test_a_unit_is_its_item_and_near_ones_are_named(text: str, near: str) -> None:
    for user, _, item in KNOWN:
        assert item_named(item, KNOWN) == (user, item)
    with pytest.raises(UnknownUnit) as error:
        item_named(text, KNOWN)
    assert str(error.value).endswith(f"near ones are {near}")
    with pytest.raises(UnknownUnit, match="there is none like it"):
        item_named("", KNOWN)


def test_a_log_shows_the_current_value_before_all_else() -> None:
    (place,) = trail().checkpoints
    (question,) = place.questions
    assert question.roles == {"log_00001": "current", "log_00002": "earlier", "log_00003": "distractor"}
    assert question.asked == (("Question", "Which gym?"), ("Answer template", '{"gym":""}'))
    assert [one.id for one in trail().logs] == [f"log_{n:05}" for n in range(1, 6)], "what is visible, and no more"
    section = question_section(place, question, Logs(trail().logs))
    delivered = next(part for part in section.parts if isinstance(part, Grid) and part.title == "Delivered")
    assert [one.title for one in delivered.heads][4:] == [
        *("logs", "current value", "earlier values", "distractors", "other logs")
    ]
    names = [" ".join(one.text for one in cell.jumps) for cell in delivered.rows[0] if isinstance(cell, Jumps)]
    assert names == ["log_00001", "log_00002", "log_00003"] and delivered.rows[0][-1] == ""


def test_an_answer_that_was_not_usable_shows_its_status_and_no_value() -> None:
    (question,) = trail(status="parse_error").checkpoints[0].questions
    (answer,) = question.answers
    assert (answer.status, answer.answer, answer.cited) == ("parse_error", None, ())
    told = question_told(trail().checkpoints[0], question, Logs(trail().logs, whole=True))
    facts = next(part for part in told.parts if isinstance(part, Fold) and part.title.startswith("Answer of"))
    assert isinstance(facts.parts[0], Facts) and ("by rule", Mark("parse_error", "bad")) in facts.parts[0].rows


def test_why_an_answer_is_wrong_is_told_by_rule_and_by_judge_with_its_words() -> None:
    (place,) = trail().checkpoints
    (question,) = place.questions
    (answer,) = question.answers
    assert answer.failure is not None and (answer.label, answer.failure.label) == ("identity_miss", "conflated")
    logs = Logs(trail().logs)
    on_page = next(part for part in question_section(place, question, logs).parts if isinstance(part, Fold)
                   and part.title.startswith("Marks of the judge"))  # fmt: skip
    told = next(part for part in question_told(place, question, logs).parts if isinstance(part, Fold))
    for fold in (on_page, told):
        assert Facts((("why wrong, by judge", Mark("conflated")), ("analysis", "both are there"))) in fold.parts
    grid = next(part for part in question_section(place, question, logs).parts if isinstance(part, Grid))
    shown = dict(zip((one.title for one in grid.heads), grid.rows[0], strict=True))
    assert (shown["why wrong"], shown["why wrong, by judge"]) == ("identity miss", Mark("conflated"))


def test_a_prompt_is_shown_only_where_it_is_the_one_that_was_sent() -> None:
    (question,) = trail("another").checkpoints[0].questions
    call = question.answers[0].call
    assert call is not None and (call.messages, call.reply) == ((), "said")
    from pipelines.applogs.asking import AskingSettings, prompted

    own = tables()
    (sent,) = prompted(own.contexts, own.tasks, load_tokens(), AskingSettings())
    messages = (Message("system", load("applogs/instructions").text), Message("user", sent.user))
    (question,) = trail(prompt_hash(messages)).checkpoints[0].questions
    call = question.answers[0].call
    assert call is not None and call.messages == tuple((one.speaker, one.text) for one in messages)
    # On a page the logs of the prompt are named, elsewhere they are word for word.
    place = trail().checkpoints[0]
    for logs in (Logs(trail().logs), Logs(trail().logs, whole=True)):
        folds = [part for part in question_section(place, question, logs).parts if isinstance(part, Fold)]
        (prompt,) = [
            one for fold in folds for one in fold.parts if isinstance(one, Words) and one.title.endswith("user")
        ]
        assert ("⟦log_00001⟧" in prompt.text) != logs.whole != ('"app_log_id":"log_00001"' not in prompt.text)


def test_only_a_whole_log_of_the_user_is_named_in_its_place() -> None:
    own = read_app_logs(as_bytes(LOGS), "f", USER).select("position", "app_log_id", "time", "api", "record").rows()
    logs = Logs([Log(*row) for row in own])
    record = own[0][4]
    assert logs.named(f"> 2024 | {record}\nwords") == "> 2024 | ⟦log_00001⟧\nwords"
    for other in (f"{record} and more", record[:-1], record.replace("Checking-1", "Checking-2"), "{", ""):
        assert logs.named(other) == other
    assert Logs([Log(*row) for row in own], whole=True).named(record) == record
    assert logs.jump("log_00003").anchor == log_anchor(2) and logs.jump("log_99999").anchor == ""


@pytest.mark.parametrize(("n", "shown"), [(IN_FULL - 1, IN_FULL - 1), (IN_FULL, IN_FULL), (IN_FULL + 9, IN_FULL)])
def test_up_to_so_many_questions_of_a_checkpoint_are_in_full_the_worst_among_them(n: int, shown: int) -> None:
    rows = pl.DataFrame(
        {
            "user_id": [f"u{user}" for user in range(2) for _ in range(2 * n)],
            "checkpoint_id": [f"c{place}" for _ in range(2) for place in range(2) for _ in range(n)],
            "item": [f"u{user}/c{place}/{k}" for user in range(2) for place in range(2) for k in range(n)],
            "mechanical": [k / n for _ in range(4) for k in range(n)],
        }
    )
    full = items_in_full(rows, 7)
    assert len(full) == 4 * shown
    for start in ("u0/c0/", "u0/c1/", "u1/c0/", "u1/c1/"):
        assert {f"{start}{k}" for k in range((shown + 1) // 2)} <= full
    assert items_in_full(rows.sample(fraction=1, shuffle=True, seed=3), 7) == full


def life() -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    start = datetime(2023, 10, 1, 23, 30, tzinfo=UTC)
    key = {"user_id": USER, "state_key": "habits_state:gym"}
    intervals = table_of("state_intervals", [
        {**key, "value_id": f"gym#{n}", "value": f'"{n}"', "valid_from": start + timedelta(days=60 * n),
         "valid_to": None if n else start + timedelta(days=60)} for n in range(2)])  # fmt: skip
    evidence = table_of("state_evidence", [
        {**key, "value_id": "" if role == "distractor" else "gym#0", "app_log_id": f"log_{n:05}", "position": n,
         "role": role, "fields": []}
        for n, role in enumerate(("supports", "supports", "cause", "distractor"))])  # fmt: skip
    times = pl.Series(
        "time", [start + timedelta(days=9 * n) for n in range(4)], dtype=TABLES["app_logs"].schema["time"]
    )
    return intervals, evidence.with_columns(times), tables().checkpoints


def picture() -> str:
    places = {**{log_anchor(n): f"there.html#l{n}" for n in range(9)}, "c1": "#c1"}
    return str(states_picture(*life(), places))


def test_states_are_counted_by_their_logs_and_drawn_with_links_to_them() -> None:
    rows = state_rows(*life()[:2])
    assert rows.select("value_id", "supports", "cause", "distractor").rows() == [("gym#0", 2, 1, 0), ("gym#1", 0, 0, 0)]
    drawn = picture()
    assert drawn.startswith("<svg") and "<script" not in drawn
    for link in ('href="there.html#l0"', 'href="there.html#l3"', 'href="#c1"'):
        assert link in drawn, link


SCRIPT = """
from test_applog_state_trail import picture
import hashlib
print(hashlib.sha256(picture().encode()).hexdigest())
"""


def test_the_picture_is_the_same_in_every_time_zone() -> None:
    here = Path(__file__).resolve().parent
    found = set()
    for zone, seed in (("UTC", "0"), ("Pacific/Chatham", "7")):
        own = {"TZ": zone, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(here), str(here.parents[1])])}
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=os.environ | own, capture_output=True, text=True, check=True
        )
        found.add(ran.stdout)
    assert len(found) == 1


def test_a_row_of_no_method_is_never_filtered() -> None:
    from pipelines.applogs.drilldown.state_stories import state_story
    from pipelines.evaluation.drilldown.pages import pages_of

    ((_, page),) = pages_of(state_story(trail()), "r")
    assert 'data-method=""' not in page and 'data-method="recent_k"' in page and "compared as" in page


def test_a_list_is_shown_state_by_state() -> None:
    fields = tuple(
        Field(f"{state}.{path}", "entity", False, "", f'"{state}{path}"', of_state=state)
        for state in ("habits_state:gym", "habits_state:run")
        for path in ("a", "b")
    )
    said = {"habits_state:gym.a": ('"x"', 1.0), "habits_state:gym.b": (None, 0.0)}
    place = trail().checkpoints[0]
    (question,) = place.questions
    agreed = tuple(Agreement(one.part, *said.get(one.part, (None, 0.0))) for one in fields)
    (answer,) = question.answers
    many: dict[str, Role] = {f"log_{n:05}": "current" for n in range(1, 31)}
    listed = replace(question, fields=fields, state_key="", roles=many, answers=(replace(answer, fields=agreed),))
    section = question_section(place, listed, Logs(trail().logs))
    facts = next(dict(part.rows) for part in section.parts if isinstance(part, Facts))
    shown = facts["logs of current value"]
    assert isinstance(shown, Jumps) and (len(shown.jumps), shown.more) == (8, "and 22 more")
    grid = next(part for part in section.parts if isinstance(part, Grid) and part.title == "State by state")
    assert [one.title for one in grid.heads] == ["state", "right", "recent_k, llm, 600 tokens"]
    assert grid.rows == (
        ("habits_state:gym", '"habits_state:gyma" · "habits_state:gymb"', Mark('"x" · – · 0.500', "plain")),
        ("habits_state:run", '"habits_state:runa" · "habits_state:runb"', Mark("0.000", "bad")),
    )
    assert "Field by field" not in [part.title for part in section.parts if isinstance(part, Grid)]
