"""A slow second implementation of events → visits → batches → cohort → transitions → signals.

Plain Python over dicts, written from the rules and not from the code: it shares no
line, no sort key and no library with `pipelines`. Times are integers in microseconds.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STRENGTH = {"click": 0, "browse": 0, "favourite": 1, "cart": 2, "purchase": 3}
ALPHABET = ["click", "browse", "favourite", "cart", "purchase", "cancel", "refund"]
REST = ["l1", "l2", "l1_name", "l2_name", "brand", "price", "quantity", "dwell_ms", "session_id"]


def micros(moment):
    """Microseconds since 1970 of an aware datetime."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def instant(us):
    return EPOCH + timedelta(microseconds=us)


def stream(rows, user):
    """The events of a user that count, in their total order; absent values come first."""

    def place(row):
        rest = [(row[name] is not None, row[name] if row[name] is not None else 0) for name in REST]
        return (row["time"], STRENGTH[row["action"]], row["item_id"], ALPHABET.index(row["action"]), rest)

    return sorted((row for row in rows if row["user_id"] == user and row["action"] in STRENGTH), key=place)


def visits_of(rows, user, settings):
    visits = []
    for event in stream(rows, user):
        current = visits[-1] if visits else None
        allowed = settings.visit_gap_minutes * 60 * 1_000_000
        if current and current["item_id"] == event["item_id"] and event["time"] <= current["end"] + allowed:
            current["end"] = event["time"]
            current["events"].append(event)
        else:
            visits.append(
                {"item_id": event["item_id"], "start": event["time"], "end": event["time"], "events": [event]}
            )
    for index, visit in enumerate(visits):
        events = visit.pop("events")
        labelled = [event for event in events if event["l2"] is not None]
        branded = [event["brand"] for event in events if event["brand"] is not None]
        dwells = [event["dwell_ms"] for event in events if event["dwell_ms"] is not None]
        tally = Counter(event["action"] for event in events)
        visit.update(
            user_id=user,
            visit_index=index,
            l1=labelled[0]["l1"] if labelled else None,
            l2=labelled[0]["l2"] if labelled else None,
            brand=branded[0] if branded else None,
            n_click=tally["click"],
            n_browse=tally["browse"],
            n_favourite=tally["favourite"],
            n_cart=tally["cart"],
            n_purchase=tally["purchase"],
            dwell_seconds=sum(dwells) // 1000 if dwells else None,
        )
    return visits


def batches_of(visits, settings):
    """Lists of visits, and for each whether something closed it."""
    done, open_batch = [], []
    for visit in visits:
        if open_batch:
            full = len(open_batch) >= settings.batch_visits
            old = instant(visit["start"]) - instant(open_batch[0]["start"]) >= timedelta(days=settings.batch_days)
            silence = instant(visit["start"]) - instant(open_batch[-1]["end"])
            one_second = visit["start"] // 1_000_000 == open_batch[-1]["end"] // 1_000_000
            if (full or old) and silence > timedelta(minutes=settings.batch_gap_minutes) and not one_second:
                done.append((open_batch, True))
                open_batch = []
        open_batch.append(visit)
    return [*done, (open_batch, False)] if open_batch else done


def signals_of(batch, settings):
    """(l1, l2) → the four flags, for the categories with a strong signal in one batch."""
    found = {}
    per_item = Counter(visit["item_id"] for visit in batch)
    for visit in batch:
        if visit["l2"] is None:
            continue
        long_dwell = (visit["dwell_seconds"] or 0) >= settings.deep_browse_seconds
        long_span = visit["end"] - visit["start"] >= settings.deep_browse_seconds * 1_000_000
        flags = (
            visit["n_favourite"] > 0,
            visit["n_cart"] > 0,
            visit["n_purchase"] > 0,
            visit["n_browse"] >= settings.deep_browse_events
            or long_dwell
            or long_span
            or per_item[visit["item_id"]] >= settings.deep_browse_visits,
        )
        if any(flags):
            key = (visit["l1"], visit["l2"])
            found[key] = tuple(a or b for a, b in zip(found.get(key, (False,) * 4), flags, strict=True))
    return found


def quarter_of(us):
    moment = instant(us)
    return micros(datetime(moment.year, 1 + 3 * ((moment.month - 1) // 3), 1, tzinfo=UTC))


def first_null(value):
    return (value is not None, value or "")


def build(rows, settings):
    """All five tables as lists of tuples in table order, times as integers."""
    tables = {name: [] for name in ("visits", "batches", "cohort", "transitions", "signals")}
    for user in sorted({row["user_id"] for row in rows}):
        visits = visits_of(rows, user, settings)
        batches = batches_of(visits, settings)
        valid = sum(visit["l2"] is not None for visit in visits)
        if not visits:
            reason = "only cancel and refund events"
        elif valid < settings.cohort_visits:
            reason = f"fewer than {settings.cohort_visits} valid visits"
        else:
            reason = ""
        n_events = sum(row["user_id"] == user for row in rows)
        tables["cohort"].append((user, n_events, len(visits), valid, len(batches), reason))
        for visit in visits:
            tables["visits"].append(
                tuple(
                    visit[name]
                    for name in (
                        "user_id",
                        "visit_index",
                        "start",
                        "end",
                        "item_id",
                        "l1",
                        "l2",
                        "brand",
                        "n_click",
                        "n_browse",
                        "n_favourite",
                        "n_cart",
                        "n_purchase",
                        "dwell_seconds",
                    )
                )
            )
        for index, (batch, closed) in enumerate(batches):
            row = (user, index, batch[0]["start"], batch[-1]["end"], batch[0]["visit_index"], len(batch), closed)
            tables["batches"].append(row)
        if reason:
            continue
        for index in range(len(batches) - 1):
            (history, _), (target, closed) = batches[index], batches[index + 1]
            end = history[-1]["end"]
            tables["transitions"].append(
                (user, index, end, target[0]["start"], target[-1]["end"], closed, quarter_of(end))
            )
            found = signals_of(target, settings)
            for l1, l2 in sorted(found, key=lambda key: (first_null(key[0]), key[1])):
                tables["signals"].append((user, index, l1, l2, *found[l1, l2]))
    return tables
