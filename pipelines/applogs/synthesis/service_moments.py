"""When a form or a search that a state fills is wanted, for every attribute and preference of the ontology (ours).

A moment tells the service and what is wanted of it in general words: none of them stands in the name of the state or
in any value that the ontology knows for it, so that no user's answer can be read off it.
"""

from collections.abc import Iterable, Mapping

import polars as pl

from pipelines.applogs.json_text import dump
from pipelines.applogs.services import Moment
from pipelines.applogs.state_values import ROOT
from pipelines.applogs.step_tables import BROUGHT
from pipelines.applogs.synthesis.sentences import lines
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval

_TABLE = """
employer | a background check asks on whose payroll the applicant is | organisation
workplace | a visitor wants to know where to come at noon on a normal business afternoon | site
coworking_desk | an expense report asks where rented seats away from headquarters are paid for | provider
study_programme | a student discount page asks for proof of enrolment | enrolment
certification_goal | a tutor matching service asks what is being prepared for | qualification
commute | a punctuality survey asks how staff travel | route
work_laptop | the helpdesk wants the machine to be registered | device
side_project | a tinkerers' meetup asks what visitors build in their spare hours | making
professional_skills | a recruiter's profile page wants abilities to be ticked | abilities
active_projects | a timesheet opens and asks what hours are booked on | assignments
professional_groups | a conference badge lists affiliations | affiliations
online_courses | a learning dashboard wants running classes to be linked | enrolled
meeting_mode | a calendar assistant opens an invitation to a client | format
learning_format | a library site is about to suggest material on a subject | material
task_tracking | a fresh workspace is about to be laid out for chores and duties | layout
job_priority | an openings site sorts its matches | ranking
childcare | an emergency contact sheet asks who minds the toddlers | carer
children_school | a bus pass application asks where the pupil is taught | institution
family_phone_plan | a comparison site asks for the current contract of the household's numbers | contract
parents_care | a hospital's discharge desk asks who comes to the elders' flat | service
pet_food | a feeding calculator asks what is served | feed
vet | a microchip register asks who gives the injections | treated_by
anniversary_plan | a travel agent asks where the couple's celebration is booked | stay
family_car_seat | a taxi dispatcher asks how the toddler will ride along | restraint
children_activities | a holiday planner asks what the youngsters are signed up to | signed_up
gift_ideas | a wrapping service asks what presents are on the list | presents
family_chats | a muting wizard asks which conversations with relatives stay audible | threads
pet_supplies | a moving company asks what belongs to the animal | belongings
celebration_style | a party planner opens its venue filter | setting
gift_style | a present finder opens its category filter | category
family_contact | a reminder to get in touch with relatives opens | channel
pet_toy_kind | an animal shop opens its plaything filter | type
volunteer_role | a certificate of unpaid service is to be issued | position
club_membership | a sports federation asks for the applicant's affiliation | association
community_office | a conflict-of-interest form asks for honorary posts | post
regular_pub | friends let an app suggest the usual spot to meet over drinks | spot
allotment | a seed exchange asks where its parcels are grown | ground
charity_gift | a tax return asks where donations go | recipient
online_handle | a press kit asks where pictures are credited to | credit
travel_group | an insurance for joint tours asks who the companions are | companions
followed_accounts | a new device restores whom the picture feed shows | people
community_groups | a neighbour's welcome sheet asks what initiatives one can be met in | initiatives
upcoming_events | a wallet asks what tickets are to be kept ready | tickets
tandem_languages | a conversation exchange asks what is being practised | practised
company_size | a host's assistant asks how many to invite | invitees
volunteering_mode | a relief organisation asks how one would like to contribute | contribution
feed_content | a picture network asks whose updates go on top | priority
gym_membership | a bonus scheme asks where one exercises as a subscriber | facility
family_doctor | a specialist's reception asks who made the referral | referrer
dentist | an insurer asks who looks after the teeth | surgeon
diet_plan | a caterer asks by what rules the guest eats | rules
step_goal | a new wristband asks what target to buzz at | target
therapist | a reimbursement claim asks who conducts the talks | provider
running_event | a shuttle service asks what start line to drive to | start
sleep_setup | a hotel's comfort profile asks what one lies on | comfort
fitness_equipment | a contents inventory asks what one exercises with | inventory
supplements | an anaesthetist's sheet asks what pills are swallowed besides prescriptions | pills
wellness_classes | a calendar sync asks what guided sessions to import | sessions
therapies | an accident insurer asks what recovery measures are running | measures
training_setting | a workout planner opens its location filter | location
remedy_style | an ailment adviser opens its suggestion filter | suggestion
workout_sound | a treadmill asks what to put on the earphones | audio
home_address | a parcel label is printed | recipient
internet_provider | an outage portal asks whose line is down | operator
energy_tariff | a meter reading is to be submitted | contract
car | a parking permit is applied for | vehicle
savings_goal | a bank's envelope feature asks what the money is put aside for | purpose
home_insurance | a burst pipe is reported | policy
main_supermarket | a cashback programme asks where the trolley is usually filled | shop
credit_card | an airline checkout asks how to pay | payment
stock_holdings | a broker transfer asks what is in the portfolio | positions
paid_subscriptions | a budget review lists recurring charges | recurring
home_projects | a hardware shop's adviser asks what repairs are under way | repairs
watchlist_stocks | a price alarm asks what symbols to observe | symbols
shopping_condition | a marketplace opens its state-of-goods filter | goods
investment_style | a broker's order assistant opens its instrument filter | instrument
food_source | an ingredients list is about to be sent to a seller | seller
delivery_speed | a basket is ready and asks for shipping | shipping
current_book | a reading tracker asks what lies on the bedside table | title
current_series | a streaming profile on another screen asks what to resume | title
favourite_artist | a concert alert asks whom to watch out for | act
instrument | a rehearsal space asks what will be played | played
camera | a photo walk asks what the participants shoot with | gear
current_game | a console asks what to install first | title
next_trip | an out-of-office assistant asks where the absence leads | destination
coffee_place | a stamp collecting app asks where the hot drink is picked up | counter
reading_list | a library hold form asks what to reserve | titles
watch_list | a cinema newsletter asks what to announce | titles
playlists | a speaker asks what to make available without network | collections
hobby_materials | a studio's storage form asks what stock is brought along | stock
film_origin | a cinema app opens its production filter | production
reading_genre | a bookshop opens its shelf filter | shelf
listening_mood | a speaker opens its sound filter | sound
takeaway_cuisine | a courier service opens its dish filter | kitchen
holiday_style | a travel site opens its landscape filter | landscape
"""
MOMENTS: Mapping[str, tuple[str, str]] = {
    name: (scenario, slot) for name, scenario, slot in (line.split(" | ") for line in _TABLE.strip().splitlines())
}
"""Name of an attribute or preference → what a service wants, and the service's field that the value fills."""
FORMS = lines("""
    {wanted}
    At this moment {wanted}
    At this instant {wanted}
    Mid-conversation, {wanted}
    While the user waits in a queue, {wanted}
    Unannounced, {wanted}
    Meanwhile {wanted}
    A mask of blanks appears: {wanted}
    The user is halfway through an application: {wanted}
    The user has tapped ahead and is stopped: {wanted}
    An agent acts in the user's name: {wanted}
    The assistant is asked to complete blanks: {wanted}
    A blank is missing: {wanted}
    The button stays locked: {wanted}
    The assistant takes charge: {wanted}
    A countdown is ticking: {wanted}
    Somebody behind a counter is typing: {wanted}
    An integration has just been authorised: {wanted}
""")
"""Wordings of the moment at which a form asks for an attribute."""
SEARCHES = lines("""
    {wanted}
    At this moment {wanted}
    At this instant {wanted}
    The user has said nothing but "go ahead": {wanted}
    The assistant takes charge: {wanted}
    The assistant is asked to narrow the hits: {wanted}
    Hundreds of hits are too many: {wanted}
    An empty query is pending: {wanted}
    Ahead of any results, {wanted}
    The user expects a shortlist: {wanted}
    Defaults would be no good: {wanted}
    An agent acts in the user's name: {wanted}
    The user skips the wizard: {wanted}
    A profile is still blank: {wanted}
    The user opens an unfamiliar tool: {wanted}
    A query leaves at once: {wanted}
    The user is impatient: {wanted}
    No history is stored yet: {wanted}
""")
"""Wordings of the moment at which a search is to be filtered by a preference."""


def moment_of(one: Interval, root: Place) -> Moment | None:
    """The moment of an interval's state; None for a habit, whose moment is its own schedule, and an unknown state.

    An attribute fills its field with the text of its value, a collection with the texts of its elements in a list,
    a preference with its statement.
    """
    name, preferred = one.key.partition(":")[2], one.family == "preference"
    if one.family == "habit" or name not in MOMENTS:
        return None
    wanted, slot = MOMENTS[name]
    wording = root.at(one.domain, one.key, "service").one("wording", SEARCHES if preferred else FORMS)
    text = wording.format(wanted=wanted)
    return Moment(f"{text[0].upper()}{text[1:]}.", {slot: "statement" if preferred else ROOT})


def moment_table(user_id: str, intervals: Iterable[Interval], root: Place) -> pl.DataFrame:
    """Table `state_moments` of a user, of those of its states that have a moment."""
    states = {one.key: one for one in intervals}
    found = [(key, moment_of(states[key], root)) for key in sorted(states)]
    rows = [(user_id, key, one.scenario, dump(dict(one.slots))) for key, one in found if one]
    return pl.DataFrame(rows, schema=BROUGHT["state_moments"].schema, orient="row")
