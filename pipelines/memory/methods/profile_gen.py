"""`profile_gen`: a structured profile that a model writes anew as the history grows (BehaviorBench, arXiv:2606.02798).

The paper makes one profile from all behaviour before a target; its prompt and fields
are not published. Ours rewrites the profile after every `every_batches` batches from
the old one and the new behaviours, so that its cost stays linear. A reply that cannot
be read leaves the profile as it was; the step and its behaviours are counted as lost.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pipelines.memory.asking import Asker, ContextTooSmall, ModelMemory, Tally, said
from pipelines.memory.behaviormem.records import records, shortened
from pipelines.memory.contract import Batch, MethodSpec, Readout, Settings, fit, setting
from pipelines.prompts import fill, load, prompts_hash

PROMPT = load("profile_gen/rewrite")
_FRAME = "Profile so far:\n(none)\n\nNew behaviours:\n"


class ProfileGenConfig(Settings):
    """Rhythm, size and context."""

    every_batches: int = setting(1, "batches between two rewrites", unit="batches", origin="ours", ge=1)
    profile_tokens: int = setting(
        1_000, "a profile at most; what is over is cut and counted", unit="tokens", origin="ours", ge=32
    )
    max_sentences: int = setting(40, "sentences asked for at most", unit="sentences", origin="ours", ge=1)
    context_tokens: int = setting(6_000, "prompt and reply of one call at most", unit="tokens", origin="ours", ge=256)
    reply_tokens: int = setting(1_500, "reply of one call at most", unit="tokens", origin="ours", ge=16)
    record_tokens: int = setting(
        300, "one behaviour in a prompt; a longer one is cut and counted", unit="tokens", origin="ours", ge=16
    )
    retries: int = setting(2, "further tries for a reply that cannot be read", unit="calls", origin="ours", ge=0)


Sentences = Annotated[list[str], Field(json_schema_extra={"maxItems": 12})]
"""The length is there for endpoints that constrain decoding: a small model would fill a list until it is cut."""


class Profile(BaseModel):
    """The reply: sentences by section."""

    model_config = ConfigDict(extra="forbid", strict=True)

    summary: str
    interests: Sentences
    habits: Sentences
    preferences: Sentences
    current_needs: Sentences
    circumstances: Sentences


class ProfileGen(ModelMemory):
    """Keeps the profile as lines, and the behaviours whose rewrite is not yet due."""

    name = "profile_gen"
    prompts = prompts_hash(PROMPT)
    config: ProfileGenConfig

    def open(self, user: str, config: BaseModel, llm: object, embedder: object) -> None:
        """See `Method`. Raises `ModelNeeded`, and `ContextTooSmall` when prompt, profile and a record do not fit."""
        super().open(user, config, llm, embedder)
        fixed = self.tokens.count(self._instructions()) + self.tokens.count(_FRAME)
        least = fixed + self.config.profile_tokens + self.config.record_tokens + self.config.reply_tokens + 20
        if least > self.config.context_tokens:
            raise ContextTooSmall(f"context_tokens {self.config.context_tokens} is too small: at least {least} needed")

    def take(self, batch: Batch) -> None:
        """Add the batch to what waits; rewrite the profile when its turn has come."""
        tally, config = Tally(), self.config
        lines, cut = shortened([one.line("") for one in records(batch.visits)], config.record_tokens, self.tokens)
        tally.add("records_cut", cut)
        waiting = [*self.state.get("waiting", []), *lines]
        due = (len(self.journal.batches) % config.every_batches) == 0
        if due:
            self._rewrite(batch, tally, waiting)
        self.state["waiting"] = [] if due else waiting
        self.record(batch, tally)

    def readout(self, budget: int) -> Readout:
        """The profile, one sentence a line with its section; then the behaviours not yet in it, newest first."""
        waiting = [f"recent: {line}" for line in reversed(self.state.get("waiting", []))]
        return fit([*self.state.get("profile", []), *waiting], budget, self.tokens)

    def stats(self) -> dict[str, int]:
        """The sums of `ModelMemory.stats`, and the behaviours that wait for a rewrite."""
        return {**super().stats(), "waiting": len(self.state.get("waiting", []))}

    def _rewrite(self, batch: Batch, tally: Tally, waiting: list[str]) -> None:
        """Take `waiting` into the profile, window by window."""
        config, instructions = self.config, self._instructions()
        unit = f"{self.name}:{batch.batch_id}"
        asker = Asker(self.llm, tally, self.tokens, unit, config.context_tokens, config.reply_tokens, config.retries)
        # Room is left for the longest profile: it may grow from one window to the next.
        for window in asker.windows(waiting, asker.room(instructions, _FRAME) - config.profile_tokens):
            head = _FRAME.replace("(none)", "\n".join(self.state["profile"])) if self.state.get("profile") else _FRAME
            reply = asker.ask("profile", instructions, head + "\n".join(waiting[place] for place in window), Profile)
            if reply is None:
                tally.add("lost_visits", len(window))
            else:
                self.state["profile"] = self._kept(profile_lines(reply), tally)

    def _kept(self, lines: Sequence[str], tally: Tally) -> list[str]:
        kept = fit(lines, self.config.profile_tokens, self.tokens)
        tally.add("profile_tokens_cut", kept.tokens_cut)
        return kept.description.split("\n") if kept.description else []

    def _instructions(self) -> str:
        config = self.config
        return fill(PROMPT, most=str(config.max_sentences), words=str(config.profile_tokens // 2))


def profile_lines(profile: Profile) -> list[str]:
    """A profile as lines, `section: sentence`; blank sentences are left out."""
    sections = {
        "summary": [profile.summary],
        **{name: getattr(profile, name) for name in list(Profile.model_fields)[1:]},
    }
    return [
        f"{name.replace('_', ' ')}: {sentence}"
        for name, sentences in sections.items()
        for sentence in map(said, sentences)
        if sentence
    ]


def most_calls(config: ProfileGenConfig, records: int) -> tuple[int, int]:
    """Calls that a batch whose lines have `records` tokens makes at most, retries apart, and about their prompt tokens.

    One call for each window that the behaviours fill beside the profile; with several batches between two rewrites
    they share one.
    """
    about = len(PROMPT.text) // 4 + config.profile_tokens
    # Windows are not filled to the brim.
    calls = max(-(-records * 5 // 4 // (config.context_tokens - config.reply_tokens - about)), 1)
    return calls, calls * about + records


SPEC = MethodSpec(
    name=ProfileGen.name,
    kind="llm",
    description="A structured profile, written anew by a model as the history grows.",
    factory=ProfileGen,
    config_model=ProfileGenConfig,
    version=ProfileGen.version,
    needs=frozenset({"profile"}),
    prompts=ProfileGen.prompts,
    most_calls=most_calls,
)
