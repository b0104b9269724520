"""Invariants of `domains`, `category_names`, `taxonomy` and `popularity`."""

import polars as pl

from expectations.invariants.rules import Frames, lacking, never, no_rows, not_checked, numbered, ordered, same_rows
from pipelines.commerce.settings import CommerceSettings
from pipelines.findings import Finding

WIDE = pl.Int128


def domains(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Integer counts that agree with each other, positive PMI only, ranks in its order; companion `visits`."""
    frame = frames["domains"]
    limit = settings.connected_domains
    pair = ["quarter", "l1", "connected_l1"]
    mirrored = frame.select("quarter", pl.col("connected_l1").alias("l1"), pl.col("l1").alias("connected_l1"), "n_both")
    singles = pl.concat(
        [
            frame.select("quarter", "l1", pl.col("n_l1").alias("n")),
            frame.select("quarter", pl.col("connected_l1").alias("l1"), pl.col("n_connected").alias("n")),
        ]
    )
    both, connected = pl.col("n_both").cast(WIDE), pl.col("n_connected").cast(WIDE)
    same_list = (pl.col("quarter") == pl.col("quarter").shift()) & (pl.col("l1") == pl.col("l1").shift())
    findings = [
        ordered("domains", frame),
        _quarter_start(frame),
        never("limit", f"at most {limit} connected domains", frame, pl.col("rank") > limit),
        numbered(frame.with_columns(pl.col("rank") - 1), "rank", ["quarter", "l1"]),
        never("not_itself", "no domain is connected to itself", frame, pl.col("l1") == pl.col("connected_l1")),
        never(
            "positive_pmi",
            "n_both · n_units > n_l1 · n_connected",
            frame,
            both * pl.col("n_units") <= connected * pl.col("n_l1"),
        ),
        never(
            "pmi_order",
            "ranks follow falling PMI",
            frame,
            same_list & (both * connected.shift() > both.shift() * connected),
        ),
        no_rows(
            "one_count",
            "a domain has one count in a quarter",
            singles.group_by("quarter", "l1").agg(pl.col("n").n_unique()).filter(pl.col("n") > 1),
        ),
        no_rows(
            "one_total",
            "a quarter has one number of user-batches",
            frame.group_by("quarter").agg(pl.col("n_units").n_unique()).filter(pl.col("n_units") > 1),
        ),
        no_rows(
            "symmetric",
            "a pair is counted the same from both sides",
            frame.join(mirrored, on=pair, suffix="_back").filter(pl.col("n_both") != pl.col("n_both_back")),
        ),
    ]
    if missing := lacking(frames, "visits"):
        return [*findings, not_checked("past_only", *missing)]
    first = frames["visits"].filter(pl.col("l2").is_not_null()).group_by("l1").agg(pl.col("end").min())
    known = singles.select("quarter", "l1").unique().join(first, on="l1", how="left")
    late = known.filter(pl.col("end").is_null() | (pl.col("end") >= pl.col("quarter")))
    return [*findings, no_rows("past_only", "a quarter knows only domains visited before it starts", late)]


def _quarter_start(frame: pl.LazyFrame) -> Finding:
    return never(
        "quarter", "quarter is the start of one", frame, pl.col("quarter") != pl.col("quarter").dt.truncate("1q")
    )


def category_names(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Total order; counts add up to the events that have a category (companion `events`)."""
    frame = frames["category_names"]
    if missing := lacking(frames, "events"):
        return [ordered("category_names", frame), not_checked("conserved", *missing)]
    columns = ["l1", "l2", "n_events"]
    found = frame.group_by("l1", "l2").agg(pl.col("n_events").sum())
    with_category = frames["events"].filter(pl.col("l2").is_not_null())
    expected = with_category.group_by("l1", "l2").agg(pl.len().cast(pl.Int64).alias("n_events"))
    return [
        ordered("category_names", frame),
        same_rows("conserved", "every event with a category is counted once", found, expected, columns),
    ]


def taxonomy(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """The categories of `category_names`, under their most frequent originals."""
    frame = frames["taxonomy"]
    domain_names = frame.group_by("l1").agg(pl.col("l1_name").n_unique().alias("n")).filter(pl.col("n") > 1)
    findings = [
        ordered("taxonomy", frame),
        no_rows("one_domain_name", "a domain is written in one way", domain_names),
        never(
            "name_of_key",
            "level 1 has a name exactly where it has a key",
            frame,
            pl.col("l1").is_null() != pl.col("l1_name").is_null(),
        ),
    ]
    if missing := lacking(frames, "category_names"):
        return [*findings, *(not_checked(name, *missing) for name in ("categories", "most_frequent"))]
    names = frames["category_names"]
    counted = names.group_by("l1", "l2", "l2_name").agg(pl.col("n_events").sum())
    top = counted.group_by("l1", "l2").agg(pl.col("n_events").max().alias("most"))
    rarer = (
        frame.join(counted, on=["l1", "l2", "l2_name"], how="left", nulls_equal=True)
        .join(top, on=["l1", "l2"], how="left", nulls_equal=True)
        .filter(pl.col("n_events").ne_missing(pl.col("most")))
    )
    return [
        *findings,
        same_rows("categories", "every category once", frame, names.select("l1", "l2").unique(), ["l1", "l2"]),
        no_rows("most_frequent", "the display name is the most frequent original", rarer),
    ]


def popularity(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Counts never fall from quarter to quarter; those of the visits that ended before (companion `visits`)."""
    frame = frames["popularity"]
    category = ["l1", "l2"]
    in_time = frame.sort(*category, "quarter")
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift()) for name in category)
    findings = [
        ordered("popularity", frame),
        _quarter_start(frame),
        never(
            "grows",
            "a later quarter knows no fewer visits",
            in_time,
            same & (pl.col("n_visits") < pl.col("n_visits").shift()),
        ),
    ]
    if missing := lacking(frames, "visits"):
        return [*findings, not_checked("before_quarter", *missing)]
    # A quarter q counts the visits that ended before it, that is in quarters up to the one before.
    ended = (
        frames["visits"]
        .filter(pl.col("l2").is_not_null())
        .group_by(*category, pl.col("end").dt.truncate("1q").alias("ended"))
        .agg(pl.len().cast(pl.Int64).alias("n"))
    )
    quarters = frame.select("quarter").unique()
    expected = (
        ended.join(quarters, how="cross")
        .filter(pl.col("ended") < pl.col("quarter"))
        .group_by("quarter", *category)
        .agg(pl.col("n").sum().alias("n_visits"))
    )
    columns = ["quarter", *category, "n_visits"]
    return [
        *findings,
        same_rows("before_quarter", "counts are those of the visits that ended before", frame, expected, columns),
    ]
