"""Every threshold of BehaviorMem; the paper publishes none of them, so all defaults are ours."""

from typing import Self

from pydantic import model_validator

from pipelines.memory.behaviormem.claims import Kind, kinds_of
from pipelines.memory.contract import Settings, setting

MOST_PATTERNS, MOST_THEMES = 12, 10
"""What the schemas of the replies allow; a configuration may ask for fewer."""


class BehaviorMemConfig(Settings):
    """Ablations, context, ledger, claims and readout."""

    explicit: bool = setting(True, "keep the ledger of facts (off: the paper's ablation)", unit="", origin="paper §5.3")
    implicit: bool = setting(True, "infer claims (off: the paper's ablation)", unit="", origin="paper §5.3")
    closed_kinds: bool = setting(
        True, "infer demographics and social relations, T1 and T2 (off: masked)", unit="", origin="paper §5.3"
    )
    open_kinds: bool = setting(
        True, "infer interests and situational state, T3 and T4 (off: masked)", unit="", origin="paper §5.3"
    )
    maintenance: bool = setting(
        True,
        "replace, retire and rest claims (off: each is added and stays)",
        unit="",
        origin="paper §5.3",
    )
    ladder: bool = setting(
        True, "climb from behaviour over pattern and theme (off: claims in one step)", unit="", origin="paper §5.3"
    )
    context_tokens: int = setting(6_000, "prompt and reply of one call at most", unit="tokens", origin="ours", ge=256)
    reply_tokens: int = setting(1_500, "reply of one call at most", unit="tokens", origin="ours", ge=16)
    record_tokens: int = setting(
        300,
        "one behaviour in a prompt or the readout; a longer one is cut and counted",
        unit="tokens",
        origin="ours",
        ge=16,
    )
    retries: int = setting(2, "further tries for a reply that cannot be read", unit="calls", origin="ours", ge=0)
    max_patterns: int = setting(
        MOST_PATTERNS, "patterns taken from one call", unit="patterns", origin="ours", ge=1, le=MOST_PATTERNS
    )
    max_themes: int = setting(
        MOST_THEMES, "themes, or claims in one step, of one call", unit="themes", origin="ours", ge=1, le=MOST_THEMES
    )
    sentence_tokens: int = setting(
        80, "a pattern, theme or claim; a longer one is rejected", unit="tokens", origin="ours", ge=8
    )
    name_tokens: int = setting(16, "a part of a path; a longer one is rejected", unit="tokens", origin="ours", ge=2)
    max_paths: int = setting(200, "paths in the registry", unit="paths", origin="ours", ge=1)
    max_claims_a_path: int = setting(3, "open claims side by side at one path", unit="claims", origin="ours", ge=1)
    dormant_after_days: int = setting(
        180, "days without support after which a stage path rests", unit="days", origin="ours: 1.5 batches", ge=1
    )
    half_life_days: int = setting(
        60, "days in which a visit's weight in the ledger halves", unit="days", origin="ours: half a batch", ge=1
    )
    max_domains: int = setting(10, "domains listed", unit="lines", origin="ours", ge=0)
    max_categories: int = setting(
        30,
        "categories listed before brands and recent items; the others follow these",
        unit="lines",
        origin="ours",
        ge=0,
    )
    max_brands: int = setting(10, "brands listed", unit="lines", origin="ours", ge=0)
    max_recent: int = setting(15, "recent items listed", unit="lines", origin="ours", ge=0)
    tree_share: int = setting(
        50, "share of the budget that claims may claim when facts need the rest", unit="%", origin="ours", ge=0, le=100
    )

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of claims that are inferred; none without implicit memory."""
        return kinds_of(self.closed_kinds, self.open_kinds) if self.implicit else ()

    @model_validator(mode="after")
    def _something_is_kept(self) -> Self:
        if not self.explicit and not self.kinds:
            raise ValueError("explicit is off and no kind of claim is left: nothing would be remembered")
        if self.reply_tokens >= self.context_tokens:
            raise ValueError(
                f"reply_tokens {self.reply_tokens} fill context_tokens {self.context_tokens}: no prompt fits"
            )
        return self
