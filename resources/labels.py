"""Labels that people gave to answers, in the gold store: one document a rubric, by what the answer was (ours)."""

import polars as pl

from pipelines.evaluation.judging.labelling import LABELS
from resources.store import NotPublished, Store


def read_labels(gold: Store, rubric: str) -> pl.DataFrame:
    """All labels of a rubric: columns `labelling.LABELS`, sorted by content; none where nothing was labelled."""
    try:
        found: dict[str, bool] = gold.read_json(_path(rubric))
    except NotPublished:
        found = {}
    return pl.DataFrame(sorted(found.items()), schema=dict(LABELS), orient="row")


def keep_labels(gold: Store, rubric: str, labels: pl.DataFrame) -> tuple[int, int]:
    """Add labels at once; those of the same content are replaced, all others stay. How many are new, and were replaced.

    Two imports at once do not lose each other's where the store can lock (a local folder).
    """
    given = dict(labels.select(*LABELS).iter_rows())
    with gold.holding(_path(rubric)):
        before = dict(read_labels(gold, rubric).iter_rows())
        gold.write_json(_path(rubric), before | given)
    return len(given.keys() - before.keys()), len(given.keys() & before.keys())


def _path(rubric: str) -> str:
    return f"labels/{rubric}.json"
