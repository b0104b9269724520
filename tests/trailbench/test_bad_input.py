"""Bad input through the command line: one message with file and remedy, or counted rejects; never a trace."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from trailbench.calling import REFUSED

Cli = Callable[..., SimpleNamespace]


def as_parquet(path: Path, shop: SimpleNamespace) -> None:
    pl.DataFrame({"a": [1, 2]}).write_parquet(path)


def as_empty(path: Path, shop: SimpleNamespace) -> None:
    path.write_bytes(b"")


def as_truncated_gz(path: Path, shop: SimpleNamespace) -> None:
    whole = gzip.compress(shop.log.read_bytes())
    path.write_bytes(whole[: len(whole) // 2])


def as_binary(path: Path, shop: SimpleNamespace) -> None:
    path.write_bytes(bytes(range(256)) * 50)


def as_lacking(path: Path, shop: SimpleNamespace) -> None:
    text = shop.log.read_text().splitlines()
    path.write_text("\n".join(",".join(line.split(",")[:1] + line.split(",")[2:]) for line in text))


def as_picture(path: Path, shop: SimpleNamespace) -> None:
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 100)


BAD = {
    "parquet.csv": as_parquet,
    "empty.csv": as_empty,
    "cut.csv.gz": as_truncated_gz,
    "binary.csv": as_binary,
    "lacking.csv": as_lacking,
    "picture.csv": as_picture,
}


@pytest.mark.parametrize("name", BAD)
def test_an_unreadable_file_is_refused_by_name(name: str, shop: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    file, home = tmp_path / name, tmp_path / "home"
    BAD[name](file, shop)
    for words in (("validate", file, *shop.options), ("build", *shop.options, file, "--home", home, "--json")):
        result = cli(*words)
        said = " ".join(result.err.split())
        assert result.code == REFUSED, said
        assert name in said and "Traceback" not in said
        assert len(said.split(name, 1)[1]) > 30, f"what is wrong, and what to do: {said}"
    assert list((home / "store").rglob("*.parquet")) == []
    assert not (home / "store" / "specs").exists()


def test_what_was_validated_is_built_by_the_same_words(shop: SimpleNamespace, cli: Cli) -> None:
    looked = cli("validate", shop.log, *shop.options)
    words = f"{shop.log} --source mapping --mapping {shop.mapping}"
    assert looked.code == 0 and looked.out.endswith(f"\nNext: trailbench build {words}\n"), looked.out


def test_the_next_build_does_not_suffer_from_a_refused_one(
    copied: SimpleNamespace, shop: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.csv.gz"
    as_truncated_gz(cut, shop)
    words = ("build", *shop.options, shop.log, cut, "--home", copied.home, "--json")
    assert cli(*words).code == REFUSED
    kept = cli(*words, "--skip-unreadable")
    assert kept.code == 0, kept.err
    assert kept.json["content_hash"] == copied.content_hash
    assert len(kept.json["unreadable"]) == 1 and "cut.csv.gz" in str(kept.json["unreadable"])


def test_garbage_rows_are_counted_and_the_others_kept(
    copied: SimpleNamespace, shop: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    garbage = [f"99.99.2023 00:00:00,K001,a{row},sah,Abt 1,Gruppe 1.1,1.00" for row in range(len(shop.lines) // 10)]
    log, home = shop.write(tmp_path / "dirty.csv", [*garbage, *shop.lines]), copied.home
    looked = cli("validate", log, *shop.options, "--json")
    assert looked.code == 0
    assert (looked.json["rows_in"], looked.json["events"]) == (len(garbage) + len(shop.lines), len(shop.lines))
    assert sum(looked.json["rejected"].values()) == len(garbage)
    result = cli("build", *shop.options, log, "--home", home, "--json")
    assert result.code == 0, result.err
    assert result.json["content_hash"] == copied.content_hash
    to = tmp_path / "rejects.csv"
    # The release has one content and two ways to it; by its key the way with the rejects is named.
    assert cli("export", result.json["key"], "--table", "rejects", "--to", to, "--home", home).code == 0
    rejects = pl.read_csv(to, infer_schema=False)
    assert rejects.height == len(garbage)
    assert set(rejects["file"]) == {"dirty.csv"}
    assert sorted(map(int, rejects["line"])) == list(range(2, len(garbage) + 2))
    assert all(raw.startswith("99.99.2023") for raw in rejects["raw"])


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("batch_visit: 4\n", "line 1: batch_visit: Extra inputs are not permitted; settings are visit_gap_minutes"),
        ("seed: 1\nbatch_visits: 0\n", "line 2: batch_visits: Input should be greater than or equal to 1"),
        ("seed: 1\nsettings:\n  batch_visits: true\n", "line 3: batch_visits: Input should be a valid integer"),
        ("seed: '7'\n", "line 1: seed: Input should be a valid integer"),
        ("batch_visits: [\n", "config.yaml"),
        ("seed: 1\nbatch_visits: 2024-02-30\n", "config.yaml, line 2: not YAML: day is out of range"),
        (f"batch_visits: {'[' * 5_000}\n", "config.yaml: is nested too deep"),
        ("- 1\n", "config.yaml"),
        ("settings: 7\n", "config.yaml: settings: expected"),
        ("1: 2\n", "1: "),
    ],
)
def test_a_wrong_configuration_is_refused_before_a_home_is_made(
    config: str, says: str, shop: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    file, home = tmp_path / "config.yaml", tmp_path / "home"
    file.write_text(config)
    result = cli("build", *shop.options, shop.log, "--config", file, "--home", home)
    assert result.code == REFUSED
    assert says in " ".join(result.err.split()) and "Traceback" not in result.err
    assert not home.exists()


def test_a_wrong_mapping_within_a_configuration_has_its_line(shop: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("seed: 1\nmapping:\n  name: shop\n  formt: csv\n")
    result = cli("build", shop.log, "--source", "mapping", "--config", file, "--home", tmp_path / "home")
    assert result.code == REFUSED
    assert "config.yaml, line 4: formt: is no field of a mapping here" in " ".join(result.err.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--source", "amazon"), "no source 'amazon'; sources are complete_journey"),
        (("--source", "mapping"), "--mapping FILE.yaml"),
        (("--source", "mapping", "--mapping", "nowhere.yaml"), "nowhere.yaml"),
        (("--source", "taobao", "--mapping", "MAPPING"), "built-in sources bring their own"),
        (("--source", "mapping", "--mapping", "BROKEN"), "broken.yaml"),
        (("--source", "taobao", "--track", "chain"), "tracks are commerce"),
    ],
)
def test_a_wrong_call_is_refused(
    words: tuple[str, ...], says: str, shop: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: shop\nformat: csv\ncolumns: {user: a}\n")
    given = [{"MAPPING": shop.mapping, "BROKEN": broken}.get(word, word) for word in words]
    result = cli("build", *given, shop.log, "--home", tmp_path / "home")
    assert result.code == REFUSED
    assert says in " ".join(result.err.split()) and "Traceback" not in result.err
    assert not (tmp_path / "home").exists()


def test_a_missing_path_and_another_shard_count_are_refused(
    copied: SimpleNamespace, shop: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    gone = cli("build", *shop.options, tmp_path / "gone.csv", "--home", copied.home)
    assert gone.code == REFUSED and "gone.csv: no such file" in " ".join(gone.err.split())
    other = cli("build", *shop.options, shop.log, "--home", copied.home, "--shards", 7)
    assert other.code == REFUSED and "made with 2 shards, not 7" in " ".join(other.err.split())
    assert json.loads((copied.home / "home.json").read_text()) == {"shards": 2}


@pytest.mark.parametrize("command", ["verify", "audit", "export", "evaluate"])
def test_an_unknown_release_is_refused(command: str, built: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    more = ("--table", "visits", "--to", tmp_path / "x.csv") if command == "export" else ()
    result = cli(command, "0123456789ab", *more, "--home", built.home)
    assert result.code == REFUSED
    assert "no release '0123456789ab'" in " ".join(result.err.split())


def test_a_broken_experiment_is_refused_with_its_line(built: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nmethods:\n  recent_k: [{}]\nbudgets: [0]\n")
    result = cli("evaluate", built.release, "--experiment", file, "--home", built.home)
    assert result.code == REFUSED and "mine.yaml, line 4" in " ".join(result.err.split())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("methods:\n  mind_reader: [{}]\n", "mine.yaml, line 3: no method mind_reader; there are"),
        ("methods:\n  recent_k: [{}]\nreaders:\n- lexical\n- mind\n", "mine.yaml, line 6: no reader mind; there are"),
        ("methods: {recent_k: [{}]}\nreaders: ['lexical:m']\n", "mine.yaml, line 3: reader lexical:m names a model"),
        ("methods:\n  recent_k: [{n: 1}]\n", "mine.yaml, line 3: method recent_k does not take its configuration"),
        ("methods: {recent_k: [{}]}\nsplit: train\n", "mine.yaml, line 3: split belongs to on-chain releases; take"),
        ("methods: {recent_k: [{}]}\nsplit: test\n", "mine.yaml, line 3: split belongs to on-chain releases; take"),
        ("methods: {recent_k: [{}]}\nbatch_days: 7\n", "mine.yaml, line 3: batch_days belongs to releases of app logs"),
    ],
)
def test_what_a_release_does_not_know_of_an_experiment_is_named_with_its_line(
    built: SimpleNamespace, cli: Cli, tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"name: mine\n{text}")
    result = cli("evaluate", built.release, "--experiment", file, "--home", built.home)
    assert result.code == REFUSED and says in " ".join(result.err.split())
    assert "Traceback" not in result.err


def test_a_reader_of_the_call_stands_on_no_line(built: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nmethods: {recent_k: [{}]}\nreaders: [lexical]\n")
    result = cli("evaluate", built.release, "--experiment", file, "--home", built.home, "--reader", "mind")
    said = " ".join(result.err.split())
    assert result.code == REFUSED and "error: no reader mind; there are" in said and "mine.yaml" not in said


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_an_export_that_cannot_be_written_is_refused(built: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    words = ("export", built.release, "--table", "funnel", "--to", tmp_path / "x.csv")
    result = cli(*words, "--home", built.home)
    tmp_path.chmod(0o700)
    assert result.code == REFUSED and "x.csv" in result.err


def test_an_export_over_a_folder_is_refused(built: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.csv").mkdir()
    result = cli("export", built.release, "--table", "funnel", "--to", tmp_path / "x.csv", "--home", built.home)
    assert result.code == REFUSED and "x.csv" in result.err


@pytest.mark.parametrize(
    "words", [("evaluate",), ("report",), ("verify", "abc"), ("audit", "abc"), ("export", "abc", "--table", "pools")]
)
def test_asking_a_home_that_is_not_there_makes_none(words: tuple[str, ...], cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "nowhere"
    more = ("--to", tmp_path / "pools.csv") if words[0] == "export" else ()
    result = cli(*words, *more, "--home", home)
    said = " ".join(result.err.split())
    assert result.code == REFUSED and "no home folder at" in said and "trailbench build" in said, said
    assert not home.exists()


def test_a_file_is_no_home(shop: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for home in (file, file / "below"):
        result = cli("build", *shop.options, shop.log, "--home", home)
        assert result.code == REFUSED and "is a file or lies under one" in " ".join(result.err.split()), result.err


def test_a_port_that_cannot_be_is_refused(cli: Cli, tmp_path: Path) -> None:
    result = cli("ui", "--port", "70000", "--home", tmp_path / "home")
    assert result.code == REFUSED and "65535" in result.err and "Traceback" not in result.err


def test_a_report_needs_an_evaluation(copied: SimpleNamespace, cli: Cli) -> None:
    result = cli("report", copied.release, "--home", copied.home)
    said = " ".join(result.err.split())
    assert (
        result.code == REFUSED
        and f"run `trailbench evaluate {copied.release} --home" in said
        and "Traceback" not in said
    ), said


def test_a_sheet_to_label_needs_an_evaluation(
    copied: SimpleNamespace, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAILBENCH_MODEL_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("TRAILBENCH_MODEL_NAME", "never asked")
    file, sheet = tmp_path / "judged.yaml", tmp_path / "sheet.csv"
    file.write_text("name: judged\nmethods: {recent_k: [{}]}\nbudgets: [100]\njudges: [grounded]\n")
    result = cli("labels", "--experiment", file, "--to", sheet, "--home", copied.home)
    said = " ".join(result.err.split())
    run = f"trailbench evaluate {copied.release} --experiment {file} --home {copied.home}"
    assert result.code == REFUSED and not sheet.exists()
    assert f"judged was not evaluated on {copied.release}; run `{run}` first" in said, said


def test_a_misspelt_field_of_a_mapping_is_answered_with_those_there_are(cli: Cli, tmp_path: Path) -> None:
    file, log = tmp_path / "m.yaml", tmp_path / "log.csv"
    log.write_text("a;b\n1;2\n")
    start = "name: m\nformat: csv\naction: purchase\n"
    file.write_text(start + "columns: {user: a, item: b, domain: c}\ntime: {column: t, unit: s}\n")
    said = " ".join(cli("validate", log, "--source", "mapping", "--mapping", file).err.split())
    assert "columns.domain: is no field of a mapping here; fields are user, item, action, l1" in said
    file.write_text(start + "columns: {user: a, item: b}\ntime: {column: t, unit: s}\n")
    result = cli("validate", log, "--source", "mapping", "--mapping", file)
    said = " ".join(result.err.split())
    assert result.code == REFUSED and "parted by ';', say so in the mapping: delimiter: \";\"" in said, said


def test_a_misspelt_field_is_asked_back(cli: Cli, tmp_path: Path) -> None:
    file, log = tmp_path / "m.yaml", tmp_path / "log.csv"
    log.write_text("a,b\n1,2\n")
    text = "name: m\nformat: csv\naction: purchase\ncolums: {user: a, item: b}\ntime: {colum: t, unit: s}\n"
    file.write_text(text)
    said = " ".join(cli("validate", log, "--source", "mapping", "--mapping", file).err.split())
    assert "colums: is no field of a mapping here; did you mean columns? fields are name, " in said
    assert "time.colum: is no field of a mapping here; did you mean column? fields are column, " in said


@pytest.mark.parametrize("command", ["validate", "build"])
def test_a_missing_column_is_told_with_the_file_that_names_it(
    command: str, shop: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    log = tmp_path / "log.csv"
    log.write_text("Zeit,Artikel\n1,2\n")
    home = () if command == "validate" else ("--home", tmp_path / "home")
    result = cli(command, *shop.options, log, *home)
    said = " ".join(result.err.split())
    assert result.code == REFUSED
    assert "log.csv:1: column 'Kunde' is missing, which shop.yaml names. Check that this is a log of shop" in said
