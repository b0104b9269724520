"""A newcomer's path by the README's own words: clone, own log with odd column names, own method, report."""

import csv
import os
import re
import shlex
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from pipelines.hashing import key64

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
USERS, ROWS = 5, 1_000
ACTIONS = ("look", "look", "look", "like", "basket", "buy")


BLOCKS = re.findall(r"^```\w*\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def block(begins: str) -> str:
    """The README's code block whose first line is `begins`."""
    return str(next(text for text in BLOCKS if text.startswith(begins)))


def command(begins: str) -> list[str]:
    """The README's first command that begins so, as words."""
    lines = [line for text in BLOCKS for line in text.splitlines()]
    return shlex.split(next(line for line in lines if line.startswith(begins)), comments=True)


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
    """A clone of the committed project whose environment is this one."""
    folder = tmp_path_factory.mktemp("newcomer") / "trailbench"
    if not (ROOT / ".git").exists():
        pytest.skip("the project is not a git checkout here")
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (folder / ".venv" / ".installed").touch()
    return folder


def run(clone: Path, *words: str, cwd: Path | None = None, **more: str) -> str:
    """A command as it is typed in the clone, with its environment first on the path; its output."""
    # The suite may itself be run by make, which tells the makes below it. Expectations are judged as in other tests.
    ours = ("TRAILBENCH_", "DAGSTER_", "MAKE", "MFLAGS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    kept["TRAILBENCH_EXPECTATIONS"] = os.environ["TRAILBENCH_EXPECTATIONS"]
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


def test_the_two_commands_are_what_the_readme_says(clone: Path) -> None:
    assert run(clone, "make", "--dry-run", "demo").strip() == ".venv/bin/trailbench demo"
    assert "pytest" in run(clone, "make", "--dry-run", "test")
    assert "the whole Complete Journey log" in README


@pytest.mark.skipif("TRAILBENCH_DEMO" not in os.environ, reason="takes five minutes; set TRAILBENCH_DEMO to run it")
def test_the_first_command_ends_in_two_reports_and_explains_a_unit(clone: Path) -> None:
    shown = run(clone, "make", "demo")
    reports = sorted((clone / ".trailbench/reports").glob("*/report.html"))
    assert [report.parent.name.partition("~")[0] for report in reports] == ["demo", "demo_llm"]
    assert all(str(report) in shown for report in reports)
    assert all(report.stat().st_size < 5_000_000 for report in reports)
    run(clone, *command("trailbench explain 2106:0:infer"))


def test_own_log_and_own_method_end_in_a_report(clone: Path, tmp_path: Path) -> None:
    own_log(tmp_path / "log.csv")
    (tmp_path / "shop.yaml").write_text(block("# shop.yaml"), encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(block("# mine.yaml"), encoding="utf-8")
    method = tmp_path / "top_categories"
    method.mkdir()
    code = block("# top_categories.py")
    assert len(code.splitlines()) <= 30
    (method / "top_categories.py").write_text(code, encoding="utf-8")
    (method / "pyproject.toml").write_text(block("# pyproject.toml beside it"), encoding="utf-8")
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(site), str(method)], check=True, capture_output=True)
    installed = {"PYTHONPATH": str(site)}

    assert f"{ROWS:,}" in run(clone, *command("trailbench validate log.csv"), cwd=tmp_path)
    assert "release" in run(clone, *command("trailbench build log.csv"), cwd=tmp_path)
    assert "top_categories" in run(clone, "trailbench", "methods", cwd=tmp_path, **installed)
    shown = run(clone, *command("trailbench evaluate --experiment mine.yaml"), cwd=tmp_path, **installed)
    assert "top_categories" in shown

    report = next((tmp_path / "shop").rglob("report.html"))
    assert "top_categories" in report.read_text(encoding="utf-8")
    board = pl.read_parquet(next((tmp_path / "shop").rglob("leaderboard.parquet")))
    own = board.filter((pl.col("method") == "top_categories") & (pl.col("group_kind").cast(pl.String) == "all"))
    assert own.height and own["n_users"].max() == USERS
    assert own["coverage"].min() == 1.0
