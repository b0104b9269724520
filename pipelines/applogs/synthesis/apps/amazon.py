"""Amazon: a cart filled by AddToCart and emptied by Checkout, a wishlist, products priced by their name."""

from datetime import timedelta

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import dollars, identifier, rating_of, whole_of
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

MAKERS = (
    *("Aldermoor", "Brightfen", "Calder & Wick", "Dunnock", "Eastmere", "Fennimore Works", "Gannet", "Halewell"),
    *("Inverloch", "Jessamy", "Kittiwake", "Lindenhall", "Marlpit", "Nettleby", "Oakhanger", "Pebbleford"),
    *("Quillon", "Ravensbourne", "Sorrelby", "Thistledown"),
)
"""Makers that stand only beside what was searched for."""
REVIEWS = (
    (5, "Does what it says. No complaints after a month."),
    (5, "Arrived a day early and well packed."),
    (4, "Smaller than it looks in the pictures, otherwise fine."),
    (4, "Good value for the price."),
    (3, "Instructions could be clearer, but it works."),
    (5, "Bought a second one as a gift."),
    (3, "Not as sturdy as the one I had before."),
    (5, "Exactly what I was looking for."),
    (4, "The colour is a bit different from the photo."),
    (5, "Solid quality, would order again."),
    (4, "Took a while to arrive. The thing itself is all right."),
    (2, "Broke after three weeks; the replacement came quickly."),
    (5, "Feels better made than I expected."),
    (3, "Average. You get what you pay for."),
    (5, "Easy to set up and easy to clean."),
    (4, "Customer service was helpful when a part was missing."),
    (4, "I compared several and this was the sensible choice."),
    (5, "Fits as described."),
    (4, "Heavier than expected, but that makes it stable."),
    (3, "It is fine. Nothing special."),
)
"""What others say of anything, with their stars."""
ORDINARY = (
    *("AA Batteries, 24 Pack", "Dish Cloths, 10 Pack", "LED Bulbs, 4 Pack", "Packing Tape, 3 Rolls"),
    *("Storage Boxes, 2 Pack", "Extension Lead, 3 m", "Kitchen Timer", "Microfibre Duster", "Sticky Notes, 12 Pads"),
    *("Picture Hooks, 30 Pack", "Measuring Tape, 5 m", "Paper Towels, 6 Rolls"),
)
"""What anybody may have in a cart that no event filled."""


class Amazon:
    """Cart (product id → line) and wishlist (product id → item), each in the order of adding."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._prime = place.chance("prime", 0.6)
        self._cart: dict[str, Json] = {}
        self._wishes: dict[str, Json] = {}

    def search_products(self, call: Call) -> Exchange:
        """The thing and what stands beside it, in drawn order, among products of other makers."""
        query, others = call.slots["text"], call.slots.get("others", [])
        category = call.slots.get("category") or " ".join(query.split()[-3:])
        named = [_product(call, name, category) for name in (call.slots.get("entity"), *others[:4]) if name]
        makers = call.several("makers", MAKERS, max(2, 8 - len(named)))
        made_up = [_product(call, f"{maker} {category.title()}", category) for maker in makers]
        shown = call.several("order", named + made_up, 8)
        return {"query": query}, {"products": shown, "search_timestamp": call.stamp()}

    def show_product(self, call: Call) -> Exchange:
        """A product's page, with reviews of others."""
        product = _product(call, call.slots["entity"])
        known, said = product["product_id"], call.several("reviews", REVIEWS, call.place.whole("count", 3, 5))
        reviews = [
            {"rating": stars, "text": text, "author": f"buyer_{whole_of(known, text, 1000, 9999)}"}
            for stars, text in said
        ]
        return {"product_id": known}, {
            "product": product,
            "reviews": reviews,
            "in_cart": known in self._cart,
            "in_wishlist": known in self._wishes,
        }

    def add_to_cart(self, call: Call) -> Exchange:
        """Puts pieces of a product into the cart; what is bought is wished for no longer only at Checkout."""
        product, pieces = _product(call, call.slots["entity"]), call.slots.get("quantity", 1)
        known = product["product_id"]
        before = self._cart.pop(known, None)
        self._cart[known] = _line(product, pieces + (before["quantity"] if before else 0))
        _bound(self._cart)
        return {"product_id": known, "quantity": pieces}, {
            "cart": list(self._cart.values()),
            "cart_total": _total(self._cart),
        }

    def show_cart(self, call: Call) -> Exchange:
        """What is in the cart."""
        return {}, {
            "cart_items": list(self._cart.values()),
            "cart_total": _total(self._cart),
            "prime_member": call.fact("prime_member", self._prime),
        }

    def show_wishlist(self, call: Call) -> Exchange:
        """What is wished for, the thing of the event (if it names one) among it."""
        if entity := call.slots.get("entity"):
            self._wish(_product(call, entity), call.before("added", 60, 9 * 24 * 60))
        return {}, {"wishlist_items": list(self._wishes.values())}

    def add_to_wishlist(self, call: Call) -> Exchange:
        """Wishes for a product."""
        product = _product(call, call.slots["entity"])
        self._wish(product, call.stamp())
        return {"product_id": product["product_id"]}, {"wishlist_items": list(self._wishes.values())}

    def checkout(self, call: Call) -> Exchange:
        """Orders the cart and empties it; the thing of the event is put in first, into an empty cart any."""
        entity = call.slots.get("entity") or (None if self._cart else call.one("ordinary", ORDINARY))
        if entity and identifier("prod", entity) not in self._cart:
            product = _product(call, entity)
            self._cart[product["product_id"]] = _line(product, call.slots.get("quantity", 1))
        ordered, total = list(self._cart.values()), _total(self._cart)
        for known in self._cart:
            self._wishes.pop(known, None)
        self._cart = {}
        delivery = call.moment.date() + timedelta(days=call.place.whole("days", 1, 6))
        return {}, {
            "order_id": call.new_id("order"),
            "order_items": ordered,
            "total_price": total,
            "order_date": call.stamp(),
            "estimated_delivery": delivery.isoformat(),
            "prime_member": call.fact("prime_member", self._prime),
        }

    def write_review(self, call: Call) -> Exchange:
        """The user's own words on a product."""
        review = {"rating": call.slots.get("rating") or call.place.whole("rating", 3, 5), "text": call.slots["text"]}
        known = identifier("prod", call.slots["entity"])
        return {"product_id": known}, {"review": review, "reviewed_at": call.stamp()}

    def _wish(self, product: Json, added_at: str) -> None:
        if product["product_id"] not in self._wishes:
            self._wishes[product["product_id"]] = {**product, "added_at": added_at}
            _bound(self._wishes)


def _product(call: Call, name: str, category: str = "") -> Json:
    main = name == call.slots.get("entity")
    beside = category and not main and name in call.slots.get("others", [])
    kind = call.fact("other_category", category) if beside else category
    cents = whole_of("price", name, 799, 8999) // 10 * 10 + 9
    return {
        "product_id": identifier("prod", name),
        "name": name,
        "price": dollars(call.slots.get("amount", cents) if main else cents),
        "category": kind or call.slots.get("category") or "general",
        "rating": rating_of(name),
    }


def _line(product: Json, pieces: int) -> Json:
    return {name: product[name] for name in ("product_id", "name", "price")} | {"quantity": pieces}


def _total(cart: dict[str, Json]) -> float:
    return dollars(sum(round(100 * line["price"]) * line["quantity"] for line in cart.values()))


def _bound(items: dict[str, Json]) -> None:
    while len(items) > KEPT:
        del items[next(iter(items))]


APP = App(
    "Amazon",
    Amazon,
    {
        "SearchProducts": Api(Amazon.search_products, needs=("text",)),
        "ShowProduct": Api(Amazon.show_product, needs=("entity",), running=("in_cart", "in_wishlist")),
        "AddToCart": Api(Amazon.add_to_cart, needs=("entity",), running=("cart", "cart_total")),
        "ShowCart": Api(Amazon.show_cart, running=("cart_items", "cart_total")),
        "ShowWishlist": Api(Amazon.show_wishlist, running=("wishlist_items",)),
        "AddToWishlist": Api(Amazon.add_to_wishlist, needs=("entity",), running=("wishlist_items",)),
        "Checkout": Api(Amazon.checkout, running=("order_items", "total_price")),
        "WriteReview": Api(Amazon.write_review, needs=("entity", "text")),
    },
)
