"""Instagram: own posts and stories, those of others, messages, and the accounts that are followed."""

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import bits_of, contact_id, identifier, slug, whole_of
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

HOSTS = (
    "daily.postcards",
    "tiny.windows",
    "roof.pigeons",
    "found.gloves",
    "corner.shadows",
    "lost.buttons",
    "odd.staircases",
    "paper.boats",
    "quiet.lobbies",
    "rusty.signs",
    "small.doors",
    "puddle.mirrors",
)
"""Accounts of others where the event names none."""
CAPTIONS = (
    "New post is up.",
    "A quick look behind the scenes.",
    "More of this soon.",
    "Swipe for the whole series.",
    "Thank you all for the kind words.",
    "Throwback to a good day.",
    "Caption this one.",
    "Part two follows tomorrow.",
    "From the archive.",
    "Questions? Ask below.",
    "One for the collection.",
    "Work in progress.",
    "It took three tries.",
    "Sound on.",
    "Guess where this is.",
    "A small update from us.",
    "Which one do you like best?",
    "Details in the comments.",
    "Nothing to add to this.",
    "Short clip, long story.",
)
"""What others write under their posts."""
OWN = (
    "today",
    "right now",
    "no caption needed",
    "just this",
    "a moment",
    "here we are",
    "look",
    "for later",
    "seen",
    "so",
)
"""Captions of the user's own where the event says nothing."""
BIOS = (
    "Pictures and short clips.",
    "Official account.",
    "New posts are announced.",
    "Ask us anything.",
    "Stories from behind the counter.",
    "Public page, run by a small team.",
    "Archive and announcements.",
    "Photographs only.",
    "News, dates and details.",
    "Shared with friends and neighbours.",
    "Notes and snapshots.",
    "Collected one at a time.",
)
KINDS = ("photo", "photo", "photo", "carousel", "video")


class _Profile:
    """Whom an event is about: the account `entity`, else the `person`, else one made up."""

    def __init__(self, call: Call) -> None:
        if entity := call.said("entity"):
            self.name, self.id = entity, slug(entity)
        elif person := call.said("person"):
            self.name, self.id = person, contact_id(person)
        else:
            self.name = self.id = call.one("host", HOSTS)


class Account:
    """The accounts that one user follows, in the order in which that began."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._owner = persona.user_id
        # All of them, for their count is shown; only the last are listed.
        self._following: dict[str, Json] = {}

    def _own_post(self, call: Call, said: Json) -> Json:
        post = {"post_id": call.new_id("post"), "author": self._owner, **said}
        return {**post, "timestamp": call.stamp(), "likes_count": 0}

    def create(self, call: Call) -> Exchange:
        """A post with `text` as its caption, at `place` and `address` where the event has them."""
        request = {
            "content_type": call.fact("content_type", call.one("content", KINDS)),
            "caption": call.said("text", otherwise=call.one("caption", OWN)),
        }
        for name, slot in (("location", "place"), ("location_address", "address")):
            if said := call.said(slot):
                request[name] = said
        return request, {"post": self._own_post(call, request)}

    def story(self, call: Call) -> Exchange:
        """A story, with `text` as its caption where the event has one."""
        kind = call.fact("content_type", call.one("content", ("photo", "video")))
        request = {"content_type": kind, **({"caption": text} if (text := call.said("text")) else {})}
        return request, {"post": self._own_post(call, request)}

    def like(self, call: Call) -> Exchange:
        """Likes a post of the account; `text` is what it says."""
        post = _post_of_another(call, call.said("text"))
        # The likes of others, and this one.
        post["likes_count"] = whole_of("likes", post["post_id"], 12, 4000) + 1
        return {"post_id": post["post_id"]}, {"post": post, "liked": True, "liked_at": call.stamp()}

    def comment(self, call: Call) -> Exchange:
        """Writes `text` under a post of the account; `reply` is what the post says."""
        post, text = _post_of_another(call, call.said("reply")), call.said("text")
        comment = {
            "comment_id": call.new_id("comment"),
            "post_id": post["post_id"],
            "author": self._owner,
            "text": text,
            "timestamp": call.stamp(),
        }
        return {"post_id": post["post_id"], "comment": text}, {"comment": comment, "post": post}

    def message(self, call: Call) -> Exchange:
        """Sends `text` to the `person`, else to the account."""
        to = contact_id(person) if (person := call.said("person")) else _Profile(call).id
        response = {"message_id": call.new_id("dm"), "sent_timestamp": call.stamp()}
        return {"to_user_id": to, "message": call.said("text")}, response

    def _follow(self, call: Call) -> str:
        profile = _Profile(call)
        bio = BIOS[bits_of("bio", profile.id) % len(BIOS)]
        self._following.setdefault(profile.id, {"user_id": profile.id, "display_name": profile.name, "bio": bio})
        return profile.id

    def _shown(self, first: str = "") -> list[Json]:
        """The accounts followed last, latest first, and before them the one that it is about."""
        latest = [account for account in reversed(self._following.values()) if account["user_id"] != first]
        return ([self._following[first], *latest] if first in self._following else latest)[:KEPT]

    def follow(self, call: Call) -> Exchange:
        """Follows the account; one that is followed already stays so."""
        user_id = self._follow(call)
        return {"user_id": user_id}, {"following": self._shown(user_id)}

    def unfollow(self, call: Call) -> Exchange:
        """Follows the account no more."""
        user_id = _Profile(call).id
        self._following.pop(user_id, None)
        return {"user_id": user_id}, {"following": self._shown()}

    def get_following(self, call: Call) -> Exchange:
        """Whom the user follows; the account that the event names is among them."""
        first = self._follow(call) if call.said("entity", "person") else ""
        return {}, {"following": self._shown(first), "following_count": len(self._following)}


def _post_of_another(call: Call, says: str) -> Json:
    author = _Profile(call).name
    caption = says or call.one("caption", CAPTIONS)
    return {"post_id": identifier("post", f"{author}\n{caption}"), "author": author, "caption": caption}


APP = App(
    "Instagram",
    Account,
    {
        "CreatePost": Api(Account.create),
        "PostStory": Api(Account.story),
        "LikePost": Api(Account.like),
        "CommentOnPost": Api(Account.comment, ("text",)),
        "SendDirectMessage": Api(Account.message, ("text",)),
        "FollowUser": Api(Account.follow, ("entity|person",), running=("following",)),
        "UnfollowUser": Api(Account.unfollow, ("entity|person",), running=("following",)),
        "GetFollowing": Api(Account.get_following, running=("following", "following_count")),
    },
)
