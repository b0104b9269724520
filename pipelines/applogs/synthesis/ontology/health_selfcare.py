"""Health and self-care: where one trains and is treated, gear, routines of body and rest."""

from pipelines.applogs.synthesis.ontology.forms import Attribute, Collection, Habit, On, Preference, State, listed
from pipelines.applogs.synthesis.ontology.slots import FRI, MON, SAT, SUN, THU, TUE, WED, WORKDAYS, slot

ATTRIBUTES: tuple[State, ...] = (
    Attribute(
        name="gym_membership",
        label="gym membership",
        traits=("athlete",),
        act="train at {entity} on the {qualifier}",
        category="gym",
        shows=("Google Maps/CheckIn", "Chase/PayBill", "Gmail/ReadEmail"),
        entities=listed("""
            Harbor Lane Climbing Gym; Ironwood Fitness; The Old Boiler House Gym; Pulse & Plate Studio; Riverside
            Strength Club; Northgate Boulder Hall; Foundry Street Fitness; Blue Door Training Rooms
        """),
        qualifiers=listed("""
            annual off-peak membership; monthly all-hours membership; ten-visit card; weekend-only membership;
            student-rate membership
        """),
        amount=(2_900, 8_900),
        moved_by=(On("injury", "remove", 0.25), On("move", "modify", 0.35), On("squeeze", "detail", 0.3)),
    ),
    Attribute(
        name="family_doctor",
        label="family doctor's practice",
        traits=("health", "parent"),
        act="go to {entity} for {qualifier}",
        category="doctor",
        shows=("Google Maps/GetDirections", "Gmail/ReadEmail"),
        entities=listed("""
            Larkfield Surgery; Canal Row Medical Practice; Dover House Clinic; Brightwater Health Centre; Hollis
            Street Practice; Elm Park Surgery; Weir Lane Doctors; Six Oaks Health Centre
        """),
        qualifiers=listed("""
            yearly check-ups; monthly blood pressure checks; six-monthly blood tests; appointments by video only
        """),
        moved_by=(On("move", "modify", 0.35), On("illness", "detail", 0.35), On("new_child", "modify", 0.15)),
    ),
    Attribute(
        name="dentist",
        label="dentist",
        traits=("health",),
        act="see {entity}, {qualifier}",
        category="dentist",
        shows=("Gmail/ReadEmail", "Chase/PayBill", "Google Maps/GetDirections"),
        entities=listed("""
            Pearl Lane Dental; Whitcombe Dental Rooms; Station Dental Care; Juniper Dental Practice; Quayside Smiles;
            Mill Street Dentists; Oakrise Dental; Old Mint Dental Studio
        """),
        qualifiers=listed("""
            two cleanings a year; one cleaning a year; a night guard refit every spring; the dental plan
        """),
        amount=(4_000, 14_000),
        moved_by=(On("move", "modify", 0.25), On("squeeze", "detail", 0.2)),
    ),
    Attribute(
        name="diet_plan",
        label="way of eating",
        traits=("health", "calm"),
        act="follow the {entity} with {qualifier}",
        category="nutrition",
        shows=("UberEats/PlaceOrder", "Notion/UpdatePage", "LLM Assistant/ContinueConversation"),
        entities=listed("""
            Green Plate plan; Harbour Mediterranean plan; Slow Carb plan; High Protein plan; Half Veggie plan; Low
            Salt plan; Early Supper plan; Whole Grain plan
        """),
        qualifiers=listed("one free day a week; no sugar on workdays; a twelve-hour fast at night; a daily food log"),
        moved_by=(On("illness", "modify", 0.4), On("trip", "detail", 0.15), On("injury", "detail", 0.15)),
    ),
    Attribute(
        name="step_goal",
        label="step goal",
        traits=("health", "outdoor"),
        act="aim for {entity}, {qualifier}",
        category="steps",
        shows=("Fitbit/SetGoals", "Fitbit/SyncDevice"),
        entities=listed("""
            7,000 steps a day; 8,000 steps a day; 8,500 steps a day; 9,000 steps a day; 10,000 steps a day; 11,000
            steps a day; 12,000 steps a day; 14,000 steps a day
        """),
        qualifiers=listed("counted on workdays only; counted every day; averaged over the week; with Sundays off"),
        moved_by=(On("injury", "modify", 0.4), On("pet", "modify", 0.3), On("illness", "modify", 0.25)),
    ),
    Attribute(
        name="therapist",
        label="therapy",
        traits=("calm", "carer"),
        act="talk to a therapist at {entity}, {qualifier}",
        category="therapy",
        shows=("Chase/PayBill", "Gmail/ReadEmail"),
        entities=listed("""
            Quiet Harbour Counselling; Larch Room Therapy; Open Window Practice; Stillwater Counselling; Corner House
            Therapy; Birch & Bell Practice; North Light Counselling; Green Lamp Therapy
        """),
        qualifiers=listed("fifty minutes by video; fifty minutes in person; a group session; a monthly follow-up"),
        amount=(5_500, 9_500),
        moved_by=(On("parent_ill", "add", 0.15), On("new_child", "detail", 0.25), On("move", "detail", 0.2)),
    ),
    Attribute(
        name="running_event",
        label="race in training",
        traits=("athlete",),
        act="train for the {entity}, {qualifier}",
        category="race",
        shows=("Gmail/ReadEmail", "Notion/UpdatePage", "Chase/PayBill"),
        entities=listed("""
            Harbour Half Marathon; Mill Valley 10K; Lantern Night Run; Three Bridges Marathon; Orchard Trail 25; Canal
            Relay; Winter Ridge Run; Old Town Mile
        """),
        qualifiers=listed("""
            hoping just to finish; aiming for a personal best; on a sixteen-week plan; with a charity bib
        """),
        amount=(2_500, 7_000),
        moved_by=(
            On("injury", "remove", 0.35, stays=True),
            On("new_circle", "add", 0.1),
            On("new_child", "remove", 0.25),
        ),
    ),
    Attribute(
        name="sleep_setup",
        label="bedroom set-up",
        traits=("calm", "partner"),
        act="sleep on a {entity}, {qualifier}",
        category="bedding",
        shows=("Amazon/Checkout", "Amazon/WriteReview"),
        entities=listed("""
            Dunmore latex mattress; Felt & Fern futon; Nightjar foam mattress; Alder spring mattress; Moss hybrid
            mattress; Cloudrest topper; Heron firm mattress; Saltmarsh wool mattress
        """),
        qualifiers=listed("with blackout curtains; with a weighted blanket; with a sunrise lamp; with the window open"),
        amount=(19_000, 78_000),
        moved_by=(On("move", "modify", 0.2), On("new_child", "detail", 0.25), On("injury", "modify", 0.15, stays=True)),
    ),
)

COLLECTIONS: tuple[State, ...] = (
    Collection(
        name="fitness_equipment",
        label="fitness equipment",
        traits=("athlete", "health"),
        act="own the {entity}, {qualifier}",
        category="sports equipment",
        shows=("Amazon/Checkout", "Amazon/WriteReview", "Amazon/SearchProducts"),
        entities=listed("""
            Ridgeback adjustable dumbbells; Calla yoga mat; Pacer road shoes; Tidewater resistance bands; Brindle
            kettlebell; Aerolite jump rope; Stonepath foam roller; Kestrel indoor bike; Low Tide rowing machine;
            Summit pull-up bar
        """),
        qualifiers=listed("bought new; bought second-hand; borrowed for good; the grey model"),
        amount=(1_800, 24_000),
        moved_by=(On("injury", "add", 0.25, stays=True), On("windfall", "add", 0.2), On("move", "remove", 0.25)),
    ),
    Collection(
        name="supplements",
        label="supplements",
        traits=("health",),
        act="take {entity}, {qualifier}",
        category="supplements",
        shows=("Amazon/AddToCart", "Amazon/Checkout"),
        entities=listed("""
            Sunfield vitamin D; Clearstream magnesium; Root & Rye iron tablets; Northsea omega-3; Meadow zinc drops;
            Plainly creatine; Hale B12 spray; Ember turmeric capsules; Morrow probiotics
        """),
        qualifiers=listed("one with breakfast; one before bed; every other day; only on training days"),
        amount=(900, 3_200),
        moved_by=(On("illness", "add", 0.4), On("injury", "add", 0.2), On("squeeze", "remove", 0.2)),
    ),
    Collection(
        name="wellness_classes",
        label="classes for body and mind",
        traits=("calm", "club"),
        act="go to {entity}, {qualifier}",
        category="wellness class",
        shows=("Google Maps/CheckIn", "Instagram/PostStory", "Chase/PayBill"),
        entities=listed("""
            Slow Flow at Lantern Studio; Reformer Basics at Pier Nine; Tai Chi in Orchard Park; Stretch & Breathe at
            the Mill; Barre Hour at Rose Yard; Sound Bath at Chapel Rooms; Aqua Fit at Weir Baths; Mobility Lab at
            Foundry Street; Qigong at the Library Hall
        """),
        qualifiers=listed("drop-in ticket; block of eight; trial month; with a friend's guest pass"),
        amount=(900, 6_000),
        moved_by=(On("injury", "add", 0.2), On("new_circle", "add", 0.2), On("squeeze", "remove", 0.25)),
    ),
    Collection(
        name="therapies",
        label="treatments under way",
        traits=("carer", "health"),
        act="get {entity}, {qualifier}",
        category="treatment",
        shows=("Gmail/ReadEmail", "Chase/PayBill"),
        entities=listed("""
            physiotherapy at Weir Lane; acupuncture at Juniper Rooms; sports massage at Pier Nine; osteopathy at Dover
            House; allergy shots at Larkfield; light therapy at Elm Park; speech exercises at Hollis Street; foot care
            at Station Side; hearing check-ups at Brightwater
        """),
        qualifiers=listed("a course of six; once a month; as long as needed; paid by the insurance"),
        size=(1, 2),
        amount=(2_000, 7_500),
        moved_by=(On("injury", "add", 0.45), On("illness", "add", 0.25)),
    ),
)

HABITS: tuple[State, ...] = (
    Habit(
        name="outdoor_run",
        label="outdoor run",
        traits=("athlete", "outdoor"),
        activity="running",
        category="Running",
        apps=("Fitbit/RecordActivity", "Fitbit/LogWorkout/workday", "Spotify/PlaySong/weekend"),
        weak=("Fitbit/SyncDevice",),
        words=listed("""
            an easy loop; intervals by the lampposts; a slow one with heavy legs; a progression run; hill repeats; a
            run without the watch; strides at the end; a steady half hour; a run in light rain; a chatty pace
        """),
        minutes=(30, 35, 40, 45),
        slot=slot("dawn", MON, WED, FRI, SUN),
        counts=(2, 3),
        places=(
            ("Canal Towpath", "Lock 7, Canal Row"),
            ("Orchard Park Loop", "North Gate, Orchard Park"),
            ("Harbour Promenade", "Pier 2, Old Wharf"),
            ("Reservoir Trail", "Upper Terraces car park"),
        ),
        indoors=(("Ironwood Treadmill Hall", "14 Foundry Street"), ("Home treadmill", "Spare room")),
        intensity="high",
        moved_by=(
            On("pet", "days", 0.2),
            On("winter", "indoors", 0.3),
            On("summer", "time", 0.2),
            On("injury", "drop", 0.45),
            On("move", "place", 0.4),
            On("new_child", "days", 0.3),
            On("illness", "acquire", 0.15),
        ),
    ),
    Habit(
        name="lap_swim",
        label="lap swim",
        traits=("athlete",),
        activity="swimming",
        category="Swimming",
        apps=("Fitbit/LogWorkout", "Google Maps/CheckIn"),
        weak=("Fitbit/SyncDevice",),
        words=listed("""
            forty easy lengths; drills and kicks; breathing every third stroke; a pyramid set; backstroke only; a busy
            lane; an empty pool for once; sprints at the end; a long slow mile; pull buoy sets
        """),
        minutes=(30, 40, 45),
        slot=slot("dawn", TUE, THU, SAT),
        counts=(1, 2),
        places=(
            ("Weir Baths", "3 Weir Lane"),
            ("Old Mint Pool", "21 Mint Street"),
            ("University Pool", "Campus East"),
            ("Lido at Orchard Park", "South Gate, Orchard Park"),
        ),
        intensity="medium",
        amount=(450, 800),
        moved_by=(
            On("winter", "days", 0.25),
            On("injury", "acquire", 0.15),
            On("summer", "place", 0.25),
            On("new_child", "drop", 0.25),
            On("move", "place", 0.35),
            On("squeeze", "days", 0.2),
        ),
    ),
    Habit(
        name="breathing_break",
        label="breathing break",
        traits=("calm",),
        activity="breathing exercises",
        category="Meditation",
        apps=("Spotify/PlaySong", "Fitbit/LogWorkout/workday"),
        weak=("Fitbit/SyncDevice",),
        words=listed("""
            ten slow breaths and then some; box breathing; eyes closed at the desk; a guided quiet track; counting
            down from a hundred; shoulders down, jaw loose; a few minutes by the window; body scan; long exhales;
            phone face down
        """),
        minutes=(10, 15, 20),
        slot=slot("two", *WORKDAYS),
        counts=(3, 5),
        places=(("Desk corner", "Home"), ("Quiet room", "Second floor"), ("Courtyard bench", "Inner courtyard")),
        moved_by=(
            On("winter", "place", 0.25),
            On("promotion", "time", 0.25),
            On("job_change", "place", 0.3),
            On("illness", "acquire", 0.25),
        ),
    ),
    Habit(
        name="strength_training",
        label="strength training",
        traits=("athlete", "health"),
        activity="strength training",
        category="Weights",
        apps=("Fitbit/LogWorkout", "Google Maps/CheckIn/workday"),
        weak=("Fitbit/SyncDevice",),
        words=listed("""
            squats and rows; upper body; a short heavy session; deadlifts, form first; kettlebell circuit; core and
            carries; light weights, many repeats; bench day; pull-ups with a band; legs, sadly
        """),
        minutes=(35, 45, 50),
        slot=slot("five", MON, WED, FRI),
        counts=(2, 3),
        places=(
            ("Ironwood Fitness", "14 Foundry Street"),
            ("Riverside Strength Club", "8 Quay Road"),
            ("Garage gym", "Home"),
            ("Blue Door Training Rooms", "52 Mill Street"),
        ),
        intensity="high",
        moved_by=(
            On("summer", "time", 0.3),
            On("injury", "drop", 0.4),
            On("job_change", "time", 0.3),
            On("move", "place", 0.3),
            On("illness", "acquire", 0.15),
        ),
    ),
    Habit(
        name="walk_around_the_block",
        label="walk around the block",
        traits=("partner", "pet"),
        activity="walking",
        category="Walking",
        apps=("Fitbit/RecordActivity", "WhatsApp/SendMessage/workday", "Instagram/PostStory/weekend"),
        weak=("Fitbit/SyncDevice",),
        words=listed("""
            the long way by the water; twice around the square; up to the viewpoint and back; past the bakery; with an
            umbrella; slowly and talking; down to the lock; no phone; the loop with the old trees; a brisk one
        """),
        minutes=(25, 30, 40),
        slot=slot("five", TUE, THU, SUN),
        counts=(2, 3),
        places=(
            ("Canal Row", "Canal Row, Lock 3"),
            ("Orchard Park", "West Gate, Orchard Park"),
            ("Lantern Hill steps", "Lantern Hill"),
            ("Harbour wall", "Old Wharf"),
        ),
        indoors=(("Covered arcade", "Station Arcade"),),
        people=("", "my partner", "my neighbour"),
        moved_by=(
            On("pet", "acquire", 0.4),
            On("winter", "time", 0.25),
            On("winter", "indoors", 0.15),
            On("injury", "drop", 0.3),
            On("new_child", "place", 0.25),
        ),
    ),
    Habit(
        name="physio_session",
        label="physiotherapy session",
        traits=("carer",),
        activity="physiotherapy",
        category="Stretching",
        apps=("Google Maps/CheckIn", "Fitbit/LogWorkout", "Chase/PayBill"),
        weak=("Fitbit/SyncDevice",),
        words=listed("""
            balance board; new exercises to take home; loosening the hip; taped up again; range of motion, two degrees
            more; strengthening the weak side; heat and stretch; a stern word about posture; single-leg work; slow
            progress
        """),
        minutes=(30, 40),
        slot=slot("six", THU),
        frequencies=("weekly", "biweekly"),
        places=(
            ("Weir Lane Physio", "11 Weir Lane"),
            ("Pier Nine Clinic", "Pier 9"),
            ("Dover House Clinic", "2 Dover Row"),
        ),
        amount=(2_500, 4_800),
        moved_by=(On("injury", "acquire", 0.45), On("squeeze", "days", 0.25)),
    ),
    Habit(
        name="yoga_practice",
        label="yoga practice",
        traits=("calm",),
        activity="yoga",
        category="Yoga",
        apps=("Fitbit/LogWorkout", "Spotify/PlaySong", "Instagram/PostStory"),
        weak=("Fitbit/SyncDevice",),
        words=listed("""
            sun salutations; a slow flow; long holds; balance, mostly falling; a twist for the back; half an hour on
            the mat; yin; a new sequence; hips and hamstrings; the short version
        """),
        minutes=(25, 30, 40),
        slot=slot("early", SAT, SUN),
        frequencies=("weekly", "biweekly"),
        counts=(1, 2),
        places=(("Living-room mat", "Home"), ("Lantern Studio", "6 Lantern Hill"), ("Park pavilion", "Orchard Park")),
        indoors=(("Living-room mat", "Home"),),
        moved_by=(On("winter", "indoors", 0.25), On("injury", "acquire", 0.15), On("new_child", "time", 0.25)),
    ),
    Habit(
        name="evening_journal",
        label="journal",
        traits=("calm", "student"),
        activity="journaling",
        category="Journal",
        apps=("Notion/CreatePage", "Notion/UpdatePage/weekend"),
        words=listed("""
            three good things; what went wrong and why; a page about nothing; tomorrow in five lines; a worry written
            down; what I ate and how I slept; a sentence a day; a letter I will not send; small wins; what I noticed
        """),
        minutes=(10, 15, 20),
        slot=slot("late"),
        frequencies=("daily", "weekly"),
        counts=(3, 4, 5),
        places=(("Bedside table", "Home"), ("Kitchen table", "Home"), ("Armchair by the lamp", "Home")),
        moved_by=(
            On("winter", "time", 0.25),
            On("parent_ill", "acquire", 0.15),
            On("new_child", "days", 0.3),
            On("course", "time", 0.2),
        ),
    ),
    Habit(
        name="medicine_refill",
        label="prescription refill",
        traits=("carer",),
        activity="picking up a prescription",
        category="pharmacy",
        apps=("Google Maps/CheckIn", "Chase/PayBill", "Amazon/Checkout/weekend"),
        words=listed("""
            the usual box; two repeats left; the generic this time; a queue at the counter; ordered it ahead; asked
            about the dose; picked up mum's as well; a new leaflet to read; short supply, half a pack; the pharmacist
            knew me
        """),
        minutes=(15, 20),
        slot=slot("four", dates=(6, 7, 8, 9)),
        frequencies=("monthly_by_date",),
        places=(
            ("Canal Pharmacy", "30 Canal Row"),
            ("Elm Park Chemist", "5 Elm Park"),
            ("Station Pharmacy", "1 Station Side"),
        ),
        amount=(600, 2_900),
        moved_by=(On("illness", "acquire", 0.35), On("move", "place", 0.4), On("parent_ill", "acquire", 0.2)),
    ),
)

PREFERENCES: tuple[State, ...] = (
    Preference(
        name="training_setting",
        label="where to train",
        axis="training indoors or in the open",
        a="training in the open",
        b="training indoors",
        traits=("athlete", "outdoor"),
        qualifiers=listed("above all on workdays; whatever the weather; above all for longer sessions; when alone"),
        choices=("Google/Search/training", "Google Maps/SearchPlaces/training", "Google/ClickResult/training"),
        options_a=listed("Upper Reservoir; Larch Common; Harbour Steps; Gorse Ridge; Weir Meadow"),
        kinds_a=listed("trail loop; open-air bars; stair runs; hill sprints; boot camp on grass"),
        options_b=listed("Kiln Lane Hall; The Pedal Room; Unit Twelve; Boathouse Annex; Basement Works"),
        kinds_b=listed("treadmill studio; spin class; circuit gym; rowing machines; weights room"),
        moved_by=(On("injury", "b", 0.3), On("pet", "a", 0.3), On("new_circle", "a", 0.15)),
    ),
    Preference(
        name="remedy_style",
        label="remedies",
        axis="home remedies or pharmacy products",
        a="home remedies",
        b="pharmacy products",
        traits=("health",),
        qualifiers=listed("above all for colds; for anything small; when the children are ill; as a first step"),
        choices=("Amazon/AddToCart/health", "Google/ClickResult/remedies", "Amazon/SearchProducts/health"),
        options_a=listed("Ginger and thyme tea; Meadow honey; Salt steam bowl; Cherry-stone pillow; Camomile flowers"),
        kinds_a=listed("tea; honey; steam; cherry-stone; camomile"),
        options_b=listed(
            "Clearnose spray; Hale cold tablets; Fastmend gel; Plainly painkillers; Northsea throat pastilles"
        ),
        kinds_b=listed("spray; tablets; gel; painkillers; pastilles"),
        moved_by=(On("illness", "b", 0.3), On("new_child", "b", 0.2), On("squeeze", "a", 0.2)),
    ),
    Preference(
        name="workout_sound",
        label="sound while training",
        axis="music or talk while training",
        a="fast music",
        b="spoken podcasts",
        traits=("athlete", "music"),
        qualifiers=listed("above all on long runs; above all for weights; in the morning; when training alone"),
        choices=("Spotify/PlaySong/workout", "Spotify/SearchSongs/workout"),
        options_a=listed("Redline Parade; Concrete Sunrise; Sprint Theory; Voltage Steps; Nine Lives Drums"),
        kinds_a=listed("drum and bass; hard techno; speed garage; trance; ska punk"),
        options_b=listed("The Long Bench; Ordinary Engines; Half an Hour of Rivers; Small Courts; The Slow Desk"),
        kinds_b=listed("interviews; storytelling; radio essay; true crime; audio documentary"),
        moved_by=(On("course", "b", 0.25), On("injury", "b", 0.15), On("new_circle", "a", 0.15)),
    ),
)

STATES = (*ATTRIBUTES, *COLLECTIONS, *HABITS, *PREFERENCES)
