"""What the tests of the DAG and of the command line share: a small shop log, home folders, the command line."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings

# A job in the background of a shell ignores interrupts, and so would every process that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes tells how busy the machine is, and a failure must come again.
settings.register_profile("trailbench", deadline=None, derandomize=True)
settings.load_profile("trailbench")

# Great Expectations costs seconds in every process that imports it. Both engines judge alike (tests/expectations), so
# the suites run by Polars here; tests/assets/test_engine.py runs the DAG as it is by default.
os.environ["TRAILBENCH_EXPECTATIONS"] = QUICK = "polars"
# Every shard of every step is a run of the DAG. Two show what more do; test_build_identity.py takes other numbers.
os.environ["TRAILBENCH_SHARDS"] = SHARDS = "2"
# A process has the shards of the home folder that it sees first: here of none, and not of one in the checkout.
with pytest.MonkeyPatch.context() as nowhere:
    nowhere.setenv("TRAILBENCH_HOME", os.devnull)
    import assets.partitions  # noqa: F401
    from resources.settings import home_settings

    home_settings.cache_clear()

# Every run of the DAG commits some hundred times; on a disk that is half of what a test takes.
MEMORY = Path("/dev/shm")
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 8 * 2**30:
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)

LONGEST = ("ui", "trailbench")
"""Folders whose files take longest, the first because they wait for servers: begun last, they would run alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first."""
    places = {folder: place for place, folder in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.parent.name, len(places)))


DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "ecommerce"
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
    """Rows of a shop log: sessions of minutes, apart by hours and days, over three quarters; some users too small."""
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


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """The shop log: `lines`, its file `log`, the mapping file, the options that read it, `write(path, lines)`."""
    folder = tmp_path_factory.mktemp("shop")
    lines = shop_lines()
    mapping = folder / "shop.yaml"
    mapping.write_text(MAPPING)
    return SimpleNamespace(
        lines=lines,
        log=write_log(folder / "shop.csv", lines),
        mapping=mapping,
        options=("--source", "mapping", "--mapping", mapping),
        write=write_log,
    )


@pytest.fixture(scope="session")
def real_sample() -> Path:
    """The 55 households of the Complete Journey sample."""
    folder = DATA / "completejourney"
    if not folder.is_dir():
        pytest.skip("the Complete Journey sample is not beside the checkout")
    return folder


@pytest.fixture(scope="session")
def cli() -> Callable[..., SimpleNamespace]:
    """The command line in this process: `cli(*words)` → code, out, err, and `json` when it printed an object."""
    from typer.testing import CliRunner

    from trailbench.cli import app

    def call(*words: object) -> SimpleNamespace:
        before = {name: os.environ.get(name) for name in ("TRAILBENCH_HOME", "DAGSTER_HOME")}
        home_settings.cache_clear()
        try:
            result = CliRunner().invoke(app, [str(word) for word in words])
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
            home_settings.cache_clear()
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        printed = result.stdout.strip()
        value = json.loads(printed) if result.exit_code < 2 and printed.startswith("{") else None
        return SimpleNamespace(code=result.exit_code, out=result.stdout, err=result.stderr, json=value)

    return call


@pytest.fixture(scope="session")
def spawn() -> Callable[..., "subprocess.Popen[str]"]:
    """The command line in a process of its own: `spawn(*words, TZ=…)`."""

    def start(*words: object, **environment: str) -> "subprocess.Popen[str]":
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRAILBENCH_", "DAGSTER_"))}
        return subprocess.Popen(
            [sys.executable, "-m", "trailbench.cli", *map(str, words)],
            env={**kept, "TRAILBENCH_EXPECTATIONS": QUICK, "TRAILBENCH_SHARDS": SHARDS, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture(scope="session")
def made_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, Callable[[Path], dict[str, Any]]], SimpleNamespace]:
    """Make a folder in one of the processes that share the tests; each gets a copy: `made_once(name, make)`.

    `make(folder)` gives what is to be known of the folder, with paths as text; a home folder is `folder / "home"`.
    """

    def get(name: str, make: Callable[[Path], dict[str, Any]]) -> SimpleNamespace:
        mine = tmp_path_factory.getbasetemp()
        shared = (mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine) / f"shared-{name}"
        own, known = tmp_path_factory.mktemp(name), shared / "known.json"
        with FileLock(f"{shared}.lock"):
            if not known.exists():
                # What a failed attempt left is no folder to begin with.
                shutil.rmtree(shared, ignore_errors=True)
                shared.mkdir()
                known.write_text(json.dumps(make(shared)))
        shutil.copytree(shared, own, dirs_exist_ok=True)
        told = known.read_text().replace(str(shared), str(own))
        return SimpleNamespace(**{**json.loads(told), "home": own / "home"})

    return get


@pytest.fixture(scope="session")
def built(
    shop: SimpleNamespace, cli: Callable[..., SimpleNamespace], made_once: Callable[..., SimpleNamespace]
) -> SimpleNamespace:
    """A home folder with one frozen release of the shop log, not to be changed: `home`, `release`, `content_hash`."""

    def make(folder: Path) -> dict[str, Any]:
        result = cli("build", *shop.options, shop.log, "--home", folder / "home", "--json")
        assert result.code == 0, result.err
        return dict(result.json)

    return made_once("built", make)


@pytest.fixture
def copied(built: SimpleNamespace, tmp_path: Path) -> SimpleNamespace:
    """A copy of `built` that a test may change."""
    home = tmp_path / "copied"
    shutil.copytree(built.home, home)
    return SimpleNamespace(**{**vars(built), "home": home})


@pytest.fixture
def at_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], object]]:
    """Open a home folder in this process: `at_home(folder)`; its settings are forgotten afterwards."""
    from resources.home import open_home

    def use(folder: Path) -> object:
        monkeypatch.setenv("TRAILBENCH_HOME", str(folder))
        home_settings.cache_clear()
        return open_home()

    yield use
    home_settings.cache_clear()
