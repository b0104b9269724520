"""What a call costs, by a price table; an unknown model costs an unknown amount, never nothing."""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal

from pydantic import BaseModel, ConfigDict, Field

NANO = 1_000_000_000
"""Nano-dollars of a dollar: costs are added up as integers."""


class Price(BaseModel):
    """USD for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: Decimal = Field(ge=0, description="USD for a million prompt tokens")
    reply: Decimal = Field(default=Decimal(0), ge=0, description="USD for a million reply tokens")


def cost(prices: Mapping[str, Price], model: str, tokens_in: int, tokens_out: int) -> int | None:
    """Nano-dollars of a call; None for a model that the table does not know."""
    price = prices.get(model)
    if price is None:
        return None
    nano = (tokens_in * price.prompt + tokens_out * price.reply) * 1000
    return int(nano.to_integral_value(ROUND_HALF_UP))
