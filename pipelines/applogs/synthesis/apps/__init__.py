"""The 16 apps on a synthetic user's phone: each API's request and response in the published shape (reference 1.3).

How an app is written
- One module an app: a class for the account of one user, opened by `(persona, place)`, one method an API
  `(call: Call) -> (request, response)`, and at its end `APP = App(name, Account, {"ApiName": Api(Account.method,
  needs=("entity",), running=("cart", "cart_total")), …})`. Add the module to `APPS` below; nothing else to register.
- `needs`: the slots without which nothing can be rendered (`title|text`: either does); `Phone` refuses an event
  that lacks one. Other slots are
  taken where the API has a place for them, and what is missing is made up at `call.place` (never at the account's).
- `running`: dotted paths of the response that depend on earlier calls; a step into a list goes into every item.
  Everything else, the whole request included, must come out alike whatever else the user did.
- The account is bounded (`KEPT` of all that grows) and never inconsistent. A dict that was handed out in a response is
  never changed afterwards: replace it by a new one.
- Words of the renderer's own (reviews of others, snippets, replies, descriptions) come from tables of 10–30 wordings,
  drawn by `call.one(name, TABLE)`; they say nothing of the user that the slots did not give, and name no persons.

What all apps share
- Stamps: `call.stamp()` (ISO, `+00:00`, a few seconds to 20 minutes after the moment; the same for a whole call),
  `call.before(name, low, high)` for what happened some minutes earlier.
- Ids: `identifier("prod", entity)` for what has a name, so that every log of a thing has the same id;
  `call.new_id("order")` for what this call makes.
- People: `contact_id(person)`, `address(person)`, `own_address(persona)`; the user is `persona.user_id`.
- Numbers of a thing: `whole_of("price", entity, low, high)`, `rating_of(entity)`; the slot `amount` (cents) precedes.
- `slots.fields` may name parts of the entity by the API's own names (`artist`, `company`, `price`, …):
  `call.fact("artist", made_up)`. `fields.other_category` is the class of `others`, where it is not `category`.

Some logs show a thing by what stands for it alone, as the published ones do: WriteReview of Amazon and ApplyJob the
id; AddToPlaylist the ids of songs; BuyStock, SellStock, GetPortfolio and GetWatchlist the symbol; TransferMoney the
account; a chat shows the `reply` to what was sent when it is opened. What shows a thing by name only in its running
parts (AddToCart, AddToWishlist, Checkout) shows it nevertheless in every log.

The shape of every API is written by hand in tests/applogs/golden_shapes/<app, lower case, _>.json.
"""

from typing import Any

from pipelines.applogs.synthesis.apps import (
    amazon,
    chase,
    fitbit,
    gmail,
    goodreads,
    google,
    google_maps,
    instagram,
    linkedin,
    llm_assistant,
    netflix,
    notion,
    robinhood,
    spotify,
    ubereats,
    whatsapp,
)
from pipelines.applogs.synthesis.apps.app import App

_ALL: tuple[App[Any], ...] = (
    amazon.APP,
    spotify.APP,
    whatsapp.APP,
    robinhood.APP,
    linkedin.APP,
    gmail.APP,
    fitbit.APP,
    chase.APP,
    goodreads.APP,
    google.APP,
    google_maps.APP,
    instagram.APP,
    llm_assistant.APP,
    netflix.APP,
    notion.APP,
    ubereats.APP,
)
APPS: dict[str, App[Any]] = {app.name: app for app in _ALL}
"""App by its published name."""
RUNNING: dict[tuple[str, str], tuple[str, ...]] = {
    (app.name, name): api.running for app in _ALL for name, api in app.apis.items()
}
"""(app, API) → dotted paths of the response that depend on earlier calls."""
