"""Everyday words that go together, so that a question about a `commute` finds a log about a `train` (ours).

General knowledge of daily life, none of any user or data set: each line is one field of it.
"""

from functools import lru_cache

from pipelines.evaluation.judging.stems import stem

_FIELDS = """
home address house flat apartment live living move moved lease rent rented landlord room
job employer work office company position role career colleague team workplace
commute travel ride drive train bus bicycle bike car tram ferry
car vehicle drive driving garage
supermarket grocery groceries shop store market food
coffee cafe espresso cappuccino
restaurant dinner eat table takeout menu
gym fitness training workout exercise club membership
doctor clinic appointment practice medical checkup
therapist therapy counselling session counsellor
pet dog cat vet animal
bank account savings branch
insurance policy cover insured
phone tariff mobile plan provider contract
book reading read author novel library
film movie cinema watch
series show watching season
music artist band song listen album concert
playlist song listen
game play playing
trip travel holiday vacation flight destination journey
school class teacher lesson
course class learn learning lesson study
skill learn learned practise
language learn lesson speak
hobby craft club workshop
volunteer volunteering help charity
charity donation gift give giving donate
event ticket tickets register registered
race marathon run running
garden gardening allotment plot plant
investment stock fund shares portfolio broker
budget spending money save savings bill
subscription subscribe monthly plan
goal target daily
equipment gear own bought kit
supplement vitamin capsule tablet pharmacy take
medicine medication pharmacy dose
neighbour neighbourhood community local
group club member join joined meet
child baby daughter son nursery school
parent mother father family grandparent
partner spouse family
friend friends circle
newspaper magazine news read subscribe
laptop computer device tablet
"""


@lru_cache(maxsize=1 << 12)
def associated(word: str) -> frozenset[str]:
    """Stems that go with a stem, itself apart."""
    return frozenset().union(*(group for group in _groups() if word in group)) - {word}


@lru_cache(maxsize=1)
def _groups() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(map(stem, line.split())) for line in _FIELDS.strip().splitlines())
