"""Which runs may stand in one table."""

from collections.abc import Mapping, Sequence

KEYS = ("dataset", "reader", "prompt", "budget", "tokens", "evaluator")
"""What must be equal: content hash of the release, the reader's fingerprint, its prompt's hash, the budget, the hash of
the counter that measures it, the evaluator's version."""


class UnlikeRuns(ValueError):
    """Runs that differ in more than their method; the message names the key and both values."""


def agreed(run: str, parts: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """What all parts (shards) of a run state alike. Raises `UnlikeRuns` naming the key, the parts and both values."""
    first, *rest = sorted(parts)
    for key in sorted({key for stated in parts.values() for key in stated}):
        for part in rest:
            one, other = parts[first].get(key), parts[part].get(key)
            if one != other:
                raise UnlikeRuns(
                    f"run {run}: {first} and {part} differ in {key}: {one!r} and {other!r}; evaluate it again"
                )
    return dict(parts[first])


def check_comparable(provenances: Mapping[str, Mapping[str, object]], keys: Sequence[str] = KEYS) -> None:
    """Refuse to rank runs together unless all of `keys` are stated and equal.

    `provenances` maps a run (arm key) to its hashes; a reader without a prompt
    states an empty one. Raises `UnlikeRuns`.
    """
    runs = sorted(provenances)
    for key in keys:
        for run in runs:
            if key not in provenances[run]:
                raise UnlikeRuns(f"run {run} does not state its {key}; evaluate it again with this version")
        for run in runs[1:]:
            first, other = provenances[runs[0]][key], provenances[run][key]
            if first != other:
                raise UnlikeRuns(
                    f"runs {runs[0]} and {run} differ in {key}: {first!r} and {other!r}; not ranked together"
                )
