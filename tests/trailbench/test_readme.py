"""What README and docs show to be copied works as it stands there, and what they link to exists."""

import re
from pathlib import Path

import pytest
import yaml

from pipelines.applogs.experiment import refuse
from pipelines.commerce.mapping import load_mapping
from pipelines.evaluation.experiment import own_settings
from pipelines.evaluation.experiment_file import parse
from pipelines.memory.registry import builtin_methods
from pipelines.onchain.contenders import BASELINES
from pipelines.onchain.experiment import arms
from pipelines.onchain.histories import INTERFACES
from pipelines.onchain.settings import OnchainSettings
from trailbench import check_method

ROOT = Path(__file__).resolve().parents[2]
FILES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PAGES = {file: file.read_text(encoding="utf-8") for file in FILES}
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCKS = [found for text in PAGES.values() for found in BLOCK.findall(text)]


def block(begins: str) -> str:
    """The code block whose first line is `begins`."""
    found = [text for text in BLOCKS if text.startswith(begins)]
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


def anchors(page: Path) -> set[str]:
    """What a link into a page may name: its headings as the web page has them."""
    headings = re.findall(r"^#+ (.+)$", PAGES[page], re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", PAGES[page]):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.is_file(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(there), f"{page.name}: {target}"


def test_the_experiments_of_the_papers_are_accepted() -> None:
    methods = builtin_methods()
    for _, method, config in parse(block("# behaviormem.yaml"), "behaviormem.yaml").configured():
        methods[method].config_model(**own_settings(config))
    interfaces = parse(block("# interfaces.yaml"), "interfaces.yaml")
    assert [arm.label for arm in arms(interfaces, "release", {"llm": "f"})] == [*BASELINES, *INTERFACES]
    settings = OnchainSettings(**yaml.safe_load(block("# behaviorbench.yaml")))
    changed = {
        name for name in OnchainSettings.model_fields if getattr(settings, name) != getattr(OnchainSettings(), name)
    }
    assert changed == {"belief_split_rule"}, "the rest are defaults, as the page says"


def test_the_experiment_on_app_logs_is_accepted() -> None:
    experiment = parse(block("# dynamic.yaml"), "dynamic.yaml")
    refuse(experiment, builtin_methods())
    assert (experiment.judges, experiment.judged, experiment.readings) == (["core_detail", "failure"], 200, 300)
