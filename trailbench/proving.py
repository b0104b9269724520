"""`trailbench verify` and `audit`: recompute a release, and prove that no future and no gold leaks out of it."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from assets.applogs_freezing import APPLOGS
from assets.freezing import COMMERCE
from assets.manifests import Frozen, manifest_of
from assets.onchain_freezing import ONCHAIN
from assets.publishing import logical_hashes
from assets.steps import Given
from pipelines.applogs.method_audit import future_sensitivity as contexts_with_another_future
from pipelines.evaluation.experiment import Experiment
from pipelines.evaluation.experiment_slice import sample_users
from pipelines.memory.audit import future_sensitivity
from pipelines.memory.contract import MethodSpec, StateChanged
from pipelines.memory.registry import builtin_methods
from pipelines.release import differences
from pipelines.schema import TABLES
from resources.dag import InputStore
from resources.decoy import Decoy
from resources.home import Home
from resources.memories import KeptMemories
from resources.plugin_process import PluginError, open_method, plugin_entries
from resources.release_files import frozen_manifest
from resources.store import NotPublished
from resources.tokenizer import load_tokens
from resources.wall import WallBreached, guarded
from trailbench.console import Steps
from trailbench.exporting import release_key

FROZEN: dict[str, Frozen] = {"commerce": COMMERCE, "onchain": ONCHAIN, "applogs": APPLOGS}
"""What each track freezes."""
AUDIT_BUDGET = 600
METHOD_USERS = 5
"""Users whose future is replaced for every method."""
LIVES, QUESTIONS = 2, 3
"""Of app logs fewer users, who have many more logs, and so many questions at each of their checkpoints."""
Check = dict[str, Any]
Sensitivity = Callable[[MethodSpec], pl.DataFrame]
"""A method → rows that name what moved with the future; none if nothing did."""


def given_release(home: Home, release: str) -> Given:
    """The tables of a release, both walls."""
    store = InputStore()
    return Given(store, {"store": home.store, "gold": home.gold}, {"release": release_key(home, release)})


def verify_release(home: Home, release: str, step: Steps) -> list[str]:
    """What differs between a frozen release and its recomputation, in words; empty when nothing does.

    Every file is hashed again, every table's rows are hashed again, and all rows are
    derived again from the events of the drops.
    """
    given = given_release(home, release)
    if problems := changed_files(home, given, step):
        return problems
    step("derive every row again")
    return FROZEN[given.spec.track].rederived(given)["detail"].to_list()


def changed_files(home: Home, given: Given, step: Steps) -> list[str]:
    """What of a frozen release is no longer as it was frozen: its files, their rows, its manifest."""
    name = home.store.document(f"specs/frozen/{given.axes['release']}.json")["release"]
    frozen = frozen_manifest(home.store.store, name)
    if frozen is None:
        return [f"release {name} has no manifest"]
    problems: list[str] = []
    for table in FROZEN[given.spec.track].tables:
        step(f"hash {table}")
        try:
            found = given.published(table)
        except NotPublished as error:
            problems.append(str(error))
            continue
        catalog = given.catalogs[TABLES[table].wall]
        for one in found:
            broken = catalog.store.verify(table, one.keys)
            problems += broken
            if not broken:
                again = logical_hashes(catalog.scan_published([one]), table)
                problems += [] if all(one.extra[kind] == again[kind] for kind in again) else [f"{one.path}: other rows"]
    return problems or differences(frozen, manifest_of(given, FROZEN[given.spec.track]))


def audit_release(home: Home, release: str, audited: int, step: Steps) -> list[Check]:
    """Every leak check of a release: name, passed, what was found.

    Over the data: the proofs of `assets.proofs` on all users. Over every method that is
    installed: its readouts must not move with the future, and it must not open a file
    behind the wall (decoys of store and gold lie there for it to find).
    """
    given = given_release(home, release)
    changed = changed_files(home, given, step)
    checks = [
        _check("frozen", "the release is what was frozen, file by file and row by row", changed[:5], len(changed))
    ]
    if changed:
        return checks
    track = FROZEN[given.spec.track]
    step("prove the whole release, derive every row again")
    for name, violations in track.proofs(given, True, audited):
        found = [f"{row['rule']}: {row['detail']}" for row in violations.head(5).to_dicts()]
        checks.append(_check(name, track.proves[name], found, violations.height))
    sensitivity = SENSITIVITIES.get(given.spec.track, lambda _: None)(given)
    if sensitivity is None:
        return checks
    for name in (*builtin_methods(), *sorted({entry.name for entry in plugin_entries()})):
        step(f"method {name}")
        checks += _audit_method(home, name, sensitivity)
    return checks


def _of_readouts(given: Given) -> Sensitivity | None:
    """How to find what of a method's readouts moves with the future of sampled users; None without any transition."""
    steps = given["transitions"]
    users = sample_users(steps["user_id"], Experiment(name="audit", methods={"empty": [{}]}, users=METHOD_USERS))
    mine = pl.col("user_id").is_in(users)
    tables = {name: given.lazy(name).filter(mine).collect() for name in ("visits", "batches", "transitions")}
    if tables["transitions"].is_empty():
        return None
    whole = (tables["visits"], tables["batches"], tables["transitions"], given["taxonomy"])
    return lambda spec: future_sensitivity(spec, spec.config_model(), *whole, AUDIT_BUDGET, load_tokens())


def _of_contexts(given: Given) -> Sensitivity | None:
    """The same of what a method delivers at checkpoints: of few users, up to the checkpoint after the middle one."""
    users = sample_users(
        given["checkpoints"]["user_id"], Experiment(name="audit", methods={"empty": [{}]}, users=LIVES)
    )
    mine = pl.col("user_id").is_in(users)
    places = given.lazy("checkpoints").filter(mine & (pl.col("checkpoint_index") <= 2)).collect()
    asked = given.lazy("tasks").filter(mine).collect().join(places, on=["user_id", "checkpoint_id"], how="semi")
    if asked.is_empty():
        return None
    few = asked.sort("user_id", "item").group_by("user_id", "checkpoint_id", maintain_order=True).head(QUESTIONS)
    ends = places.group_by("user_id").agg(pl.col("n_visible").max().alias("end"))
    logs = (
        given.lazy("app_logs")
        .filter(mine)
        .collect()
        .join(ends, on="user_id")
        .filter(pl.col("position") < pl.col("end"))
    )

    def moved(spec: MethodSpec) -> pl.DataFrame:
        with TemporaryDirectory(prefix="audit-") as folder:
            kept = KeptMemories(Path(folder) / "real"), KeptMemories(Path(folder) / "other")
            tables = (logs.drop("end"), places, few.select(TABLES["tasks"].schema.names()))
            return contexts_with_another_future(
                spec, spec.config_model(), *tables, AUDIT_BUDGET, load_tokens(), kept=kept
            )

    return moved


SENSITIVITIES = {"commerce": _of_readouts, "applogs": _of_contexts}
"""Track → how to find what of a method moves with the future."""


def _audit_method(home: Home, name: str, sensitivity: Sensitivity) -> list[Check]:
    what = f"method {name} reads nothing behind the wall"
    sensitive = f"what {name} delivers does not move with the future"
    behind = InputStore().hidden
    with Decoy.of(home.folder) as decoy:
        # Our own methods run in this process, where a tripwire stands; those of others in a child, before the decoy.
        tripwire = guarded(behind) if name in builtin_methods() else nullcontext()
        try:
            with tripwire, open_method(name, hidden=behind, decoy=decoy.folder) as spec:
                moved = sensitivity(spec)
        except (WallBreached, PluginError, StateChanged) as error:
            return [_check(f"wall:{name}", what, [str(error), *decoy.opened()], 1)]
        opened = decoy.opened()
    rows = [", ".join(f"{column} {value}" for column, value in row.items()) for row in moved.head(5).to_dicts()]
    return [_check(f"wall:{name}", what, opened, len(opened)), _check(f"future:{name}", sensitive, rows, moved.height)]


def _check(name: str, meaning: str, found: Sequence[str], count: int) -> Check:
    return {"check": name, "passed": count == 0, "violations": count, "meaning": meaning, "found": list(found)}
