"""BehaviorMem (arXiv:2610.34790) as a memory method: F1 to F5, batch after batch.

Where the paper's page is silent (prompts, thresholds, candidate sets, the dormant
period) the choice is ours and a setting or a file of `pipelines/prompts/behaviormem`.
"""

from pydantic import BaseModel

from pipelines.memory.asking import Asker, ContextTooSmall, ModelMemory, Tally
from pipelines.memory.behaviormem.claims import Book
from pipelines.memory.behaviormem.deriving import climb, instructions_of
from pipelines.memory.behaviormem.ledger import add_visits
from pipelines.memory.behaviormem.maintaining import rest, settle
from pipelines.memory.behaviormem.placing import place
from pipelines.memory.behaviormem.reading_out import claim_lines, read_out
from pipelines.memory.behaviormem.records import records, shortened
from pipelines.memory.behaviormem.settings import BehaviorMemConfig
from pipelines.memory.behaviormem.wording import MAINTENANCE, PLACEMENT, PROMPTS_HASH
from pipelines.memory.contract import Batch, Claim, MethodSpec, Readout
from pipelines.memory.state import micros


class BehaviorMem(ModelMemory):
    """Explicit facts by arithmetic, claims by a model; its state is a ledger, claims, paths, a life log and tallies."""

    name = "behaviormem"
    prompts = PROMPTS_HASH
    config: BehaviorMemConfig

    def asks(self, config: BaseModel) -> bool:
        """No model is asked without implicit memory."""
        assert isinstance(config, BehaviorMemConfig)
        return bool(config.kinds)

    def open(self, user: str, config: BaseModel, llm: object, embedder: object) -> None:
        """See `Method`. Raises `ModelNeeded`, and `ContextTooSmall` when no prompt would fit."""
        super().open(user, config, llm, embedder)
        if self.config.kinds:
            self._check_context()

    def take(self, batch: Batch) -> None:
        """F1, then F2 to F4. A batch in which a step was lost lets no claim rest: its silence is no absence."""
        tally, config = Tally(), self.config
        first = self.journal.visits - batch.visits.height
        if config.explicit:
            cut = add_visits(self.state.setdefault("ledger", {}), batch.visits, config, self.tokens)
            tally.add("facts_cut", cut)
        if config.kinds:
            asker, book = self._asker(batch, tally), Book.of(self.state, batch.index, micros(batch.end))
            lines = [one.line(f"v{number}") for number, one in enumerate(records(batch.visits), start=1)]
            lines, cut = shortened(lines, config.record_tokens, self.tokens)
            tally.add("records_cut", cut)
            settle(asker, config, book, place(asker, config, book, climb(asker, config, lines, first)))
            if config.maintenance and not tally.counts["lost_steps"]:
                rest(config, book)
        self.record(batch, tally)

    def readout(self, budget: int) -> Readout:
        """See `Method`."""
        return read_out(self.state, self.config, budget, self.tokens)

    def claims(self) -> list[Claim]:
        """See `Claimant`."""
        held = self.state.get("claims", [])
        return [
            Claim(
                id=one["id"],
                line=line,
                state=one["state"],
                confidence=one["confidence"],
                visits=tuple(one["visits"]),
                formed=one["formed"],
                supported=one["supported"],
            )
            for one, line in zip(held, claim_lines(self.state, held), strict=True)
        ]

    def stats(self) -> dict[str, int]:
        """The sums of `ModelMemory.stats`, and the claims by state."""
        states = [claim["state"] for claim in self.state.get("claims", [])]
        counts = {f"claims_{one}": states.count(one) for one in ("active", "dormant", "replaced", "retired")}
        return {**super().stats(), **counts, "paths": len(self.state.get("paths", []))}

    def _asker(self, batch: Batch, tally: Tally) -> Asker:
        config = self.config
        unit = f"{self.name}:{batch.batch_id}"
        return Asker(self.llm, tally, self.tokens, unit, config.context_tokens, config.reply_tokens, config.retries)

    def _check_context(self) -> None:
        """Whether the longest line that a step may be given fits beside its prompt, so that no batch finds out."""
        config = self.config
        sentence = config.sentence_tokens + 2 * config.name_tokens + 40
        needed = dict.fromkeys(instructions_of(config)[:1], config.record_tokens + 10)
        needed |= dict.fromkeys(instructions_of(config)[1:], sentence)
        needed |= dict.fromkeys((PLACEMENT.text, MAINTENANCE.text), 2 * sentence + 20)
        least = config.reply_tokens + max(self.tokens.count(text) + room for text, room in needed.items())
        if least > config.context_tokens:
            raise ContextTooSmall(f"context_tokens {config.context_tokens} is too small: at least {least} are needed")


def most_calls(config: BehaviorMemConfig, records: int) -> tuple[int, int]:
    """Calls that a batch whose lines have `records` tokens makes at most, retries apart, and about their prompt tokens.

    With the ladder: patterns, themes, characteristics (T1, T2), placement and maintenance (T3, T4); in one step:
    claims, placement and maintenance. A step takes one call for each window that its lines fill; a step with nothing
    to work on makes none.
    """
    if not config.kinds:
        return 0, 0
    first, *higher = instructions_of(config)
    if config.open_kinds:
        higher += [PLACEMENT.text, *([MAINTENANCE.text] if config.maintenance else [])]
    # Ids, and windows that are not filled to the brim.
    calls, prompt = _step(config, first, records * 5 // 4)
    items = calls * (config.max_patterns if config.ladder else config.max_themes)
    for instructions in higher:
        made, sent = _step(config, instructions, items * config.sentence_tokens // 2)
        calls, prompt = calls + made, prompt + sent
    return calls, prompt


def _step(config: BehaviorMemConfig, instructions: str, data: int) -> tuple[int, int]:
    about = len(instructions) // 4
    calls = max(-(-data // (config.context_tokens - config.reply_tokens - about)), 1)
    return calls, calls * about + data


SPEC = MethodSpec(
    name=BehaviorMem.name,
    kind="llm",
    description="A ledger of facts beside claims about the person, climbed from evidence and maintained.",
    factory=BehaviorMem,
    config_model=BehaviorMemConfig,
    version=BehaviorMem.version,
    needs=frozenset({"builder"}),
    prompts=PROMPTS_HASH,
    most_calls=most_calls,
)
