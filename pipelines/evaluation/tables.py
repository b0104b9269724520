"""Every table of the evaluation once: column, type, unit, meaning."""

import polars as pl

from pipelines.commerce.tables import FAMILIARITIES, POOL
from pipelines.evaluation.judging.tables import JUDGING_TABLES
from pipelines.tables import TIME, Column, Table

ROW_KINDS = ("method", "control", "scoring side")
ROW_KIND = pl.Enum(ROW_KINDS)
GROUP_KINDS = ("all", "familiarity", "activity", "activity_fixed")
GROUP_KIND = pl.Enum(GROUP_KINDS)
STEPS = ("build", "read", "judge")
STEP = pl.Enum(STEPS)
READING_STATUSES = ("ok", "short", "over", "invalid", "failed")
STATUSES = (*READING_STATUSES, "missing")

_USER = Column(pl.String, "user, text exactly as in the log")
_TRANSITION = Column(pl.Int32, "transition t, from 0: batches ≤ t are history, batch t+1 the outcome")
_POOL = Column(POOL, "remember | infer")
_METHOD = Column(pl.String, "memory method (with its configuration unless default), control or scoring-side row")
_READER = Column(pl.String, "task reader")
_BUDGET = Column(pl.Int32, "token budget of the readout", "tokens")


def _share(meaning: str) -> Column:
    return Column(pl.Float64, meaning, "share", nullable=True)


EVALUATION_TABLES: dict[str, Table] = {
    "readouts": Table(
        "What a memory says about a user after batch t, under the token budget.",
        {
            "user_id": _USER,
            "transition_index": _TRANSITION,
            "description": Column(pl.String, "description slot; empty when unused"),
            "tree": Column(pl.String, "tree slot; empty when unused"),
            "tokens": Column(pl.Int32, "tokens of both slots", "tokens"),
            "tokens_cut": Column(pl.Int32, "tokens dropped to fit the budget", "tokens"),
            "state_hash": Column(pl.String, "hash of the memory state, equal before and after the readout"),
        },
        key=("user_id", "transition_index"),
        may_be_empty="a shard may hold no sampled user",
    ),
    "builds": Table(
        "What a memory counted while it was built, one row a user and count (ours).",
        {
            "user_id": _USER,
            "count": Column(pl.String, "what is counted: batches, visits, calls, rejected claims, lost steps"),
            "n": Column(pl.Int64, "how many, over the user's whole stream"),
        },
        key=("user_id", "count"),
        may_be_empty="a shard may hold no sampled user",
    ),
    "claims": Table(
        "What a memory that can tell it claims of its user after batch t, and by which visits (ours).",
        {
            "user_id": _USER,
            "transition_index": _TRANSITION,
            "claim": Column(pl.String, "id of the claim in its memory"),
            "line": Column(pl.String, "the claim as the readout words it"),
            "state": Column(pl.String, "active when readouts may say it"),
            "confidence": Column(pl.Int32, "by the memory itself", "percent"),
            "visits": Column(pl.List(pl.Int32), "its evidence: visits in the order taken in, from 0"),
            "formed": Column(TIME, "end of the batch that formed it", "µs UTC"),
            "supported": Column(TIME, "end of the last batch that supported it", "µs UTC"),
        },
        key=("user_id", "transition_index", "claim"),
        may_be_empty="most memories hold no claims, or cannot tell them",
    ),
    "readings": Table(
        "What a reader chose from a pool, given one readout.",
        {
            "user_id": _USER,
            "transition_index": _TRANSITION,
            "pool": _POOL,
            "status": Column(pl.String, " | ".join(READING_STATUSES)),
            "reason": Column(pl.String, "why the status is not ok, as one word; else empty"),
            "chosen": Column(pl.List(pl.Int32), "positions chosen, best first"),
            "scores": Column(pl.List(pl.Float64), "score of every position, for readers that rank; else empty"),
            "call": Column(pl.String, "identity of the model call in cache and accounting; empty without a model"),
        },
        key=("user_id", "transition_index", "pool"),
        may_be_empty="a shard may hold no sampled user",
    ),
    "units": Table(
        "One row a reading, scored.",
        {
            "method": _METHOD,
            "reader": _READER,
            "budget": _BUDGET,
            "user_id": _USER,
            "transition_index": _TRANSITION,
            "pool": _POOL,
            "status": Column(pl.String, " | ".join(STATUSES) + " (no reading)"),
            "n_positives": Column(pl.Int32, "positives in the pool, |P|"),
            "n_candidates": Column(pl.Int32, "candidates in the pool"),
            "n_eligible": Column(pl.Int32, "eligible distractors (matched, history)"),
            "n_hit": Column(pl.Int32, "chosen positives"),
            "n_exposed": Column(pl.Int32, "chosen eligible distractors"),
            "expected_hits": Column(
                pl.Float64, "positives chosen on average over all orders of equal scores; n_hit where nothing ranks"
            ),
            "average_precision": Column(pl.Float64, "tie-aware; null for readers that do not rank", nullable=True),
            **{
                f"{what}_{group}": Column(pl.Int32, f"{meaning} whose familiarity is {group}")
                for group in FAMILIARITIES[:-1]
                for what, meaning in (("n", "positives in the pool"), ("hit", "chosen positives"))
            },
            "tokens": Column(pl.Int32, "tokens of the readout", "tokens"),
            "n_batches": Column(pl.Int32, "batches of the user in all (activity group)"),
        },
        key=("method", "reader", "budget", "user_id", "transition_index", "pool"),
        wall="gold",
        may_be_empty="a shard may hold no sampled user",
    ),
    "model_calls": Table(
        "One row a model call that an arm needed, made or answered from the cache (ours).",
        {
            "step": Column(STEP, "build (memory) | read (pools) | judge"),
            "unit": Column(pl.String, "what the call was for"),
            "role": Column(pl.String, "builder | profile | reader | judge | embedding"),
            "endpoint": Column(pl.String, "base URL or name of the endpoint, without secrets"),
            "model": Column(pl.String, "model asked"),
            "key": Column(pl.String, "hash of role, endpoint, model, messages, parameters, schema and attempt"),
            "prompt": Column(pl.String, "hash of the messages"),
            "status": Column(pl.String, "ok | empty | truncated | refused | failed"),
            "cached": Column(pl.Boolean, "whether the step made no call for it: the numbers are those of the first"),
            "prompt_tokens": Column(pl.Int64, "tokens sent, as the endpoint counts", "tokens"),
            "reply_tokens": Column(pl.Int64, "tokens received, as the endpoint counts", "tokens"),
            "latency_ms": Column(pl.Float64, "time from the last try to its reply", "ms"),
            "retries": Column(pl.Int64, "tries after the first"),
            "cost": Column(pl.Int64, "by the price table; null for a model without a price", "10⁻⁹ USD", nullable=True),
            "conceded": Column(pl.String, "parameters left out because the endpoint does not know them"),
            "error": Column(pl.String, "class of the error of the last try; empty when there was none"),
        },
        key=("step", "key"),
        order=("step", "role", "unit", "key"),
        may_be_empty="an arm without a model makes no call",
    ),
    "costs": Table(
        "What the model calls of each arm took, by step and model (ours).",
        {
            "method": _METHOD,
            "reader": _READER,
            "budget": _BUDGET,
            "step": Column(STEP, "build (memory) | read (pools) | judge"),
            "model": Column(pl.String, "model asked"),
            "n_calls": Column(pl.Int64, "calls needed, whether made or cached"),
            "n_cached": Column(pl.Int64, "of these answered from the cache when last needed"),
            "n_failed": Column(pl.Int64, "of these without a whole reply"),
            "n_retries": Column(pl.Int64, "tries after the first"),
            "prompt_tokens": Column(pl.Int64, "tokens sent", "tokens"),
            "reply_tokens": Column(pl.Int64, "tokens received", "tokens"),
            "seconds": Column(pl.Float64, "sum of the calls' latencies when they were made", "s"),
            "cost": Column(pl.Float64, "by the price table; null where a model has no price", "USD", nullable=True),
        },
        key=("method", "reader", "budget", "step", "model"),
        wall="gold",
        may_be_empty="an experiment without a model makes no call",
    ),
    "leaderboard": Table(
        "Methods compared on the same frozen units, by reader, budget, pool and group; null where undefined.",
        {
            "reader": _READER,
            "budget": _BUDGET,
            "pool": _POOL,
            "group_kind": Column(
                GROUP_KIND, "all (every frozen unit) | familiarity | activity | activity_fixed (units all answered)"
            ),
            "place": Column(pl.Int32, "place of the group among those of its kind, from 0"),
            "group": Column(pl.String, "all, a familiarity, or a span of batches a user"),
            "method": _METHOD,
            "kind": Column(ROW_KIND, "method | control | scoring side"),
            "rank": Column(pl.Int32, "1 + methods with a higher recall, in group all", nullable=True),
            "band": Column(pl.Int32, "tie band, from 1: methods of one are not told apart", nullable=True),
            "recall": _share("positives chosen / positives (micro)"),
            "recall_low": _share("lower end of the 95 % user-cluster interval of recall; null with one user"),
            "recall_high": _share("upper end of it"),
            "user_recall": _share("mean over users of their own recall (macro)"),
            "user_recall_low": _share("lower end of its 95 % interval; null with one user"),
            "user_recall_high": _share("upper end of it"),
            "expected_recall": _share("recall averaged over all orders of equal scores; null by familiarity"),
            "chance": _share("mean over units of positives / candidates"),
            "adjusted_recall": _share("(recall − chance) / (1 − chance)"),
            "missed": _share("1 − recall"),
            "exposure": _share("eligible distractors chosen / positives, over units with any; lower is better"),
            "exposure_low": _share("lower end of its 95 % interval; null with one user"),
            "exposure_high": _share("upper end of it"),
            "exposure_units": Column(pl.Int64, "units with an eligible distractor"),
            "average_precision": _share("tie-aware mean over units; null for readers that do not rank"),
            "coverage": _share("units answered / units"),
            "bound_low": _share("recall were all unanswered units wrong"),
            "bound_high": _share("recall were all unanswered units right"),
            "n_units": Column(pl.Int64, "units of the group"),
            "n_users": Column(pl.Int64, "users with a unit in the group"),
            "n_positives": Column(pl.Int64, "positives of the group"),
            "n_hit": Column(pl.Float64, "positives chosen; on average for chance"),
            **{f"n_{status}": Column(pl.Int64, f"units with status {status}") for status in STATUSES},
            "tokens": Column(pl.Float64, "mean tokens of the readouts read", "tokens", nullable=True),
            "flags": Column(pl.String, "what makes the row suspect; empty when nothing does"),
        },
        key=("reader", "budget", "pool", "group_kind", "group", "method"),
        order=("reader", "budget", "pool", "group_kind", "place", "group", "method"),
        wall="gold",
    ),
    "differences": Table(
        "Paired differences in micro recall, one row a pair of methods of a board, on their common units.",
        {
            "reader": _READER,
            "budget": _BUDGET,
            "pool": _POOL,
            "method": Column(pl.String, "first of the pair, by name"),
            "other": Column(pl.String, "second of the pair"),
            "n_units": Column(pl.Int64, "units that both read"),
            "n_users": Column(pl.Int64, "users of those units"),
            "difference": Column(pl.Float64, "recall of method − recall of other", "share", nullable=True),
            "low": Column(pl.Float64, "lower end of the 95 % user-cluster interval; null with one user", nullable=True),
            "high": Column(pl.Float64, "upper end of it", nullable=True),
            "p": _share("p of sign flips of the users' differences in hits; null with one user"),
            "p_holm": _share("p after Holm over all pairs of the board and pool"),
            "separable": Column(pl.Boolean, "p_holm < 0.05"),
        },
        key=("reader", "budget", "pool", "method", "other"),
        wall="gold",
        may_be_empty="an experiment may have one method",
    ),
    "positions": Table(
        "How often candidates are chosen by their place in the pool; flat when place does not matter.",
        {
            "method": _METHOD,
            "reader": _READER,
            "budget": _BUDGET,
            "pool": _POOL,
            "position": Column(pl.Int32, "place of the candidate, from 0"),
            "n_shown": Column(pl.Int64, "candidates there"),
            "n_chosen": Column(pl.Int64, "candidates chosen there"),
            "n_positives": Column(pl.Int64, "positives there"),
            "n_hit": Column(pl.Int64, "positives chosen there"),
        },
        key=("method", "reader", "budget", "pool", "position"),
        wall="gold",
    ),
    **JUDGING_TABLES,
}
