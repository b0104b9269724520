"""What the README shows to be copied works as it stands there."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from pipelines.commerce.mapping import load_mapping
from pipelines.evaluation.experiment import own_settings, parse
from pipelines.memory.registry import builtin_methods
from pipelines.onchain.contenders import BASELINES
from pipelines.onchain.experiment import arms
from pipelines.onchain.histories import INTERFACES
from trailbench import check_method

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def block(begins: str) -> str:
    """The code block whose first line is `begins`."""
    found = [
        text for text in re.findall(r"^```\w*\n(.*?)^```", README, re.DOTALL | re.MULTILINE) if text.startswith(begins)
    ]
    assert len(found) == 1, begins
    return str(found[0])


def test_the_mapping_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(block("# shop.yaml"))
    mapping = load_mapping(file)
    assert (mapping.columns.l2, mapping.actions["buy"], mapping.time.zone) == (
        ("category",),
        "purchase",
        "Europe/Berlin",
    )


def test_the_experiment_is_accepted() -> None:
    experiment = parse(block("# mine.yaml"), "mine.yaml")
    assert list(experiment.budgets) == [300, 600] and list(experiment.readers) == ["embedding", "lexical"]


def test_the_experiment_on_models_is_accepted() -> None:
    experiment = parse(block("# models.yaml"), "models.yaml")
    methods = builtin_methods()
    for _, method, config in experiment.configured():
        methods[method].config_model(**own_settings(config))
    assert (experiment.limits.calls, experiment.batches, experiment.readings) == (20000, 6, 500)


def test_the_judged_experiment_is_accepted() -> None:
    experiment = parse(block("# judged.yaml"), "judged.yaml")
    assert (experiment.judges, experiment.judged) == (["grounded"], 20)
    assert set(experiment.methods) <= set(builtin_methods())


def test_the_onchain_experiment_is_accepted() -> None:
    experiment = parse(block("# polygon.yaml"), "polygon.yaml")
    cells = arms(experiment, "release", {"llm": "fingerprint"})
    assert [arm.label for arm in cells] == [*BASELINES, *INTERFACES]


def test_the_method_keeps_the_rules_of_the_contract() -> None:
    names: dict[str, object] = {"__name__": "top_categories"}
    exec(block("# top_categories.py"), names)
    assert check_method(names["SPEC"]) == []  # type: ignore[arg-type]


def test_the_package_declares_the_method_and_how_it_is_built() -> None:
    text = block("# pyproject.toml")
    for part in ("[build-system]", "[project]", 'name = "top_categories"', 'top_categories = "top_categories:SPEC"'):
        assert part in text
    assert yaml.safe_load(block("# mine.yaml"))["methods"]["top_categories"] == [{}]


def test_the_exports_write_what_is_said(
    built: SimpleNamespace, cli: Callable[..., SimpleNamespace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(block("# mine.yaml"))
    commands = (
        block("trailbench export RELEASE --as").replace("RELEASE", built.release).replace("shop", str(built.home))
    )
    *running, last = [shlex.split(line, comments=True)[1:] for line in commands.splitlines()]
    for words in running:
        result = cli(*words)
        assert result.code == 0, result.err
    refused = cli(*last)
    assert refused.code == 2 and "mine was not evaluated" in " ".join(refused.err.split())
    files = {"data": "data/visits", "whole": "gold/positives", "questions": "task.py"}
    assert all((tmp_path / folder / file).exists() for folder, file in files.items())
    assert {path.name for path in tmp_path.iterdir()} == {*files, "mine.yaml"}
