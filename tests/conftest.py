"""What the tests of the DAG and of the command line share: a small shop log, and a home folder built from it."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

MAPPING = """
name: shop
format: csv
columns: {user: Kunde, item: Artikel, action: Was, l1: Abteilung, l2: Gruppe, price: Preis}
time: {column: Zeit, patterns: "%d.%m.%Y %H:%M:%S", zone: UTC}
actions: {sah: browse, tippte: click, korb: cart, kaufte: purchase, merkte: favourite, storno: cancel}
"""
HEADER = "Zeit,Kunde,Artikel,Was,Abteilung,Gruppe,Preis"
ACTIONS = ("sah", "tippte", "korb", "kaufte", "merkte", "storno")
WEIGHTS = (50, 20, 8, 14, 6, 2)


def shop_lines(users: int = 24, seed: int = 7) -> list[str]:
    """Rows of a shop log: sessions of minutes apart by hours and days, over three quarters; a few users too small."""
    draw = random.Random(seed)
    start = datetime(2023, 1, 9, tzinfo=UTC)
    lines = []
    for user in range(users):
        wanted = 40 if user % 8 == 7 else draw.randint(110, 250)
        liked = draw.sample(range(9), 4)
        now = start + timedelta(hours=draw.randint(0, 200))
        written = 0
        while written < wanted:
            for _ in range(draw.randint(3, 12)):
                l1 = draw.choice(liked) if draw.random() < 0.85 else draw.randint(0, 8)
                l2 = min(int(draw.expovariate(0.5)), 6)
                item = f"a{l1}{l2}{draw.randint(0, 4)}"
                for _ in range(draw.choice((1, 1, 1, 2, 3))):
                    action = draw.choices(ACTIONS, WEIGHTS)[0]
                    category = ("", "") if draw.random() < 0.01 else (f"Abt {l1}", f"Gruppe {l1}.{l2}")
                    lines.append(f"{now:%d.%m.%Y %H:%M:%S},K{user:03},{item},{action},{','.join(category)},{l2 + 1}.50")
                    now += timedelta(seconds=draw.randint(5, 200))
                    written += 1
                now += timedelta(seconds=draw.choice((20, 60, 300, 1000)))
            now += timedelta(hours=draw.randint(3, 400))
    return sorted(lines)


def write_log(path: Path, lines: list[str]) -> Path:
    """A log file of these rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


def run_cli(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "trailbench.cli", *map(str, words)]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("TRAILBENCH_", "DAGSTER_"))}
    return subprocess.run(command, env={**env, **environment}, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `shop.csv` and the mapping `shop.yaml` that reads it."""
    folder = tmp_path_factory.mktemp("shop")
    write_log(folder / "shop.csv", shop_lines())
    (folder / "shop.yaml").write_text(MAPPING)
    return folder


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Open a home folder in this process: `at_home(folder)`; its settings are forgotten afterwards."""
    from resources.home import open_home
    from resources.settings import home_settings

    def use(folder: Path) -> object:
        monkeypatch.setenv("TRAILBENCH_HOME", str(folder))
        home_settings.cache_clear()
        return open_home()

    yield use
    home_settings.cache_clear()
