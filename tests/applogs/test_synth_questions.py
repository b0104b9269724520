"""Questions about synthetic users: each can be answered from the logs that are visible, and what cannot is counted."""

from types import SimpleNamespace

import polars as pl
import pytest

from pipelines.applogs.funnel import UNTOLD, steps
from pipelines.applogs.questions import questions, state_keys
from pipelines.applogs.reading_drop import read_drop
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.step_tables import BROUGHT, DROPPED
from pipelines.applogs.synthesis.world import Span
from pipelines.applogs.users import checkpoints
from resources.drops import expand
from resources.synthetic_users import Plan, users_folder, write_user

USERS = 10
SETTINGS = AppLogSettings()
AT = ["user_id", "checkpoint_id"]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """What ten users of the default size come to."""
    to, plan = tmp_path_factory.mktemp("synth") / "users", Plan(7, Span())
    with users_folder(to, plan):
        for index in range(USERS):
            write_user(to, plan, index)
    drop = read_drop(expand([to]))
    brought = {name: drop[f"{DROPPED}{name}"].select(BROUGHT[name].schema.names()) for name in BROUGHT}
    cuts = checkpoints(brought["app_logs"], brought["anchors"], SETTINGS)
    made = questions(brought, brought["app_logs"], cuts, state_keys(brought["state_intervals"]), SETTINGS)
    items = made["gold_items"].with_columns(pl.col("task", "family", "expectation").cast(pl.String))
    return SimpleNamespace(brought=brought, logs=brought["app_logs"], cuts=cuts, made=made, items=items)


def test_every_value_is_shown_by_a_visible_log(release: SimpleNamespace) -> None:
    values = release.items.filter(pl.col("expectation") == "value")
    assert values.height > 2_000 and values["evidence"].list.len().min() > 0
    shown = values.select(*AT, "item", pl.col("evidence").alias("app_log_id")).explode("app_log_id")
    placed = shown.join(release.logs.select("user_id", "app_log_id", "position"), on=["user_id", "app_log_id"])
    placed = placed.join(release.cuts.select(*AT, "n_visible"), on=AT)
    assert placed.height == shown.height and (placed["position"] < placed["n_visible"]).all()


def test_as_many_keys_are_asked_as_the_published_set_asks(release: SimpleNamespace) -> None:
    asked = release.items.filter(pl.col("task") == "state_completion").group_by(AT).len()
    assert asked.height == USERS * 5
    # Published: 37.8 in the mean, 30 to 45 of the one user that is known by checkpoint.
    assert 30 <= asked["len"].mean() <= 45
    assert asked["len"].min() >= 15 and asked["len"].max() <= 60


def test_logs_are_as_many_as_the_published(release: SimpleNamespace) -> None:
    counts = release.logs.group_by("user_id").len()["len"]
    assert 1_450 <= counts.mean() <= 2_000 and counts.min() >= 1_100 and counts.max() <= 2_400
    first = release.cuts.filter(pl.col("checkpoint_index") == 0)["n_visible"]
    assert 150 <= first.mean() <= 280


def test_every_family_is_served_and_no_service_tells_its_answer(release: SimpleNamespace) -> None:
    """`services.services` refuses leaks itself; here none of the names is searched for by a path of its own."""
    served = release.items.filter(pl.col("task") == "personalised_service")
    assert set(served["family"]) == {"attribute", "habit", "preference"}
    asked = served.join(release.made["tasks"], on=["user_id", "item"])
    told = asked.with_columns(
        pl.concat_str("scenario", "output_template", ignore_nulls=True).str.to_lowercase().alias("shown"),
        pl.col("state_key").str.split(":").list.last().str.replace_all("_", " ").alias("name"),
    )
    assert told.height == served.height and told["name"].null_count() == 0
    assert told.filter(pl.col("shown").str.contains(pl.col("name"), literal=True)).is_empty()
    names = release.brought["state_intervals"].filter(pl.col("state_key").str.starts_with("user_attributes"))
    names = names.select("user_id", "state_key", pl.col("value").str.json_path_match("$").str.to_lowercase())
    names = names.with_columns(pl.col("value").str.split(",").list.first().alias("entity"))
    both = told.join(names, on=["user_id", "state_key"])
    assert both.filter(pl.col("shown").str.contains(pl.col("entity"), literal=True)).is_empty()


def test_what_no_visible_log_tells_is_counted_and_not_asked(release: SimpleNamespace) -> None:
    logs, tables = release.logs, {**release.brought, **release.made}
    tables |= {"app_logs": logs, "checkpoints": release.cuts}
    counted = steps({"app_logs": logs.height}, logs["user_id"].unique(), tables, SETTINGS)
    completion = next(step for step in counted if step.step == "state_completion")
    left = completion.dropped[UNTOLD]
    states = release.made["gold_states"].filter(
        (pl.col("truth").cast(pl.String) == "as_of") & (pl.col("expectation").cast(pl.String) == "value")
    )
    asked = release.items.filter(pl.col("task") == "state_completion")
    assert 0 < left == states.height - asked.height < 0.2 * states.height
    # Without a moment of its own no state is left: all that is told is served.
    served = release.items.filter(pl.col("task") == "personalised_service")
    assert served.height == asked.height
