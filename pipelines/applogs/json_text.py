"""JSON of others, read strictly: what one reader would see and another would not is refused."""

import json
from typing import Any

from pipelines.commerce.reading import SourceError

JsonObject = dict[str, Any]
MOST_DEPTH = 100
"""Levels of objects and lists at most, so that every walk over a value ends well."""


class _Refused(ValueError):
    pass


def _once(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refused(f"an object names {twice!r} twice")
    return found


def _no_constant(text: str) -> Any:
    raise _Refused(f"{text} is no JSON number")


def _refuse_depth(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise _Refused(f"nested more than {MOST_DEPTH} deep")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _Refused(f"{text[:40]} is too large a number")
    return number


def _whole(text: str) -> int:
    # What is no finite fraction would end a comparison of numbers, and Python reads no whole number of any length.
    _finite(text)
    return int(text)


def strict(text: str) -> Any:
    """The value of a JSON text. Raises `ValueError` for what `load` refuses, `RecursionError` for endless nesting."""
    value = json.loads(
        text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
    )
    _refuse_depth(value)
    dump(value).encode()
    return value


def load(data: bytes, file: str) -> Any:
    """The value of a JSON file in UTF-8 (a byte-order mark is passed over).

    Raises `SourceError`, with the line where it is known, for text that is no JSON, names
    repeated in an object, NaN, infinities and what is larger than any fraction, and text that is no Unicode.
    """
    remedy = "Send the file as it was published"
    try:
        value = strict(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(file, line, "not UTF-8 text", remedy) from None
    except json.JSONDecodeError as error:
        raise SourceError(file, error.lineno, f"no JSON ({error.msg}, column {error.colno})", remedy) from None
    except UnicodeEncodeError:
        raise SourceError(file, None, "half of a surrogate pair stands alone", remedy) from None
    except _Refused as error:
        raise SourceError(file, None, str(error), remedy) from None
    except RecursionError:
        raise SourceError(file, None, "nested too deeply", remedy) from None
    return value


def dump(value: Any) -> str:
    """`value` as JSON on one line, names in the given order, no letter escaped needlessly."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def canonical(value: Any) -> str:
    """`dump` with sorted names: equal values have equal texts."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True)
