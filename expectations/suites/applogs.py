"""What the tables of the app-log track promise beyond what the registry says.

Tables of arms and boards of the track add their entries here: what only a table of its own kind can say (nulls,
enums, keys, counts and emptiness follow from the registry).
"""

from datetime import UTC, datetime

from expectations.suites.kinds import AtLeast, Between, Expectation, Length, Unique
from pipelines.applogs.step_tables import BROUGHT, DROPPED

_PLAUSIBLE = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC))
Promises = tuple[Expectation, ...]
_USER: Promises = (Length("user_id", 1),)
_LOG: Promises = (
    *(Length(name, 1) for name in ("user_id", "app_log_id", "app", "api", "object", "record")),
    Unique(("user_id", "app_log_id")),
    Between("time", *_PLAUSIBLE, severity="warning"),
)
_ITEM: Promises = (*_USER, Length("item", 1), Length("checkpoint_id", 1))
_STATE: Promises = (*_USER, Length("state_key", 3))

_BY_NAME: dict[str, Promises] = {
    "app_logs": _LOG,
    "anchors": (*_USER, Length("checkpoint_id", 1)),
    "tasks": (*_ITEM, Length("retrieval_query", 1)),
    "gold_items": (*_ITEM, Length("state_key", 3)),
    "gold_parts": (*_USER, Length("item", 1), Length("part", 1)),
    "gold_states": (*_STATE, Length("checkpoint_id", 1)),
    "gold_records": (*_USER, Length("field", 1), Length("record", 1)),
    "state_intervals": (*_STATE, Length("value_id", 1), Length("value", 1), AtLeast("valid_to", "valid_from")),
    "state_changes": (*_STATE, Length("chain_id", 1), Length("change_type", 1), Between("end_position", 0)),
    "state_evidence": (*_STATE, Length("app_log_id", 1)),
    "state_moments": (*_STATE, Length("scenario", 1), Length("slots", 2)),
}
APPLOGS: dict[str, Promises] = {
    **{name: promises for name, promises in _BY_NAME.items() if name != "anchors"},
    **{f"{DROPPED}{name}": _BY_NAME[name] for name in BROUGHT},
    "checkpoints": (
        *(Length(name, 1) for name in ("user_id", "checkpoint_id", "last_log_id")),
        Between("n_visible", 1),
        Unique(("user_id", "checkpoint_id")),
    ),
    "state_keys": (Length("state_key", 3), Between("n_users", 1)),
    "applog_funnel": (Length("step", 1), Length("unit", 1), Between("n", 0)),
}
"""By table."""
