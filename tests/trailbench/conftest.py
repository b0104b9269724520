"""Third-party packages with a memory method, as an installer leaves them; a small on-chain release."""

import csv
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from applog_experiments import ASKING, KEY, WITHOUT_MODEL
from hostile_names import HOSTILE_NAMES
from model_server import ModelServer, model_server
from walking import Walk, least

sys.path.insert(0, str(Path(__file__).parents[1] / "applogs"))

METHOD = """
    {imports}
    from trailbench import JsonMemory, MethodSpec, Settings, fit


    class Memory(JsonMemory):
        name = "{name}"

        def take(self, batch):
            self.state["items"] = (self.state.get("items", []) + batch.visits["item_id"].to_list())[-50:]
            self.state["l2"] = (self.state.get("l2", []) + batch.visits["l2"].drop_nulls().to_list())[-50:]

        def readout(self, budget):
            {steal}
            return fit(self.state.get("l2", []), budget, self.tokens)


    def spec():
        return MethodSpec("{name}", "statistics", "The last categories.", Memory, Settings, batch_invariant=True)
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Install a method: `install(name, imports, steal)`, where `steal` is run before every readout."""

    def add(name: str, imports: str = "", steal: str = "pass") -> Path:
        site = tmp_path / f"site-{name}"
        package = site / f"{name}_package"
        package.mkdir(parents=True)
        code = METHOD.format(name=name, imports=imports, steal=steal.replace("\n", "\n            "))
        (package / "__init__.py").write_text(textwrap.dedent(code))
        info = site / f"{name}_package-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[trailbench.methods]\n{name} = {name}_package:spec\n")
        monkeypatch.syspath_prepend(str(site))
        return site

    return add


@pytest.fixture(scope="session")
def chain_built(cli: Callable[..., SimpleNamespace], made_once: Callable[..., SimpleNamespace]) -> SimpleNamespace:
    """A home folder with one frozen on-chain release, not to be changed."""
    from pipelines.onchain.generator import Plan
    from trailbench.generating import write_chain

    def make(folder: Path) -> dict[str, Any]:
        write_chain(Plan(seed=5, wallets=30, markets=12, neg_risk_markets=4, operations=1_800), folder, lambda _: None)
        config = folder / "loose.yaml"
        config.write_text(
            "{min_markets: 2, min_trades: 5, min_rows: 2, max_concentration_percent: 100, max_burst_percent: 100}"
        )
        words = ("--source", "polygon_logs", "--config", config, "--home", folder / "home", "--shards", 1, "--json")
        result = cli("build", folder / "logs-001.jsonl", folder / "markets.json", *words)
        assert result.code == 0, result.err
        return dict(result.json)

    return made_once("chain-built", make)


@pytest.fixture(scope="session")
def lives_built(cli: Callable[..., SimpleNamespace], made_once: Callable[..., SimpleNamespace]) -> SimpleNamespace:
    """A home folder with a release of three users of app logs; experiments of different names do not meet there.

    `first` is what is said of `WITHOUT_MODEL` when it is evaluated there, `experiment` the file that it stands in.
    """
    from applog_lives import write_drop

    def make(folder: Path) -> dict[str, Any]:
        home, file = folder / "home", folder / "small.yaml"
        file.write_text(WITHOUT_MODEL)
        drop = write_drop(folder / "drop")
        result = cli("build", "--track", "applogs", drop, "--home", home, "--shards", 1, "--json")
        assert result.code == 0, result.err
        first = cli("evaluate", "--experiment", file, "--home", home, "--json")
        assert first.code == 0, first.err
        return {**result.json, "first": first.json, "experiment": str(file)}

    return made_once("lives-built", make)


@pytest.fixture
def evaluate_lives(
    cli: Callable[..., SimpleNamespace], lives_built: SimpleNamespace, tmp_path: Path
) -> Callable[..., SimpleNamespace]:
    """Evaluate an experiment on `lives_built`, or give it to another command."""

    def call(text: str, command: str = "evaluate") -> SimpleNamespace:
        file = tmp_path / "experiment.yaml"
        file.write_text(text)
        return cli(command, "--experiment", file, "--home", lives_built.home, "--json")

    return call


@pytest.fixture
def ask_lives(
    evaluate_lives: Callable[..., SimpleNamespace], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., SimpleNamespace]:
    """The same with a scripted endpoint, named by the environment."""

    def call(server: ModelServer, command: str = "evaluate", text: str = ASKING) -> SimpleNamespace:
        monkeypatch.setenv("TRAILBENCH_MODEL_BASE_URL", server.base_url)
        monkeypatch.setenv("TRAILBENCH_MODEL_NAME", "scripted")
        monkeypatch.setenv("TRAILBENCH_MODEL_API_KEY", KEY)
        monkeypatch.setenv("TRAILBENCH_MODEL_RETRIES", "0")
        monkeypatch.setenv("TRAILBENCH_MODEL_BACKOFF_SECONDS", "0.001")
        return evaluate_lives(text, command)

    return call


@pytest.fixture(scope="session")
def hostile(
    shop: SimpleNamespace, cli: Callable[..., SimpleNamespace], tmp_path_factory: pytest.TempPathFactory
) -> SimpleNamespace:
    """A release of a log without domains, whose users, items, categories and mapping have names that want to be more
    than text.
    """
    import yaml

    folder = tmp_path_factory.mktemp("hostile")
    log, mapping = folder / "x\n---\nlicense: mit.csv", folder / "shop.yaml"
    header, *rows = csv.reader(shop.log.read_text().splitlines())
    users = {f"K{number:03}": text for number, text in enumerate(HOSTILE_NAMES)}
    groups = {f"Gruppe {number}.0": text for number, text in enumerate(HOSTILE_NAMES[:9])}
    with log.open("w", newline="") as file:
        written = csv.writer(file)
        written.writerow(header)
        for when, user, item, action, l1, l2, price in rows:
            written.writerow([when, users.get(user, user), f"={item}", action, l1, groups.get(l2, l2), price])
    said = yaml.safe_load(shop.mapping.read_text().replace("l1: Abteilung, ", ""))
    mapping.write_text(yaml.safe_dump({**said, "name": "shop\n---\nlicense: mit\n<b>x</b>"}))
    home = folder / "home"
    made = cli("build", "--source", "mapping", "--mapping", mapping, log, "--home", home, "--json")
    assert made.code == 0, made.err
    return SimpleNamespace(**made.json)


@pytest.fixture(scope="module")
def walk(cli: Callable[..., SimpleNamespace], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """A reader of README and docs, in an empty folder of the module's own. New home folders there have one shard."""
    with pytest.MonkeyPatch.context() as patch:
        typed = Walk(cli, patch)
        patch.chdir(tmp_path_factory.mktemp("walk"))
        patch.setenv("TRAILBENCH_SHARDS", "1")
        yield typed


@pytest.fixture(scope="module")
def model(walk: Walk) -> Iterator[ModelServer]:
    """An endpoint that says the least, named as README and docs say."""
    with model_server(least) as server:
        walk("export TRAILBENCH_MODEL_BASE_URL=http://127.0.0.1:8000/v1", {"http://127.0.0.1:8000/v1": server.base_url})
        walk("export TRAILBENCH_MODEL_NAME=my-model")
        yield server
