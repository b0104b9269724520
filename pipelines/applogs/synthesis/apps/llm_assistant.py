"""LLM Assistant: conversations, begun and continued.

An event goes on with the conversation of its `title`; without one, with that of its siblings in the tree. What begins
is that conversation, or, where that is open already, another one of which no more is heard.
"""

from pipelines.applogs.synthesis.apps.app import Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import identifier
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

OPENINGS = (
    "Happy to help with that.",
    "Good question; here is a short answer.",
    "Let me take this in order.",
    "Here is how I would think about it.",
    "Thanks for the details.",
    "Sure. A few points first.",
    "There are a couple of ways to look at this.",
    "Understood. Let's keep it simple.",
    "I can walk you through it.",
    "In short: it depends on a few things, but a good start is possible.",
    "Let's break this down.",
    "That makes sense.",
    "Of course.",
    "Here is a summary, with the main thing first.",
    "I have put together a few thoughts.",
    "Noted. This is what I would suggest.",
    "Let me sketch an answer.",
    "Here are some pointers.",
    "All right, step by step.",
    "I will keep this brief.",
)
ADVICE = (
    "Start by writing down what matters most to you, and leave the rest for later.",
    "Small steps tend to work better than one big push, since each of them can be checked.",
    "It helps to compare two or three options by the same criteria before you decide.",
    "Check the conditions first, because details like these change from time to time.",
    "If something is unclear, ask the people concerned before you plan around it.",
    "Keep a short list of open questions, and go through it when new information comes in.",
    "A simple table with one row for each option is usually enough to see the difference.",
    "Leave some room for things that take longer than expected.",
    "The first version need not be perfect; it only has to be good enough to improve on.",
    "Set aside what cannot be changed and look at what is left.",
    "Try it once on a small scale and see what you would do differently the next time.",
    "Look for the step that everything else depends on, and begin there.",
    "Two common mistakes are to begin too late and to do too much at once.",
    "If you need it in writing, I can turn this into a short note or a message.",
    "Where you can, settle on one thing and stick with it long enough to judge the result.",
    "Think about who else is affected and what they would need to know.",
    "Most of the effort goes into preparing; the rest follows more easily.",
    "Write the outcome down while it is fresh, so that you can come back to it.",
    "When two options look alike, the one that is easier to undo is the safer choice.",
    "Numbers are worth a second look, above all where they come from a single source.",
    "A checklist with five items is plenty; longer ones are seldom read to the end.",
    "Give it a clear name and a place, so that you find it again.",
    "If there is a deadline, count back from it and mark the latest moment for each step.",
    "It is fine to leave a question open as long as you know when you will settle it.",
)
_HALF = len(ADVICE) // 2
CLOSINGS = (
    "Would you like me to go into more detail?",
    "Tell me which part you want to look at more closely.",
    "I can make this shorter or longer if you like.",
    "Let me know how it goes.",
    "Shall I turn this into a checklist?",
    "If you share a few more details, I can be more specific.",
    "Does that answer your question?",
    "I can also draft the wording for you.",
    "Want a second suggestion to compare?",
    "Just say so if I misunderstood something.",
    "I am glad to go on from here.",
    "Ask again whenever something changes.",
)
SENTENCE = 25
"""Letters of the shortest answer; what is shorter ("will do") is none of an assistant's."""


class Account:
    """The conversations that are open; their names are all that is kept."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._owner = persona.user_id
        self._open: set[str] = set()

    def _id(self, call: Call) -> str:
        thread = call.said("title") or call.place.path.rpartition("/")[0]
        return identifier("conv", f"{self._owner}\n{thread}")

    def create(self, call: Call) -> Exchange:
        """Begins a conversation, with `text` as its first message where there is one."""
        conversation, text = self._id(call), call.said("text")
        if conversation in self._open:
            conversation = call.new_id("conv")
        self._open.add(conversation)
        request = {"initial_message": text} if text else {}
        return request, {"conversation_id": conversation, "created_at": call.stamp()}

    def go_on(self, call: Call) -> Exchange:
        """A message (`text`) and the answer: `reply` where that is a sentence or more, else general advice."""
        conversation, text = self._id(call), call.said("text")
        self._open.add(conversation)
        answer = call.said("reply")
        if len(answer) < SENTENCE:
            first = call.several("advice", ADVICE[:_HALF], call.place.whole("length", 3, 7))
            more = call.several("more advice", ADVICE[_HALF:], call.place.whole("more", 2, 7))
            answer = f"{call.one('opening', OPENINGS)} {' '.join(first)}\n\n{' '.join(more)}"
        answer = f"{answer} {call.one('closing', CLOSINGS)}"
        response = {
            "conversation_id": conversation,
            "user_message": _message(call, "user", text, call.stamp()),
            "assistant_response": _message(call, "assistant", answer, call.stamp(call.place.whole("wait", 2, 20))),
        }
        return {"conversation_id": conversation, "message": text}, response


def _message(call: Call, role: str, content: str, stamp: str) -> Json:
    return {"message_id": call.new_id(f"msg_{role}"), "role": role, "content": content, "timestamp": stamp}


APP = App(
    "LLM Assistant",
    Account,
    {
        "CreateConversation": Api(Account.create, running=("conversation_id",)),
        "ContinueConversation": Api(Account.go_on, needs=("text",)),
    },
)
