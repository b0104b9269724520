"""`trailbench export --as huggingface`: what viewers read of a release, gold apart, and whatever a log may hold."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import yaml
from hostile_names import HOSTILE_NAMES
from markdown_it import MarkdownIt
from polars.testing import assert_frame_equal

from pipelines.schema import TABLES
from pipelines.tables import Column, Table
from pipelines.tracks import TRACKS, Track
from resources.home import Home
from resources.release_files import freeze_release
from resources.release_spec import ReleaseSpec, save_release
from trailbench import data_folder

Cli = Callable[..., SimpleNamespace]
datasets = pytest.importorskip("datasets", reason="the package datasets is not installed: pip install '.[test]'")
GOLD = {"positives", "popularity", "pool_gold", "pool_counts"}
CHAIN_GOLD = {"holdings", "redemptions", "belief_instances", "trade_instances"}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The loader reads the folder and nothing else."""
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def folder_of(cli: Cli, release: SimpleNamespace, to: Path, *more: object) -> Path:
    words = ("export", release.release, "--as", "huggingface", "--to", to, "--home", release.home, "--json", *more)
    result = cli(*words)
    assert result.code == 0, result.err
    assert result.json["folder"] == str(to) and result.json["release"] == release.release
    return to


def table_of(cli: Cli, release: SimpleNamespace, table: str, to: Path) -> pl.DataFrame:
    words = ("export", release.release, "--table", table, "--to", to, "--home", release.home, "--gold")
    assert cli(*words).code == 0
    return pl.read_parquet(to)


def card_of(folder: Path) -> tuple[dict[str, Any], str]:
    """Front matter and page."""
    empty, head, page = (folder / "README.md").read_text().split("---\n", 2)
    assert empty == ""
    return yaml.safe_load(head), page


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def loaded(folder: Path, config: str) -> dict[str, pl.DataFrame]:
    return {str(split): rows.to_polars() for split, rows in datasets.load_dataset(str(folder), config).items()}


def test_every_table_is_a_configuration_that_the_loader_reads(built: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    folder = folder_of(cli, built, tmp_path / "data", "--gold")
    head, _ = card_of(folder)
    configs = [one["config_name"] for one in head["configs"]]
    assert configs == datasets.get_dataset_config_names(str(folder))
    expected = set(built.counts)
    assert set(configs) == (expected - GOLD) | {f"gold-{name}" for name in GOLD} and len(configs) == len(expected)
    for config in configs:
        name = config.removeprefix("gold-")
        rows = loaded(folder, config)
        assert set(rows) == {"whole"}
        if name == "popularity":
            assert rows["whole"].height == built.counts[name]
            continue
        other = table_of(cli, built, name, tmp_path / f"{name}.parquet")
        assert_frame_equal(rows["whole"], other.with_columns(pl.col(pl.Enum).cast(pl.String)))


def test_splits_of_a_release_are_splits_and_ids_are_text(
    chain_built: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    folder = folder_of(cli, chain_built, tmp_path / "data", "--gold")
    head, _ = card_of(folder)
    splits = {one["config_name"]: [part["split"] for part in one["data_files"]] for one in head["configs"]}
    parted = {name for name, parts in splits.items() if parts == ["train", "validation", "test"]}
    assert parted == {"histories", "gold-belief_instances", "gold-trade_instances"}
    assert {tuple(parts) for name, parts in splits.items() if name not in parted} == {("whole",)}
    assert {name.removeprefix("gold-") for name in splits if name.startswith("gold-")} == CHAIN_GOLD
    for config, table in (("histories", "histories"), ("gold-belief_instances", "belief_instances")):
        rows, other = loaded(folder, config), table_of(cli, chain_built, table, tmp_path / f"{table}.parquet")
        for split, part in rows.items():
            there = other.filter(pl.col("split").cast(pl.String) == split)
            assert part.height == there.height > 0
            assert part["wallet"].to_list() == [f"0x{wallet.hex()}" for wallet in there["wallet"]]
    exact = table_of(cli, chain_built, "markets", tmp_path / "markets.parquet")["token_ids"].to_list()
    texts = loaded(folder, "markets")["whole"]["token_ids"].to_list()
    assert texts == [[str(int.from_bytes(token, "big")) for token in tokens] for tokens in exact]


def test_gold_is_there_only_when_it_is_meant(built: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    public, whole = folder_of(cli, built, tmp_path / "p"), folder_of(cli, built, tmp_path / "w", "--gold")
    assert not (public / "gold").exists()
    head, page = card_of(public)
    assert not any(one["config_name"].startswith("gold") for one in head["configs"]) and "gold" not in head["tags"]
    assert "answers are not in this folder" in page
    head, page = card_of(whole)
    assert "gold" in head["tags"] and "`gold/` holds the answers" in page
    for one in head["configs"]:
        inside = "gold/" if one["config_name"].startswith("gold-") else "data/"
        assert all(part["path"].startswith(inside) for part in one["data_files"])
    data = {name: sha for name, sha in contents(public).items() if name.startswith("data/")}
    assert data == {name: sha for name, sha in contents(whole).items() if name.startswith("data/")}
    said = " ".join(pl.read_parquet(public / "data/pools/*.parquet").columns)
    assert "role" not in said and "familiarity" not in said


def test_the_card_says_where_the_release_comes_from(built: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    folder = folder_of(cli, built, tmp_path / "data")
    head, page = card_of(folder)
    assert head["license"] == "unknown" and head["size_categories"] == ["1K<n<10K"]
    document = json.loads((Path(built.home) / "store/releases" / built.release / "card.json").read_text())
    assert built.content_hash in page and "source: mapping" in page and "mapping: shop" in page
    assert all(fact in page for fact in document["facts"])
    for row in document["settings"]:
        assert f"| {row['name']} | {row['value']} |" in page
    for name in ("visits", "pools"):
        for column in TABLES[name].columns.values():
            assert column.meaning.replace("|", "\\|") in page or name == "batches"
    listing = json.loads((folder / "trailbench.json").read_text())
    assert listing["content_hash"] == built.content_hash
    assert listing["files"] == {name: sha for name, sha in contents(folder).items() if name != "trailbench.json"}


@pytest.mark.parametrize(
    ("stated", "fields"),
    [("cc-by-4.0", {"license": "cc-by-4.0"}), ("dunnhumby-1", {"license": "other", "license_name": "dunnhumby-1"})],
)
def test_a_stated_license_is_in_the_card(
    stated: str, fields: dict[str, str], built: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    head, page = card_of(folder_of(cli, built, tmp_path / "data", "--license", stated))
    assert {name: value for name, value in head.items() if name.startswith("license")} == fields
    assert "unknown: nobody stated one" not in page


def test_shards_and_runs_do_not_change_a_byte(
    built: SimpleNamespace, shop: SimpleNamespace, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = contents(folder_of(cli, built, tmp_path / "a", "--gold"))
    assert contents(folder_of(cli, built, tmp_path / "a", "--gold")) == first
    home = tmp_path / "other"
    made = cli("build", *shop.options, shop.log, "--home", home, "--shards", 1, "--json")
    other = SimpleNamespace(release=made.json["release"], home=home)
    assert other.release == built.release
    assert contents(folder_of(cli, other, tmp_path / "b", "--gold")) == first
    monkeypatch.setattr(data_folder, "ROWS_A_FILE", 500)
    parted = folder_of(cli, built, tmp_path / "c")
    names = sorted(path.name for path in (parted / "data/pools").iterdir())
    rows = built.counts["pools"]
    n = -(-rows // 500)
    assert n > 1 and names == [f"whole-{number:05}-of-{n:05}.parquet" for number in range(n)]
    heights = [pl.read_parquet(parted / "data/pools" / name).height for name in names]
    assert heights == [500] * (n - 1) + [rows - 500 * (n - 1)]
    assert_frame_equal(loaded(parted, "pools")["whole"], loaded(tmp_path / "a", "pools")["whole"])


def test_hostile_cells_stay_text(hostile: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    folder = folder_of(cli, hostile, tmp_path / "data", "--gold")
    head, page = card_of(folder)
    assert head["license"] == "unknown"
    visits = loaded(folder, "visits")["whole"]
    assert_frame_equal(visits, table_of(cli, hostile, "visits", tmp_path / "visits.parquet"))
    kept = set(visits["user_id"])
    assert len(kept & set(HOSTILE_NAMES)) >= 10, "users keep their names"
    assert visits["item_id"].str.starts_with("=a").all()
    shown = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(page)
    assert "<script" not in shown and "<b>" not in shown and "<img" not in shown and "license: mit" in page
    assert "\nlicense: mit" not in page


def test_a_table_without_rows_is_there_and_no_configuration(hostile: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    assert hostile.counts["domains"] == 0
    folder = folder_of(cli, hostile, tmp_path / "data")
    head, page = card_of(folder)
    assert [one["config_name"] for one in head["configs"]] == datasets.get_dataset_config_names(str(folder))
    assert "domains" not in [one["config_name"] for one in head["configs"]]
    empty = pl.read_parquet(folder / "data/domains/whole-00000-of-00001.parquet")
    assert empty.height == 0 and empty.columns == list(TABLES["domains"].columns)
    assert "| domains | 0 |" in page and "no level-1 category" in page


@pytest.mark.parametrize(
    "text", [*HOSTILE_NAMES, "plain", "0.25", "www.x.example", "1. x", "a_b_c", "\\", "a\\|b", "$x$"]
)
def test_a_text_in_a_card_shows_as_that_text(text: str) -> None:
    from pipelines.exports.markdown import escaped, section, table
    from pipelines.memory.rendering import plain

    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for source in (f"- {escaped(text)}", table(["one", "two"], [[text, "x"]]), section([{"name": text, "n": "x"}])):
        tokens = [part for token in markdown.parse(source) for part in (token.children or [])]
        assert {token.type for token in tokens} <= {"text", "text_special"}, source
        cells = [token for token in markdown.parse(source) if token.type == "inline"]
        shown = ["".join(part.content for part in cell.children or []) for cell in cells]
        assert plain(text) in shown, (source, shown)
        assert len(shown) == (1 if source.startswith("- ") else 4)


def test_a_further_track_needs_nothing_here(
    built: SimpleNamespace, at_home: Callable[[Path], Home], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = {"user_id": Column(pl.String, "user"), "line": Column(pl.Int32, "line, from 0")}
    diary = Table("One row a line.", {**key, "text": Column(pl.String, "what is said")}, ("user_id", "line"))
    moods = Table(
        "What was felt.", {**key, "mood": Column(pl.Enum(["up", "down"]), "mood")}, ("user_id", "line"), wall="gold"
    )
    settings = TRACKS["commerce"].settings
    monkeypatch.setitem(
        TRACKS, "diary", Track("diary", settings, ("diary_lines", "moods"), "diary_lines", ("diaries",))
    )
    monkeypatch.setitem(TABLES, "diary_lines", diary)
    monkeypatch.setitem(TABLES, "moods", moods)
    home = at_home(tmp_path / "home")
    spec = ReleaseSpec("diary", "diaries", ("diaries-1",), settings())
    release = save_release(home.store.store, spec)
    lines = pl.DataFrame([("b", 0, "=1"), ("a", 1, "two"), ("a", 0, "one")], schema=diary.schema, orient="row")
    felt = pl.DataFrame([("a", 0, "up")], schema=moods.schema, orient="row")
    for number, shard in enumerate(home.shards):
        home.store.put(
            "diary_lines", f"{number:032x}", lines.filter(pl.int_range(pl.len()) % len(home.shards) == number)
        )
        home.store.point("diary_lines", {"release": release, "shard": shard}, f"{number:032x}")
    home.gold.put("moods", "f" * 32, felt)
    home.gold.point("moods", {"release": release}, "f" * 32)
    tables = {name: {"rows": frame.height} for name, frame in (("diary_lines", lines), ("moods", felt))}
    manifest = {"release": "0" * 12, "content_hash": "0" * 64, "track": "diary", "tables": tables}
    card = {"release": "0" * 12, "track": "diary", "facts": ["Said is said."], "refusals": {}, "oddities": {"a_b": 1}}
    freeze_release(home.store.store, release, manifest, card, {})
    made = SimpleNamespace(release="0" * 12, home=tmp_path / "home")
    folder = folder_of(cli, made, tmp_path / "data", "--gold")
    assert loaded(folder, "diary_lines")["whole"].rows() == [("a", 0, "one"), ("a", 1, "two"), ("b", 0, "=1")]
    assert loaded(folder, "gold-moods")["whole"].rows() == [("a", 0, "up")]
    head, page = card_of(folder)
    assert head["tags"][3] == "diary" and "Said is said." in page and "## Oddities" in page
    assert table_of(cli, made, "moods", tmp_path / "moods.parquet").rows() == [("a", 0, "up")]
    words = ("export", made.release, "--as", "inspect", "--to", tmp_path / "i", "--home", made.home)
    refused = cli(*words)
    assert refused.code == 2 and "no samples of track diary" in refused.err and not (tmp_path / "i").exists()
