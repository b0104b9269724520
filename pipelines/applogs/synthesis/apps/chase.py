"""Chase: two accounts whose balances are what all postings add up to, among the payments of any day."""

from datetime import date, timedelta

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import dollars, slug, whole_of
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

CATEGORIES = (*("dining", "shopping", "transportation", "groceries", "entertainment", "utilities", "bills", "other"),)
EVERYDAY = (
    ("Corner Grocer", "groceries", 900, 8200),
    ("Fruit & Veg Barrow", "groceries", 600, 5400),
    ("Farm Stand", "groceries", 500, 2900),
    ("Sandwich Counter", "dining", 700, 1900),
    ("Noodle Window", "dining", 1100, 3200),
    ("Station Kiosk", "dining", 300, 1100),
    ("Fuel Stop 24", "transportation", 2200, 6400),
    ("City Transit", "transportation", 275, 2750),
    ("Municipal Parking", "transportation", 300, 1800),
    ("General Hardware", "shopping", 800, 7200),
    ("Pharmacy on Main", "shopping", 500, 4600),
    ("Dry Cleaner", "other", 900, 3800),
    ("Parcel Counter", "other", 400, 2600),
    ("Ticket Booth", "entertainment", 900, 4200),
    ("Office Supplies Depot", "shopping", 600, 5200),
    ("Barber & Salon", "other", 1800, 6500),
)
"""Payments of any day: merchant, category, from, to (cents). They stand for no state of anybody."""
NO_WORDS = frozenset(["a", "an", "and", "at", "by", "for", "from", "in", "my", "of", "on", "or", "the", "to", "with"])
"""Words of a query that find nothing."""
BACK = 21
"""Days that are in the books when a log begins."""


class Chase:
    """Checking and savings (cents), and the last postings to checking. No balance falls below zero."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._place = place
        self._income = int(persona.facts.get("income", place.whole("income", 380_000, 720_000)))
        self._checking = f"Checking-{place.whole('checking', 1000, 9999)}"
        self._savings = f"Savings-{place.whole('savings', 1000, 9999)}"
        self._balance = {
            self._checking: place.whole("opening", 180_000, 620_000),
            self._savings: place.whole("saved", 150_000, 1_900_000),
        }
        self._postings: list[Json] = []
        self._booked: date | None = None

    def get_balance(self, call: Call) -> Exchange:
        """Both accounts, or one."""
        self._book(call.moment.date())
        asked = {"account_id": self._checking} if call.place.chance("one account", 0.4) else {}
        shown = [self._checking] if asked else [self._checking, self._savings]
        accounts = [
            {"account_id": one, "account_type": one.split("-")[0].lower(), "balance": dollars(self._balance[one])}
            for one in shown
        ]
        return asked, {
            "accounts": accounts,
            "total_balance": dollars(sum(self._balance[one] for one in shown)),
            "last_updated": call.stamp(),
        }

    def get_transactions(self, call: Call) -> Exchange:
        """Postings of some days, the newest first; a payment to `entity` is among them."""
        today = call.moment.date()
        self._book(today)
        self._paid(call)
        asked: Json = {"account_id": self._checking} if call.place.chance("account", 0.6) else {}
        since = today - timedelta(days=call.one("days", (7, 7, 10, 14)))
        if call.place.chance("dates", 0.7):
            asked |= {"start_date": since.isoformat(), "end_date": today.isoformat()}
        shown = [one for one in self._newest() if "start_date" not in asked or one["transaction_date"] >= str(since)]
        return asked, {"transactions": shown[:KEPT], "account_balance": dollars(self._balance[self._checking])}

    def search_transactions(self, call: Call) -> Exchange:
        """Postings whose merchant or category shares a word with the query; a payment to `entity` is among them."""
        self._book(call.moment.date())
        self._paid(call)
        words = {*slug(call.slots["text"]).split("_")} - NO_WORDS | {*slug(call.slots.get("entity", "")).split("_")}
        shown = [one for one in self._newest() if words & {*slug(one["merchant"]).split("_"), one["category"]}]
        return {"query": call.slots["text"]}, {"transactions": shown[:KEPT]}

    def transfer_money(self, call: Call) -> Exchange:
        """From checking to `person` or `entity`, else to savings; the balance of others' accounts is not shown."""
        self._book(call.moment.date())
        cents = call.slots.get("amount") or call.place.whole("amount", 20, 400) * 100
        other = call.slots.get("person") or call.slots.get("entity")
        target = f"External-{slug(other)}" if other else self._savings
        posting = self._pay(
            call, f"Transfer to {slug(other).replace('_', ' ') if other else 'Savings'}", cents, "other"
        )
        new = {"from_account_new_balance": dollars(self._balance[self._checking])}
        if not other:
            self._balance[target] += cents
            new["to_account_new_balance"] = dollars(self._balance[target])
        request = {"from_account_id": self._checking, "to_account_id": target, "amount": dollars(cents)}
        return request, {"transaction_id": posting["transaction_id"], **new, "timestamp": call.stamp()}

    def pay_bill(self, call: Call) -> Exchange:
        """Pays `entity` from checking."""
        self._book(call.moment.date())
        biller = call.slots["entity"]
        cents = call.slots.get("amount") or whole_of("bill", biller, 1800, 16_000)
        posting = self._pay(call, biller, cents, "bills")
        return {"biller_name": biller, "amount": dollars(cents), "from_account_id": self._checking}, {
            "transaction_id": posting["transaction_id"],
            "new_balance": dollars(self._balance[self._checking]),
            "timestamp": call.stamp(),
        }

    def _paid(self, call: Call) -> None:
        if entity := call.slots.get("entity"):
            said = call.slots.get("category", "")
            cents = call.slots.get("amount") or whole_of("bill", entity, 1800, 16_000)
            self._pay(call, entity, cents, said if said in CATEGORIES else "other")

    def _pay(self, call: Call, merchant: str, cents: int, category: str) -> Json:
        return self._debit(call.moment.date(), merchant, cents, category, call.place.bits("payment"))

    def _book(self, today: date) -> None:
        """Everyday payments and income of each day until today: the same whenever somebody looks."""
        day = self._booked or today - timedelta(days=BACK)
        while day < today:
            day += timedelta(days=1)
            draw = self._place.bits(day)
            if day.day in (1, 15):
                self._post(day, "Direct Deposit", self._income // 2, "other", draw)
            if day.day == 3:
                self._debit(day, "Monthly Autopay", self._income * 2 // 5, "bills", draw)
            if day.day == 18:
                self._debit(day, "City Power & Water", 6200 + draw % 7000, "utilities", draw)
            for _ in range((0, 1, 1, 2, 2, 3)[draw % 6]):
                # Further draws of the day: a linear congruential step (Knuth, MMIX), whose high bits are used.
                draw = (draw * 6364136223846793005 + 1442695040888963407) % 2**64
                merchant, category, low, high = EVERYDAY[(draw >> 40) % len(EVERYDAY)]
                self._debit(day, merchant, low + (draw >> 20) % (high - low), category, draw >> 16)
        self._booked = day

    def _debit(self, day: date, merchant: str, cents: int, category: str, draw: int) -> Json:
        if (short := cents - self._balance[self._checking]) > 0:
            # A log does not see all of a life's money: what is lacking comes from outside it.
            self._post(day, "Mobile Deposit", short // 10_000 * 10_000 + 30_000, "other", draw >> 8)
        return self._post(day, merchant, -cents, category, draw)

    def _post(self, day: date, merchant: str, cents: int, category: str, draw: int) -> Json:
        self._balance[self._checking] += cents
        posting = {
            "transaction_id": f"CHASE-TX-{day:%m%d%Y}-{draw % 10_000:04}-{draw // 10_000 % 1000:03}",
            "transaction_date": day.isoformat(),
            "merchant": merchant,
            "amount": dollars(abs(cents)),
            "transaction_type": "credit" if cents > 0 else "debit",
            "category": category,
        }
        self._postings = [*self._postings[1 - KEPT :], posting]
        return posting

    def _newest(self) -> list[Json]:
        return self._postings[::-1]


APP = App(
    "Chase",
    Chase,
    {
        "GetBalance": Api(Chase.get_balance, running=("accounts.balance", "total_balance")),
        "GetTransactions": Api(Chase.get_transactions, running=("transactions", "account_balance")),
        "SearchTransactions": Api(Chase.search_transactions, needs=("text",), running=("transactions",)),
        "TransferMoney": Api(Chase.transfer_money, running=("from_account_new_balance", "to_account_new_balance")),
        "PayBill": Api(Chase.pay_bill, needs=("entity",), running=("new_balance",)),
    },
)
