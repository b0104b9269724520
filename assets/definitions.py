"""Composition of the DAG; `workspace.yaml` points here."""

import dagster as dg

from assets import (
    accounting,
    applog_boards,
    applog_judging,
    applogs,
    applogs_evaluation,
    applogs_freezing,
    automation,
    boards,
    commerce,
    evaluation,
    fetching,
    freezing,
    judging,
    onchain,
    onchain_boards,
    onchain_evaluation,
    onchain_freezing,
)
from resources.dag import GoldStore, InputStore, Models

MODULES = (
    *(commerce, freezing, fetching, onchain, onchain_freezing, evaluation, onchain_evaluation),
    *(applogs, applogs_freezing, applogs_evaluation, applog_judging, judging, accounting),
    *(boards, onchain_boards, applog_boards),
)

defs = dg.Definitions(
    assets=dg.load_assets_from_modules(MODULES),
    jobs=automation.JOBS,
    sensors=[automation.drops, automation.releases, automation.chain_head],
    schedules=[automation.nightly],
    resources={"store": InputStore(), "gold": GoldStore(), "models": Models()},
    # Importing costs seconds and a step tenths of one, so steps share the process of their run.
    executor=dg.in_process_executor,
)
