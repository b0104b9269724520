"""What can be true of a synthetic user: tables of states, one module a domain, in our own wording.

A state is drawn for a user at its own place with its own probability; none looks at another. What the
events need beside the value stands in `Interval.facts`, by these names and no others:

Every family
- `label`: the state in words ("gym membership", "budget review").
- `reason`: why this value began, as the user would say it ("the old place got too crowded"); absent where
  the operation is `initial`. Where `Interval.cause` is set it is the `LifeEvent` of that id (seasons are
  life events of the kinds `winter` and `summer`) and `reason` are its words, or its `after` at a revert.
- `end_reason`, `end_cause`: the same for the end; present only where the interval is not followed at once by the
  next value (`ended_by` remove, drop, or revert of something new); `end_cause`: id of a life event or None.
- `returns_to`: value_id of the earlier interval whose value is true again; present only after a revert. (The
  interval before has `ended_by` "revert"; this one's operation is its family's own: modify or adjust. After a pause
  the one before the gap has `ended_by` remove or drop, and this one's operation is add or acquire.)

Attributes (`member` None) and elements of collections (`member` = entity); value = "entity, qualifier"
- `entity`, `qualifier`: the two parts of the value.
- `act`: verb phrase in base form with both, to follow "I", "I now", "I used to", "I'm going to"
  ("train at Harbor Lane Climbing Gym on the annual off-peak membership").
- `category`: class of the entity ("gym"), as a search or a shop would call it.
- `shows`: [[app, api], …] in which the value is seen in use, the most telling first. Speech (WhatsApp, Gmail,
  Notion, LLM Assistant) and search (Google) fit every state and are not repeated here.
- `amount`: usual payment in cents, 0 where nothing is paid.
- `others`: up to four entities of the same class that are never true for this user (near misses for distractors).
Operations: initial, add, modify; ended by modify, remove, revert. Elements: initial, add; ended by remove, revert.

Habits; value = {schedule, timing{start_time, end_time}, location}
- `activity`: what is done ("trail running"); `category`: its class for an API (Fitbit activity, genre, cuisine, …).
- `apps`: [[app, api, day_type], …], day_type any | workday | weekend: in which the habit is seen on such days.
- `words`: phrases for what is said or noted of one occurrence ("a slow loop by the canal").
- `minutes`: length; `place`, `address`: where, the same as the value's location; `person`: who joins, or "".
- `weak`: [[app, api], …] that show only that something happened then ([] where nothing does); `intensity`:
  low | medium | high; `amount`: cents paid at an occurrence, 0 where nothing is paid.
- `changed`: dotted paths of the value that differ from the interval before; [] where it began anew.
Operations: initial, acquire, adjust; ended by adjust, drop, revert. What a season does, reverts.

Preferences; value = {statement}
- `axis`: what is chosen ("where coffee comes from"); `poles`: {"a": words, "b": words}; `pole`: "a" or "b", the
  preferred one; `intensity`: slight | clear | strong; `qualifier`: when it holds above all ("on workdays").
- `weight`: in [-1, 1] at the beginning, below 0 for pole a, above 0 for pole b; `weights`: the same by window of
  the span; `preferences.weight_at(interval, span, moment)` reads it. Of a choice, P(b) = sigmoid(k · weight).
- `choices`: [[app, api, category], …] in which one option is taken and another passed over.
- `pools`: {"a": [...], "b": [...]}: names of concrete options of either pole; `kinds`: option → what it is.
Operations: initial, shift (other pole), refine (other intensity or qualifier); ended by shift, refine.

`Persona.facts`: `traits` (interests), `people` (relations: "my sister", …), `age`, `income` (cents a month),
`wake` and `sleep` ("HH:MM"), `district`, `others_people` (relations that only distractors use).
"""

from pipelines.applogs.synthesis.ontology import (
    family_relationships,
    finances_living,
    health_selfcare,
    leisure_media,
    social_community,
    work_education,
)
from pipelines.applogs.synthesis.ontology.forms import Ontology

ONTOLOGY: Ontology = {
    "work_education": work_education.STATES,
    "family_relationships": family_relationships.STATES,
    "social_community": social_community.STATES,
    "health_selfcare": health_selfcare.STATES,
    "finances_living": finances_living.STATES,
    "leisure_media": leisure_media.STATES,
}
"""Domain → its states."""
