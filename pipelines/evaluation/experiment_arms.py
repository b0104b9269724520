"""Arms: the cells of an experiment, method (with its configuration) × reader × budget.

Arms that share a memory, or a readout, carry the same fingerprint for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.evaluation.experiment import BUILDER, Experiment, Value, own_settings, plain_name
from pipelines.hashing import digest_json


@dataclass(frozen=True)
class Arm:
    """One cell of an experiment; fingerprints are hex text.

    `key` is the Dagster partition key and `label` the method's name in tables
    (with its configuration unless default).
    """

    key: str
    experiment: str
    release: str
    label: str
    method: str
    config: dict[str, Value]
    reader: str
    budget: int
    memory: str
    """Fingerprint of the memory: release, method with its version and configuration, batches, seed."""
    readout: str
    """Fingerprint of the readouts: memory and budget."""
    fingerprint: str
    """Fingerprint of the readings: readouts and reader."""
    builder: str = ""
    """Name of the model that builds the memory; empty for the configured one."""


def arms(experiment: Experiment, release: str, methods: Mapping[str, str], readers: Mapping[str, str]) -> list[Arm]:
    """Every arm of an experiment on a release (its content hash), in the order of the file.

    `methods` are the fingerprints of the methods by label (`MethodSpec.fingerprint` of
    each configuration, and of its model where it has one), `readers` those of the readers by name.
    """
    out = []
    # Not the sample of users: a memory of one user is the same in a larger sample.
    sampled = {"batches": experiment.batches, "seed": experiment.seed}
    for label, method, config in experiment.configured():
        memory = digest_json({"release": release, "method": methods[label], **sampled})
        for budget in experiment.budgets:
            readout = digest_json({"memory": memory, "budget": budget})
            for reader in experiment.readers:
                out.append(
                    Arm(
                        key="~".join([experiment.name, label, plain_name(reader, 60), str(budget)]),
                        experiment=experiment.name,
                        release=release,
                        label=label,
                        method=method,
                        config=own_settings(config),
                        builder=str(config.get(BUILDER, "")),
                        reader=reader,
                        budget=budget,
                        memory=memory,
                        readout=readout,
                        fingerprint=digest_json(
                            {"readout": readout, "reader": readers[reader], "readings": experiment.readings}
                        ),
                    )
                )
    return out
