"""F3, placement: a path `kind/domain/attribute` for every claim, chosen with the registry of paths in use (paper B.3).

Closed slots are paths already. For free text a model names a path in use or a new one;
a new one that is spelt like one in use is that one, so that a notion keeps one path.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from pipelines.memory.asking import Asker, said
from pipelines.memory.behaviormem.claims import SLOTS, Book, Candidate, Scope
from pipelines.memory.behaviormem.settings import BehaviorMemConfig
from pipelines.memory.behaviormem.wording import PLACEMENT, Placement, Placements

_WORDS = re.compile(r"[\W_]+")
_FRAME = "Paths in use:\n(none)\n\nNew claims:\n"


def place(asker: Asker, config: BehaviorMemConfig, book: Book, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates that have a path, in their order; new paths are entered in the registry.

    A situational state is bound to its stage by its nature, whatever the model says.
    """
    answers = _asked(asker, book, [one for one in candidates if not one.path])
    placed = []
    mark = 0
    for candidate in candidates:
        if candidate.path:
            book.add_path(candidate.path, SLOTS[candidate.path].scope)
            placed.append(candidate)
            continue
        mark += 1
        answer = answers.get(f"t{mark}")
        path = _path(asker, config, book, candidate, answer) if answer is not None else None
        if path is not None:
            placed.append(replace(candidate, path=path))
    return placed


def _asked(asker: Asker, book: Book, candidates: Sequence[Candidate]) -> dict[str, Placement]:
    """Answers by the id of the claim. With a registry too long for the context only its newest paths are shown."""
    if not candidates:
        return {}
    kinds = {one.kind for one in candidates}
    used = [
        f"r{number} | {one['path']}"
        for number, one in enumerate(book.paths, start=1)
        if one["path"].split("/")[0] in kinds
    ]
    lines = [f"t{number} | {one.kind} | {one.text}" for number, one in enumerate(candidates, start=1)]
    shown = _newest(asker, used)
    head = _FRAME.replace("(none)", "\n".join(shown)) if shown else _FRAME
    answers: dict[str, Placement] = {}
    for window in asker.windows(lines, asker.room(PLACEMENT.text, head)):
        reply = asker.ask("placement", PLACEMENT.text, head + "\n".join(lines[one] for one in window), Placements)
        if reply is None:
            continue
        marks = {f"t{one + 1}" for one in window}
        for answer in reply.placements:
            if answer.claim not in marks:
                asker.tally.reject("placement", "unknown_claim")
            elif answer.claim in answers:
                asker.tally.reject("placement", "placed_twice")
            else:
                answers[answer.claim] = answer
        asker.tally.reject("placement", "not_placed", len(marks - answers.keys()))
    return answers


def _newest(asker: Asker, used: Sequence[str]) -> list[str]:
    """As many of the newest paths as leave half of the room to the claims."""
    costs = asker.tokens.counts(used)
    room = asker.room(PLACEMENT.text, _FRAME) // 2
    start = len(used)
    while start and room > costs[start - 1]:
        start -= 1
        room -= costs[start] + 1
    asker.tally.add("paths_not_shown", start)
    return list(used[start:])


def _path(asker: Asker, config: BehaviorMemConfig, book: Book, candidate: Candidate, answer: Placement) -> str | None:
    if answer.path:
        number = int(answer.path[1:]) if re.fullmatch(r"r[0-9]{1,6}", answer.path) else 0
        if not 0 < number <= len(book.paths):
            asker.tally.reject("placement", "unknown_path")
            return None
        path = book.paths[number - 1]["path"]
        if not path.startswith(f"{candidate.kind}/"):
            asker.tally.reject("placement", "path_of_another_kind")
            return None
        return path
    domain, attribute = named(answer.domain), named(answer.attribute)
    if not domain or not attribute or max(map(asker.tokens.count, (domain, attribute))) > config.name_tokens:
        asker.tally.reject("placement", "no_path_name")
        return None
    path = f"{candidate.kind}/{domain}/{attribute}"
    if any(one["path"] == path for one in book.paths):
        return path
    if len(book.paths) >= config.max_paths:
        asker.tally.reject("placement", "registry_full")
        return None
    if answer.scope not in get_args(Scope):
        asker.tally.reject("placement", "unknown_scope")
        return None
    lasting = answer.scope == "continuous" and candidate.kind != "situational state"
    book.add_path(path, "continuous" if lasting else "stage")
    return path


def named(text: str) -> str:
    """A part of a path: lower case, words parted by one space; empty when there is no word."""
    return _WORDS.sub(" ", said(text)).strip().casefold()
