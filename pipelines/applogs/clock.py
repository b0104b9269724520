"""Times of app logs: the wall clock of the log, written as UTC.

`2023-12-31 19:30:00`, also with `T`, with fractions, and with an offset, which is
taken off first (reference: offset → UTC → naive).
"""

import polars as pl

from pipelines.tables import TIME

# Digits of ASCII only: those of other scripts are none to whoever adds up the parts.
_FORM = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,6})[0-9]*)?"
    r"(Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])?$"
)


def wall_clock(texts: pl.Series) -> pl.Series:
    """Instants of the texts, named alike; null for what is no such time, or lies outside the years 1 to 9999."""
    parts = pl.col("text").str.strip_chars().str.extract_groups(_FORM)
    day, clock, fraction, offset = (parts.struct.field(str(n)) for n in range(1, 5))
    naive = pl.concat_str(day, pl.lit("T"), clock).str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
    micros = fraction.fill_null("0").str.pad_end(6, "0").cast(pl.Int64)
    bare = offset.fill_null("Z").str.replace_all(":", "").replace("Z", "+0000")
    minutes = bare.str.slice(1, 2).cast(pl.Int64) * 60 + bare.str.slice(3, 2).cast(pl.Int64)
    shift = pl.when(bare.str.starts_with("-")).then(-minutes).otherwise(minutes)
    moment = (naive + pl.duration(microseconds=micros) - pl.duration(minutes=shift)).dt.replace_time_zone("UTC")
    moment = pl.when(moment.dt.year().is_between(1, 9999)).then(moment)
    return texts.alias("text").to_frame().select(moment.cast(TIME).alias(texts.name)).to_series()
