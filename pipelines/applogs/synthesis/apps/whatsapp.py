"""WhatsApp: one thread a contact, in which what was sent and received stays with its ids."""

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import contact_id
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

SHOWN = 8
"""Messages that an opened thread shows."""
MEDIA = {"image": "IMG_{:04}.jpg", "video": "VID_{:04}.mp4", "audio": "AUD_{:04}.opus", "document": "DOC_{:04}.pdf"}
SMALL_TALK = (
    *("Ok!", "Sounds good", "Haha yes", "Will do", "On my way back, talk later", "Thanks!!", "No rush", "👍"),
    *("Just saw this, sorry", "Call you in a bit?", "That made me laugh", "Hey!", "Take care", "Perfect"),
    *("Let me check and get back to you", "Did you see the news?", "Same here", "Typical", "Got it"),
    *("Miss you!", "Phone was on silent", "Almost there", "Fine by me", "Tell me later", "Wow, ok", "❤️", "Sure"),
    *("Can't talk now, message me", "Long day. You?", "Have a good one"),
)
"""What anybody writes to anybody; it tells nothing."""


class WhatsApp:
    """Messages by contact, the last kept."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._me = persona.user_id
        self._threads: dict[str, list[Json]] = {}

    def get_messages(self, call: Call) -> Exchange:
        """Opens the thread with `person`.

        `text` is what they wrote just before, or, where there is a `reply`, what the user wrote and they answered. An
        event without either finds some small talk.
        """
        them = contact_id(call.slots["person"])
        text, reply = call.slots.get("text"), call.slots.get("reply")
        last = self._threads[them][-1]["timestamp"] if them in self._threads else ""
        if reply and text:
            self._add(call, them, "asked", self._me, them, "text", text, max(last, call.before("asked", 12, 40)))
        heard = reply or text or call.one("small talk", SMALL_TALK)
        self._add(call, them, "heard", them, self._me, "text", heard, max(last, call.before("heard", 1, 11)))
        return {"contact_id": them}, {"contact_id": them, "messages": self._threads[them][-SHOWN:]}

    def send_message(self, call: Call) -> Exchange:
        """Sends `text`; a `reply` arrives half a minute later, to be seen when the thread is opened."""
        them, text = contact_id(call.slots["person"]), call.slots["text"]
        message = self._send(call, them, "text", text)
        return {"to": them, "message": text}, {"message": message, "sent_timestamp": message["timestamp"]}

    def send_media(self, call: Call) -> Exchange:
        """Sends a picture, or what `category` says, with `text` as its caption."""
        them, caption = contact_id(call.slots["person"]), call.slots.get("text")
        kind = call.slots.get("category", "")
        kind = kind if kind in MEDIA else call.one("kind", ("image", "image", "image", "video", "audio", "document"))
        content = caption or MEDIA[kind].format(call.place.whole("number", 1, 9999))
        message = self._send(call, them, kind, content)
        request = {"to": them, "media_type": kind} | ({"caption": caption} if caption else {})
        return request, {"message": message, "sent_timestamp": message["timestamp"]}

    def _send(self, call: Call, them: str, kind: str, content: str) -> Json:
        message = self._add(call, them, "sent", self._me, them, kind, content, call.stamp())
        if reply := call.slots.get("reply"):
            self._add(call, them, "answer", them, self._me, "text", reply, call.stamp(30))
        return message

    def _add(
        self, call: Call, contact: str, name: str, sender: str, to: str, kind: str, content: str, stamp: str
    ) -> Json:
        message = {
            "message_id": f"msg_{call.place.bits(name) >> 32:08x}",
            "from_user": sender,
            "to_user": to,
            "message_type": kind,
            "content": content,
            "timestamp": stamp,
        }
        # What is sent within minutes of an earlier message may bear a stamp before it: a thread is kept in time.
        thread = [*self._threads.get(contact, ())[1 - KEPT :], message]
        self._threads[contact] = sorted(thread, key=lambda one: str(one["timestamp"]))
        return message


APP = App(
    "WhatsApp",
    WhatsApp,
    {
        "GetMessages": Api(WhatsApp.get_messages, needs=("person",), running=("messages",)),
        "SendMessage": Api(WhatsApp.send_message, needs=("person", "text")),
        "SendMedia": Api(WhatsApp.send_media, needs=("person",)),
    },
)
