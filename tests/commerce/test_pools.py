"""Pools, positives, familiarity and domains agree with a slow oracle, and keep their rules on the borders."""

import importlib.util
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.commerce.domains import domains
from pipelines.commerce.pools import pools
from pipelines.commerce.positives import positives
from pipelines.schema import TABLES


def load(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


oracle = load("pool_oracle")
worlds = load("pool_worlds")


def build(w):
    tables = domains(w.visits.lazy(), w.batches.lazy(), w.settings)
    past = (w.visits.lazy(), w.batches.lazy(), w.transitions.lazy(), tables.lazy())
    labelled = positives(w.signals, *past, w.settings)
    return tables, labelled, pools(labelled, *past, w.taxonomy, w.settings)


def rows(frame):
    return frame.to_dicts()


def same(frame, expected, table):
    """The frame is the table, in its total order, with exactly the expected rows."""
    spec = TABLES[table]
    assert frame.schema == spec.schema
    assert rows(frame) == rows(frame.sort(spec.sort_by, nulls_last=False))
    built = pl.DataFrame(expected, schema=spec.schema).sort(spec.sort_by, nulls_last=False)
    assert rows(frame) == rows(built)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(worlds.worlds())
def test_everything_agrees_with_the_oracle(w):
    if w.taxonomy.is_empty():
        return
    tables, labelled, built = build(w)
    visits, batches, transitions = rows(w.visits), rows(w.batches), rows(w.transitions)
    expected_domains = oracle.domains(visits, batches, w.settings)
    same(tables, expected_domains, "domains")
    expected = oracle.positives(rows(w.signals), visits, batches, transitions, expected_domains, w.settings)
    same(labelled, expected, "positives")
    taxonomy = [(r["l1"], r["l2"]) for r in rows(w.taxonomy)]
    shown, counts = oracle.pools(expected, visits, batches, transitions, expected_domains, taxonomy, w.settings)
    for name, table, want in (
        ("pools", built.pools, shown),
        ("pool_gold", built.pool_gold, shown),
        ("pool_counts", built.pool_counts, counts),
    ):
        columns = TABLES[name].schema.names()
        same(table, [{c: r[c] for c in columns} for r in want], name)
