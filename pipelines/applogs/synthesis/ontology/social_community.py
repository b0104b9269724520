"""Social life and community: clubs, offices, neighbours, faith in small things done together."""

from pipelines.applogs.synthesis.ontology.forms import Attribute, Collection, Habit, On, Preference, State, listed
from pipelines.applogs.synthesis.ontology.slots import SAT, SUN, THU, TUE, WED, slot

ATTRIBUTES: tuple[State, ...] = (
    Attribute(
        name="volunteer_role",
        label="volunteer role",
        traits=("volunteer",),
        act="help out at {entity}, {qualifier}",
        category="volunteering",
        shows=("Gmail/ReadEmail", "LinkedIn/AddExperience", "WhatsApp/SendMessage"),
        entities=listed("""
            Brickfields Food Bank; the Night Shelter; Elm Park Library; the Reading Hour; Canal Clean Crew; Second
            Wheel bike kitchen; the Hospice Garden; Welcome Desk Station Side
        """),
        qualifiers=listed("at the front desk; in the warehouse; as a driver; as a shift lead; on call"),
        moved_by=(On("move", "modify", 0.3), On("new_circle", "add", 0.25), On("new_child", "remove", 0.25)),
    ),
    Attribute(
        name="club_membership",
        label="club",
        traits=("club",),
        act="belong to {entity}, {qualifier}",
        category="club",
        shows=("Chase/PayBill", "Gmail/ReadEmail", "Google Maps/CheckIn"),
        entities=listed("""
            the Northfold Rowing Club; the Lantern Chess Circle; the Harbour Sailing School; the Ridge Ramblers; the
            Film Cellar; the Old Mint Fencers; the Orchard Beekeepers; the Weir Lane Bowls
        """),
        qualifiers=listed("full member; supporting member; on a trial season; on the committee; family rate"),
        amount=(2_000, 12_000),
        moved_by=(On("move", "modify", 0.3), On("new_circle", "add", 0.3), On("injury", "detail", 0.3, stays=True)),
    ),
    Attribute(
        name="community_office",
        label="office in the community",
        traits=("neighbour", "volunteer"),
        act="serve {entity}, {qualifier}",
        category="community office",
        shows=("Gmail/SendEmail", "Notion/UpdatePage", "LinkedIn/UpdateProfile"),
        entities=listed("""
            the residents' association; the allotment committee; the school council; the parish hall trust; the street
            festival board; the cycling forum; the library friends; the water co-operative
        """),
        qualifiers=listed("as treasurer; as secretary; as deputy chair; as keeper of the keys; as an ordinary member"),
        moved_by=(On("promotion", "remove", 0.2), On("move", "remove", 0.3), On("new_circle", "modify", 0.2)),
    ),
    Attribute(
        name="regular_pub",
        label="regular place to meet friends",
        traits=("club", "games"),
        act="meet friends at {entity}, {qualifier}",
        category="pub",
        shows=("Google Maps/CheckIn", "Instagram/PostStory", "WhatsApp/SendMessage"),
        entities=listed("""
            The Drowsy Heron; The Ferryman; The Quiet Anchor; Bar Halyard; The Brass Kettle; The Two Sextants; The
            Lost Glove; Cider House Nine
        """),
        qualifiers=listed("at the long table; on quiz night; in the yard; by the fire; before the match"),
        amount=(900, 3_800),
        moved_by=(On("move", "modify", 0.35), On("new_circle", "modify", 0.25), On("illness", "remove", 0.15)),
    ),
    Attribute(
        name="allotment",
        label="garden plot",
        traits=("owner", "outdoor"),
        act="tend {entity}, {qualifier}",
        category="garden plot",
        shows=("Instagram/CreatePost", "Amazon/Checkout", "Chase/PayBill"),
        entities=listed("""
            plot 14 at Weir Gardens; plot 3 at Station Side; a bed at the Roof Garden; a strip at Brickfields; plot 27
            at Orchard Row; a corner of the Mill Garden; plot 8 at Canal End; a raised bed at Chapel Yard
        """),
        qualifiers=listed(
            "mostly beans; mostly flowers; shared with a neighbour; on the waiting list for more; no-dig"
        ),
        amount=(1_500, 6_000),
        moved_by=(On("move", "modify", 0.35), On("injury", "detail", 0.3, stays=True), On("new_circle", "add", 0.15)),
    ),
    Attribute(
        name="charity_gift",
        label="standing donation",
        traits=("volunteer",),
        act="give to {entity}, {qualifier}",
        category="charity",
        shows=("Chase/PayBill", "Chase/TransferMoney", "Gmail/ReadEmail"),
        entities=listed("""
            Clear Rivers Fund; the Lifeboat Chest; Open Doors Shelter; Seeds for Schools; the Listening Line; Forest
            Minutes; Warm Meals Trust; Doctors by Boat
        """),
        qualifiers=listed("every month; every quarter; at the end of the year; in memory of my aunt"),
        amount=(1_000, 6_000),
        moved_by=(On("squeeze", "remove", 0.3), On("windfall", "add", 0.3), On("promotion", "modify", 0.2)),
    ),
    Attribute(
        name="online_handle",
        label="public profile",
        traits=("craft", "music"),
        act="post as {entity}, {qualifier}",
        category="profile",
        shows=("Instagram/CreatePost", "Instagram/PostStory", "Instagram/FollowUser"),
        entities=listed("""
            @slowharbour; @breadandbolts; @northfoldwindows; @tinyorchard; @weekdaywalks; @lampandlathe;
            @quietcymbals; @mendedthings
        """),
        qualifiers=listed("one picture a week; stories only; mostly hands and tools; closed to strangers"),
        moved_by=(
            On("new_child", "detail", 0.35),
            On("new_circle", "detail", 0.2),
            On("trip", "detail", 0.25, stays=True),
        ),
    ),
    Attribute(
        name="travel_group",
        label="group to travel with",
        traits=("traveller", "club"),
        act="travel with {entity}, {qualifier}",
        category="travel group",
        shows=("WhatsApp/SendMessage", "Gmail/ReadEmail", "Google Maps/SearchPlaces"),
        entities=listed("""
            the Slow Train people; Hut to Hut; the Ferry Friends; Museum Mondays; the Canoe Lot; Single Track
            cyclists; the Winter Sun crew; Night Sky walkers
        """),
        qualifiers=listed("once a year; on long weekends; as the one who books; splitting all costs"),
        moved_by=(
            On("trip", "modify", 0.25, stays=True),
            On("new_child", "remove", 0.3),
            On("new_circle", "add", 0.25),
        ),
    ),
)

COLLECTIONS: tuple[State, ...] = (
    Collection(
        name="followed_accounts",
        label="accounts followed",
        traits=("screen", "craft"),
        act="follow {entity}, {qualifier}",
        category="account",
        shows=("Instagram/FollowUser", "Instagram/LikePost", "Instagram/GetFollowing"),
        entities=listed("""
            @ovenandoak; @tidalmaps; @thepatientpotter; @smallstages; @inkatnoon; @ridgeweather; @oldtramlines;
            @fernsindoors; @paperkites; @sundaysourdough
        """),
        qualifiers=listed("for the pictures; for the recipes; for ideas; because a friend runs it"),
        size=(2, 4),
        moved_by=(On("new_circle", "add", 0.25), On("course", "add", 0.2, stays=True), On("pet", "add", 0.2)),
    ),
    Collection(
        name="community_groups",
        label="neighbourhood groups",
        traits=("neighbour", "volunteer"),
        act="take part in {entity}, {qualifier}",
        category="neighbourhood group",
        shows=("WhatsApp/GetMessages", "WhatsApp/SendMessage", "Gmail/ReadEmail"),
        entities=listed("""
            the tool library; Lend a Ladder; Canal Row Watch; the seed exchange; Babysit Circle; the soup rota; Borrow
            a Dog; the noise round table; Street Piano; the lost cats list
        """),
        qualifiers=listed("actively; now and then; as an organiser; reading along"),
        moved_by=(On("move", "add", 0.35), On("move", "remove", 0.25)),
    ),
    Collection(
        name="upcoming_events",
        label="events with a ticket",
        traits=("music", "club"),
        act="have a ticket for {entity}, {qualifier}",
        category="event",
        shows=("Gmail/ReadEmail", "Chase/PayBill", "Instagram/PostStory"),
        entities=listed("""
            the Harbour Lights concert; Night of Short Plays; the Orchard Fair; the Regatta Ball; Open Studios
            weekend; the Winter Choir; the Paper Theatre; the Cider Parade; Tales at the Weir; the Lantern Walk
        """),
        qualifiers=listed("in the stalls; standing; with a plus-one; from the waiting list"),
        size=(1, 2),
        amount=(1_200, 7_500),
        moved_by=(On("new_circle", "add", 0.3), On("windfall", "add", 0.25), On("new_child", "remove", 0.25)),
    ),
    Collection(
        name="tandem_languages",
        label="languages practised with others",
        traits=("traveller", "student"),
        act="practise {entity}, {qualifier}",
        category="language",
        shows=("WhatsApp/SendMessage", "LLM Assistant/ContinueConversation", "LinkedIn/AddSkill"),
        entities=listed("""
            Portuguese; Finnish; Turkish; Welsh; Japanese; Polish; Arabic; Dutch; Italian
        """),
        qualifiers=listed("with a tandem partner; in a café group; by voice messages; for the next trip"),
        size=(1, 2),
        moved_by=(
            On("trip", "add", 0.3, stays=True),
            On("course", "add", 0.2, stays=True),
            On("new_circle", "add", 0.2),
        ),
    ),
)

HABITS: tuple[State, ...] = (
    Habit(
        name="board_meeting",
        label="meeting of the board",
        traits=("neighbour", "volunteer"),
        activity="a board meeting",
        category="Meeting",
        apps=("Gmail/ReadEmail", "Notion/CreatePage", "Google Maps/CheckIn"),
        words=listed("""
            the agenda in eight points; minutes approved; the roof again; who orders the tent; a vote on the hedge;
            the budget line for paint; a letter from the council; new keys; complaints about bins; date of the next
            one
        """),
        minutes=(45, 60),
        slot=slot("six", WED),
        frequencies=("monthly_nth_weekday",),
        places=(
            ("Community Room", "Mill Hall"),
            ("Parish hall", "2 Chapel Yard"),
            ("Multipurpose Room", "Elm Park Library"),
        ),
        people=("the board",),
        moved_by=(On("summer", "drop", 0.25), On("move", "drop", 0.25), On("promotion", "days", 0.25)),
    ),
    Habit(
        name="choir_rehearsal",
        label="choir rehearsal",
        traits=("music", "club"),
        activity="choir rehearsal",
        category="Music",
        apps=("Google Maps/CheckIn", "Spotify/PlaySong", "WhatsApp/SendMessage"),
        words=listed("""
            the altos were flat; a new piece in Latin; breathing together; sheet music forgotten; sightreading; the
            spring programme; one verse by heart; tea afterwards; the organ is out of tune; a solo for somebody else
        """),
        minutes=(50, 60),
        slot=slot("six", TUE),
        frequencies=("weekly", "weekly", "biweekly"),
        places=(("Chapel Rooms", "2 Chapel Yard"), ("School hall", "40 Hollis Street"), ("Mill Hall", "1 Mill Street")),
        moved_by=(On("new_circle", "acquire", 0.2), On("summer", "drop", 0.25), On("winter", "place", 0.15)),
    ),
    Habit(
        name="food_bank_shift",
        label="shift at the food bank",
        traits=("volunteer", "driver"),
        activity="a volunteer shift",
        category="Volunteering",
        apps=("Google Maps/CheckIn", "WhatsApp/SendMessage", "Instagram/PostStory"),
        weak=("Fitbit/SyncDevice",),
        words=listed("""
            sorting tins; sixty bags packed; bread from two bakeries; the queue moved well; a new helper; boxes by the
            door; fresh greens for once; counting stock; a thank-you card; the van was late
        """),
        minutes=(90, 100, 120),
        slot=slot("ten", SAT, to="noon"),
        frequencies=("weekly", "biweekly"),
        places=(
            ("Brickfields Food Bank", "3 Brick Lane"),
            ("Mill Hall", "1 Mill Street"),
            ("Harbour Pantry", "Pier 2"),
        ),
        intensity="medium",
        moved_by=(
            On("winter", "acquire", 0.2),
            On("new_circle", "acquire", 0.2),
            On("injury", "drop", 0.35),
            On("new_child", "days", 0.25),
        ),
    ),
    Habit(
        name="board_game_evening",
        label="board game evening",
        traits=("games", "club"),
        activity="board games",
        category="Games",
        apps=("WhatsApp/SendMessage", "Google Maps/CheckIn", "Instagram/PostStory"),
        words=listed("""
            lost to the merchants again; a three-hour rulebook; the red team cheated; crisps on the map; a rematch;
            co-op, and still lost; the new expansion; dice against me; five at the table; a short one to end
        """),
        minutes=(50, 60),
        slot=slot("eight", SAT),
        frequencies=("weekly", "biweekly"),
        places=(("The Drowsy Heron", "5 Quay Road"), ("Living room", "Home"), ("Meeple Cellar", "31 Mint Street")),
        people=("the usual four", "friends from the block"),
        moved_by=(
            On("winter", "days", 0.25),
            On("new_circle", "acquire", 0.25),
            On("move", "place", 0.3),
            On("summer", "days", 0.15),
        ),
    ),
    Habit(
        name="neighbour_coffee",
        label="coffee with the neighbour",
        traits=("neighbour",),
        activity="coffee with the neighbour",
        category="Coffee",
        apps=("WhatsApp/SendMessage", "Google Maps/CheckIn", "Chase/GetTransactions"),
        words=listed("""
            the gossip of the stairs; a new cake place; keys handed over; his knee, my back; plants to water; two flat
            whites; the bins, again; a crossword clue; her daughter's exams; quick one today
        """),
        minutes=(25, 30, 40),
        slot=slot("lunch", THU),
        frequencies=("weekly", "biweekly"),
        places=(("Café Lindgrove", "9 Mill Street"), ("Roast & Rye", "22 Canal Row"), ("Back yard", "Home")),
        indoors=(("Kitchen", "Home"),),
        people=("my neighbour",),
        amount=(380, 900),
        moved_by=(On("winter", "indoors", 0.3), On("move", "drop", 0.3), On("new_circle", "acquire", 0.2)),
    ),
    Habit(
        name="club_newsletter",
        label="newsletter of the club",
        traits=("club",),
        activity="sending the newsletter",
        category="Newsletter",
        apps=("Gmail/SendEmail", "Notion/UpdatePage", "LLM Assistant/ContinueConversation"),
        words=listed("""
            dates and a photo; three notices; thanks to the helpers; membership fees; a short obituary; results of the
            season; lost and found; a riddle at the end; corrections; welcome to the new ones
        """),
        minutes=(30, 40, 45),
        slot=slot("four", dates=(10, 11, 12, 13, 14)),
        frequencies=("monthly_by_date",),
        places=(("Desk by the window", "Home"), ("Club house", "Harbour wall"), ("Elm Park Library", "Elm Park")),
        moved_by=(On("new_circle", "acquire", 0.15), On("job_change", "days", 0.25), On("new_child", "drop", 0.3)),
    ),
    Habit(
        name="language_tandem",
        label="language tandem",
        traits=("traveller", "student"),
        activity="a language tandem",
        category="Language",
        apps=("WhatsApp/SendMessage", "Google Maps/CheckIn", "LLM Assistant/ContinueConversation"),
        words=listed("""
            half an hour each way; idioms about weather; corrections on a napkin; a newspaper article; slang; numbers,
            fast; a story about school; polite and less polite; a tongue twister; homework for next time
        """),
        minutes=(45, 60),
        slot=slot("eight", WED),
        frequencies=("weekly", "biweekly"),
        places=(("Roast & Rye", "22 Canal Row"), ("Video call", "Home"), ("The Ferryman", "1 Ferry Steps")),
        people=("my tandem partner",),
        moved_by=(On("trip", "place", 0.3), On("trip", "acquire", 0.15), On("course", "days", 0.2)),
    ),
    Habit(
        name="street_clean_up",
        label="clean-up of the street",
        traits=("neighbour", "pet"),
        activity="cleaning up the street",
        category="Volunteering",
        apps=("WhatsApp/SendMedia", "Instagram/CreatePost", "Fitbit/LogWorkout"),
        weak=("Fitbit/SyncDevice",),
        words=listed("""
            eleven bags; a bicycle from the canal; gloves for everyone; leaves, mostly; the children found a wallet;
            bottle tops by the hundred; a sofa, of all things; soup afterwards; both banks; a before-and-after picture
        """),
        minutes=(30, 40, 45),
        slot=slot("noon", SUN),
        frequencies=("monthly_nth_weekday",),
        places=(("Canal bank", "Canal Row"), ("Orchard Park", "West Gate"), ("Market square", "Old Wharf")),
        people=("the neighbours",),
        intensity="medium",
        moved_by=(On("winter", "drop", 0.25), On("move", "place", 0.3), On("new_circle", "acquire", 0.25)),
    ),
)

PREFERENCES: tuple[State, ...] = (
    Preference(
        name="company_size",
        label="company",
        axis="small rounds or big gatherings",
        a="small rounds",
        b="big gatherings",
        traits=("club", "cook"),
        qualifiers=listed("above all on workday evenings; with new people; for birthdays; after a long week"),
        choices=("WhatsApp/SendMessage/meeting friends", "Google Maps/SearchPlaces/bar", "Instagram/LikePost/events"),
        options_a=listed("the Snug at Inkwell's; Teapot Corner; the Candle Room; the Lock Bench; the Card Nook"),
        kinds_a=listed("snug; tea for two; table for four; a walk for two; card round"),
        options_b=listed("Wharf Hall; Brickfields Common; the Tramshed; Cider Yard; Market Square"),
        kinds_b=listed("dance hall; open-air festival; quiz night for eighty; parade; street party"),
        moved_by=(On("new_circle", "b", 0.3), On("new_child", "a", 0.3), On("illness", "a", 0.25)),
    ),
    Preference(
        name="volunteering_mode",
        label="how to help",
        axis="helping with hands or with money",
        a="helping with my hands",
        b="giving money",
        traits=("volunteer", "leader"),
        qualifiers=listed("above all nearby; for causes far away; in busy months; before the holidays"),
        choices=("Google/ClickResult/volunteering", "Gmail/ReplyEmail/volunteering"),
        options_a=listed("""
            a Saturday of sorting tins; a tree-planting day; a reading hour at the school; a soup shift; a
            repair table
        """),
        kinds_a=listed("sorting tins; tree-planting; reading hour; soup shift; repair"),
        options_b=listed("""
            a standing order to Blue Whale Watch; round-up donations for the Seed Vault; a cheque for the
            Sea Rescue; a collection for the Night Kitchen; sponsoring a Hospice bench
        """),
        kinds_b=listed("standing order; donations; cheque; collection; sponsoring"),
        moved_by=(On("windfall", "b", 0.3), On("injury", "b", 0.25), On("squeeze", "a", 0.35)),
    ),
    Preference(
        name="feed_content",
        label="what to watch in the feed",
        axis="friends or makers in the feed",
        a="posts of friends",
        b="posts of makers",
        traits=("craft", "games"),
        qualifiers=listed("above all in the evening; over breakfast; on the tram; when tired"),
        choices=("Instagram/LikePost/feed", "Instagram/CommentOnPost/feed"),
        options_a=listed(
            "@cousins.by.the.sea; @old.classmates; @rowing.crewmates; @auntie.on.the.road; @neighbours.balcony"
        ),
        kinds_a=listed("cousins; classmates; crewmates; auntie; neighbours"),
        options_b=listed("@bread.workshop; @the.pottery.wheel; @papercraft.lab; @lathe.diary; @ink.and.press"),
        kinds_b=listed("workshop; pottery; papercraft; lathe; ink.and.press"),
        moved_by=(On("course", "b", 0.25), On("new_circle", "a", 0.25), On("move", "a", 0.25)),
    ),
)

STATES = (*ATTRIBUTES, *COLLECTIONS, *HABITS, *PREFERENCES)
