"""The composition: what assets declare, which partitions jobs and checks have, what stands in a code version."""

import ast
from pathlib import Path

import dagster as dg
import pytest

from assets import automation
from assets.applogs_proofs import PROOFS as APPLOG_PROOFS
from assets.definitions import defs
from assets.onchain_proofs import PROOFS as ONCHAIN_PROOFS
from assets.partitions import ARM_SHARDS, DROPS, EXPERIMENTS, RANGES, RELEASE_SHARDS, RELEASES
from assets.proofs import PROOFS
from pipelines.evaluation.standing import CREDIBLE
from resources import code
from resources.code import VERSIONED_APART, _imports, code_version, sources

GRAPH = defs.resolve_asset_graph()
NODES = {key.to_user_string(): GRAPH.get(key) for key in GRAPH.materializable_asset_keys}
AXES = {
    "events": DROPS,
    "decoded": DROPS,
    "app_drop": DROPS,
    **dict.fromkeys(("state_keys", "applog_funnel", "applog_release"), RELEASES),
    **dict.fromkeys(("app_logs", "checkpoints", "tasks"), RELEASE_SHARDS),
    "fetched": RANGES,
    **dict.fromkeys(("retractions", "markets", "wallets", "support", "onchain_release"), RELEASES),
    **dict.fromkeys(("trades", "candidates", "cohort_trades", "holdings", "histories"), RELEASE_SHARDS),
    **dict.fromkeys(("belief_instances", "trade_instances"), RELEASE_SHARDS),
    **dict.fromkeys(("visits", "batches", "cohort", "transitions", "positives", "pools"), RELEASE_SHARDS),
    **dict.fromkeys(("taxonomy", "domains", "popularity", "funnel", "release"), RELEASES),
    **dict.fromkeys(("readouts", "readings", "verdicts", "model_calls", "units"), ARM_SHARDS),
    **dict.fromkeys(("predictions", "prediction_units"), ARM_SHARDS),
    **dict.fromkeys(("contexts", "answers", "oracle_answers", "applog_units"), ARM_SHARDS),
    **dict.fromkeys(("applog_verdicts", "applog_failures"), ARM_SHARDS),
    **dict.fromkeys(("applog_leaderboard", "applog_calibration", "applog_report"), EXPERIMENTS),
    **dict.fromkeys(("leaderboard", "verdict_summary", "report", "onchain_leaderboard", "onchain_report"), EXPERIMENTS),
}


def test_the_assets_and_their_axes_are_these() -> None:
    assert {name: node.partitions_def for name, node in NODES.items()} == AXES


@pytest.mark.parametrize("name", sorted(AXES))
def test_an_asset_says_what_it_is_and_whose(name: str) -> None:
    node = NODES[name]
    assert len(node.description or "") > 30
    assert node.group_name in ("commerce", "onchain", "applogs", "evaluation")
    assert node.owners == ["team:trailbench"]
    assert node.kinds, "the UI shows how it is made"


def test_what_publishes_a_table_is_checked_on_its_own_partitions_and_blocks() -> None:
    checks: dict[str, set[str]] = {}
    for key in GRAPH.asset_check_keys:
        node = GRAPH.get(key)
        asset = key.asset_key.to_user_string()
        checks.setdefault(asset, set()).add(key.name)
        assert node.partitions_def == AXES[asset], f"{key} has other partitions than its asset"
        assert node.blocking, f"{key} lets the next step go on"
    tables = (
        set(AXES)
        - {"fetched", "release", "onchain_release", "applog_release", "report", "onchain_report"}
        - {"applog_report"}
    )
    assert checks == {
        **{name: {"sound", "consistent"} for name in tables},
        "release": set(PROOFS),
        "onchain_release": set(ONCHAIN_PROOFS),
        "applog_release": set(APPLOG_PROOFS),
        "leaderboard": {"sound", "consistent", *CREDIBLE},
    }


def test_jobs_have_the_partitions_of_their_assets_and_leave_no_asset_out() -> None:
    selected: list[str] = []
    for job in automation.JOBS:
        resolved = defs.resolve_job_def(job.name)
        assets = [key.to_user_string() for key in resolved.asset_layer.executable_asset_keys]
        assert {AXES[name] for name in assets} == {resolved.partitions_def}, job.name
        assert resolved.description
        selected += assets
    # The calls of an arm are accounted alike in every track, and again when judges were asked.
    assert sorted(selected) == sorted([*AXES, *["model_calls"] * 4])


def test_sensors_and_schedule_run_by_themselves() -> None:
    assert {one.name: one.default_status for one in (automation.drops, automation.releases)} == {
        "drops": dg.DefaultSensorStatus.RUNNING,
        "releases": dg.DefaultSensorStatus.RUNNING,
    }
    assert automation.chain_head.default_status == dg.DefaultSensorStatus.STOPPED, "it needs an endpoint"
    assert (automation.nightly.cron_schedule, automation.nightly.execution_timezone) == ("0 2 * * *", "UTC")
    assert automation.nightly.default_status == dg.DefaultScheduleStatus.RUNNING


def test_gold_is_handed_only_to_who_labels_or_scores() -> None:
    definitions = {asset.key.to_user_string(): asset for asset in defs.assets if isinstance(asset, dg.AssetsDefinition)}
    holders = {name for name, asset in definitions.items() if "gold" in asset.required_resource_keys}
    commerce = {"positives", "pools", "funnel", "release", "popularity"}
    onchain = {"holdings", "belief_instances", "trade_instances", "support", "histories", "onchain_release"}
    applogs = {"app_drop", "state_keys", "tasks", "applog_funnel", "applog_release"}
    scoring = {
        *("oracle_answers", "applog_units", "applog_verdicts", "applog_failures"),
        *("applog_leaderboard", "applog_calibration", "applog_report"),
        "units",
        "leaderboard",
        "verdict_summary",
        "report",
        "prediction_units",
        "onchain_leaderboard",
        "onchain_report",
    }
    assert holders == {*commerce, *onchain, *applogs, *scoring}


def test_a_code_version_holds_everything_that_is_imported() -> None:
    read = sources("pipelines.commerce.events")
    assert {"pipelines.commerce.instants", "pipelines.commerce.drop_files", "pipelines.hashing"} <= set(read)
    assert "pipelines.commerce.pools" not in read
    closure = sources("pipelines.commerce.pools")
    for file in closure.values():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pipelines.commerce."):
                assert node.module in {*closure, "pipelines.commerce.settings"}, f"{file}: {node.module}"


def test_imports_are_those_of_the_syntax_tree() -> None:
    found = 0
    for file in sorted((Path(__file__).parents[2] / "pipelines").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(file.read_text())))
        plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        of = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
        names = (
            plain
            | {node.module for node in of}
            | {f"{node.module}.{alias.name}" for node in of for alias in node.names}
        )
        own = {name for name in names if name.startswith("pipelines.")} - VERSIONED_APART
        assert set(_imports(file)) == own, file
        found += len(own)
    assert found > 1_000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from pipelines.hashing import (\n    digest,\n    key64,  # first :)\n)\n", "pipelines.hashing"),
        ("from pipelines.hashing import digest  # noqa (here)\n", "pipelines.hashing"),
        ("from pipelines.hashing import \\\n    digest\n", "pipelines.hashing"),
        ("import os; from pipelines.hashing import digest\n", "pipelines.hashing"),
        ("import os, pipelines.hashing\n", "pipelines.hashing"),
        ("from\tpipelines.hashing import digest\n", "pipelines.hashing"),
        ("\ufefffrom pipelines.hashing import digest\n", "pipelines.hashing"),
        ("if True: from pipelines.hashing import digest\n", "pipelines.hashing"),
        ("def f():\n    import pipelines.hashing\n", "pipelines.hashing"),
        ('def f():\n    """What is read comes\n    from pipelines.onchain logs, in order.\n    """\n', None),
        ('TEXT = """\nimport pipelines of all kinds\n"""\n', None),
        ("import os\n", None),
    ],
)
def test_imports_are_found_in_whatever_form(text: str, found: str | None, tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(text, encoding="utf-8")
    assert {name for name in _imports(file) if name.count(".") == 1} == ({found} if found else set())


def test_a_code_version_changes_with_the_text_of_an_imported_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {name: code_version(f"pipelines.commerce.{name}") for name in ("batches", "cohort")}
    changed = tmp_path / "codes.py"
    real, found = sources("pipelines.commerce.batches")["pipelines.commerce.codes"], code._file
    changed.write_text(real.read_text() + "\n# another rule\n")
    monkeypatch.setattr(code, "_file", lambda name: changed if name == "pipelines.commerce.codes" else found(name))
    code_version.cache_clear()
    try:
        assert code_version("pipelines.commerce.batches") != before["batches"]
        assert code_version("pipelines.commerce.cohort") == before["cohort"]
    finally:
        code_version.cache_clear()


def test_an_unknown_module_has_no_code_version() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"pipelines\.nothing"):
        code_version("pipelines.nothing")


def test_every_table_asset_states_the_version_of_its_code() -> None:
    """So that the UI shows what a changed rule made stale. Pages and releases are no tables."""
    unstated = {name for name, node in NODES.items() if node.code_version is None}
    pages = {"report", "onchain_report", "applog_report"}
    assert unstated == {*pages, "release", "onchain_release", "applog_release", "fetched"}
    assert NODES["batches"].code_version == code_version("pipelines.commerce.batches")
