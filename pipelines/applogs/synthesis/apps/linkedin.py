"""LinkedIn: a profile whose skills and experiences grow, a feed of what others post, and jobs."""

from datetime import timedelta

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json, iso
from pipelines.applogs.synthesis.apps.entities import contact_id, identifier, slug, whole_of
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

PAGES = (
    *("Trade & Craft Weekly", "Desk & Diary", "Working Life Review", "Guild of Planners", "Ledger & Loom"),
    *("Shift Notes", "Regional Chamber", "Careers Bulletin", "The Long Meeting", "Practice Matters"),
    *("Field Methods", "Plain Briefing"),
)
"""Pages that post in anybody's feed."""
POSTS = (
    "Three questions to ask before you accept a meeting.",
    "We asked 400 teams what they would stop doing first. The answers surprised us.",
    "Registration for the autumn conference is open.",
    "A reminder that a good handover note saves a week.",
    "Our annual report is out. The summary fits on two pages.",
    "What makes feedback useful? Specific, soon, and kind.",
    "New on the blog: how to read a contract without falling asleep.",
    "Applications for the mentoring programme close at the end of the month.",
    "The best onboarding we have seen fits on one sheet of paper.",
    "Hiring is slow everywhere this quarter, our figures show.",
    "Poll: do you answer mails in the order in which they come?",
    "A short history of the office chair, with pictures.",
    "Thank you to everyone who came to the open day.",
    "Five things we learned from moving our archive.",
    "Unpopular opinion: most slides could be a paragraph.",
    "Our webinar on writing clear job adverts is now free to watch.",
    "The trade figures for last month are in. Mixed news.",
    "Nominations for the regional awards are welcome.",
    "How do you keep notes? The comments are worth reading.",
    "A checklist for the first day back after a long leave.",
)
TITLES = (
    *("Team Coordinator", "Operations Assistant", "Project Officer", "Service Advisor", "Office Manager"),
    *("Programme Associate", "Quality Specialist", "Planning Analyst", "Site Supervisor", "Training Lead"),
)
COMPANIES = (
    *("Alder & Finch", "Bramble Works", "Cinder Lane Group", "Dovetail Services", "Elmstead Partners"),
    *("Foxglove Ltd", "Greenacre Trust", "Hollow Oak", "Ivy Bridge Co-op", "Jackdaw Systems", "Kestrel House"),
    *("Larch & Sons", "Millhouse Row", "Nine Arches", "Otter Bank"),
)
"""Employers that stand only beside what was searched for."""
WHERE = ("Remote", "On site", "Hybrid", "On site, part time", "Remote, with travel")
"""Where a job is, when nobody asked for a place."""


class LinkedIn:
    """Number of experiences, and skills, the last kept."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._me = persona.user_id
        self._experiences = place.whole("experiences", 1, 4)
        self._skills: list[str] = []

    def update_profile(self, call: Call) -> Exchange:
        """A new headline (`title`), a new summary (`text`), or both."""
        said = {"headline": call.slots.get("title"), "summary": call.slots.get("text")}
        changed = {name: words for name, words in said.items() if words}
        return changed, {"updated_fields": changed}

    def add_experience(self, call: Call) -> Exchange:
        """A post at `entity` as `title`, from `fields.start_date` (else the day) to `fields.end_date`, if it ended."""
        experience = {
            "company": call.slots["entity"],
            "title": call.slots.get("title") or call.fact("title", "Member of Staff"),
            "start_date": call.fact("start_date", call.moment.date().isoformat()),
        }
        if ended := call.fact("end_date", None):
            experience["end_date"] = ended
        self._experiences += 1
        return experience, {"experience": experience, "total_experiences": self._experiences}

    def add_skill(self, call: Call) -> Exchange:
        """A skill more."""
        skill = call.slots["entity"]
        self._skills = [*(one for one in self._skills if one != skill), skill][-KEPT:]
        return {"skill": skill}, {"skills": self._skills}

    def post_update(self, call: Call) -> Exchange:
        """The user's own words to all."""
        post = _post(call.new_id("post"), self._me, call.slots["text"], call.stamp(), 0)
        return {"content": call.slots["text"]}, {"post": post}

    def get_feed(self, call: Call) -> Exchange:
        """What others post; `text` of `person` comes first."""
        pages = call.several("pages", PAGES, 6)
        words = call.several("posts", POSTS, call.place.whole("count", 5, 6))
        posts = [_others_post(call, *one) for one in zip(pages, words, strict=False)]
        if text := call.slots.get("text"):
            posts.insert(0, _others_post(call, _author(call), text))
        return {}, {"posts": posts}

    def like_post(self, call: Call) -> Exchange:
        """Likes what `text` of `person` says, or what some page posted."""
        post = _others_post(call, _author(call), call.slots.get("text") or call.one("post", POSTS))
        liked = {**post, "likes_count": post["likes_count"] + 1}
        return {"post_id": post["post_id"]}, {"post": liked, "liked_at": call.stamp()}

    def comment_on_post(self, call: Call) -> Exchange:
        """The user's words (`text`) on a post: on what `title` of `person` says, or on some page's."""
        post = _post_id(call, _author(call), call.slots.get("title") or call.one("post", POSTS))
        comment = {"comment_id": call.new_id("comment"), "post_id": post, "author": self._me}
        return {"post_id": post, "comment": call.slots["text"]}, {
            "comment": {**comment, "content": call.slots["text"], "timestamp": call.stamp()}
        }

    def search_jobs(self, call: Call) -> Exchange:
        """The job (`entity`, at `fields.company`) and what stands beside it, in drawn order, among other jobs."""
        asked = {"query": call.slots["text"]}
        if where := call.said("place", "address"):
            asked["location"] = where
        entity, others = call.slots.get("entity"), call.slots.get("others", [])[:4]
        named = [name for name in (entity, *others) if name]
        made_up = [title for title in call.several("titles", TITLES, max(2, 8 - len(named))) if title not in named]
        jobs = [
            {
                "job_id": identifier("job", title),
                "title": title,
                "company": _company(call, title) if title == entity else COMPANIES[_number(title)],
                "location": where or WHERE[whole_of("where", title, 0, len(WHERE) - 1)],
            }
            for title in call.several("order", named + made_up, 8)
        ]
        return asked, {"jobs": jobs}

    def apply_job(self, call: Call) -> Exchange:
        """Applies for the job `entity`."""
        return {"job_id": identifier("job", call.slots["entity"])}, {"applied_at": call.stamp()}

    def send_connection_request(self, call: Call) -> Exchange:
        """Asks `person` to connect, with `text` as the note."""
        asked = {"user_id": f"member_{slug(call.slots['person'])}"}
        if text := call.slots.get("text"):
            asked["message"] = text
        return asked, {"sent_at": call.stamp()}


def _author(call: Call) -> str:
    person = call.slots.get("person")
    return contact_id(person).replace("contact", "member", 1) if person else call.one("author", PAGES)


def _post_id(call: Call, author: str, content: str) -> str:
    return identifier("post", f"{call.moment.date()} {author}: {content}")


def _others_post(call: Call, author: str, content: str) -> Json:
    """A post of others: the same one all day, from the three days before."""
    post = _post_id(call, author, content)
    today = call.moment.replace(hour=0, minute=0, second=0)
    stamp = iso(today - timedelta(seconds=whole_of("posted", post, 60, 3 * 86_400)))
    return _post(post, author, content, stamp, whole_of("likes", post, 3, 240))


def _post(post: str, author: str, content: str, stamp: str, likes: int) -> Json:
    return {"post_id": post, "author": author, "content": content, "timestamp": stamp, "likes_count": likes}


def _number(title: str) -> int:
    return whole_of("company", title, 0, len(COMPANIES) - 1)


def _company(call: Call, title: str) -> str:
    return str(call.fact("company", COMPANIES[_number(title)]))


APP = App(
    "LinkedIn",
    LinkedIn,
    {
        "UpdateProfile": Api(LinkedIn.update_profile, needs=("title|text",)),
        "AddExperience": Api(LinkedIn.add_experience, needs=("entity",), running=("total_experiences",)),
        "AddSkill": Api(LinkedIn.add_skill, needs=("entity",), running=("skills",)),
        "PostUpdate": Api(LinkedIn.post_update, needs=("text",)),
        "GetFeed": Api(LinkedIn.get_feed),
        "LikePost": Api(LinkedIn.like_post),
        "CommentOnPost": Api(LinkedIn.comment_on_post, needs=("text",)),
        "SearchJobs": Api(LinkedIn.search_jobs, needs=("text",)),
        "ApplyJob": Api(LinkedIn.apply_job, needs=("entity",)),
        "SendConnectionRequest": Api(LinkedIn.send_connection_request, needs=("person",)),
    },
)
