"""Robinhood: cash and holdings follow buys and sells, at prices of a symbol and a day.

Nothing is sold that is not held: a sell is filled with at most what is held. What the log never saw bought was moved
in from elsewhere: a holding that an event names is there with at least one piece. Cash that is lacking is paid in.
"""

import re
from datetime import date, timedelta

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import dollars, whole_of
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

KINDS = ("stock", "etf", "crypto")
INDEXES = ("BRDX", "SMCX", "INTX", "BNDQ", "GLDQ", "REIX", "TECQ", "UTLX", "ENRX", "HLTQ", "DIVX", "EMGX")
"""Whole markets, which stand in anybody's watchlist."""
COMPANIES = (
    *("Alder Freight", "Basalt Power", "Cobalt Rail", "Delta Looms", "Ember Glass", "Fathom Cable"),
    *("Granite Water", "Harbour Foods", "Ironwood Paper", "Jetty Marine", "Keel Logistics", "Lumen Tiles"),
    *("Meridian Feed", "Northgate Steel", "Orchard Pharma", "Pillar Insurance", "Quarry Cement", "Ridge Semis"),
    *("Summit Air", "Tarn Labs"),
)
"""Companies that stand only beside what was searched for."""


class Robinhood:
    """Cash and cost of holdings (cents), pieces held, and the watchlist."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._cash = place.whole("cash", 25_000, 420_000)
        self._holdings: dict[str, Json] = {}
        self._cost: dict[str, int] = {}
        self._watched = place.some("watched", INDEXES, 3)

    def get_portfolio(self, call: Call) -> Exchange:
        """Cash, holdings (the last kept, by when they were last traded) and the value of all."""
        if "entity" in call.slots:
            symbol = _symbol(call)
            self._moved_in(call, symbol, call.slots.get("quantity") or whole_of("held", symbol, 1, 12))
        day = call.moment.date()
        value = sum(one["quantity"] * price_of(symbol, day) for symbol, one in self._holdings.items())
        return {}, {
            "cash_balance": dollars(self._cash),
            "holdings": list(self._holdings.values())[-KEPT:],
            "total_portfolio_value": dollars(self._cash + value),
        }

    def get_watchlist(self, call: Call) -> Exchange:
        """The watchlist with the prices of the day; `entity` is on it from now on."""
        if "entity" in call.slots:
            symbol = _symbol(call)
            self._watched = [*(one for one in self._watched if one != symbol), symbol][-KEPT:]
        return {}, {"watchlist": [_quote(symbol, call.moment.date()) for symbol in self._watched]}

    def search_stocks(self, call: Call) -> Exchange:
        """The company and what stands beside it, in drawn order, among companies that nobody meant."""
        named = [name for name in (call.slots.get("entity"), *call.slots.get("others", [])[:4]) if name]
        made_up = call.several("companies", COMPANIES, max(2, 7 - len(named)))
        day = call.moment.date()
        results = [
            {
                "symbol": (symbol := _symbol(call) if name == call.slots.get("entity") else symbol_of(name)),
                "name": name,
                "asset_type": _kind(call) if name == call.slots.get("entity") else _other_kind(call, name),
                "current_price": dollars(price_of(symbol, day)),
            }
            for name in call.several("order", named + made_up, 7)
        ]
        return {"query": call.slots["text"]}, {"results": results}

    def get_stock_quote(self, call: Call) -> Exchange:
        """Price and change of the day."""
        symbol, day = _symbol(call), call.moment.date()
        quote = {"symbol": symbol, "name": call.slots["entity"], **_quote(symbol, day)}
        return {"symbol": symbol}, {**quote, "in_watchlist": symbol in self._watched}

    def buy_stock(self, call: Call) -> Exchange:
        """Buys pieces at `amount`, else at the price of the day."""
        symbol, pieces = _symbol(call), call.slots.get("quantity") or call.place.whole("quantity", 1, 12)
        cents = call.slots.get("amount") or price_of(symbol, call.moment.date())
        if (short := pieces * cents - self._cash) > 0:
            self._cash += short // 10_000 * 10_000 + 20_000
        self._cash -= pieces * cents
        self._hold(symbol, _kind(call), pieces, pieces * cents)
        return _order(call, symbol, pieces), {
            "transaction": _transaction(call, symbol, "buy", pieces, cents),
            "new_cash_balance": dollars(self._cash),
            "new_holding": self._holdings[symbol],
        }

    def sell_stock(self, call: Call) -> Exchange:
        """Sells what was asked for, or what is held if that is less."""
        symbol, asked = _symbol(call), call.slots.get("quantity") or call.place.whole("quantity", 1, 12)
        self._moved_in(call, symbol, 1)
        held = self._holdings[symbol]["quantity"]
        pieces = min(asked, held)
        cents = call.slots.get("amount") or price_of(symbol, call.moment.date())
        self._cash += pieces * cents
        self._hold(symbol, _kind(call), -pieces, -(self._cost[symbol] * pieces // held))
        remaining = self._holdings[symbol]
        if not remaining["quantity"]:
            del self._holdings[symbol], self._cost[symbol]
        return _order(call, symbol, asked), {
            "transaction": _transaction(call, symbol, "sell", pieces, cents),
            "new_cash_balance": dollars(self._cash),
            "remaining_holding": remaining,
        }

    def _moved_in(self, call: Call, symbol: str, pieces: int) -> None:
        if symbol not in self._holdings:
            self._hold(symbol, _kind(call), pieces, pieces * price_of(symbol, call.moment.date()))

    def _hold(self, symbol: str, kind: str, pieces: int, cost: int) -> None:
        before = self._holdings.pop(symbol, {"quantity": 0})
        held = before["quantity"] + pieces
        self._cost[symbol] = self._cost.get(symbol, 0) + cost
        self._holdings[symbol] = {
            "symbol": symbol,
            "asset_type": before.get("asset_type", kind),
            "quantity": held,
            "average_buy_price": round(self._cost[symbol] / held / 100, 2) if held else 0.0,
        }


def symbol_of(name: str) -> str:
    """A company's symbol: its name, where that is one already, else four letters of its words."""
    if name.isupper() and name.isalpha() and len(name) <= 5:
        return name
    words = re.findall("[A-Z]+", name.upper())
    firsts = "".join(word[:1] for word in words)[:2]
    rest = "".join(letter for word in words for letter in word[1:] if letter not in "AEIOU")
    return (firsts + rest + "XQ")[:4]


def price_of(symbol: str, day: date) -> int:
    """Price of a piece on a day, in cents: within 8 % of what the symbol is worth."""
    month, drift = whole_of("month", f"{symbol} {day:%Y-%m}", -600, 600), whole_of("day", f"{symbol} {day}", -180, 180)
    return whole_of("share", symbol, 1200, 38_000) * (10_000 + month + drift) // 10_000


def _quote(symbol: str, day: date) -> Json:
    now, before = price_of(symbol, day), price_of(symbol, day - timedelta(days=1))
    return {
        "symbol": symbol,
        "current_price": dollars(now),
        "change_percent": round(100 * (now - before) / before, 2),
    }


def _symbol(call: Call) -> str:
    return str(call.fact("symbol", symbol_of(call.slots["entity"])))


def _kind(call: Call) -> str:
    said = call.slots.get("category", "")
    return said if said in KINDS else "stock"


def _other_kind(call: Call, name: str) -> str:
    """Kind of what stands beside: of the event's `others` as it says, of companies that nobody meant a stock."""
    said = call.fact("other_category", "stock") if name in call.slots.get("others", []) else "stock"
    return str(said) if said in KINDS else "stock"


def _order(call: Call, symbol: str, pieces: int) -> Json:
    return {"symbol": symbol, "quantity": pieces, "asset_type": _kind(call)}


def _transaction(call: Call, symbol: str, way: str, pieces: int, cents: int) -> Json:
    return {
        "transaction_id": f"RH-{call.moment:%Y%m%d}-{call.place.bits('order') >> 44:05}",
        "symbol": symbol,
        "asset_type": _kind(call),
        "transaction_type": way,
        "quantity": pieces,
        "price": dollars(cents),
        "total_amount": dollars(pieces * cents),
        "timestamp": call.stamp(),
    }


APP = App(
    "Robinhood",
    Robinhood,
    {
        "GetPortfolio": Api(Robinhood.get_portfolio, running=("cash_balance", "holdings", "total_portfolio_value")),
        "GetWatchlist": Api(Robinhood.get_watchlist, running=("watchlist",)),
        "SearchStocks": Api(Robinhood.search_stocks, needs=("text",)),
        "GetStockQuote": Api(Robinhood.get_stock_quote, needs=("entity",), running=("in_watchlist",)),
        "BuyStock": Api(Robinhood.buy_stock, needs=("entity",), running=("new_cash_balance", "new_holding")),
        "SellStock": Api(
            Robinhood.sell_stock,
            needs=("entity",),
            running=("transaction.quantity", "transaction.total_amount", "new_cash_balance", "remaining_holding"),
        ),
    },
)
