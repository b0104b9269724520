"""Labels of people: kept whole, replaced by content only, not lost by two imports at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from pipelines.evaluation.judging.labelling import LABELS
from resources.labels import keep_labels, read_labels
from resources.store import Store, StoreError


def labels(**said: bool) -> pl.DataFrame:
    return pl.DataFrame(list(said.items()), schema=dict(LABELS), orient="row")


@pytest.fixture
def gold(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "gold"))


def test_a_second_import_replaces_the_same_answers_only(gold: Store) -> None:
    assert read_labels(gold, "grounded").equals(labels())
    assert keep_labels(gold, "grounded", labels(b=True, a=False)) == (2, 0)
    assert keep_labels(gold, "grounded", labels(b=False, c=True)) == (1, 1)
    assert read_labels(gold, "grounded").equals(labels(a=False, b=False, c=True))
    assert read_labels(gold, "other").is_empty(), "a label answers the question of its own rubric"


def test_imports_at_once_lose_nothing(gold: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: keep_labels(gold, "grounded", labels(**{f"x{n:02}": n % 2 == 0})), range(24)))
    assert read_labels(gold, "grounded").rows() == [(f"x{n:02}", n % 2 == 0) for n in range(24)]


@pytest.mark.parametrize("text", ["", '{"a": tr', "[]", '{"a": "yes"}', '{"a": null}', "\x00"])
def test_a_damaged_document_is_named_and_not_written_over(gold: Store, text: str) -> None:
    keep_labels(gold, "grounded", labels(a=True))
    file = Path(gold.root) / "labels" / "grounded.json"
    file.write_text(text)
    with pytest.raises(StoreError, match=r"labels/grounded\.json .* is damaged: put a copy of it back"):
        read_labels(gold, "grounded")
    with pytest.raises(StoreError):
        keep_labels(gold, "grounded", labels(b=True))
    assert file.read_text() == text
