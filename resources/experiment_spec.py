"""An experiment bound to a release: its arms, its users, and where its results lie."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.evaluation.experiment import Arm, Experiment, arms
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


def bind(experiment: Experiment, release: str, release_key: str, users: Sequence[str]) -> BoundExperiment:
    """Expand an experiment on a frozen release (by name) and the users it samples."""
    cells = [ArmSpec(arm, release_key, tuple(users), experiment.seed) for arm in arms(experiment, release)]
    return BoundExperiment(experiment, release, release_key, tuple(cells))


def save_experiment(store: Store, bound: BoundExperiment) -> None:
    """Write an experiment and its arms under their keys; idempotent."""
    for spec in bound.arms:
        store.write_json(f"specs/arm/{spec.key}.json", asdict(spec))
    document = {
        "experiment": bound.experiment.model_dump(mode="json"),
        "release": bound.release,
        "release_key": bound.release_key,
        "users": list(bound.arms[0].users),
    }
    store.write_json(f"specs/experiment/{bound.key}.json", document)


def load_arm(store: Store, key: str) -> ArmSpec:
    """The arm of a partition key; raises `NotPublished` when there is none."""
    raw: dict[str, Any] = store.read_json(f"specs/arm/{key}.json")
    return ArmSpec(Arm(**raw["arm"]), raw["release_key"], tuple(raw["users"]), raw["seed"])


def load_experiment(store: Store, key: str) -> BoundExperiment:
    """The experiment of a partition key; raises `NotPublished` when there is none."""
    raw = store.read_json(f"specs/experiment/{key}.json")
    return bind(Experiment(**raw["experiment"]), raw["release"], raw["release_key"], raw["users"])
