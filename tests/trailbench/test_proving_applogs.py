"""Memories of app logs before the wall: whoever looks for gold finds none, and is found; the future moves nothing."""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from pipelines.applogs.contexts import Streams, contexts
from pipelines.applogs.method_audit import another_future, future_sensitivity, middle
from pipelines.memory.contract import MethodSpec
from pipelines.memory.registry import builtin_methods
from resources.dag import InputStore
from resources.home import Home
from resources.memories import KeptMemories
from resources.plugin_process import open_method
from resources.sandbox import wall_missing
from resources.tokenizer import load_tokens

sys.path.insert(0, str(Path(__file__).parents[1] / "applogs"))
from applog_drops import write_users

Cli = Callable[..., SimpleNamespace]
needs_wall = pytest.mark.skipif(bool(wall_missing()), reason=f"no namespaces here: {wall_missing()}")
GOLD = ("Iron Works", "Riverside Barbell", "pour-over", "19:45", "beagle")
"""Texts that are in the gold of the release and in no log."""


@pytest.fixture(scope="module")
def release(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    folder = tmp_path_factory.mktemp("wall")
    drop = write_users(folder / "drop", 2, days=120)
    result = cli("build", "--track", "applogs", drop, "--home", folder / "home", "--shards", 1, "--json")
    assert result.code == 0, result.err
    return SimpleNamespace(**{**result.json, "home": folder / "home"})


@pytest.fixture
def tables(release: SimpleNamespace, at_home: Callable[[Path], Home]) -> dict[str, pl.DataFrame]:
    home = at_home(release.home)
    names = ("app_logs", "checkpoints", "tasks")
    return {name: home.store.scan(name, {"release": release.key}, home.shards).collect() for name in names}


def failed(answer: SimpleNamespace) -> dict[str, str]:
    return {check["check"]: " ".join(check["found"]) for check in answer.json["checks"] if not check["passed"]}


WALK = """for folder, _, files in os.walk({home!r}):
    for file in files:
        try:
            self.state["stolen"] = len(open(os.path.join(folder, file), "rb").read())
        except OSError:
            pass"""


@needs_wall
def test_an_audit_finds_who_opens_the_gold_by_its_path(
    release: SimpleNamespace, cli: Cli, install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    install("honest")
    install("walker", "import os", WALK.format(home=str(release.home)))
    monkeypatch.setattr("trailbench.proving.builtin_methods", dict)
    result = cli("audit", release.release, "--home", release.home, "--json")
    found = failed(result)
    assert result.code == 1 and found.keys() == {"wall:walker"} and str(release.home) in found["wall:walker"]
    passed = {check["check"] for check in result.json["checks"] if check["passed"]}
    assert {"wall:honest", "future:honest"} <= passed


SEARCH = """found = set()
def look(text):
    found.update(word for word in map("".join, HALVES) if word in text)
for one in gc.get_objects():
    if type(one) is dict:
        one = [*one.keys(), *one.values()]
    if type(one) in (list, tuple, set):
        [look(value) for value in list(one) if type(value) is str]
home = pathlib.Path({home!r})
places = [home, home.parent]
for path in [pathlib.Path("/proc/self/environ"), *(path for place in places for path in place.rglob("*.json*"))]:
    try:
        look(path.read_bytes().decode("utf-8", "replace"))
    except OSError:
        pass
for path in home.rglob("*.parquet"):
    try:
        look(pl.read_parquet(path).write_json())
    except Exception:
        pass
try:
    from resources.home import open_home
    [look(open_home().gold.store.scan(table).collect().write_json()) for table in ("gold_parts", "gold_states")]
except Exception:
    pass
return fit(sorted("stolen " + word for word in found), budget, self.tokens)"""


@needs_wall
def test_a_method_that_searches_all_it_can_reach_delivers_no_gold(
    release: SimpleNamespace, tables: dict[str, pl.DataFrame], install: Callable[..., Path], tmp_path: Path
) -> None:
    """By its arguments and all objects of its process, by the folders it knows of, by the project's own store."""
    # Its words come in halves, so that it does not find them in its own code.
    halves = [(word[:4], word[4:]) for word in GOLD]
    imports = f"import gc, os, pathlib\n    import polars as pl\n    HALVES = {halves!r}"
    install("thief", imports, SEARCH.format(home=str(release.home)))

    def delivered(spec: MethodSpec, kept: str) -> str:
        given = Streams.of(tables["app_logs"], tables["checkpoints"])
        made = contexts(spec, spec.config_model(), given, tables["tasks"], 500, load_tokens(),
                        kept=KeptMemories(tmp_path / kept))  # fmt: skip
        assert made.height == 4
        return " ".join(made["text"])

    with open_method("thief", hidden=InputStore().hidden) as spec:
        told = delivered(spec, "behind")
    assert [word for word in GOLD if word in told] == []
    bare = delivered(import_module("thief_package").spec(), "bare")
    assert [word for word in GOLD if word not in bare] == [], "without the wall it finds all that it looks for"


@pytest.mark.parametrize("name", ["recent_k", "rag_bm25", "frequency_profile", "shuffled_user"])
def test_what_our_methods_deliver_does_not_move_with_the_future(
    name: str, tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    spec = builtin_methods()[name]
    kept = KeptMemories(tmp_path / "real"), KeptMemories(tmp_path / "other")
    moved = future_sensitivity(spec, spec.config_model(), *tables.values(), 400, load_tokens(), kept=kept)
    assert moved.is_empty()


def test_a_memory_that_knows_the_future_is_found(tables: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    """Logs of after the moment, told before it: the checkpoint shows more than it may."""
    spec = builtin_methods()["recent_k"]
    kept = KeptMemories(tmp_path / "real"), KeptMemories(tmp_path / "other")
    more = (pl.col("n_visible") + 5).clip(upper_bound=pl.col("n_visible").max())
    early = tables["checkpoints"].with_columns(n_visible=more)
    moved = future_sensitivity(spec, spec.config_model(), tables["app_logs"], early, tables["tasks"], 400,
                               load_tokens(), kept=kept)  # fmt: skip
    assert {"text", "retrieved"} <= set(moved["column"]) and set(moved["checkpoint_id"]) == {"cal_quarterly_001"}


def test_another_future_is_another_log_after_the_moment_and_the_same_before(tables: dict[str, pl.DataFrame]) -> None:
    logs, border = tables["app_logs"], middle(tables["checkpoints"])
    other = another_future(logs, border)
    past = pl.col("time") <= border
    assert other.filter(past).equals(logs.filter(past)) and other.schema == logs.schema
    later = other.filter(~past)
    assert later.height == logs.filter(~past).height > 0 and later["app"].unique().to_list() == ["Other"]
    for row in later.head(3).to_dicts():
        record = json.loads(row["record"])
        assert record["app_log_id"] == row["app_log_id"] and record["api_name"] == "Another"
