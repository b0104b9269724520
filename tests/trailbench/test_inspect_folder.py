"""`trailbench export --as inspect`: which questions leave, what stands beside them, and what is refused."""

import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from inspecting import contents, folder_of, lines

Cli = Callable[..., SimpleNamespace]
UNIT = ("user_id", "transition_index", "pool")


def test_every_pool_is_a_question_and_no_answer_is_beside_it(built: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    public, whole = folder_of(cli, built, tmp_path / "p"), folder_of(cli, built, tmp_path / "w", "--gold")
    to = tmp_path / "gold.parquet"
    words = ("export", built.release, "--table", "pool_gold", "--gold", "--to", to, "--home", built.home)
    assert cli(*words).code == 0
    gold = pl.read_parquet(to).sort(*UNIT, "position").with_columns(pl.col("pool", "role").cast(pl.String))
    samples = lines(public / "samples.jsonl")
    assert (public / "samples.jsonl").read_bytes() == (whole / "samples.jsonl").read_bytes()
    files = {"README.md", "samples.jsonl", "task.py", "trailbench.json", "trailbench_questions.py"}
    assert contents(public).keys() == files and contents(whole).keys() == {*files, "gold/targets.jsonl"}
    assert "scores nothing" in (public / "README.md").read_text()
    assert [set(one) for one in samples] == [{"id", "input", "metadata"}] * len(samples)
    assert {name for one in samples for name in one["metadata"]} == {*UNIT, "labels", "reply"}
    units = gold.select(UNIT).unique(maintain_order=True).rows()
    assert [tuple(one["metadata"][name] for name in UNIT) for one in samples] == units
    assert [one["id"] for one in samples] == ["/".join(map(str, unit)) for unit in units]
    for one in samples:
        user = one["input"][1]["content"]
        assert "Memory, description:\n(unused)\n" in user and "Memory, tree:\n(unused)\n" in user
        assert re.findall(r"^(c\d+): ", user, re.MULTILINE) == one["metadata"]["labels"]
    targets = lines(whole / "gold" / "targets.jsonl")
    assert [one["id"] for one in targets] == [one["id"] for one in samples]
    places = gold.filter(pl.col("role") == "positive").group_by(UNIT, maintain_order=True).agg("position")
    labels = {one["id"]: one["metadata"]["labels"] for one in samples}
    for target, row in zip(targets, places.rows(), strict=True):
        assert target == {"id": target["id"], "target": [labels[target["id"]][place] for place in row[3]]}


def test_bytes_are_the_same_of_other_shards_and_a_second_run(
    built: SimpleNamespace, shop: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    first = contents(folder_of(cli, built, tmp_path / "a", "--gold"))
    assert contents(folder_of(cli, built, tmp_path / "a", "--gold")) == first
    home = tmp_path / "other"
    made = cli("build", *shop.options, shop.log, "--home", home, "--shards", 1, "--json").json
    other = SimpleNamespace(release=made["release"], home=home)
    assert contents(folder_of(cli, other, tmp_path / "b", "--gold")) == first


def test_names_of_a_hostile_log_end_no_line_and_no_card(hostile: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    folder = folder_of(cli, hostile, tmp_path / "folder", "--gold")
    samples = lines(folder / "samples.jsonl")
    users = {one["metadata"]["user_id"] for one in samples}
    assert "a: [b\n---\nlicense: mit" in users and '"}\n{"id": 7' in users
    assert len({one["id"] for one in samples}) == len(samples) == len(lines(folder / "gold" / "targets.jsonl"))
    assert "\nlicense: mit" not in (folder / "README.md").read_text()
    ast.parse((folder / "task.py").read_text())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--as", "inspect", "--method", "recent_k"), "add --experiment"),
        (("--as", "inspect", "--experiment", "demo", "--method", "recent_k"), "demo was not evaluated on"),
        (("--as", "inspect", "--experiment", "nothing.yaml"), "no experiment 'nothing.yaml'"),
        (("--as", "inspect", "--license", "a b"), "as cc-by-4.0"),
        (("--as", "huggingface", "--experiment", "demo"), "--experiment goes with --as inspect"),
        (("--as", "inspect", "--reader", "llm"), "--reader goes with --as dynamicmem"),
        (("--as", "dynamicmem", "--license", "mit"), "--license goes with a folder that has a card"),
        (("--as", "dynamicmem", "--experiment", "demo"), "is of track commerce"),
        (("--as", "huggingface", "--table", "visits"), "name one of the two"),
        (("--table", "visits", "--license", "mit"), "--license goes with a folder that has a card"),
        ((), "--table, or a kind of folder by --as"),
    ],
)
def test_what_does_not_go_together_is_refused(
    words: tuple[str, ...], says: str, built: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    result = cli("export", built.release, *words, "--to", tmp_path / "x", "--home", built.home)
    assert result.code == 2 and says in " ".join(result.err.split()), result.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_somebody_else_stays(built: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    for form in ("inspect", "huggingface"):
        result = cli("export", built.release, "--as", form, "--to", tmp_path, "--home", built.home)
        assert result.code == 2 and "another folder" in result.err
    assert contents(tmp_path) == {"note.txt": b"mine"}


def test_a_memory_is_named_among_those_that_were_evaluated(copied: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "asking.yaml"
    file.write_text(
        "name: asking\nmethods: {recent_k: [{}, {k: 5}]}\nreaders: [lexical]\nbudgets: [60, 300]\nusers: 9\n"
    )
    done = SimpleNamespace(**{**vars(copied), "file": file})
    words = ("--experiment", file, "--home", copied.home, "--json")
    assert cli("evaluate", copied.release, *words).code == 0
    base = ("export", done.release, "--as", "inspect", "--to", tmp_path / "x", "--home", done.home)
    for words, says in (
        (("--experiment", done.file), "by --method: recent_k, recent_k-k5"),
        (("--experiment", done.file, "--method", "oracle"), "by --method: recent_k, recent_k-k5"),
        (("--experiment", done.file, "--method", "recent_k"), "by --budget: 60, 300"),
    ):
        refused = cli(*base, *words)
        assert refused.code == 2 and says in " ".join(refused.err.split())
    named = ("--experiment", done.file, "--method", "recent_k", "--budget")
    folders = [folder_of(cli, done, tmp_path / budget, *named, budget) for budget in ("60", "300")]
    short, long = (lines(folder / "samples.jsonl") for folder in folders)
    assert [one["id"] for one in short] == [one["id"] for one in long]
    sizes = [sum(len(one["input"][1]["content"]) for one in part) for part in (short, long)]
    assert sizes[0] < sizes[1] and all("\n> 20" in one["input"][1]["content"] for one in short)
    done.file.write_text(done.file.read_text().replace("users: 9", "users: 3"))
    refused = cli(*base, "--experiment", done.file, "--method", "recent_k", "--budget", 60)
    assert refused.code == 2 and "was changed since it was evaluated" in " ".join(refused.err.split())


def test_without_an_experiment_every_test_target_is_asked(
    chain_built: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    refused = cli("export", chain_built.release, "--as", "inspect", "--to", tmp_path / "x", "--home", chain_built.home)
    assert refused.code == 2 and "by --method: none, direct, profile, retrieval" in " ".join(refused.err.split())
    seen = {}
    for interface in ("none", "profile"):
        folder = folder_of(cli, chain_built, tmp_path / interface, "--method", interface, "--gold")
        samples, targets = lines(folder / "samples.jsonl"), lines(folder / "gold" / "targets.jsonl")
        assert [one["id"] for one in samples] == [one["id"] for one in targets]
        seen[interface] = samples
        for one in samples:
            assert not {"side", "confidence", "direction", "amount", "target"} & set(one["metadata"])
    assert all("Nothing is shown of the trader" in one["input"][0]["content"] for one in seen["none"])
    assert any("Profile of the trader's earlier trades" in one["input"][0]["content"] for one in seen["profile"])
    to = tmp_path / "histories.parquet"
    cli("export", chain_built.release, "--table", "histories", "--to", to, "--home", chain_built.home)
    rows = pl.read_parquet(to).filter(pl.col("split").cast(pl.String) == "test")
    ids = {f"{layer}:{wallet.hex()}:{event}" for layer, wallet, event in rows.select("layer", "wallet", "event").rows()}
    assert {one["id"] for one in seen["none"]} == ids


def test_what_leaves_imports_nothing_that_stays_here() -> None:
    folder = Path(__file__).resolve().parents[2] / "resources" / "inspect_tasks"
    # What scores states goes with the task, into a folder of its own.
    allowed = {*sys.stdlib_module_names, "inspect_ai", "trailbench_questions", "pipelines"}
    files = sorted(folder.glob("*.py"))
    assert [file.stem for file in files] == ["pools", "predictions", "states", "trailbench_questions"]
    for tree in (ast.parse(file.read_text()) for file in files):
        modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert {name.partition(".")[0] for name in modules} <= allowed
