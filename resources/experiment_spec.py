"""An experiment bound to a release: its arms, its users, and where its results lie."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipelines.evaluation.experiment import BUILDER, BadExperiment, Experiment, Limits, own_settings
from pipelines.evaluation.experiment_arms import Arm, arms
from pipelines.evaluation.experiment_slice import Slice
from pipelines.hashing import digest_json
from pipelines.models import ROLES, Role
from resources.embedder import StaticEmbedder
from resources.plugin_process import open_method
from resources.store import Store

ModelFingerprint = Callable[[Role, str], str]
"""Fingerprint of a role's model by name; the empty name is the configured one."""


@dataclass(frozen=True)
class ArmSpec:
    """One cell of an experiment on a release, and the part of the release it is asked about."""

    arm: Arm
    release_key: str
    slice: Slice
    seed: int
    models: Mapping[Role, str]
    """Role → model name, instead of the configured one."""
    limits: Limits
    judges: Mapping[str, str] = field(default_factory=dict)
    """Judge, as the experiment names it → its fingerprint."""
    judged: tuple[tuple[str, Any], ...] = ()
    """(user, transition) of the readouts that are judged; on app logs (user, item) of the answers."""
    batch_days: int = 1
    """Days of the log's clock in one batch; of app logs alone."""

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
    slice: Slice
    arms: tuple[ArmSpec, ...]

    @property
    def key(self) -> str:
        """Partition key of the `experiment` axis."""
        return experiment_key(self.experiment.name, self.release)


def experiment_key(experiment: str, release: str) -> str:
    """Partition key of an experiment on a release, both by name."""
    return f"{experiment}~{release}"


def bind(
    experiment: Experiment,
    release: str,
    release_key: str,
    asked: Slice,
    readers: Mapping[str, str],
    models: ModelFingerprint,
    hidden: Sequence[Path] = (),
    judges: Mapping[str, str] | None = None,
    judged: tuple[tuple[str, int], ...] = (),
) -> BoundExperiment:
    """Expand an experiment on a frozen release (by name) and the part of it that is `asked` about.

    `readers` are the fingerprints of the readers by name, `judges` those of the judges, who judge the readouts at the
    (user, transition) of `judged`; `models` tells those of models by role and name; those of the methods are asked of
    the methods themselves, plug-ins in a child that sees none of the folders `hidden`. Raises `PluginError` for a
    method that cannot be opened, and `BadExperiment` for a configuration that it does not take.
    """
    methods = memory_fingerprints(list(experiment.configured()), experiment.models, models, hidden)
    cells = arms(experiment, release, methods, readers)
    more = (experiment.seed, experiment.models, experiment.limits, judges or {}, judged)
    specs = tuple(ArmSpec(arm, release_key, asked, *more) for arm in cells)
    return BoundExperiment(experiment, release, release_key, asked, specs)


def memory_fingerprints(
    configured: Sequence[tuple[str, str, Mapping[str, Any]]],
    named: Mapping[Role, str],
    models: ModelFingerprint,
    hidden: Sequence[Path] = (),
) -> dict[str, str]:
    """Label → fingerprint of each memory (label, method, configuration), its models included; raises as `bind`."""
    return {label: _fingerprint(name, config, named, models, hidden) for label, name, config in configured}


def _fingerprint(
    method: str, config: Mapping[str, Any], named: Mapping[Role, str], models: ModelFingerprint, hidden: Sequence[Path]
) -> str:
    with open_method(method, hidden) as spec:
        try:
            stated = spec.fingerprint(spec.config_model.model_validate(own_settings(config), strict=True))
            asks = sorted(role for role in ROLES if role in spec.needs)
            if not asks and BUILDER in config:
                why = f"method {method} asks no model: take `{BUILDER}` out of its configuration"
                raise BadExperiment(why, ("methods", method))
            names = {role: str(config.get(BUILDER, "")) or named.get(role, "") for role in asks}
            helpers = [models(role, name) for role, name in names.items()]
            helpers += [StaticEmbedder().fingerprint] if "embedder" in spec.needs else []
            return digest_json([stated, *helpers]) if helpers else stated
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
            where = ("methods", method)
            raise BadExperiment(f"method {method} does not take its configuration: {wrong}", where) from error


def save_experiment(store: Store, bound: BoundExperiment) -> None:
    """Write an experiment and its arms under their keys; idempotent."""
    for spec in bound.arms:
        document = {**asdict(spec), "models": dict(spec.models), "limits": spec.limits.model_dump()}
        store.write_json(f"specs/arm/{spec.key}.json", document)
    document = {
        "experiment": bound.experiment.model_dump(mode="json"),
        "release": bound.release,
        "release_key": bound.release_key,
        "slice": asdict(bound.slice),
        "arms": [spec.key for spec in bound.arms],
    }
    store.write_json(f"specs/experiment/{bound.key}.json", document)


def load_arm(store: Store, key: str) -> ArmSpec:
    """The arm of a partition key; raises `NotPublished` when there is none."""
    raw: dict[str, Any] = store.read_json(f"specs/arm/{key}.json")
    own = Slice(**{**raw["slice"], "users": tuple(raw["slice"]["users"])})
    limits = Limits(**raw["limits"])
    judged = tuple((user, transition) for user, transition in raw.get("judged", ()))
    more = (raw.get("judges", {}), judged, raw.get("batch_days", 1))
    return ArmSpec(Arm(**raw["arm"]), raw["release_key"], own, raw["seed"], raw["models"], limits, *more)


def load_experiment(store: Store, key: str) -> BoundExperiment:
    """The experiment of a partition key; raises `NotPublished` when there is none."""
    raw = store.read_json(f"specs/experiment/{key}.json")
    specs = tuple(load_arm(store, arm) for arm in raw["arms"])
    return BoundExperiment(Experiment(**raw["experiment"]), raw["release"], raw["release_key"], specs[0].slice, specs)
