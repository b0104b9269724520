"""Gmail: an inbox into which mails arrive, and whose unread ones become fewer as they are read."""

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import address, bits_of, identifier, own_address
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

SHOWN = 10
"""Mails that the inbox shows at once."""
ARRIVING = (
    ("parcel desk", "Your parcel has been handed to the carrier", "It should arrive within three working days."),
    ("parcel desk", "Delivery note", "The parcel was left in the agreed place. No action is needed."),
    ("town library service", "Opening hours next week", "Please note the changed opening hours on the holiday."),
    ("city newsletter", "This week around town", "Roadworks on the ring road, market hours and the council's agenda."),
    ("account security", "New sign-in to your account", "If this was you, there is nothing to do."),
    ("account security", "Your backup codes", "Keep the codes in a safe place. You can make new ones at any time."),
    ("cloud storage", "Your monthly storage summary", "You are using part of your free space."),
    ("cloud storage", "A file was shared with you", "Open the link to see the file. The link ends in seven days."),
    ("billing", "Your receipt", "Thank you. The receipt is attached for your records."),
    ("billing", "Your statement is ready", "The statement of the month can be seen in your account."),
    ("survey team", "How did we do?", "The survey takes two minutes and helps us to do better."),
    ("terms and policies", "We are updating our terms", "The changes take effect next month. Here is a summary."),
    ("service desk", "Planned maintenance", "The service will be unavailable on Sunday night for about an hour."),
    ("service desk", "Your request was received", "We will come back to you within two working days."),
    ("weather service", "Wind warning for your area", "Strong gusts are expected in the night. Secure loose things."),
    ("transit alerts", "Changed timetable", "Some lines run every half hour during the works."),
    ("water utility", "Meter reading", "The reading of the meters takes place by itself this quarter."),
    ("weekly digest", "Five long reads for the weekend", "Our picks of the week, from bridges to beetles."),
    ("weekly digest", "The most read stories of the week", "What other readers liked, in one short list."),
    ("calendar", "Reminder: the clocks change", "Clocks are moved by one hour on Sunday morning."),
    ("community board", "Lost and found", "A set of keys and a grey scarf were handed in."),
    ("offers", "Ends on Sunday", "A last reminder of this week's offers. Unsubscribe at any time."),
    ("offers", "New arrivals", "Have a look at what came in this month."),
    ("recycling service", "Collection days of the month", "Paper is collected in the second week, glass in the third."),
)
"""Mails that anybody gets: sender, subject, body."""
SUBJECTS = (
    *("Quick note", "Following up", "As discussed", "One more thing", "Short update", "A question", "For your records"),
    *("Checking in", "Notes", "Before I forget", "An update", "About yesterday", "Just so you know", "Details inside"),
)
BODIES = (
    "Hello, a short note to keep you in the loop. Nothing is needed from your side for now.",
    "Hi, I wanted to get back to you on this. Have a look when you find the time.",
    "Hello, please see below. Let me know if anything is unclear.",
    "Hi there, as promised. No hurry with an answer.",
    "Hello, this is to let you know that we have it on our list.",
    "Hi, thanks for your patience. More on this soon.",
    "Hello, all is as agreed. You need not reply to this mail.",
    "Hi, only a quick word before the day ends. Talk soon.",
    "Hello, thank you for getting in touch. We have made a note of it.",
    "Hi, here is what I have so far. The rest follows.",
    "Hello, just a heads-up. Everything else stays as it is.",
    "Hi, good to hear from you. I will write at more length later.",
)
"""Bodies of mails whose words no event says."""
OPENINGS = (
    *("Hello,", "Hi,", "Good day,", "Hello there,", "Hi there,", "Greetings,", "To whom it concerns,", "Dear reader,"),
    *("Hello again,", "A short message:"),
)
CLOSINGS = (
    "Best regards",
    "Kind regards\n--\nThis mail may be confidential. If it is not for you, please let us know and delete it.",
    "Yours\n\nSent from a phone; please excuse typing errors.",
    "Thanks, and all the best",
    "With best wishes\n--\nPlease think of the trees before you print this mail.",
    "Talk soon",
    "Regards\n--\nYou get this mail because your address is on our list, which you can leave at any time.",
    "Many thanks\n--\nThis mailbox is read on weekdays. For anything urgent, please telephone.",
    "Cheers",
    "Sincerely\n--\nIf you cannot read this mail, open it in a browser. Allow pictures to see them.",
    "Warm regards\n\nP.S. No need to answer.",
    "Until then\n--\nWritten on the way. Attachments, if any, were scanned and found clean.",
)
"""What stands around the words of a received mail."""


class Gmail:
    """Mails in the inbox, the last kept, and the ids of all that were opened: none of them is ever unread again."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._me = own_address(persona)
        self._place = place
        self._inbox: dict[str, Json] = {}
        self._opened: set[str] = set()

    def get_inbox(self, call: Call) -> Exchange:
        """Mails from the newest; one that the event tells of (`title`, `text` or `person`) has just arrived."""
        if not self._inbox:
            for n, (sender, title, body) in enumerate(self._place.some("inbox", ARRIVING, 3)):
                self._arrive(_mail(identifier("email", f"{self._place.path}/{n}"), sender, title, body), call, 50)
        for n, (sender, title, body) in enumerate(call.several("arriving", ARRIVING, call.place.whole("count", 0, 2))):
            self._arrive(_mail(identifier("email", f"{call.place.path}/{n}"), sender, title, body), call, 10)
        if call.said("title", "text", "person"):
            self._arrive(_told(call)[0], call, 1)
        asked = call.place.chance("unread", 0.5)
        newest = sorted(self._inbox.values(), key=lambda one: str(one["timestamp"]), reverse=True)
        emails = [one for one in newest if not (asked and one["is_read"])]
        return {"unread_only": asked}, {"emails": emails[:SHOWN], "unread_count": self._unread()}

    def read_email(self, call: Call) -> Exchange:
        """Opens the mail that the event tells of; an event that tells of none finds one that anybody gets."""
        mail, body = _told(call)
        known = self._read(mail, call)
        label = "IMPORTANT" if "person" in call.slots else "UPDATES"
        return {"email_id": mail["email_id"]}, {
            "email": {**known, "to_address": self._me, "body": body, "labels": ["INBOX", label]}
        }

    def send_email(self, call: Call) -> Exchange:
        """Sends `text` under `title` to `person`."""
        to, subject = address(call.slots["person"]), call.slots.get("title") or call.one("subject", SUBJECTS)
        sent = self._sent(call, to, subject)
        return {"to": to, "subject": subject, "body": call.slots["text"]}, sent

    def reply_email(self, call: Call) -> Exchange:
        """Answers the mail of `person` about `title` with `text`; that mail is read then."""
        subject = call.slots.get("title") or call.one("subject", SUBJECTS)
        known = _told_id(call, call.slots["person"], subject)
        self._open(known)
        return {"email_id": known, "body": call.slots["text"]}, self._sent(
            call, address(call.slots["person"]), f"Re: {subject}"
        )

    def _sent(self, call: Call, to: str, subject: str) -> Json:
        body, stamp = call.slots["text"], call.stamp()
        head = {"email_id": call.new_id("email"), "from_address": self._me, "to_address": to, "subject": subject}
        email = {**head, "snippet": _snippet(body), "body": body, "labels": ["SENT"], "timestamp": stamp}
        return {"email": {**email, "is_read": True}, "sent_timestamp": stamp}

    def _read(self, mail: Json, call: Call) -> Json:
        if mail["email_id"] not in self._inbox:
            self._arrive(mail, call, 1)
        self._open(mail["email_id"])
        return {**mail, "timestamp": self._inbox[mail["email_id"]]["timestamp"], "is_read": True}

    def _open(self, known: str) -> None:
        self._opened.add(known)
        if known in self._inbox:
            self._inbox[known] = {**self._inbox[known], "is_read": True}

    def _arrive(self, mail: Json, call: Call, minutes: int) -> None:
        """Puts a mail that is not there yet into the inbox, so many minutes ago or up to nine more."""
        known = mail["email_id"]
        if known not in self._inbox:
            stamp = call.before(("arrived", known), minutes, minutes + 9)
            self._inbox[known] = {**mail, "timestamp": stamp, "is_read": known in self._opened}
            if len(self._inbox) > KEPT:
                del self._inbox[next(iter(self._inbox))]

    def _unread(self) -> int:
        return sum(not one["is_read"] for one in self._inbox.values())


def _told(call: Call) -> tuple[Json, str]:
    """The mail of the event and its body: of the same sender, subject and day it is the same mail."""
    sender, subject, body = call.one("mail", ARRIVING)
    told = call.said("title", "text", "person")
    if told:
        sender, subject = call.slots.get("person") or sender, call.slots.get("title") or call.one("subject", SUBJECTS)
    known = _told_id(call, sender, subject)
    if told:
        body = call.slots.get("text") or BODIES[bits_of("body", known) % len(BODIES)]
    draw = bits_of("letter", known)
    letter = f"{OPENINGS[draw % len(OPENINGS)]}\n\n{body}\n\n{CLOSINGS[(draw >> 8) % len(CLOSINGS)]}"
    return _mail(known, sender, subject, body), letter


def _told_id(call: Call, sender: str, subject: str) -> str:
    return identifier("email", f"{sender}|{subject}|{call.moment.date()}")


def _mail(known: str, sender: str, subject: str, body: str) -> Json:
    return {
        "email_id": known,
        "from_address": address(sender),
        "subject": subject,
        "snippet": _snippet(body),
        "timestamp": "",
        "is_read": False,
    }


def _snippet(body: str) -> str:
    return body if len(body) <= 90 else f"{body[:89].rstrip()}…"


APP = App(
    "Gmail",
    Gmail,
    {
        "GetInbox": Api(Gmail.get_inbox, running=("emails", "unread_count")),
        "ReadEmail": Api(Gmail.read_email, running=("email.timestamp",)),
        "SendEmail": Api(Gmail.send_email, needs=("person", "text")),
        "ReplyEmail": Api(Gmail.reply_email, needs=("person", "text")),
    },
)
