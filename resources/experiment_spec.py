"""An experiment bound to a release: its arms, its users, and where its results lie."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipelines.evaluation.experiment import Arm, BadExperiment, Experiment, arms
from resources.plugin_process import open_method
from resources.store import Store


@dataclass(frozen=True)
class ArmSpec:
    """One cell of an experiment on a release. `users` are the sampled ones, in text order."""

    arm: Arm
    release_key: str
    users: tuple[str, ...]
    seed: int

    @property
    def key(self) -> str:
        """Partition key of the `arm` axis."""
        return f"{self.arm.key}~{self.arm.release}"


@dataclass(frozen=True)
class BoundExperiment:
    """An experiment with the release it runs on."""

    experiment: Experiment
    release: str
    release_key: str
    arms: tuple[ArmSpec, ...]

    @property
    def key(self) -> str:
        """Partition key of the `experiment` axis."""
        return f"{self.experiment.name}~{self.release}"


def bind(
    experiment: Experiment,
    release: str,
    release_key: str,
    users: Sequence[str],
    readers: Mapping[str, str],
    hidden: Sequence[Path] = (),
) -> BoundExperiment:
    """Expand an experiment on a frozen release (by name) and the users it samples.

    `readers` are the fingerprints of the readers by name; those of the methods are
    asked of the methods themselves, plug-ins in a child that sees none of the folders
    `hidden`. Raises `PluginError` for a method that cannot be opened, and
    `BadExperiment` for a configuration that it does not take.
    """
    methods = {label: _fingerprint(name, config, hidden) for label, name, config in experiment.configured()}
    cells = arms(experiment, release, methods, readers)
    specs = tuple(ArmSpec(arm, release_key, tuple(users), experiment.seed) for arm in cells)
    return BoundExperiment(experiment, release, release_key, specs)


def _fingerprint(method: str, config: Mapping[str, Any], hidden: Sequence[Path]) -> str:
    with open_method(method, hidden) as spec:
        try:
            return spec.fingerprint(spec.config_model(**config))
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
            raise BadExperiment(f"method {method} does not take its configuration: {wrong}") from error


def save_experiment(store: Store, bound: BoundExperiment) -> None:
    """Write an experiment and its arms under their keys; idempotent."""
    for spec in bound.arms:
        store.write_json(f"specs/arm/{spec.key}.json", asdict(spec))
    document = {
        "experiment": bound.experiment.model_dump(mode="json"),
        "release": bound.release,
        "release_key": bound.release_key,
        "users": list(bound.arms[0].users),
        "arms": [spec.key for spec in bound.arms],
    }
    store.write_json(f"specs/experiment/{bound.key}.json", document)


def load_arm(store: Store, key: str) -> ArmSpec:
    """The arm of a partition key; raises `NotPublished` when there is none."""
    raw: dict[str, Any] = store.read_json(f"specs/arm/{key}.json")
    return ArmSpec(Arm(**raw["arm"]), raw["release_key"], tuple(raw["users"]), raw["seed"])


def load_experiment(store: Store, key: str) -> BoundExperiment:
    """The experiment of a partition key; raises `NotPublished` when there is none."""
    raw = store.read_json(f"specs/experiment/{key}.json")
    specs = tuple(load_arm(store, arm) for arm in raw["arms"])
    return BoundExperiment(Experiment(**raw["experiment"]), raw["release"], raw["release_key"], specs)
