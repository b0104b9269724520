"""Experiments on a release of app logs: which memories, readers and budgets are compared, on which questions (ours).

`methods` of the experiment file are memory methods, plug-ins too; `rag_top20` and
`oracle` of the publication; and baselines, which answer by `rule` and stand in every
experiment, listed or not. Budgets hold for memories; the others have none (0).

What limits an experiment: `users`, a keyed sample of those who are asked anything;
`batches`, the first checkpoints of a user (a memory is built no further); `readings`, a
keyed sample of the questions, the same for every arm.
"""

from collections.abc import Iterable, Mapping

import polars as pl

from pipelines.applogs.contenders import (
    BASELINES,
    EXTRACTIVE,
    LLM,
    PEERS,
    READERS,
    RULE,
    invalid_pair,
    remembers,
)
from pipelines.applogs.question_forms import NO_KEY
from pipelines.applogs.settings import ALL_TASKS
from pipelines.evaluation.experiment import BadExperiment, Experiment, Value, own_settings, plain_name, require_known
from pipelines.evaluation.experiment_arms import Arm
from pipelines.evaluation.experiment_slice import Slice, sample_users
from pipelines.hashing import digest_json, key64_column

BUDGET = 8_000
"""Tokens of a context by default: about the 20 raw logs that the publication gives its retrieval."""
DEFAULT = Experiment(
    name="applogs",
    methods={
        **{
            name: [{}]
            for name in (
                *("empty", "recent_k", "shuffled_user", "long_context"),
                "frequency_profile",
                "template_profile",
                "rag_bm25",
                "rag_dense",
                *PEERS,
                *BASELINES,
            )
        },
        # Its facts alone, the published ablation: its claims need a model.
        "behaviormem": [{"implicit": False, "label": "facts"}],
    },
    readers=[EXTRACTIVE],
    budgets=[BUDGET],
)
"""What is run where no experiment is named: everything that needs no model."""
ASKED = Experiment(
    name="applogs_llm",
    methods={name: [{}] for name in ("empty", "frequency_profile", "rag_bm25")},
    readers=[LLM],
    budgets=[600],
    users=1,
    batches=2,
    tasks=[task for task in ALL_TASKS if task != NO_KEY],
    readings=4,
)
"""A small sample of questions, which an embedded model can answer in minutes."""
HERE = " on a release of app logs"


def arms(experiment: Experiment, release: str, methods: Mapping[str, str], readers: Mapping[str, str]) -> list[Arm]:
    """Every arm of an experiment on a release (its content hash): baselines first, then as the file has them.

    `methods` are the fingerprints of the memories by label, with those of their models; `readers` those of the readers
    by name, prompts and models included.
    """
    cells: list[tuple[str, str, dict[str, Value], str]] = [(name, name, {}, RULE) for name in BASELINES]
    for label, method, config in experiment.configured():
        cells += [(label, method, config, name) for name in experiment_readers(experiment)]
    kept = {(label, reader): (label, method, config, reader) for label, method, config, reader in cells}
    out = []
    for label, method, config, reader in kept.values():
        if not invalid_pair(method, reader):
            budgets = experiment.budgets if remembers(method) else [0]
            told = methods.get(label, method)
            out += [_arm(experiment, release, label, method, config, reader, n, told, readers) for n in budgets]
    return out


def _arm(
    experiment: Experiment,
    release: str,
    label: str,
    method: str,
    config: dict[str, Value],
    reader: str,
    budget: int,
    told: str,
    readers: Mapping[str, str],
) -> Arm:
    # Not the sample of users: a memory of one user is the same in a larger sample.
    fed = {"checkpoints": experiment.batches, "batch_days": experiment.batch_days, "seed": experiment.seed}
    memory = digest_json({"release": release, "method": told, **fed})
    asked = [experiment.batches, experiment.tasks, experiment.readings, experiment.seed]
    context = digest_json({"memory": memory, "budget": budget, "asked": asked})
    key = "~".join([experiment.name, label, plain_name(reader, 60), *([str(budget)] if budget else [])])
    return Arm(
        key=key,
        experiment=experiment.name,
        release=release,
        label=label,
        method=method,
        config=own_settings(config),
        builder=str(config.get("builder", "")),
        reader=reader,
        budget=budget,
        memory=memory,
        readout=context,
        fingerprint=digest_json({"context": context, "reader": readers.get(reader, reader)}),
    )


def experiment_readers(experiment: Experiment) -> list[str]:
    """The readers of an experiment on app logs; `extractive` where the file has no list."""
    return experiment.readers if "readers" in experiment.model_fields_set else [EXTRACTIVE]


def memories(experiment: Experiment) -> list[tuple[str, str, dict[str, Value]]]:
    """Label, method and configuration of the memories of an experiment."""
    return [(label, method, config) for label, method, config in experiment.configured() if remembers(method)]


def slice_of(tasks: pl.LazyFrame, checkpoints: pl.LazyFrame, experiment: Experiment) -> Slice:
    """The questions that an experiment asks, drawn from the tables `tasks` and `checkpoints`.

    A larger sample of users or questions contains every smaller one of the same seed. The rows of `Slice.pools` are
    (user, checkpoint from 0, item).
    """
    batches = None if experiment.batches == "all" else experiment.batches
    placed = tasks.select("user_id", "checkpoint_id", "item", "task").join(
        checkpoints.select("user_id", "checkpoint_id", "checkpoint_index"), on=["user_id", "checkpoint_id"]
    )
    if batches is not None:
        placed = placed.filter(pl.col("checkpoint_index") < batches)
    if experiment.tasks != "all":
        placed = placed.filter(pl.col("task").cast(pl.String).is_in(experiment.tasks))
    found = placed.collect()
    users = tuple(sample_users(found["user_id"], experiment).to_list())
    if experiment.readings == "all" and experiment.tasks == "all":
        return Slice(users, batches)
    mine = found.filter(pl.col("user_id").is_in(list(users))).with_columns(
        name=pl.concat_str("user_id", "item", separator=":")
    )
    key = key64_column(mine["name"], f"readings:{experiment.seed}")
    drawn = mine.with_columns(key.alias("key")).sort("key", "name")
    drawn = drawn if experiment.readings == "all" else drawn.head(experiment.readings)
    rows = drawn.sort("user_id", "checkpoint_index", "item").select("user_id", "checkpoint_index", "item").rows()
    return Slice(tuple(drawn["user_id"].unique().sort()), batches, tuple(rows))


def asked(tasks: pl.DataFrame, checkpoints: pl.DataFrame, part: Slice, users: Iterable[str]) -> pl.DataFrame:
    """The rows of `tasks` that a slice asks `users` about, in their order."""
    own = tasks.filter(pl.col("user_id").is_in(list(users)))
    places = until(checkpoints, part).select("user_id", "checkpoint_id")
    kept = own.join(places, on=["user_id", "checkpoint_id"], how="semi", maintain_order="left")
    if part.pools is None:
        return kept
    drawn = pl.DataFrame(
        [(user, item) for user, _, item in part.pools],
        schema={"user_id": pl.String, "item": pl.String},
        orient="row",
    )
    return kept.join(drawn, on=["user_id", "item"], how="semi", maintain_order="left")


def until(checkpoints: pl.DataFrame, part: Slice) -> pl.DataFrame:
    """The checkpoints that a slice goes to."""
    return checkpoints if part.batches is None else checkpoints.filter(pl.col("checkpoint_index") < part.batches)


def refuse(experiment: Experiment, methods: Iterable[str]) -> None:
    """Raises `BadExperiment` for a method, reader or field that a release of app logs does not know.

    `methods` are the memory methods that there are. So are a configuration of what takes none, and a method that no
    reader of the experiment answers.
    """
    readers = experiment_readers(experiment)
    require_known("method", experiment.methods, {*methods, *BASELINES, *PEERS}, HERE)
    require_known("reader", readers, READERS, HERE)
    rubrics = [one.partition(":")[0] for one in experiment.judges]
    for place, judge in enumerate(experiment.judges):
        if rubrics.index(rubrics[place]) < place:
            raise BadExperiment(f"two judges are called {rubrics[place]}: leave one of them", ("judges", judge))
    if experiment.tasks != "all":
        require_known("task", experiment.tasks, ALL_TASKS, HERE)
    if odd := [one for one in readers if ":" in one and one.partition(":")[0] != LLM]:
        why = f"reader {odd[0]} names a model and asks none; write {odd[0].partition(':')[0]}"
        raise BadExperiment(why, ("readers", odd[0]))
    for _, method, config in experiment.configured():
        if not remembers(method) and own_settings(config):
            raise BadExperiment(f"method {method} takes no configuration; write [{{}}]", ("methods", method))
        if method not in BASELINES and all(invalid_pair(method, reader) for reader in readers):
            why = f"no reader answers method {method}: list {EXTRACTIVE} or {LLM} among the readers"
            raise BadExperiment(why, ("methods", method))
