"""How data stand in a prompt: every line marked, so that no text of a log can pass for an instruction or heading."""

from functools import lru_cache

from pipelines.memory.rendering import plain

MARK = "> "


@lru_cache(maxsize=8)
def quoted(text: str, absent: str) -> str:
    """Every line of `text` behind `MARK`, indentation kept; `absent` as it stands where there is no word in it."""
    if not text.strip():
        return absent
    return "\n".join(map(_marked, text.split("\n")))


@lru_cache(maxsize=1 << 14)
def _marked(line: str) -> str:
    """Cached: the readouts of a user say the same lines again and again."""
    return MARK + " " * (len(line) - len(line.lstrip(" "))) + plain(line)
