"""F4: what becomes of claims when new ones come (paper §4.3, B.4).

T1 and T2: a slot's value gives way only to one of strictly higher confidence. T3 and
T4: a claim is retired only when a new one contradicts it directly; a model compares
them, and doubt, silence or a lost reply keeps both. A claim on a `stage` path that
finds no support for the declared time rests (dormant) and comes back with new support.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipelines.memory.asking import Asker, said
from pipelines.memory.behaviormem.claims import CLOSED_KINDS, Book, Candidate
from pipelines.memory.behaviormem.settings import BehaviorMemConfig
from pipelines.memory.behaviormem.wording import MAINTENANCE, Verdicts

_DAY = 86_400_000_000
_FRAME = "New claims:\n\n\nKnown claims:\n"
_REASON = 200
"""Characters kept of a model's reason, in the life log only."""


def settle(asker: Asker, config: BehaviorMemConfig, book: Book, candidates: Sequence[Candidate]) -> None:
    """Enter the placed candidates of one batch in the book."""
    closed = [one for one in candidates if one.kind in CLOSED_KINDS]
    opened = [one for one in candidates if one.kind not in CLOSED_KINDS]
    # The strongest first: the order of a reply must not decide who holds a slot.
    for one in sorted(closed, key=lambda one: (one.path, -one.confidence, one.text, one.visits)):
        if config.maintenance:
            _fill_slot(book, one)
        else:
            _enter(asker, config, book, one)
    said_of = _compared(asker, book, opened) if config.maintenance else Comparison()
    for claim in book.claims:
        if claim["id"] in said_of.doubted:
            book.log(claim, "doubted", claim["state"], "supported and contradicted by one batch: kept as it is")
    for mark, one in enumerate(opened, start=1):
        _settle_open(asker, config, book, one, said_of.of(f"t{mark}"))


def rest(config: BehaviorMemConfig, book: Book) -> None:
    """Let claims on stage paths rest that found no support for longer than the declared time."""
    for claim in book.claims:
        silent = book.until - claim["supported"]
        overdue = claim["state"] == "active" and silent > config.dormant_after_days * _DAY
        if overdue and book.scope(claim["path"]) == "stage":
            cause = f"no support for {silent // _DAY} days; the limit is {config.dormant_after_days}"
            book.move(claim, "dormant", "dormant", cause)


@dataclass(frozen=True)
class Comparison:
    """What a model said of pairs of a new and a known claim: pair of ids → its reason."""

    supports: dict[tuple[str, str], str] = field(default_factory=dict)
    contradicts: dict[tuple[str, str], str] = field(default_factory=dict)

    def pairs(self, relation: str) -> dict[tuple[str, str], str] | None:
        """The pairs of a relation; None for any other word."""
        return {"supports": self.supports, "contradicts": self.contradicts}.get(relation)

    @property
    def doubted(self) -> set[str]:
        """Known claims that one batch both supports and contradicts."""
        return {known for _, known in self.supports} & {known for _, known in self.contradicts}

    def of(self, new: str) -> "Comparison":
        """What holds of one new claim, without the doubted."""
        doubted = self.doubted
        parts = (
            {pair: why for pair, why in one.items() if pair[0] == new and pair[1] not in doubted}
            for one in (self.supports, self.contradicts)
        )
        return Comparison(*parts)


def _settle_open(asker: Asker, config: BehaviorMemConfig, book: Book, new: Candidate, of: Comparison) -> None:
    known = {claim["id"]: claim for claim in book.claims}
    for (_, claim), why in of.contradicts.items():
        # Two new claims may contradict the same one; it is retired once.
        if known[claim]["state"] != "retired":
            book.move(known[claim], "retired", "retired", f"contradicted by {new.text!r}: {why}", new)
    for (_, claim), why in of.supports.items():
        book.support(known[claim], new, f"supported by {new.text!r}: {why}")
    if not of.supports:
        _enter(asker, config, book, new)


def _fill_slot(book: Book, new: Candidate) -> None:
    holders = book.at(new.path)
    if not holders:
        book.form(new, "first value of its slot")
        return
    holder = holders[0]
    if holder["text"] == new.text:
        book.support(holder, new, "the same value again")
    elif new.confidence > holder["confidence"]:
        why = f"{new.text!r} at {new.confidence} is above {holder['confidence']}"
        book.move(holder, "replaced", "replaced", why, new)
        book.form(new, f"replaces {holder['id']}: {why}")
    else:
        why = f"{new.text!r} at {new.confidence} is not above {holder['confidence']}: kept"
        book.log(holder, "challenged", holder["state"], why, new)


def _enter(asker: Asker, config: BehaviorMemConfig, book: Book, new: Candidate) -> None:
    """Add a claim beside those at its path; one that says the very same is supported."""
    there = book.at(new.path)
    if same := [one for one in there if one["text"].casefold() == new.text.casefold()]:
        book.support(same[0], new, "said again in the same words")
    elif len(there) >= config.max_claims_a_path:
        asker.tally.reject("maintenance", "path_full")
    else:
        book.form(new, "new at its path" if there else "first at its path")


def _compared(asker: Asker, book: Book, new: Sequence[Candidate]) -> Comparison:
    """Every new claim against the known ones of its kind and domain."""
    domains = {_domain(one.path) for one in new}
    known = [
        claim for claim in book.claims if claim["state"] in ("active", "dormant") and _domain(claim["path"]) in domains
    ]
    found = Comparison()
    lines = [f"t{number} | {one.path} | {one.text}" for number, one in enumerate(new, start=1)]
    known_lines = [f"{claim['id']} | {claim['path']} | {claim['text']}" for claim in known]
    if not known:
        return found
    instructions = MAINTENANCE.text
    for part in asker.windows(lines, asker.room(instructions, _FRAME) // 2):
        head = "New claims:\n" + "\n".join(lines[place] for place in part) + "\n\nKnown claims:\n"
        for window in asker.windows(known_lines, asker.room(instructions, head)):
            data = head + "\n".join(known_lines[place] for place in window)
            reply = asker.ask("maintenance", instructions, data, Verdicts)
            marks, ids = {f"t{place + 1}" for place in part}, {known[place]["id"] for place in window}
            for verdict in reply.verdicts if reply else []:
                if verdict.new not in marks or verdict.known not in ids:
                    asker.tally.reject("maintenance", "unknown_claim")
                elif (pairs := found.pairs(verdict.relation)) is not None:
                    pairs.setdefault((verdict.new, verdict.known), said(verdict.reason)[:_REASON])
                elif verdict.relation != "unclear":
                    asker.tally.reject("maintenance", "unknown_relation")
    return found


def _domain(path: str) -> str:
    return path.rpartition("/")[0]
