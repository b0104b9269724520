"""Family and close relationships: home with others, children, parents, pets, and time that is shared."""

from pipelines.applogs.synthesis.ontology.forms import Attribute, Collection, Habit, On, Preference, State, listed
from pipelines.applogs.synthesis.ontology.slots import FRI, SAT, SUN, WORKDAYS, slot

ATTRIBUTES: tuple[State, ...] = (
    Attribute(
        name="childcare",
        label="childcare",
        traits=("parent",),
        act="leave the children with {entity}, {qualifier}",
        category="childcare",
        shows=("Chase/PayBill", "Gmail/ReadEmail", "Google Maps/GetDirections"),
        entities=listed("""
            Little Otters nursery; the Plum Tree kindergarten; Sunny Steps after-school club; a childminder on Canal
            Row; Red Balloon playgroup; the Old Chapel crèche; Pebble House nursery; Hedgehog Lane day care
        """),
        qualifiers=listed("five mornings; three full days; until four o'clock; two afternoons; with lunch"),
        amount=(18_000, 72_000),
        moved_by=(On("new_child", "add", 0.35), On("move", "modify", 0.35), On("job_change", "detail", 0.3)),
    ),
    Attribute(
        name="children_school",
        label="the children's school",
        traits=("parent",),
        lasting=True,
        act="have a child at {entity}, {qualifier}",
        category="school",
        shows=("Gmail/ReadEmail", "Google Maps/GetDirections", "WhatsApp/GetMessages"),
        entities=listed("""
            Hollis Street Primary; Orchard Academy; Saint Orrin's School; Canal Row Primary; The Terraces School; Weir
            Lane Grammar; Lantern Hill Community School; Brickfields Primary
        """),
        qualifiers=listed("in the first year; in the music stream; with the lunch club; in the bilingual class"),
        moved_by=(On("move", "modify", 0.3),),
    ),
    Attribute(
        name="family_phone_plan",
        label="family phone plan",
        traits=("kin", "parent"),
        act="share the {entity} family plan, {qualifier}",
        category="phone plan",
        shows=("Chase/PayBill", "Gmail/ReadEmail"),
        entities=listed("Skylark; Tern Mobile; Callbox; Lattice; Plainline; Hummingbird; Beacon Tel; Five Towers"),
        qualifiers=listed("three lines; four lines; with shared data; without roaming; with a child lock"),
        amount=(2_900, 9_900),
        moved_by=(On("squeeze", "modify", 0.35), On("move", "detail", 0.15), On("wedding", "detail", 0.35)),
    ),
    Attribute(
        name="parents_care",
        label="help for the parents",
        traits=("carer",),
        act="have {entity} look after my parents, {qualifier}",
        category="home care",
        shows=("Chase/PayBill", "Gmail/ReadEmail", "WhatsApp/SendMessage"),
        entities=listed("""
            Helping Hands Northfold; Oak Visits; Gentle Mornings; the parish nurses; Homeward Care; Second Spring;
            Neighbourly; Evergreen Visits
        """),
        qualifiers=listed("twice a week; every morning; on weekends; with meals; for the cleaning only"),
        amount=(8_000, 42_000),
        moved_by=(
            On("parent_ill", "add", 0.4, stays=True),
            On("parent_ill", "modify", 0.25, stays=True),
            On("squeeze", "detail", 0.25),
        ),
    ),
    Attribute(
        name="pet_food",
        label="pet food",
        traits=("pet",),
        act="feed {entity}, {qualifier}",
        category="pet food",
        shows=("Amazon/Checkout", "Amazon/AddToCart", "Amazon/WriteReview"),
        entities=listed("""
            Barkwell Salmon; Old Paw Lamb; Whisker Farm Chicken; Field & Fang Duck; Tin Bowl Turkey; Plain Kibble;
            Moorland Venison; Happy Snout Rice
        """),
        qualifiers=listed("in 5 kg bags; in small tins; grain-free; for sensitive stomachs"),
        amount=(1_400, 6_800),
        moved_by=(On("pet", "add", 0.45), On("squeeze", "modify", 0.3)),
    ),
    Attribute(
        name="vet",
        label="vet",
        traits=("pet",),
        act="take the animal to {entity}, {qualifier}",
        category="vet",
        shows=("Google Maps/CheckIn", "Chase/PayBill", "Gmail/ReadEmail"),
        entities=listed("""
            Paws on Mill Street; Canal Vets; Doctor Dog Station Side; The Ark Surgery; Hillside Animal Care; Four Feet
            Practice; Lantern Vets; Brook Animal Clinic
        """),
        qualifiers=listed("yearly shots; on the health plan; with home visits; for teeth as well"),
        amount=(3_500, 16_000),
        moved_by=(On("pet", "add", 0.4), On("move", "modify", 0.35)),
    ),
    Attribute(
        name="anniversary_plan",
        label="plan for the anniversary",
        traits=("partner",),
        act="plan our anniversary at {entity}, {qualifier}",
        category="getaway",
        shows=("Google Maps/SearchPlaces", "Gmail/ReadEmail", "Chase/PayBill"),
        entities=listed("""
            the Heron Inn; Lighthouse Suites; the Vineyard Barn; Hotel Calder; the Treehouse at Elmscourt; Mill Pond
            Lodge; the Night Train; Castle Mews
        """),
        qualifiers=listed("one night; a long weekend; with dinner; without the children; as a surprise"),
        amount=(9_000, 48_000),
        moved_by=(On("wedding", "modify", 0.4), On("new_child", "modify", 0.3), On("squeeze", "remove", 0.25)),
    ),
    Attribute(
        name="family_car_seat",
        label="seat for the child",
        traits=("parent", "driver"),
        act="use the {entity}, {qualifier}",
        category="child seat",
        shows=("Amazon/Checkout", "Amazon/ShowProduct", "Amazon/WriteReview"),
        entities=listed("""
            Nestling car seat; Tumble bike seat; Koala carrier; Brisk pushchair; Starling booster; Pip twin pushchair;
            Harbour cargo bike; Clover stroller
        """),
        qualifiers=listed("in navy; handed down by friends; with a rain cover; for up to 18 kg"),
        amount=(6_000, 52_000),
        moved_by=(On("new_child", "add", 0.4), On("new_car", "modify", 0.35), On("move", "modify", 0.1)),
    ),
)

COLLECTIONS: tuple[State, ...] = (
    Collection(
        name="children_activities",
        label="the children's activities",
        traits=("parent",),
        act="take a child to {entity}, {qualifier}",
        category="children's activity",
        shows=("Google Maps/CheckIn", "Chase/PayBill", "WhatsApp/SendMessage"),
        entities=listed("""
            judo at the Mill; recorder lessons; Otters swim school; the young botanists; football at Brickfields;
            drama club; the chess corner; ballet at Rose Yard; robot building; scouts
        """),
        qualifiers=listed("once a week; twice a week; as a trial; together with a classmate"),
        amount=(1_500, 9_000),
        moved_by=(On("move", "add", 0.25), On("squeeze", "remove", 0.3), On("new_circle", "add", 0.2)),
    ),
    Collection(
        name="gift_ideas",
        label="presents to give",
        traits=("kin", "partner"),
        act="want to give {entity}, {qualifier}",
        category="gifts",
        shows=("Amazon/AddToWishlist", "Amazon/SearchProducts", "Amazon/Checkout"),
        entities=listed("""
            the Calder tea set; a Moth Hill puzzle; a Pennant wool scarf; the Salt & Seed cookbook; an Orrin desk
            lamp; a Tidal print; the Pebble speaker; a Foxglove candle; the Nightjar binoculars; a Cinder cast-iron
            pan
        """),
        qualifiers=listed("for my mother; for my sister; for a wedding; for the holidays"),
        amount=(1_900, 14_000),
        moved_by=(On("wedding", "add", 0.35), On("windfall", "add", 0.25), On("new_child", "add", 0.2)),
    ),
    Collection(
        name="family_chats",
        label="family chat groups",
        traits=("kin", "carer"),
        act="write in the group {entity}, {qualifier}",
        category="chat group",
        shows=("WhatsApp/SendMessage", "WhatsApp/GetMessages", "WhatsApp/SendMedia"),
        entities=listed("""
            The Noisy Table; Cousins & Co; Grandma's Garden; Sunday Roast; Away from Home; Sibling Council; The
            In-Laws; Baby Pictures Only; Lost & Found Family
        """),
        qualifiers=listed("several times a day; mostly reading; mostly photos; muted at night"),
        moved_by=(On("new_child", "add", 0.4), On("parent_ill", "add", 0.35), On("wedding", "add", 0.35)),
    ),
    Collection(
        name="pet_supplies",
        label="things for the pet",
        traits=("pet",),
        act="own the {entity} for the animal, {qualifier}",
        category="pet supplies",
        shows=("Amazon/Checkout", "Amazon/AddToCart", "Amazon/WriteReview"),
        entities=listed("""
            Longwalk lead; Burrow bed; Chewstone bone; Rainproof coat; Tick-Tock feeder; Scratch Tower; Puddle bowl;
            Nimble harness; Whistle tracker
        """),
        qualifiers=listed("in green; size M; the washable one; second-hand"),
        amount=(900, 7_900),
        moved_by=(On("pet", "add", 0.45), On("windfall", "add", 0.1)),
    ),
)

HABITS: tuple[State, ...] = (
    Habit(
        name="family_call",
        label="call with the parents",
        traits=("kin",),
        activity="calling the parents",
        category="Call",
        apps=("WhatsApp/SendMessage", "WhatsApp/SendMedia"),
        words=listed("""
            news from the garden; the doctor's verdict; who visited whom; recipes dictated; a joke told twice; the
            broken boiler; plans for the holidays; old photographs; the neighbours' dog; the weather at length
        """),
        minutes=(25, 35, 45),
        slot=slot("eight", SUN),
        frequencies=("weekly", "weekly", "biweekly"),
        places=(("Sofa", "Home"), ("Balcony", "Home"), ("Kitchen", "Home")),
        people=("my mother", "my father", "my parents"),
        moved_by=(
            On("summer", "place", 0.25),
            On("parent_ill", "time", 0.3),
            On("parent_ill", "acquire", 0.3),
            On("new_child", "acquire", 0.25),
        ),
    ),
    Habit(
        name="school_run",
        label="school run",
        traits=("parent",),
        activity="bringing the children to school",
        category="Walking",
        apps=("Google Maps/GetDirections", "Fitbit/RecordActivity", "WhatsApp/SendMessage"),
        weak=("Fitbit/SyncDevice",),
        words=listed("""
            forgot the gym bag; on scooters; singing all the way; late by a minute; rain gear; one shoe missing;
            through the park; picked up a classmate; hand in hand; a very slow snail
        """),
        minutes=(20, 25, 30),
        slot=slot("early", *WORKDAYS),
        counts=(3, 5),
        places=(
            ("Hollis Street Primary", "40 Hollis Street"),
            ("Canal Row Primary", "12 Canal Row"),
            ("Orchard Academy", "Orchard Estate"),
        ),
        people=("my daughter", "my son", "the children"),
        moved_by=(On("move", "place", 0.4), On("job_change", "days", 0.3), On("summer", "drop", 0.35)),
    ),
    Habit(
        name="family_check_in",
        label="good-night message to the family",
        traits=("carer", "kin"),
        activity="writing to the family",
        category="Message",
        apps=("WhatsApp/SendMessage", "WhatsApp/GetMessages/weekend"),
        words=listed("""
            sleep well, all of you; everything fine here; a photo of dinner; pills taken?; see you tomorrow; the
            heating works; a voice message; hugs; one line, as promised; a picture of the moon
        """),
        minutes=(10, 15),
        slot=slot("nine_pm"),
        frequencies=("daily", "weekly"),
        counts=(4, 5),
        places=(("Sofa", "Home"), ("Bedroom", "Home"), ("Balcony", "Home")),
        people=("my mother", "my parents", "my sister"),
        moved_by=(On("parent_ill", "acquire", 0.4), On("trip", "time", 0.25), On("new_child", "time", 0.25)),
    ),
    Habit(
        name="date_night",
        label="evening for two",
        traits=("partner",),
        activity="an evening for two",
        category="Dining",
        apps=("UberEats/PlaceOrder", "Google Maps/CheckIn", "Instagram/PostStory"),
        words=listed("""
            the corner table; noodles and candles; phones in a drawer; a new place; dessert first; a long talk; cards
            and wine; the usual order; dressed up for once; home before eleven
        """),
        minutes=(45, 50, 60),
        slot=slot("eight", FRI),
        frequencies=("weekly", "biweekly", "monthly_nth_weekday"),
        places=(
            ("Trattoria Sorrel", "17 Mint Street"),
            ("The Copper Pot", "3 Quay Road"),
            ("Our kitchen", "Home"),
            ("Saffron Yard", "28 Mill Street"),
        ),
        people=("my partner",),
        amount=(3_200, 9_800),
        moved_by=(
            On("summer", "place", 0.3),
            On("new_child", "drop", 0.25),
            On("wedding", "days", 0.25),
            On("squeeze", "place", 0.35),
        ),
    ),
    Habit(
        name="grandparents_breakfast",
        label="breakfast with the grandparents",
        traits=("parent", "driver"),
        activity="breakfast with the grandparents",
        category="Visit",
        apps=("Google Maps/GetDirections", "WhatsApp/SendMedia", "Instagram/CreatePost"),
        words=listed("""
            pancakes; the good china; stories from the shipyard; a walk in the garden; too much cake; board game on
            the rug; the crossword together; eggs from next door; grandad's radio; leftovers to take home
        """),
        minutes=(40, 50),
        slot=slot("ten", SUN),
        frequencies=("weekly", "biweekly"),
        places=(("Grandparents' house", "Brickfields 9"), ("Café Lindgrove", "9 Mill Street"), ("Our kitchen", "Home")),
        people=("my parents", "the grandparents"),
        moved_by=(
            On("new_car", "days", 0.2),
            On("new_child", "acquire", 0.25),
            On("parent_ill", "place", 0.3),
            On("move", "days", 0.25),
        ),
    ),
    Habit(
        name="shared_cooking",
        label="cooking together",
        traits=("cook", "partner"),
        activity="cooking together",
        category="Cooking",
        apps=("Instagram/PostStory", "Google/Search", "Spotify/PlaySong"),
        words=listed("""
            dumplings by hand; a stew for the week; grandmother's pie; pasta from scratch; who chops, who stirs; bread
            rising; a curry too hot; soup from leftovers; pancakes for dinner; something with beans
        """),
        minutes=(45, 55),
        slot=slot("five", SAT),
        frequencies=("weekly", "biweekly"),
        places=(
            ("Our kitchen", "Home"),
            ("My sister's kitchen", "Upper Terraces 4"),
            ("Community kitchen", "Mill Hall"),
        ),
        people=("my partner", "my sister", "the children"),
        moved_by=(
            On("winter", "acquire", 0.25),
            On("wedding", "acquire", 0.2),
            On("move", "place", 0.25),
            On("illness", "acquire", 0.2),
        ),
    ),
    Habit(
        name="cousins_call",
        label="call with the cousins",
        traits=("kin",),
        activity="a call with the cousins",
        category="Call",
        apps=("WhatsApp/SendMessage", "Instagram/SendDirectMessage", "WhatsApp/GetMessages"),
        words=listed("""
            six screens, one talking; baby shown around; plans for the reunion; the inheritance of the clock; bad line
            from the coast; a quiz; birthdays of the month; who moved where; old slides; a toast
        """),
        minutes=(30, 40, 50),
        slot=slot("lunch", SAT),
        frequencies=("monthly_nth_weekday",),
        places=(("Living room", "Home"), ("Balcony", "Home"), ("Kitchen", "Home")),
        people=("my cousins",),
        moved_by=(On("wedding", "acquire", 0.25), On("trip", "days", 0.2), On("parent_ill", "days", 0.25)),
    ),
)

PREFERENCES: tuple[State, ...] = (
    Preference(
        name="celebration_style",
        label="how to celebrate",
        axis="celebrating at home or out",
        a="celebrations at home",
        b="celebrations in restaurants",
        traits=("partner", "cook"),
        qualifiers=listed("above all for birthdays; with small children around; for round numbers; in the dark months"),
        choices=("WhatsApp/SendMessage/celebrations", "Gmail/SendEmail/celebrations", "Notion/CreatePage/celebrations"),
        options_a=listed("""
            a buffet on the kitchen table; lanterns in our garden; a fondue in the living room; a picnic
            rug on the balcony; a long table in the hallway
        """),
        kinds_a=listed("kitchen table; our garden; living room; balcony; hallway"),
        options_b=listed("""
            a tasting menu at Rook & Rye; a bistro evening at the Plough; a banquet at Lotus Court; the
            brasserie by the station; a set dinner at the Gilded Spoon
        """),
        kinds_b=listed("tasting menu; bistro; banquet; brasserie; set dinner"),
        moved_by=(
            On("wedding", "b", 0.3),
            On("new_child", "a", 0.35),
            On("windfall", "b", 0.25),
            On("squeeze", "a", 0.3),
        ),
    ),
    Preference(
        name="gift_style",
        label="what to give",
        axis="giving things or experiences",
        a="things to keep",
        b="experiences",
        traits=("kin",),
        qualifiers=listed("above all for adults; for children; for milestones; when in doubt"),
        choices=("Amazon/Checkout/gifts", "Google/ClickResult/gifts"),
        options_a=listed("Amberly teapot; Fellmoor scarf; Brass reading lamp; Harbour etching; Pocket radio"),
        kinds_a=listed("teapot; scarf; lamp; etching; radio"),
        options_b=listed("""
            Pottery afternoon for two; Balloon ride voucher; Concert voucher; Tasting evening ticket;
            Treehouse night voucher
        """),
        kinds_b=listed("afternoon; ride; concert; tasting; treehouse night"),
        moved_by=(On("trip", "b", 0.25), On("move", "b", 0.2), On("new_child", "a", 0.25)),
    ),
    Preference(
        name="family_contact",
        label="how to keep in touch",
        axis="writing or calling",
        a="short messages",
        b="long calls",
        traits=("carer", "kin"),
        qualifiers=listed("above all on workdays; above all with the parents; when there is news; late in the evening"),
        choices=("WhatsApp/SendMessage/family", "WhatsApp/SendMedia/family"),
        options_a=listed("a line in the group; a photo with a caption; a thumbs-up; a quick note; an emoji and a date"),
        kinds_a=listed("line in the group; caption; thumbs-up; note; emoji"),
        options_b=listed("an hour on the phone; a video chat; a ring-round; a chat on speaker; catching up by voice"),
        kinds_b=listed("on the phone; video chat; ring-round; on speaker; by voice"),
        moved_by=(On("parent_ill", "b", 0.35), On("new_child", "a", 0.25), On("trip", "a", 0.2)),
    ),
    Preference(
        name="pet_toy_kind",
        label="toys for the pet",
        axis="puzzle toys or soft toys",
        a="puzzle toys",
        b="soft toys",
        traits=("pet",),
        qualifiers=listed("above all on rainy days; when alone at home; as a reward; for the evening"),
        choices=("Amazon/AddToCart/pet toys", "Amazon/SearchProducts/pet toys", "Amazon/ShowProduct/pet toys"),
        options_a=listed("Treat Maze; Sniffing Board; Riddle Roller; Lift-the-Lid Box; Sliding Blocks"),
        kinds_a=listed("maze; sniffing board; riddle; lift-the-lid; sliding blocks"),
        options_b=listed("Woolly Goose; Plush Carrot; Cuddle Hedgehog; Fleece Mop; Velvet Bone"),
        kinds_b=listed("woolly; plush; cuddle; fleece; velvet"),
        moved_by=(On("pet", "a", 0.2), On("squeeze", "b", 0.15), On("move", "a", 0.15)),
    ),
)

STATES = (*ATTRIBUTES, *COLLECTIONS, *HABITS, *PREFERENCES)
