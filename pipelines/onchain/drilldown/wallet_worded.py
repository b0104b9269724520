"""The trail of a wallet in parts and pages."""

from collections.abc import Mapping, Sequence
from functools import partial

from markupsafe import Markup

from pipelines.evaluation import plots
from pipelines.evaluation.drilldown.pages import Leaf, Story, paged
from pipelines.evaluation.drilldown.parts import Cell, Facts, Grid, Head, Jump, Jumps, Mark, Part, Section
from pipelines.evaluation.drilldown.timeline_chart import svg
from pipelines.evaluation.drilldown.worded import call_fold
from pipelines.onchain.drilldown.wallet_trail import Prediction, Shown, Target, Trade, WalletTrail
from pipelines.onchain.wallet_plot import spec

CAPTION = (
    "Trade-only position of every outcome over blocks, in shares, a panel a market. The tables below hold the same."
)
_SHOWN = 8
"""Trades named behind an interface, the newest."""


def overview(trail: WalletTrail) -> Section:
    """The wallet: facts, final positions, and every target with who was right."""
    positions = tuple((one.market, one.outcome, one.trade_only, one.full) for one in trail.positions)
    heads = tuple(map(Head, ("market", "outcome", "by trades alone", "full ledger")))
    facts = Facts((("wallet", trail.wallet), *((name.replace("_", " "), value) for name, value in trail.facts)))
    return Section(
        "wallet",
        f"Wallet {trail.wallet}",
        (facts, *_by_target(trail.targets), Grid("Final positions, in shares", heads, positions)),
    )


def _by_target(targets: Sequence[Target]) -> list[Grid]:
    grids = []
    for layer in dict.fromkeys(one.layer for one in targets):
        mine = [one for one in targets if one.layer == layer]
        arms = sorted({(one.method, one.reader) for target in mine for one in target.predictions})
        rows: list[tuple[Cell, ...]] = []
        for target in mine:
            marks = {(one.method, one.reader): _verdict(one) for one in target.predictions}
            jump = Jump(str(target.event), _anchor(target))
            rows.append((jump, target.market, target.label, *(marks.get(arm) for arm in arms)))
        heads = (Head("trade"), Head("market"), Head("label"), *(Head(_arm(*arm), arm[0]) for arm in arms))
        grids.append(Grid(f"Targets, {layer}", heads, tuple(rows)))
    return grids


def target_section(target: Target) -> Section:
    """A target: what could be shown, what was answered, what is true, and the calls behind it."""
    facts = Facts(
        (
            ("market", target.market),
            ("split", target.split),
            ("cut", f"strictly before log {target.cut_log_index} of block {target.cut_block:,}"),
            ("label", target.label),
            ("action", target.action or None),
        )
    )
    answers = target.predictions
    parts: list[Part] = [facts, _answers(answers), _interfaces(target)]
    parts += [call_fold(one.call, _arm(one.method, one.reader), one.method) for one in answers if one.call is not None]
    return Section(_anchor(target), target.name, tuple(parts), pool=target.layer)


def _anchor(target: Target) -> str:
    return f"t{target.event}-{target.layer}"


def _answers(answers: Sequence[Prediction]) -> Grid:
    heads = ("method", "reader", "status", "answer", "rows it used", "verdict", "error", "error counted")
    rows = tuple(
        (
            *(one.method, one.reader),
            Mark(one.status, "plain" if one.status == "ok" else "bad"),
            *(one.answer, one.basis, _verdict(one), one.error, one.counted),
        )
        for one in answers
    )
    note = "Errors of a belief are of its confidence, those of a trade are in shares."
    return Grid("Answers", tuple(map(Head, heads)), rows, methods=tuple(one.method for one in answers), note=note)


def _verdict(one: Prediction) -> Mark:
    if one.correct is None:
        return Mark(f"wrong, {one.status}", "bad")
    return Mark("right", "good") if one.correct else Mark("wrong", "bad")


def _interfaces(target: Target) -> Grid:
    rows = tuple((one.interface, _jumps(one), one.others) for one in target.shown)
    heads = ("interface", "own trades it shows", "trades of other wallets")
    return Grid("What each interface shows, all before the cut", tuple(map(Head, heads)), rows)


def _jumps(one: Shown) -> Jumps:
    newest = one.events[: -_SHOWN - 1 : -1]
    left = len(one.events) - len(newest)
    return Jumps(tuple(Jump(str(event), f"v{event}") for event in newest), f"and {left:,} older" if left else "")


def _arm(method: str, reader: str) -> str:
    return f"{method}, {reader}"


def trades_grid(trades: Sequence[Trade]) -> Grid:
    """Trades in their order, amounts in shares."""
    heads = ("trade", "time", "block", "market", "outcome", "direction", "shares", "price", "position after")
    rows = tuple(
        (
            *(one.event, None if one.time is None else f"{one.time:%Y-%m-%d %H:%M} UTC", one.block, one.market),
            *(one.outcome, one.direction, one.shares, one.price, one.position_after),
        )
        for one in trades
    )
    return Grid("Trades", tuple(map(Head, heads)), rows, tuple(f"v{one.event}" for one in trades))


def wallet_story(trail: WalletTrail) -> Story:
    """A wallet's pages: its targets; all trades stand on the last page."""
    sections = paged([target_section(one) for one in trail.targets])
    leaves = [Leaf(some) for some in sections[:-1]] + [Leaf(sections[-1], (trades_grid(trail.trades),))]
    picture = partial(_picture, trail) if trail.trajectory.height else None
    return Story(trail.wallet, "wallet", overview(trail), tuple(leaves), picture, CAPTION)


def _picture(trail: WalletTrail, places: Mapping[str, str]) -> Markup:
    return svg(plots.drawn(spec(trail.trajectory, "")), places)
