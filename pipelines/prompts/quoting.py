"""How data stand in a prompt: every line marked, so that no text of a log can pass for an instruction or heading."""

from pipelines.memory.rendering import plain

MARK = "> "


def quoted(text: str, absent: str) -> str:
    """Every line of `text` behind `MARK`, indentation kept; `absent` as it stands where there is no word in it."""
    if not text.strip():
        return absent
    return "\n".join(MARK + " " * (len(line) - len(line.lstrip(" "))) + plain(line) for line in text.split("\n"))
