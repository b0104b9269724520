"""Labels that people gave to answers, in the gold store: one document a rubric, by what the answer was (ours)."""

import polars as pl

from pipelines.evaluation.judging.labelling import LABELS
from resources.store import NotPublished, Store, StoreError


def read_labels(gold: Store, rubric: str) -> pl.DataFrame:
    """All labels of a rubric: columns `labelling.LABELS`, sorted by content; none where nothing was labelled.

    Raises `StoreError` for a document that holds no labels.
    """
    try:
        found = gold.read_json(_path(rubric))
    except NotPublished:
        found = {}
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(label, bool) for label in found.values()):
        raise StoreError(
            f"{_path(rubric)} in {gold.root} is damaged: put a copy of it back, or move it away and read the filled-in "
            "sheets again"
        )
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
