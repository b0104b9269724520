"""The layers: what may import what, what the domain must not touch, and what every public name owes its reader."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS = ("pipelines", "resources", "expectations", "assets", "trailbench")
FILES = {layer: sorted((ROOT / layer).rglob("*.py")) for layer in LAYERS}
NOT_IN_THE_DOMAIN = {
    *("dagster", "requests", "httpx", "urllib", "socket", "fsspec", "s3fs", "boto3", "subprocess"),
    *("random", "time", "secrets", "uuid", "great_expectations", "pandas", "typer", "rich"),
}
REACHES = {"now", "today", "utcnow", "getenv", "environ"}
DOMAIN = [file for file in FILES["pipelines"] if file.name != "contract_worlds.py"]
"""Without the worlds that the contract tests put a method in: they take clock and network away from it."""


def imports(file: Path) -> Iterator[tuple[str, int]]:
    """Every module name a file imports, at whatever depth, with its line."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import hides its layer"
            yield node.module, node.lineno


def where(file: Path, line: int) -> str:
    return f"{file.relative_to(ROOT)}:{line}"


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_down(layer: str) -> None:
    higher = set(LAYERS[LAYERS.index(layer) + 1 :])
    wrong = [
        f"{where(file, line)} imports {name}"
        for file in FILES[layer]
        for name, line in imports(file)
        if name.partition(".")[0] in higher
    ]
    assert wrong == []


def test_the_domain_touches_no_clock_network_process_or_environment() -> None:
    wrong = [
        f"{where(file, line)} imports {name}"
        for file in DOMAIN
        for name, line in imports(file)
        if name.partition(".")[0] in NOT_IN_THE_DOMAIN
    ]
    reached = [
        f"{where(file, node.lineno)} uses {node.attr}"
        for file in DOMAIN
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in REACHES
    ]
    assert wrong + reached == []


def test_great_expectations_is_imported_only_inside_functions_of_the_expectations() -> None:
    for layer in LAYERS:
        for file in FILES[layer]:
            used = [line for name, line in imports(file) if name.partition(".")[0] == "great_expectations"]
            if used:
                assert layer == "expectations", where(file, used[0])
            for node in ast.parse(file.read_text()).body:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module] if isinstance(node, ast.ImportFrom) else []
                at_top = [name for name in names if str(name).startswith("great_expectations")]
                assert at_top == [], f"{where(file, node.lineno)}: seven seconds in every process"


def test_every_file_is_named_after_its_subject() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "base", "tools"}
    named = [file for layer in LAYERS for file in FILES[layer]]
    assert [str(file) for file in named if set(file.relative_to(ROOT).with_suffix("").parts) & vague] == []


@pytest.mark.parametrize("layer", ["pipelines", "resources", "expectations"])
def test_every_public_name_says_what_it_means(layer: str) -> None:
    silent = []
    for file in FILES[layer]:
        tree = ast.parse(file.read_text())
        # A package's marker may be empty; a module says what it is about.
        if tree.body and ast.get_docstring(tree) is None:
            silent.append(where(file, 1))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                silent += [] if ast.get_docstring(node) else [f"{where(file, node.lineno)} {node.name}"]
    assert silent == []


def test_every_table_has_one_owner() -> None:
    from assets.accounting import model_calls
    from assets.applog_boards import BOARD_TABLES
    from assets.applog_judging import applog_failures, applog_verdicts
    from assets.applogs_evaluation import answers, applog_units, contexts, oracle_answers
    from assets.definitions import defs
    from assets.evaluation import readings, readouts, units
    from assets.judging import verdicts
    from assets.onchain_evaluation import prediction_units, predictions
    from assets.steps import OWNERS
    from pipelines.applogs.questions import ASKED
    from pipelines.applogs.step_tables import DROP_TABLES as APP_DROP_TABLES
    from pipelines.onchain.decoding import DROP_TABLES
    from pipelines.schema import TABLES

    of_arms = (
        *(readouts, readings, verdicts, model_calls, units, predictions, prediction_units),
        *(contexts, answers, oracle_answers, applog_units, applog_verdicts, applog_failures),
    )
    by_asset = {asset.key.to_user_string() for asset in of_arms}
    owned = {table: asset.key.to_user_string() for table, asset in OWNERS.items()}
    known = {key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()}
    assert set(owned.values()) | by_asset <= known
    assert set(TABLES) - set(owned) == by_asset | {"builds", "claims", "applog_judged"}, "published with the readouts"
    assert set(owned) <= set(TABLES)
    assert {table: owner for table, owner in owned.items() if table != owner} == {
        "rejects": "events",
        "category_names": "visits",
        "pool_gold": "pools",
        "pool_counts": "pools",
        "differences": "leaderboard",
        "positions": "leaderboard",
        "costs": "leaderboard",
        **dict.fromkeys(DROP_TABLES, "decoded"),
        "tokens": "markets",
        "position_changes": "trades",
        "sequences": "candidates",
        "filter_counts": "candidates",
        "cohort_funnel": "wallets",
        "redemptions": "holdings",
        **dict.fromkeys(("prediction_board", "prediction_differences"), "onchain_leaderboard"),
        **dict.fromkeys(("support_trades", "train_beliefs", "train_trades"), "support"),
        **dict.fromkeys(APP_DROP_TABLES, "app_drop"),
        **dict.fromkeys(ASKED[1:], "tasks"),
        **dict.fromkeys(BOARD_TABLES, "applog_leaderboard"),
    }
