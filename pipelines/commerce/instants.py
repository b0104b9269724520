"""Times in logs → instants in µs UTC, whatever the machine's own zone."""

from datetime import timedelta

import polars as pl

from pipelines.commerce.mapping import RelativeClock, Time
from pipelines.tables import TIME

_PER_SECOND_DIGITS = {"s": 6, "ms": 3, "us": 0}


def scaled(text: pl.Expr, digits: int) -> pl.Expr:
    """Decimal text × 10^digits as Int64, exact; digits beyond are rounded; null when it is no number or too large.

    Goes through decimals, never through a float.
    """
    exact = text.str.strip_chars(" ").str.to_decimal(scale=digits)
    bound = 9 * 10 ** (18 - digits)
    inside: pl.Expr = pl.when((exact > -bound) & (exact < bound)).then(exact)
    number: pl.Expr = (inside * 10**digits).cast(pl.Int64, strict=False)
    return number


def whole(text: pl.Expr) -> pl.Expr:
    """Whole number in decimal text (`3`, `3.0`, `3e0`) as Int64; null for a fraction."""
    millionths = scaled(text, 6)
    return pl.when(millionths % 1_000_000 == 0).then(millionths // 1_000_000)


def instants(times: pl.Series, time: Time) -> pl.DataFrame:
    """Columns `time` (null where unreadable), `ambiguous`, `moved` for a column of times.

    Text and numbers follow `time`; typed timestamps are taken as they are, in
    `time.zone` when they carry none. A local time that occurs twice is the earlier
    instant; one that a clock change skips moves forward by the length of the gap.
    """
    frame = times.alias("raw").to_frame()
    dtype = times.dtype
    if isinstance(dtype, pl.Datetime) and dtype.time_zone:
        return _flagless(frame.select(pl.col("raw").dt.convert_time_zone("UTC").cast(TIME).alias("time")))
    if isinstance(dtype, pl.Datetime | pl.Date):
        naive = frame.select(pl.col("raw").cast(pl.Datetime("us")).alias("naive"))
        return _in_zone(naive, time.zone) if time.zone else _flagless(naive.select(pl.lit(None, TIME).alias("time")))
    if time.unit:
        us = scaled(pl.col("raw"), _PER_SECOND_DIGITS[time.unit])
        return _flagless(frame.select(us.cast(TIME).alias("time")))
    return _from_patterns(frame, time)


def _flagless(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(ambiguous=pl.lit(False), moved=pl.lit(False))


def _from_patterns(frame: pl.DataFrame, time: Time) -> pl.DataFrame:
    result = _flagless(frame.select(pl.lit(None, TIME).alias("time"))) if frame.height else None
    open_rows = frame.with_row_index("row").filter(pl.col("raw").is_not_null())
    found: list[pl.DataFrame] = []
    for pattern in time.patterns:
        if not open_rows.height:
            break
        part = pl.concat(
            [open_rows.select("row"), _one_pattern(open_rows["raw"], pattern, time.zone)], how="horizontal"
        )
        done = part["time"].is_not_null()
        found.append(part.filter(done))
        open_rows = open_rows.filter(~done)
    if result is None or not found:
        return result if result is not None else _flagless(pl.DataFrame(schema={"time": TIME}))
    if len(found) == 1 and found[0].height == frame.height:
        return found[0].drop("row")
    rows = frame.with_row_index("row").select("row").join(pl.concat(found), on="row", how="left", maintain_order="left")
    return rows.drop("row").with_columns(pl.col("ambiguous", "moved").fill_null(False))


def _one_pattern(texts: pl.Series, pattern: str, zone: str | None) -> pl.DataFrame:
    frame = texts.alias("raw").to_frame()
    if pattern.endswith(("%z", "%:z", "%#z")):
        aware = pl.col("raw").str.to_datetime(pattern, time_unit="us", strict=False)
        return _flagless(frame.select(aware.dt.convert_time_zone("UTC").alias("time")))
    text, full = pl.col("raw"), pattern
    if "%H" in pattern and not any(code in pattern for code in ("%M", "%T", "%R")):
        # The parser needs a minute; a log that stops at the hour means its beginning.
        text, full = pl.concat_str(text, pl.lit(":00")), f"{pattern}:%M"
    elif not any(code in pattern for code in ("%H", "%I", "%T", "%R", "%s")):
        text, full = pl.concat_str(text, pl.lit(" 00:00")), f"{pattern} %H:%M"
    naive = frame.select(text.str.to_datetime(full, time_unit="us", strict=False).alias("naive"))
    assert zone is not None
    return _in_zone(naive, zone)


def _in_zone(naive: pl.DataFrame, zone: str) -> pl.DataFrame:
    """Instants of local times; see `instants` for the two odd hours of the year."""
    if zone == "UTC":
        return _flagless(naive.select(pl.col("naive").dt.replace_time_zone("UTC").alias("time")))

    def local(expr: pl.Expr, which: str) -> pl.Expr:
        return expr.dt.replace_time_zone(zone, ambiguous=which, non_existent="null")  # type: ignore[arg-type]

    frame = naive.with_columns(early=local(pl.col("naive"), "earliest"), late=local(pl.col("naive"), "latest"))
    skipped = pl.col("early").is_null() & pl.col("naive").is_not_null()
    # Read with the offset in force before the change, the skipped time lies right after it.
    # A whole day was skipped where a country crossed the date line.
    jump = pl.coalesce(local(pl.col("naive") - step, "earliest") + step for step in map(_hours, (3, 25)))
    return frame.select(
        time=pl.when(skipped).then(jump if frame.select(skipped.any()).item() else None)
        .otherwise(pl.col("early")).dt.convert_time_zone("UTC").cast(TIME),
        ambiguous=(pl.col("early") != pl.col("late")).fill_null(False),
        moved=skipped,
    )  # fmt: skip


def _hours(count: int) -> timedelta:
    return timedelta(hours=count)


def relative_instants(rows: pl.DataFrame, user: str, clock: RelativeClock) -> pl.Series:
    """Times from gaps: the user's first day plus the summed days, at the order's hour; never before the order before.

    Null where the order number, the days or the hour cannot be read. All rows of a
    user must be in `rows`.
    """
    parsed = rows.select(
        pl.col(user).alias("user"),
        order=whole(pl.col(clock.order)),
        days=whole(pl.col(clock.days).fill_null("0")),
        hour=whole(pl.col(clock.hour)),
    )
    usable = parsed.filter(
        pl.col("user").is_not_null()
        & pl.col("order").is_not_null()
        & (pl.col("days") >= 0)
        & pl.col("hour").is_between(0, 23)
    )
    orders = usable.group_by("user", "order").agg(pl.col("days").min(), pl.col("hour").min()).sort("user", "order")
    hours = pl.col("days").cum_sum() * 24 + pl.col("hour")
    start = pl.lit(clock.start).cast(TIME)
    stamp = (start + pl.duration(hours=hours)).cum_max().over("user").alias("time")
    timed = parsed.join(orders.with_columns(stamp).select("user", "order", "time"), on=["user", "order"], how="left",
                        maintain_order="left")  # fmt: skip
    valid = pl.col("hour").is_between(0, 23) & (pl.col("days") >= 0)
    return timed.select(pl.when(valid).then(pl.col("time")))["time"]
