"""Prompts are versioned files of this package; what a model is sent is one of them with its slots filled (ours).

A file `pipelines/prompts/<name>.md` opens with the line `version: <text>` and the
line `---`; the rest, without the last line break, is the prompt. A slot is written
`{{name}}` (lower-case letters, digits, `_`). What fills a slot is never searched for
slots, so data cannot ask to be replaced.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

from pipelines.hashing import digest

_NAME = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*")
_HEAD = re.compile(r"version: (\S+)\n---\n")
_SLOT = re.compile(r"\{\{([a-z][a-z0-9_]*)\}\}")


class BadPrompt(ValueError):
    """A prompt that is absent or not written as it must be, or slots that do not fit it."""


@dataclass(frozen=True)
class Prompt:
    """One prompt file."""

    name: str
    """Path below `pipelines/prompts`, without its ending."""
    version: str
    """As the file states it; for people. `sha256` is what a result depends on."""
    text: str
    """The prompt, its slots unfilled."""
    sha256: str
    """Of the file, its head included, line ends as `\\n`."""

    @cached_property
    def slots(self) -> frozenset[str]:
        """Names of the slots that `fill` wants."""
        return frozenset(_SLOT.findall(self.text))


@cache
def load(name: str) -> Prompt:
    """The prompt file `name`, as `reader/task`. Raises `BadPrompt`."""
    if not _NAME.fullmatch(name):
        raise BadPrompt(f"prompt name {name!r}: use lower-case letters, digits and _, folders parted by /")
    file = files(__name__).joinpath(f"{name}.md")
    if not file.is_file():
        raise BadPrompt(f"there is no prompt file pipelines/prompts/{name}.md")
    return parse(name, file.read_text(encoding="utf-8"))


def parse(name: str, content: str) -> Prompt:
    """A prompt from the content of its file. Raises `BadPrompt` without a head, or on `{{` that opens no slot."""
    content = content.replace("\r\n", "\n").replace("\r", "\n")
    head = _HEAD.match(content)
    if head is None:
        raise BadPrompt(f"prompt {name}: the file must open with the lines `version: <text>` and `---`")
    text = content[head.end() :].removesuffix("\n")
    if stray := _SLOT.sub("x", text).find("{{") + 1:
        raise BadPrompt(f"prompt {name}: `{{{{` opens no slot (character {stray}); write {{{{name}}}}")
    return Prompt(name, head[1], text, hashlib.sha256(content.encode()).hexdigest())


def fill(prompt: Prompt, **slots: str) -> str:
    """The prompt with every slot replaced. Raises `BadPrompt` when a slot is missing or unknown."""
    if missing := sorted(prompt.slots - slots.keys()):
        raise BadPrompt(f"prompt {prompt.name}: nothing given for {', '.join(missing)}")
    if unknown := sorted(slots.keys() - prompt.slots):
        raise BadPrompt(f"prompt {prompt.name}: no slot {', '.join(unknown)}")
    return _SLOT.sub(lambda slot: slots[slot[1]], prompt.text)


def prompts_hash(*prompts: Prompt) -> str:
    """One hash of several prompts, whatever their order: names and contents."""
    return digest(*(part for one in sorted(prompts, key=lambda one: one.name) for part in (one.name, one.sha256)))
