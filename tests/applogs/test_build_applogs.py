"""A release of app logs, end to end: what is in it, one identity, exports, proofs, planted leaks."""

import json
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from applog_builds import Cli, build, rows
from applog_drops import COFFEE, GYM, PET, WALK, write_logs, write_users
from applog_worlds import USER

from assets.applogs_freezing import APPLOGS
from assets.applogs_proofs import PROOFS
from assets.manifests import manifest_of
from assets.publishing import logical_hashes
from assets.steps import Given
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.schema import TABLES
from resources.dag import InputStore
from resources.home import Home
from resources.release_files import freeze_release


@pytest.fixture(scope="module")
def drop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three users over 200 days, with timelines; the second has a pet."""
    return write_users(tmp_path_factory.mktemp("drop"))


@pytest.fixture(scope="module")
def release(drop: Path, cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    return build(cli, tmp_path_factory.mktemp("applogs") / "home", drop)


@pytest.fixture
def home(release: SimpleNamespace, at_home: Callable[[Path], Home]) -> Home:
    return at_home(release.home)


# -- what is in a release --------------------------------------------------------


def test_checkpoints_follow_the_calendar(release: SimpleNamespace, home: Home) -> None:
    found = rows(release, home, "checkpoints").filter(user_id=USER)
    # The log runs from 2023-10-01 08:00, two logs a day at 08:00 and 13:00, for 200 days.
    assert found.select("checkpoint_id", "n_visible", "last_log_id").rows() == [
        ("cal_quarterly_001", 185, "log_00185"),
        ("cal_quarterly_002", 367, "log_00367"),
        ("cal_quarterly_003", 400, "log_00400"),
    ]
    assert found["as_of"].dt.to_string("%F %R").to_list() == [
        "2024-01-01 08:00", "2024-04-01 08:00", "2024-04-17 13:00"
    ]  # fmt: skip
    assert found["cut_by"].cast(pl.String).unique().to_list() == ["index"]


def test_both_truths_are_told_with_what_shows_them(release: SimpleNamespace, home: Home) -> None:
    states = rows(release, home, "gold_states").filter(user_id=USER)
    told = {
        (row["checkpoint_id"][-1], row["truth"], row["state_key"]): row
        for row in states.cast({"truth": pl.String}).to_dicts()
    }
    assert told["1", "as_of", GYM]["value"] == '"Iron Works 0"'
    assert told["1", "as_of", GYM]["evidence"] == ["log_00003", "log_00008"]
    assert told["1", "as_of", GYM]["distractors"] == ["log_00010"]
    assert told["2", "as_of", GYM]["value"] == '"Riverside Barbell"'
    assert told["2", "as_of", GYM]["evidence_previous"] == ["log_00003", "log_00008"]
    # The chain of the move ends at log 385, after the second checkpoint: the other truth still holds the old gym.
    assert told["2", "finished_chain", GYM]["value"] == '"Iron Works 0"'
    assert told["3", "finished_chain", GYM]["value"] == '"Riverside Barbell"'
    assert json.loads(told["2", "as_of", WALK]["value"])["timing"] == {"start_time": "19:45"}
    assert told["3", "as_of", COFFEE]["expectation"] == "no_longer"
    assert told["1", "as_of", PET]["expectation"] == "never", "what others have is asked of those who never had it"
    assert ("1", "as_of", "user_attributes_state:car_0") in told, "what a distractor imitates, too"


def test_questions_are_asked_of_what_is_true(release: SimpleNamespace, home: Home) -> None:
    items = rows(release, home, "gold_items").filter(user_id=USER, checkpoint_id="cal_quarterly_003")
    asked = items.select(pl.col("task", "expectation").cast(pl.String), "state_key").rows()
    assert sorted(asked, key=str) == sorted([
        ("state_completion", "value", GYM), ("state_completion", "value", WALK),
        ("personalised_service", "value", GYM), ("personalised_service", "value", WALK),
        ("free_form", "value", GYM), ("free_form", "value", WALK), ("free_form", "no_longer", COFFEE),
        ("free_form", "never", PET), ("free_form", "never", "user_attributes_state:car_0"),
        ("no_key", "value", None), ("no_key", "value", None), ("no_key", "no_longer", None),
    ], key=str)  # fmt: skip
    lists = items.filter(task="no_key").select(pl.col("family").cast(pl.String), "reference").rows()
    assert sorted(lists, key=str) == [
        ("attribute", '[{"name":"home gym","value":"Riverside Barbell"}]'),
        ("habit", '[{"frequency_type":"daily","name":"evening walk","start_time":"19:45"}]'),
        ("preference", None),
    ]
    tasks = rows(release, home, "tasks")
    assert tasks.height == release.counts["tasks"] == release.counts["gold_items"]
    gym = tasks.filter(pl.col("item").is_in(items.filter(task="personalised_service", state_key=GYM)["item"].implode()))
    assert gym["output_template"].to_list() == ['{"venue":"<fill>"}'] and gym["state_key"].to_list() == [None]


def test_the_funnel_counts_every_side(release: SimpleNamespace, home: Home) -> None:
    funnel = rows(release, home, "applog_funnel").drop("place").rows()
    assert funnel == [
        ("drops", "users", "", 3),
        ("drops", "logs", "", 1200),
        ("gold", "users", "", 3),
        ("checkpoints", "checkpoints", "", 9),
        ("state_completion", "states at checkpoints", "", 27),
        ("personalised_service", "states at checkpoints", "", 24),
        ("personalised_service", "states at checkpoints", "no moment that it would serve", 3),
        ("free_form", "states at checkpoints", "", 45),
        ("no_key", "states at checkpoints", "", 27),
    ]
    card = json.loads((release.home / "store" / "releases" / release.release / "card.json").read_text())
    said = {row["name"]: row["value"] for row in card["statistics"]}
    assert (said["users"], said["logs"], said["checkpoints a user"], said["apps"]) == (3, 1200, 3.0, 3)
    # Three lists of three users at three checkpoints; of preferences none is left at the last one.
    assert said["state completion"] == said["no key"] == 27 and said["right answers that are none"] == 18 + 3
    assert card["warnings"] == [] and card["refusals"] == {}


def test_verify_and_audit_pass(release: SimpleNamespace, cli: Cli) -> None:
    result = cli("verify", release.release, "--home", release.home, "--json")
    assert result.json == {"release": release.release, "verified": True, "problems": []}
    result = cli("audit", release.release, "--home", release.home, "--json")
    assert result.code == 0 and result.json["passed"]
    checks = {check["check"] for check in result.json["checks"]}
    assert {"frozen", *PROOFS, "wall:rag_bm25", "future:rag_bm25", "future:behaviormem"} <= checks


@pytest.mark.parametrize("table", [name for name, table in APPLOG_TABLES.items() if table.wall == "gold"])
def test_gold_leaves_only_when_it_is_meant_and_never_lay_in_the_input_store(
    table: str, release: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    result = cli("export", release.release, "--table", table, "--to", tmp_path / "x.csv", "--home", release.home)
    assert result.code == 2 and list(tmp_path.iterdir()) == []
    assert [path for path in (release.home / "store").rglob(f"*{table}*") if path.suffix == ".parquet"] == []
    assert not (release.home / "store" / table).exists()


def test_no_byte_of_the_input_store_tells_a_value(release: SimpleNamespace) -> None:
    """Values that are in no log: whoever reads every file of the input store finds none of them."""
    tables = [pl.read_parquet(path) for path in (release.home / "store").rglob("*.parquet")]
    texts = "".join(frame.write_json() for frame in tables)
    assert "log_00385" in texts
    assert [
        told for told in ("Iron Works", "Riverside", "pour-over", "19:45", "18:30", "beagle") if told in texts
    ] == []


def test_export_gives_tables_whole(release: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    for table, more in (("app_logs", ()), ("tasks", ()), ("gold_parts", ("--gold",))):
        to = tmp_path / f"{table}.parquet"
        result = cli("export", release.release, "--table", table, "--to", to, "--home", release.home, *more, "--json")
        assert result.code == 0, result.err
        assert pl.read_parquet(to).height == release.counts[table] > 0


# -- identity --------------------------------------------------------------------


def shuffled(source: Path, to: Path, seed: int) -> Path:
    """The same drop elsewhere: rows of files in another order, gold apart from logs."""
    draw = random.Random(seed)
    for path in sorted(source.rglob("*")):
        if path.suffix == ".json":
            logs = json.loads(path.read_text())["app_logs"]
            draw.shuffle(logs)
            write_logs(to / "logs", path.parent.name, logs)
        elif path.suffix == ".jsonl":
            lines = path.read_text().splitlines()
            draw.shuffle(lines)
            place = to / "gold" / path.parent.name / path.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("\n\n".join(lines))
    return to


def test_other_order_place_drops_shards_and_zone_give_the_same_release(
    release: SimpleNamespace, drop: Path, spawn: Callable[..., Any], tmp_path: Path
) -> None:
    other = shuffled(drop, tmp_path / "elsewhere", 3)
    process = spawn(
        *("build", "--track", "applogs", other / "gold", other / "logs", drop, "--home", tmp_path / "home"),
        *("--shards", 5, "--json"),
        TZ="Asia/Shanghai",
        PYTHONHASHSEED="11",
        POLARS_MAX_THREADS="1",
    )
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    same = json.loads(out)
    assert same["content_hash"] == release.content_hash
    # All but the funnel, which counts the logs that came twice.
    assert {**same["counts"], "applog_funnel": 9} == release.counts


def test_another_truth_or_user_is_another_release(
    release: SimpleNamespace, drop: Path, cli: Cli, at_home: Callable[[Path], Home], tmp_path: Path
) -> None:
    config = tmp_path / "chains.yaml"
    config.write_text("truth: finished_chain\n")
    other = build(cli, release.home, drop, words=("--config", config))
    assert other.content_hash != release.content_hash
    items = rows(other, at_home(release.home), "gold_items")
    assert items["truth"].cast(pl.String).unique().to_list() == ["finished_chain"]
    moved = items.filter(user_id=USER, state_key=GYM, checkpoint_id="cal_quarterly_002", task="state_completion")
    assert moved["reference"].to_list() == ['"Iron Works 0"']
    renamed = tmp_path / "renamed"
    shutil.copytree(drop, renamed)
    for place in (renamed, renamed / "gold"):
        (place / USER).rename(place / "900_user_900")
    assert build(cli, tmp_path / "home", renamed).content_hash != release.content_hash


# -- planted leaks ---------------------------------------------------------------


def forge(home: Home, release: SimpleNamespace, table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> str:
    """A forger who edits a table, and writes sidecars and manifest anew: the name of what then stands as frozen."""
    catalog = home.gold if TABLES[table].wall == "gold" else home.store
    for shard in home.shards:
        old = catalog.require(table, {"release": release.key, "shard": shard})
        frame = change(catalog.scan_published([old]).collect()).sort(TABLES[table].sort_by)

        def again(scan: pl.LazyFrame, extra: dict[str, Any] = old.extra) -> dict[str, Any]:
            return {**extra, **logical_hashes(scan, table)}

        catalog.put(table, old.fingerprint, frame, extra=again)
    given = Given(InputStore(), {"store": home.store, "gold": home.gold}, {"release": release.key})
    forged = manifest_of(given, APPLOGS)
    freeze_release(home.store.store, release.key, forged, {"refusals": {}}, {})
    return str(forged["release"])


def state_question(text: str) -> pl.Expr:
    asked = pl.col("task").cast(pl.String) == "state_completion"
    return pl.when(asked).then(pl.lit(text)).otherwise("question_text").alias("question_text")


GOLDEN = '"golden_evidence":[]'
PLANTED: dict[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame], set[str]]] = {
    "a question that names its value": (
        "tasks",
        lambda rows: rows.with_columns(state_question("Is the user still at Riverside Barbell?")),
        {"names_no_value", "no_future", "derived_again"},
    ),
    "evidence beyond the cut": (
        "gold_items",
        lambda rows: rows.with_columns(
            evidence=pl.when(pl.col("evidence").list.len() > 0).then(pl.lit(["log_00400"])).otherwise("evidence")
        ),
        {"evidence", "no_future", "derived_again"},
    ),
    "a checkpoint that shows more": (
        "checkpoints",
        lambda rows: rows.with_columns((pl.col("n_visible") + 1).clip(upper_bound=400)),
        {"checkpoints", "no_future", "derived_again"},
    ),
    "a record of the generator in a log": (
        "app_logs",
        lambda rows: rows.with_columns(pl.col("record").str.replace("{", f"{{{GOLDEN},", literal=True)),
        {"conserved", "whitelist", "derived_again"},
    ),
    "an answer without its question": (
        "tasks", lambda rows: rows[1:], {"one_answer", "no_future", "derived_again"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("leak", PLANTED)
def test_a_planted_leak_is_found(
    leak: str,
    release: SimpleNamespace,
    cli: Cli,
    at_home: Callable[[Path], Home],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("trailbench.proving.builtin_methods", dict)  # the leak is in the data
    table, change, found = PLANTED[leak]
    folder = tmp_path / "forged"
    shutil.copytree(release.home, folder)
    name = forge(at_home(folder), release, table, change)
    verified = cli("verify", release.release, "--home", folder, "--json")
    assert verified.code == 1 and any(table in problem for problem in verified.json["problems"])
    result = cli("audit", name, "--home", folder, "--json")
    failed = {check["check"] for check in result.json["checks"] if not check["passed"]}
    assert result.code == 1 and failed == found


def test_gold_in_the_input_store_is_found(
    release: SimpleNamespace,
    cli: Cli,
    at_home: Callable[[Path], Home],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("trailbench.proving.builtin_methods", dict)  # the leak is in the data
    folder = tmp_path / "leaky"
    shutil.copytree(release.home, folder)
    home = at_home(folder)
    one = home.gold.all("gold_items", {"release": release.key}, home.shards)[0]
    home.store.put("gold_items", "copied", home.gold.scan_published([one]))
    result = cli("audit", release.release, "--home", folder, "--json")
    failed = {check["check"]: check["found"] for check in result.json["checks"] if not check["passed"]}
    assert failed == {"wall": ["gold_items: 1 partitions of gold in the input store"]}


# -- kills and triggers ----------------------------------------------------------


def test_a_killed_build_goes_on_and_ends_in_the_same_release(
    release: SimpleNamespace, drop: Path, spawn: Callable[..., Any], cli: Cli, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    words = ("build", "--track", "applogs", drop, "--home", home, "--shards", 1, "--json")
    process = spawn(*words)
    deadline = time.monotonic() + 300
    while not (home / "store" / "references" / "app_logs").is_dir() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "the build ended before it was killed"
    assert not (home / "store" / "releases").exists()
    result = cli(*words)
    assert result.code == 0, result.err
    assert (result.json["content_hash"], result.json["counts"]) == (release.content_hash, release.counts)
    assert [str(path) for path in home.rglob("*") if path.name.startswith(".staged")] == []
