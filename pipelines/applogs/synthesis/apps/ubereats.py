"""UberEats: restaurants found, menus read, orders placed and listed.

The published list names only the APIs; their fields are ours, in its style. A menu and its prices follow from the
restaurant's name; dishes of our own say nothing of a diet.
"""

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import bits_of, dollars, identifier, rating_of, whole_of
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

SHOWN = 8
"""Restaurants that a search shows."""
ON_MENU = 8
CUISINES = (
    *("noodles", "bakery", "grill", "soups", "salads", "sandwiches", "curries", "pizza", "dumplings", "breakfast"),
    *("pasta", "rice bowls", "flatbreads", "desserts"),
)
"""Classes of our own restaurants, by name; of one that an event names, none is made up."""
RESTAURANTS = (
    *("Copper Ladle", "The Corner Pot", "Tin Plate", "Salt Cellar", "Two Spoons", "Lantern Kitchen", "Paper Bag Diner"),
    *(
        "The Green Door",
        "Station Canteen",
        "Hearth & Crumb",
        "Blue Counter",
        "Wooden Bowl",
        "The Crooked Table",
        "Ember",
    ),
    *("Night Market Kitchen", "Pepper Mill", "The Daily Pan", "Windlass Pantry", "Clay Oven House", "Little Stove"),
    *("Quarter Past", "The Tray", "Kettle & Rye", "Seven Steps"),
)
"""Restaurants that stand only beside what was searched for."""
DISHES = (
    ("House Bowl", "The kitchen's own, with a dressing on the side.", 1000),
    ("Soup of the Day", "Ask for today's; served with bread.", 600),
    ("Chef's Plate", "A plate of what is fresh, changes often.", 1400),
    ("Seasonal Salad", "Leaves, seeds and a light dressing.", 800),
    ("House Flatbread", "From the oven, cut in six.", 800),
    ("Small Sharing Plate", "Three little things, good for two.", 900),
    ("Large Sharing Plate", "Six little things, good for four.", 1700),
    ("Rice of the House", "Steamed, with herbs and a sauce of your choice.", 900),
    ("Noodles of the House", "Tossed in the pan with greens.", 1000),
    ("Lunch Box", "Main, side and a small dessert.", 1200),
    ("Evening Box", "Main, two sides and a drink.", 1600),
    ("Daily Special", "Until sold out.", 1200),
    ("Crisp Potatoes", "With two dips.", 450),
    ("Warm Roll", "Filled to order.", 500),
    ("Signature Wrap", "Rolled by hand, cut in half.", 900),
    ("Side of Greens", "Steamed or from the pan.", 450),
    ("Bread and Spreads", "Four slices, three spreads.", 550),
    ("Fruit Cup", "Cut this morning.", 450),
    ("Baked Dessert", "Served warm.", 550),
    ("Iced Dessert", "Two scoops, flavour of the day.", 500),
    ("Lemonade", "Made in house, 0.4 l.", 300),
    ("Sparkling Water", "0.5 l.", 250),
    ("Hot Tea", "Several kinds, with lemon on request.", 250),
)
"""Dishes, what a menu says of them and cents at least; their count is prime, so that every step meets all."""
DELIVERY_FEES = (0, 99, 149, 199, 249, 299, 349, 399)
NOTES = (
    "Leave it at the door, please.",
    "Please ring twice.",
    "No cutlery needed.",
    "Call on arrival.",
    "Sauce on the side.",
    "Second entrance from the left.",
    "No hurry.",
    "Paper bag if possible.",
    "Hand it to me, please.",
    "The bell is out of order, please knock.",
)
"""Notes to the kitchen where the event says nothing."""
WAYS_OF_EATING = frozenset({"nutrition", "diet", "diet plan", "way of eating"})
"""Categories of what is no restaurant: the kitchen is told of it."""
STATUSES = ("confirmed", "preparing", "in the kitchen", "accepted")


def _restaurant(name: str, cuisine: str) -> Json:
    usual = CUISINES[bits_of("cuisine", name) % len(CUISINES)] if name in RESTAURANTS else "mixed"
    return {"restaurant_id": identifier("restaurant", name), "name": name, "cuisine_type": cuisine or usual}


def _fee(name: str) -> int:
    return DELIVERY_FEES[bits_of("delivery fee", name) % len(DELIVERY_FEES)]


def _dish(restaurant: str, name: str, words: str, cents: int) -> Json:
    return {
        "item_id": identifier("item", f"{restaurant}\n{name}"),
        "name": name,
        "description": words,
        "price": dollars(cents),
    }


def _usual(restaurant: str, name: str, words: str, least: int) -> Json:
    dearer = whole_of("dish", f"{restaurant}\n{name}", 1, 8)
    return _dish(restaurant, name, words, least * (16 + dearer) // 800 * 50 - 1)


def _menu(call: Call, restaurant: Json) -> list[Json]:
    """What the event orders, if it says so, and what the kitchen always has.

    It orders `fields.dish`; where it only has a price (`amount`), that is the price of a set.
    """
    name, cents = restaurant["name"], call.slots.get("amount", 0)
    draw, count = bits_of("menu", name), len(DISHES)
    first, step = draw % count, draw // 64 % (count - 1) + 1
    dishes = [_usual(name, *DISHES[(first + n * step) % count]) for n in range(ON_MENU)]
    # A price has its own set, so that no set changes its price.
    if said := _ordered(call):
        words = f"From the {restaurant['cuisine_type']} section."
        own = _dish(name, said, words, cents) if cents else _usual(name, said, words, 1000)
        dishes = [own, *(dish for dish in dishes if dish["item_id"] != own["item_id"])]
    return dishes


def _ordered(call: Call) -> str:
    cents = call.slots.get("amount", 0)
    return str(call.fact("dish", f"Set Menu {cents}" if cents else ""))


def _named(call: Call) -> Json:
    """The restaurant of an event: its `entity`, unless that is a way of eating."""
    if call.said("category") in WAYS_OF_EATING or not call.said("entity"):
        return _restaurant(call.one("restaurant", RESTAURANTS), "")
    return _restaurant(call.said("entity"), call.said("category"))


def _note(call: Call) -> str:
    """What the kitchen is told: the way of eating, what the event says of its category, or something by chance."""
    category = call.said("category")
    entity = call.said("entity") if category in WAYS_OF_EATING else ""
    said = ", ".join(str(part) for part in (entity, call.fact(category, "")) if part)
    return said or (call.one("note", NOTES) if call.place.chance("notes", 0.3) else "")


class Account:
    """The orders of one user, the latest at the end, and how many there were."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._orders: list[Json] = []
        self._count = 0

    def search(self, call: Call) -> Exchange:
        """`entity` and `others` among other restaurants, in drawn order."""
        cuisine = call.said("category")
        other_cuisine = call.fact("other_category", cuisine)
        restaurants = [_named(call)]
        restaurants += [_restaurant(name, other_cuisine) for name in call.rivals(3)]
        taken = {one["name"] for one in restaurants}
        more = [name for name in call.several("more", RESTAURANTS, SHOWN) if name not in taken]
        restaurants += [_restaurant(name, "") for name in more[: SHOWN - len(restaurants)]]
        shown = [
            {
                **one,
                "rating": rating_of(one["name"]),
                "delivery_fee": dollars(_fee(one["name"])),
                "eta_minutes": call.place.whole(("eta", one["name"]), 4, 11) * 5,
            }
            for one in call.several("order", restaurants, SHOWN)
        ]
        query = call.said("text", "category", "entity", otherwise="nearby")
        request = {"query": query, **({"cuisine_type": cuisine} if cuisine else {})}
        return request, {"restaurants": shown, "search_timestamp": call.stamp()}

    def menu(self, call: Call) -> Exchange:
        """The menu of the restaurant (`entity`)."""
        restaurant = _named(call)
        name = restaurant["name"]
        rated = {**restaurant, "rating": rating_of(name), "delivery_fee": dollars(_fee(name))}
        return {"restaurant_id": restaurant["restaurant_id"]}, {"restaurant": rated, "menu": _menu(call, restaurant)}

    def order(self, call: Call) -> Exchange:
        """Orders what the event says (`quantity` of it), else one to three dishes of the menu, from the restaurant.

        `others` are restaurants that were looked at before.
        """
        restaurant, pieces = _named(call), call.slots.get("quantity", 1)
        menu = _menu(call, restaurant)
        dishes = menu[:1] if _ordered(call) else call.several("dishes", menu, call.place.whole("count", 1, 3))
        chosen = [(dish, 1 if n else pieces) for n, dish in enumerate(dishes)]
        subtotal = sum(round(dish["price"] * 100) * count for dish, count in chosen)
        delivery, service = _fee(restaurant["name"]), max(99, subtotal // 20)
        items = [
            {"item_id": dish["item_id"], "name": dish["name"], "quantity": count, "price": dish["price"]}
            for dish, count in chosen
        ]
        words = {"note": note} if (note := _note(call)) else {}
        words["delivery_address"] = call.fact("delivery_address", "Saved address")
        others = call.rivals(2)
        viewed = [*others, *call.several("viewed", RESTAURANTS, 3 - len(others))]
        order = {
            "order_id": call.new_id("order"),
            "restaurant": restaurant,
            "items": items,
            **words,
            "subtotal": dollars(subtotal),
            "delivery_fee": dollars(delivery),
            "service_fee": dollars(service),
            "total": dollars(subtotal + delivery + service),
            "status": call.one("status", STATUSES),
            "placed_at": call.stamp(),
            "eta_minutes": call.place.whole("eta", 4, 11) * 5,
            "also_viewed": call.several("order of viewing", viewed, 3),
        }
        self._keep(order)
        ordered = [{"item_id": item["item_id"], "quantity": item["quantity"]} for item in items]
        return {"restaurant_id": restaurant["restaurant_id"], "items": ordered, **words}, {"order": order}

    def _keep(self, order: Json) -> None:
        line = {
            "order_id": order["order_id"],
            "restaurant_name": order["restaurant"]["name"],
            "items": [f"{item['quantity']} × {item['name']}" for item in order["items"]],
            "total": order["total"],
            "placed_at": order["placed_at"],
        }
        self._orders = [*self._orders, line][-KEPT:]
        self._count += 1

    def history(self, call: Call) -> Exchange:
        """The last `KEPT` orders, latest first, and how many there ever were."""
        return {}, {"orders": self._orders[::-1], "order_count": self._count}


APP = App(
    "UberEats",
    Account,
    {
        "SearchRestaurants": Api(Account.search),
        "GetMenu": Api(Account.menu, ("entity",)),
        "PlaceOrder": Api(Account.order, ("entity",)),
        "GetOrderHistory": Api(Account.history, running=("orders", "order_count")),
    },
)
