"""Personas: twelve archetypes, whose users differ by age, income, household and the interests that they take of it."""

from dataclasses import dataclass

from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

TRAITS = (
    "office", "freelance", "student", "leader", "parent", "partner", "carer", "kin", "club", "volunteer", "neighbour",
    "athlete", "outdoor", "calm", "health", "investor", "frugal", "owner", "driver", "music", "reader", "screen",
    "cook", "games", "craft", "traveller", "pet",
)  # fmt: skip
"""Interests and circumstances; states name those whose holders they suit."""
CIRCUMSTANCES = ("office", "freelance", "student", "leader", "parent", "partner", "carer", "owner")
"""Traits that come with the archetype only; the others may come to anybody."""
BOUND = frozenset({"parent", "partner"})
"""Without these nobody holds a state that is for nobody else, unless a life event brings it."""
COMPANY = {
    "my partner": "partner",
    "my daughter": "parent",
    "my son": "parent",
    "the children": "parent",
}
"""Relations that only those with a trait have."""


@dataclass(frozen=True, slots=True)
class Archetype:
    """A kind of user. `ages` are years, `income` is cents a month, both lowest and highest."""

    name: str
    works: tuple[str, ...]
    traits: tuple[str, ...]
    ages: tuple[int, int]
    income: tuple[int, int]
    households: tuple[str, ...]
    people: tuple[str, ...]


ARCHETYPES = (
    Archetype(
        "product_designer",
        ("product designer", "interface designer", "design researcher"),
        ("office", "partner", "calm", "screen", "cook", "craft", "frugal", "reader"),
        (27, 38),
        (380_000, 620_000),
        ("lives with a partner in a rented flat", "shares a flat with a partner and a friend"),
        ("my partner", "my sister", "a colleague in research", "my manager", "a friend from design school"),
    ),
    Archetype(
        "school_teacher",
        ("secondary-school teacher", "primary-school teacher", "music teacher"),
        ("office", "parent", "partner", "volunteer", "reader", "cook", "owner", "music"),
        (33, 52),
        (330_000, 480_000),
        ("lives with a partner and two children", "lives with a partner and one child"),
        ("my partner", "my daughter", "my mother", "a colleague at school", "another parent from school"),
    ),
    Archetype(
        "hospital_nurse",
        ("ward nurse", "paediatric nurse", "theatre nurse"),
        ("office", "carer", "kin", "health", "athlete", "driver", "screen", "frugal"),
        (26, 45),
        (300_000, 430_000),
        ("lives alone near the hospital", "shares a house with two colleagues"),
        ("my brother", "my mother", "a colleague on the ward", "my flatmate", "an old friend from training"),
    ),
    Archetype(
        "software_engineer",
        ("software engineer", "data engineer", "site reliability engineer"),
        ("office", "investor", "games", "athlete", "traveller", "music", "screen", "partner"),
        (25, 41),
        (520_000, 980_000),
        ("lives with a partner in a flat in town", "lives with a partner near the station"),
        ("my partner", "my brother", "my team lead", "a colleague in platform", "a friend from university"),
    ),
    Archetype(
        "graduate_student",
        ("doctoral student", "master's student", "research assistant"),
        ("student", "freelance", "club", "frugal", "music", "reader", "outdoor", "traveller"),
        (22, 31),
        (110_000, 220_000),
        ("shares a house with three students", "lives in a room of a student hall"),
        ("my flatmate", "my supervisor", "a friend from the lab", "my sister", "my father"),
    ),
    Archetype(
        "shop_owner",
        ("owner of a stationery shop", "owner of a bicycle workshop", "owner of a plant nursery"),
        ("leader", "freelance", "neighbour", "owner", "craft", "driver", "kin", "club"),
        (34, 58),
        (280_000, 640_000),
        ("lives alone above the shop", "lives above the shop with a brother"),
        ("my sister", "my shop assistant", "my accountant", "my brother", "the neighbour across the yard"),
    ),
    Archetype(
        "retired_engineer",
        ("retired engineer", "retired surveyor", "retired librarian"),
        ("kin", "volunteer", "neighbour", "health", "owner", "reader", "craft", "investor"),
        (63, 76),
        (210_000, 420_000),
        ("lives alone in a house with a garden", "lives in a house with a garden and a lodger"),
        ("my sister", "my nephew", "a friend from the reading group", "the neighbour next door", "an old colleague"),
    ),
    Archetype(
        "sales_manager",
        ("regional sales manager", "key account manager", "head of customer success"),
        ("office", "leader", "parent", "investor", "driver", "athlete", "traveller", "partner"),
        (35, 50),
        (560_000, 1_050_000),
        ("lives with a partner and two children", "lives with a partner and a baby"),
        ("my partner", "my son", "a colleague in marketing", "my director", "a friend from the tennis club"),
    ),
    Archetype(
        "freelance_writer",
        ("freelance writer", "translator", "copy editor"),
        ("freelance", "calm", "reader", "pet", "neighbour", "screen", "cook", "outdoor"),
        (29, 55),
        (190_000, 410_000),
        ("lives alone with a lot of books", "lives alone in an old flat"),
        ("my editor", "my sister", "the neighbour downstairs", "a friend from the writing group", "my mother"),
    ),
    Archetype(
        "single_parent",
        ("payroll clerk", "dental assistant", "bank adviser"),
        ("office", "parent", "kin", "carer", "frugal", "driver", "cook", "neighbour"),
        (30, 44),
        (240_000, 380_000),
        ("lives with two children", "lives with one child near the grandparents"),
        ("my son", "my mother", "my sister", "another parent from school", "a colleague at the front desk"),
    ),
    Archetype(
        "outdoor_guide",
        ("climbing instructor", "park ranger", "physiotherapist"),
        ("outdoor", "athlete", "health", "volunteer", "traveller", "pet", "club", "cook"),
        (25, 46),
        (220_000, 390_000),
        ("lives in a shared farmhouse", "lives with two friends at the edge of town"),
        ("my sister", "my climbing partner", "a colleague at the centre", "my father", "my cousin"),
    ),
    Archetype(
        "career_changer",
        ("trainee data analyst", "apprentice carpenter", "trainee paralegal"),
        ("student", "office", "games", "calm", "music", "club", "health", "pet"),
        (26, 39),
        (170_000, 330_000),
        ("lives with a flatmate and a cat", "lives alone in a small flat"),
        ("my flatmate", "my mentor", "a friend from the course", "my mother", "my brother"),
    ),
)
KEPT = 4
"""Traits that a user takes of the archetype."""
CITIES = (
    "Northfold", "Harrowmere", "Callister", "Port Ansley", "Wendlebury", "Tarnow Bay", "Elmscourt", "Greywater",
    "Saint Orrin", "Fairhaven Cross", "Lindenford", "Oxmoor",
)  # fmt: skip
DISTRICTS = (
    "the Old Wharf", "Mill Quarter", "Upper Terraces", "Station Side", "the Orchard Estate", "Canal Row",
    "Lantern Hill", "Brickfields",
)  # fmt: skip
STRANGERS = (
    "a colleague in finance", "my cousin", "a neighbour from the third floor", "my aunt", "someone from the gym",
    "a friend of a friend", "my old flatmate", "a colleague from another site", "my uncle", "the parents' group",
    "my brother-in-law", "a former classmate",
)  # fmt: skip
"""Relations that hold none of the user's states and only speak of their own."""


def persona_of(root: Place, user_id: str) -> Persona:
    """Who a user is: some traits of an archetype, and one that is not of it."""
    here = root.at("persona")
    kind = here.one("archetype", ARCHETYPES)
    kept = here.some("traits", kind.traits, KEPT)
    fresh = here.one("interest", [trait for trait in TRAITS if trait not in (*kind.traits, *CIRCUMSTANCES)])
    wake = here.whole("wake", 21, 27) * 15
    return Persona(
        user_id=user_id,
        archetype=kind.name,
        city=here.one("city", CITIES),
        household=here.one("household", kind.households),
        work=here.one("work", kind.works),
        facts={
            "traits": sorted([*kept, fresh]),
            "people": list(kind.people),
            "others_people": here.some("strangers", [one for one in STRANGERS if one not in kind.people], 5),
            "age": here.whole("age", *kind.ages),
            "income": here.whole("income", *kind.income) // 5000 * 5000,
            "wake": f"{wake // 60:02d}:{wake % 60:02d}",
            "sleep": here.one("sleep", ("22:30", "22:45", "23:00", "23:15", "23:30")),
            "district": here.one("district", DISTRICTS),
        },
    )
