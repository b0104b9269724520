"""`funnel`: the wallets and wallet–markets of the cohort as steps of the funnel that every track shows."""

import polars as pl

from pipelines.commerce.funnel import Step


def cohort_steps(cohort_funnel: pl.DataFrame, wallets: pl.DataFrame) -> list[Step]:
    """Steps of `commerce.funnel.funnel`: candidates by the filter that stopped them, then the draw.

    `cohort_funnel` is that table over all shards, `wallets` the table with the draw. Raises
    `commerce.funnel.FunnelError` (in `funnel`) when a wallet is in neither.
    """
    seen = cohort_funnel.row(0, named=True)
    last = cohort_funnel.row(-1, named=True)
    steps = []
    for unit in ("wallets", "sequences"):
        left = cohort_funnel[unit].to_list()
        dropped = {
            name: before - after
            for name, before, after in zip(cohort_funnel["filter"][1:], left, left[1:], strict=False)
        }
        steps.append(Step("filters", unit.replace("sequences", "wallet–markets"), seen[unit], last[unit], dropped))
    cohorts = dict(wallets.filter(pl.col("reason") == "").group_by(pl.col("cohort").cast(pl.String)).len().iter_rows())
    steps.append(
        Step("draw", "wallets", last["wallets"], cohorts.get("evaluation", 0),
             {name: cohorts.get(name, 0) for name in ("support", "unused")})
    )  # fmt: skip
    return steps
