"""Which readouts are judged: the same ones of every memory of an experiment (ours)."""

import polars as pl

from pipelines.evaluation.experiment import Experiment
from pipelines.evaluation.experiment_slice import Slice
from pipelines.hashing import key64_column


def drawn_readouts(pools: pl.LazyFrame, asked: Slice, experiment: Experiment) -> tuple[tuple[str, int], ...]:
    """The (user, transition) judged, sorted: a keyed sample of `experiment.judged` of those that have a pool `asked`.

    Nothing that a memory says decides it. A larger sample contains every smaller one of the same seed; an experiment
    without judges draws none.
    """
    if not experiment.judges:
        return ()
    found = asked.of(pools).select("user_id", "transition_index").unique().collect()
    name = pl.format("{}:{}", "user_id", "transition_index").alias("name")
    named = found.select("user_id", "transition_index", name)
    key = key64_column(named["name"], f"judged:{experiment.seed}")
    drawn = named.with_columns(key.alias("key")).sort("key", "name").head(experiment.judged)
    return tuple(drawn.sort("user_id", "transition_index").select("user_id", "transition_index").rows())
