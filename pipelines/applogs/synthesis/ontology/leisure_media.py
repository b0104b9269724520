"""Leisure and media: what is watched, heard, read, played, made and visited."""

from pipelines.applogs.synthesis.ontology.forms import Attribute, Collection, Habit, On, Preference, State, listed
from pipelines.applogs.synthesis.ontology.slots import FRI, MON, SUN, THU, WED, slot

ATTRIBUTES: tuple[State, ...] = (
    Attribute(
        name="current_book",
        label="book being read",
        traits=("reader",),
        act="read {entity}, {qualifier}",
        category="book",
        shows=("Goodreads/AddToShelf", "Goodreads/ShowBook", "Goodreads/RateBook"),
        entities=listed("""
            The Salt Ledger; A House Without Corners; Winter in the Signal Box; The Cartographer's Aunt; Nine Kinds of
            Rain; The Borrowed Orchard; Low Water; A Grammar of Birds
        """),
        qualifiers=listed(
            "in paperback; as an audiobook; for the book club; a few pages at night; borrowed from the library"
        ),
        moved_by=(
            On("trip", "modify", 0.3, stays=True),
            On("illness", "modify", 0.25),
            On("new_child", "detail", 0.25),
        ),
    ),
    Attribute(
        name="current_series",
        label="series being watched",
        traits=("screen",),
        act="watch {entity}, {qualifier}",
        category="series",
        shows=("Netflix/PlayContent", "Netflix/AddToMyList", "Netflix/RateContent"),
        entities=listed("""
            Harbour Nine; The Understudies; Cold Platform; Letters from Tarnow; Mill & Daughter; The Weather Desk;
            Second Shift; Kingdom of Moss
        """),
        qualifiers=listed("season one; season two; one episode a night; with subtitles; for the second time"),
        moved_by=(
            On("wedding", "modify", 0.15),
            On("injury", "modify", 0.3, stays=True),
            On("illness", "modify", 0.2),
            On("new_child", "detail", 0.25),
        ),
    ),
    Attribute(
        name="favourite_artist",
        label="favourite artist",
        traits=("music",),
        act="listen to {entity} most, {qualifier}",
        category="artist",
        shows=("Spotify/FollowArtist", "Spotify/PlaySong", "Spotify/AddToPlaylist"),
        entities=listed("""
            The Paper Lanterns; Velvet Freight; Odd Numbers Choir; Hollow Pines; Sister Semaphore; Copper & Clay;
            Night Bus Orchestra; Marrow Lane
        """),
        qualifiers=listed("the early records; the live album; the acoustic sessions; the new single on repeat"),
        moved_by=(On("new_circle", "modify", 0.25), On("trip", "modify", 0.2, stays=True), On("move", "detail", 0.1)),
    ),
    Attribute(
        name="instrument",
        label="instrument",
        traits=("music",),
        act="play the {entity}, {qualifier}",
        category="instrument",
        shows=("Amazon/Checkout", "Instagram/PostStory", "Chase/PayBill"),
        entities=listed("""
            Halden upright piano; Brook parlour guitar; Ferro clarinet; Lark ukulele; Otter cello; Tin Sky accordion;
            Mistral flute; Basswood drum pad
        """),
        qualifiers=listed("with a teacher; from videos; in a trio; only for myself; rented by the month"),
        amount=(3_000, 45_000),
        moved_by=(On("new_circle", "detail", 0.25), On("injury", "remove", 0.2), On("windfall", "modify", 0.25)),
    ),
    Attribute(
        name="camera",
        label="camera",
        traits=("traveller",),
        act="take pictures with a {entity}, {qualifier}",
        category="camera",
        shows=("Amazon/Checkout", "Instagram/CreatePost", "Amazon/WriteReview"),
        entities=listed("""
            Lumen M2; Optika Folding; Halcyon 35; Pinhole Box; Argent Pro; Ridge Rangefinder; Snap Cube; Vista Super 8
        """),
        qualifiers=listed("with one fixed lens; on film; with a tripod; inherited; with a zoom"),
        amount=(9_000, 120_000),
        moved_by=(On("trip", "modify", 0.25, stays=True), On("windfall", "modify", 0.3), On("new_child", "add", 0.2)),
    ),
    Attribute(
        name="current_game",
        label="game being played",
        traits=("games",),
        act="play {entity}, {qualifier}",
        category="game",
        shows=("Amazon/Checkout", "WhatsApp/SendMessage", "Amazon/WriteReview"),
        entities=listed("""
            Islands of Rust; The Ninth Lantern; Tram Tycoon; Moss Keeper; Duel of Tides; Night Courier; Harvest
            Moonshot; Signal Lost
        """),
        qualifiers=listed(
            "on the hard setting; together online; a little every day; nearly finished; for the third time"
        ),
        amount=(900, 6_500),
        moved_by=(
            On("injury", "modify", 0.25, stays=True),
            On("new_child", "remove", 0.25),
            On("new_circle", "modify", 0.25),
        ),
    ),
    Attribute(
        name="next_trip",
        label="trip being planned",
        traits=("traveller", "partner"),
        act="plan a trip to {entity}, {qualifier}",
        category="destination",
        shows=("Google/Search", "Google Maps/SearchPlaces", "Notion/CreatePage"),
        entities=listed("""
            the Saltmarsh islands; Lake Orrin; the Tarnow mountains; Port Ansley; the Ridge huts; the Amber coast; Old
            Callister; the Fen canals
        """),
        qualifiers=listed("by night train; with bicycles; ten days in spring; in the off season; on a small budget"),
        amount=(9_000, 90_000),
        moved_by=(
            On("new_car", "modify", 0.2),
            On("trip", "modify", 0.45, stays=True),
            On("squeeze", "remove", 0.25),
            On("new_child", "modify", 0.35),
        ),
    ),
    Attribute(
        name="coffee_place",
        label="café of choice",
        traits=("reader", "freelance"),
        act="get my coffee at {entity}, {qualifier}",
        category="café",
        shows=("Google Maps/CheckIn", "Chase/GetTransactions", "Instagram/PostStory"),
        entities=listed("""
            Café Lindgrove; Roast & Rye; The Blue Kettle; Pier Nine Coffee; Number Six; Mornings; The Slow Drip; Bean
            & Binding
        """),
        qualifiers=listed("a flat white; an oat cappuccino; a filter to go; with a cinnamon bun; before work"),
        amount=(320, 950),
        moved_by=(On("move", "modify", 0.4), On("job_change", "modify", 0.3), On("squeeze", "detail", 0.2)),
    ),
)

COLLECTIONS: tuple[State, ...] = (
    Collection(
        name="reading_list",
        label="books to read",
        traits=("reader",),
        act="want to read {entity}, {qualifier}",
        category="book",
        shows=("Goodreads/AddToShelf", "Goodreads/SearchBooks", "Amazon/AddToWishlist"),
        entities=listed("""
            The Ferryman's Arithmetic; Glass Weather; Seven Quiet Engines; The Understorey; Letters to a Lighthouse;
            The Invention of Tuesday; Bread and Bridges; A Small Republic; The Archivist's Garden; Tin Summer
        """),
        qualifiers=listed("on a friend's advice; after a review; for the holidays; for the book club"),
        size=(2, 4),
        moved_by=(
            On("trip", "add", 0.3, stays=True),
            On("course", "add", 0.25, stays=True),
            On("new_circle", "add", 0.2),
        ),
    ),
    Collection(
        name="watch_list",
        label="films to watch",
        traits=("screen",),
        act="want to watch {entity}, {qualifier}",
        category="film",
        shows=("Netflix/AddToMyList", "Netflix/SearchContent", "Netflix/ShowTitle"),
        entities=listed("""
            Platform Zero; The Glassblower; Before the Ferry; Monsoon Letters; A Quarter Past; Salt Road; The Long
            Intermission; Bright Cellar; Tiger Lily Street; The Last Switchboard
        """),
        qualifiers=listed("for a rainy day; with my partner; as soon as it is out; recommended at work"),
        size=(2, 4),
        moved_by=(On("injury", "add", 0.3, stays=True), On("new_child", "remove", 0.15), On("new_circle", "add", 0.25)),
    ),
    Collection(
        name="playlists",
        label="own playlists",
        traits=("music",),
        act="keep the playlist {entity}, {qualifier}",
        category="playlist",
        shows=("Spotify/AddToPlaylist", "Spotify/PlaySong", "Spotify/SearchSongs"),
        entities=listed("""
            Slow Kitchen; Night Tram; First Frost; Up the Hill; Desk Weather; Old Friends; Sunday Brass; No Words; Sea
            Legs; Rain on Tin
        """),
        qualifiers=listed("for work; for dinner; shared with a friend; updated every week"),
        moved_by=(On("trip", "add", 0.3, stays=True), On("new_child", "add", 0.25), On("move", "add", 0.15)),
    ),
    Collection(
        name="hobby_materials",
        label="materials for the hobby",
        traits=("craft",),
        act="use {entity}, {qualifier}",
        category="craft supplies",
        shows=("Amazon/Checkout", "Instagram/CreatePost", "Amazon/SearchProducts"),
        entities=listed("""
            Fennmoor wool; Stonebridge clay; Pale Oak boards; Indigo Vat dye; Larch carving knives; Cobalt glaze;
            Tallow beeswax; Linen Loft cloth; Brasswork hinges; Quill bookcloth
        """),
        qualifiers=listed("from the local shop; ordered in bulk; leftovers; for a present"),
        amount=(900, 7_200),
        moved_by=(On("course", "add", 0.3, stays=True), On("squeeze", "remove", 0.25), On("windfall", "add", 0.2)),
    ),
)

HABITS: tuple[State, ...] = (
    Habit(
        name="series_evening",
        label="series evening",
        traits=("screen", "games"),
        activity="watching a series",
        category="Series",
        apps=("Netflix/PlayContent", "UberEats/PlaceOrder", "WhatsApp/SendMessage"),
        words=listed("""
            one episode, honestly; two, in the end; the finale; blanket and tea; a new pilot; the twist spoiled;
            subtitles on; asleep before the credits; a slow one; we guessed the murderer
        """),
        minutes=(40, 50, 60),
        slot=slot("eight", MON),
        frequencies=("weekly", "weekly", "biweekly"),
        places=(("Sofa", "Home"), ("A friend's flat", "19 Upper Terrace"), ("Film Cellar", "6 Mint Street")),
        people=("", "my partner", "a friend"),
        moved_by=(
            On("summer", "drop", 0.25),
            On("new_child", "time", 0.3),
            On("injury", "acquire", 0.25),
            On("course", "drop", 0.2),
        ),
    ),
    Habit(
        name="music_practice",
        label="music practice",
        traits=("music",),
        activity="practising music",
        category="Music",
        apps=("Spotify/PlaySong", "Notion/UpdatePage", "Instagram/PostStory"),
        words=listed("""
            scales first; bar 32, twenty times; with the metronome; a duet alone; left hand only; by ear; slower than
            slow; recording myself; the hard key; a piece nobody knows
        """),
        minutes=(30, 40, 50),
        slot=slot("six", MON, FRI),
        counts=(1, 2),
        places=(("Music corner", "Home"), ("Practice room", "Pier School"), ("Chapel Rooms", "2 Chapel Yard")),
        moved_by=(
            On("summer", "days", 0.2),
            On("move", "place", 0.35),
            On("injury", "drop", 0.25),
            On("new_circle", "days", 0.2),
        ),
    ),
    Habit(
        name="photo_walk",
        label="photo walk",
        traits=("outdoor", "pet"),
        activity="taking pictures on a walk",
        category="Walking",
        apps=("Instagram/CreatePost", "Fitbit/RecordActivity", "Google Maps/CheckIn"),
        weak=("Fitbit/SyncDevice",),
        words=listed("""
            reflections; doors of one street; low light; strangers' umbrellas; rust and lichen; the ferry from above;
            shadows on brick; only verticals; a roll of film; bicycles against walls
        """),
        minutes=(30, 40, 50),
        slot=slot("two", SUN),
        frequencies=("weekly", "biweekly"),
        places=(
            ("Old Wharf", "Old Wharf"),
            ("Botanic steps", "Orchard Park"),
            ("Brickfields", "Brick Lane"),
            ("Reservoir Trail", "Upper Terraces car park"),
        ),
        indoors=(("Glass house", "Botanic Garden"), ("Station Arcade", "Station Side")),
        moved_by=(
            On("new_car", "place", 0.25),
            On("winter", "indoors", 0.25),
            On("trip", "place", 0.3),
            On("injury", "drop", 0.3),
        ),
    ),
    Habit(
        name="online_game_night",
        label="online game night",
        traits=("games",),
        activity="playing online",
        category="Games",
        apps=("WhatsApp/SendMessage", "Spotify/PlaySong", "WhatsApp/GetMessages"),
        words=listed("""
            two wins and a disconnect; the raid at last; headset trouble; a new map; four of us; carried by the
            healer; ranked, regret; just one more; patch day; laughing more than playing
        """),
        minutes=(45, 60),
        slot=slot("eight", THU),
        frequencies=("weekly", "biweekly"),
        places=(("Desk set-up", "Home"), ("Living room", "Home"), ("Meeple Cellar", "31 Mint Street")),
        people=("the old guild", "my brother", "friends from university"),
        moved_by=(On("new_child", "drop", 0.3), On("move", "place", 0.2), On("summer", "days", 0.15)),
    ),
    Habit(
        name="reading_hour",
        label="reading hour",
        traits=("reader", "calm"),
        activity="reading",
        category="Reading",
        apps=("Goodreads/ShowBook", "Goodreads/AddToShelf", "Spotify/PlaySong"),
        words=listed("""
            two chapters; read aloud to the cat; underlined too much; a page a minute; started over; the slow middle;
            could not stop; notes in the margin; in the bath; an essay and a nap
        """),
        minutes=(30, 40, 50),
        slot=slot("lunch", SUN),
        frequencies=("weekly", "biweekly"),
        places=(("Armchair by the lamp", "Home"), ("Elm Park", "Bench by the pond"), ("Elm Park Library", "Elm Park")),
        indoors=(("Armchair by the lamp", "Home"),),
        moved_by=(
            On("summer", "place", 0.25),
            On("winter", "indoors", 0.25),
            On("illness", "acquire", 0.2),
            On("new_child", "time", 0.3),
        ),
    ),
    Habit(
        name="gallery_visit",
        label="visit to a gallery",
        traits=("craft", "freelance"),
        activity="visiting a gallery",
        category="Museum",
        apps=("Google Maps/CheckIn", "Instagram/PostStory", "Google/Search"),
        words=listed("""
            one room, slowly; the new hanging; sketches in the corner; a guide with a stick; blue paintings; alone
            with a bronze; the free hour; postcards; a video I did not get; the ceiling
        """),
        minutes=(30, 40, 45),
        slot=slot("noon", WED),
        frequencies=("monthly_nth_weekday",),
        places=(("Tide Gallery", "Pier 4"), ("Museum of Tools", "Foundry Yard"), ("Print Room", "Elm Park")),
        amount=(0, 1_200),
        moved_by=(On("course", "acquire", 0.2), On("job_change", "drop", 0.25), On("trip", "days", 0.2)),
    ),
    Habit(
        name="monthly_playlist",
        label="playlist of the month",
        traits=("music",),
        activity="making a playlist",
        category="Music",
        apps=("Spotify/AddToPlaylist", "Spotify/SearchSongs", "Instagram/PostStory"),
        words=listed("""
            twelve songs, no more; two from the radio; an opener found; a bridge for the middle; nothing older than
            me; only voices; for the drive; a theme: doors; the cover done; sent to three friends
        """),
        minutes=(25, 35, 45),
        slot=slot("four", dates=(15, 16, 17, 18, 19)),
        frequencies=("monthly_by_date",),
        places=(("Sofa", "Home"), ("Desk by the window", "Home"), ("Tram seat", "Line 4")),
        moved_by=(On("trip", "place", 0.25), On("new_circle", "acquire", 0.15), On("job_change", "days", 0.15)),
    ),
)

PREFERENCES: tuple[State, ...] = (
    Preference(
        name="film_origin",
        label="films",
        axis="small films or big productions",
        a="small foreign films",
        b="big studio films",
        traits=("screen", "reader"),
        qualifiers=listed("above all on workdays; above all alone; with company; late in the evening"),
        choices=("Netflix/PlayContent/film", "Netflix/RateContent/film", "Netflix/ShowTitle/film"),
        options_a=listed("The Glass Harvest; Before the Thaw; Letters in Chalk; The Ninth Switchboard; An Hour Past"),
        kinds_a=listed("subtitled drama; arthouse; festival winner; world cinema; black-and-white"),
        options_b=listed("Meteor Zero; Captain Lumen; Thunder Harbour II; Fault Line Rising; Chrome Pursuit"),
        kinds_b=listed("disaster epic; superhero; franchise sequel; blockbuster; action spectacle"),
        moved_by=(On("new_child", "b", 0.25), On("course", "a", 0.2), On("new_circle", "a", 0.2)),
    ),
    Preference(
        name="reading_genre",
        label="books",
        axis="novels or non-fiction",
        a="novels",
        b="non-fiction",
        traits=("reader",),
        qualifiers=listed("above all before sleep; on the road; in winter; at the weekend"),
        choices=("Goodreads/WriteReview/books", "Goodreads/ShowBook/books", "Goodreads/SearchBooks/books"),
        options_a=listed("Slate Weather; The Undergrowth; Pewter Summer; The Lent Orchard; A Minor Republic"),
        kinds_a=listed("family saga; magical realism; coming-of-age; romance; detective story"),
        options_b=listed("""
            Salt and Bridges; The Invention of Monday; Eleven Quiet Machines; Why Birds Return; The
            Bookkeeper's Numbers
        """),
        kinds_b=listed("economic history; essays; popular science; nature writing; memoir"),
        moved_by=(On("course", "b", 0.3), On("trip", "a", 0.25), On("parent_ill", "a", 0.2)),
    ),
    Preference(
        name="listening_mood",
        label="music",
        axis="quiet acoustic or loud electric music",
        a="quiet acoustic music",
        b="loud electric music",
        traits=("music", "games"),
        qualifiers=listed("above all at work; above all in the evening; while cooking; on the way"),
        choices=("Spotify/PlaySong/music", "Spotify/PlaySong/music", "Spotify/SearchSongs/music"),
        options_a=listed("Low Candle; Porch Waltz; Fern Radio; Slow Harmonium; Attic Light"),
        kinds_a=listed("folk ballad; fingerstyle guitar; chamber folk; solo piano; lullaby"),
        options_b=listed("Static March; Iron Gala; Amplifier Sun; Strobe Alley; Blown Fuse"),
        kinds_b=listed("noise rock; heavy metal; garage punk; industrial; stoner rock"),
        moved_by=(On("new_child", "a", 0.35), On("new_circle", "b", 0.25), On("illness", "a", 0.2)),
    ),
    Preference(
        name="takeaway_cuisine",
        label="food ordered in",
        axis="spicy or mild dishes",
        a="spicy dishes",
        b="mild dishes",
        traits=("cook", "games"),
        qualifiers=listed("above all on Fridays; when it is cold; with company; after sport"),
        choices=("UberEats/PlaceOrder/takeaway", "UberEats/SearchRestaurants/takeaway", "UberEats/GetMenu/takeaway"),
        options_a=listed("Chilli Lantern; Ember & Lime; Pepper Pier; Red Wok Row; Cayenne Yard"),
        kinds_a=listed("Sichuan; Thai street food; vindaloo curries; mala hot pot; jerk grill"),
        options_b=listed("The Noodle Loft; Potato House; Harbour Fish; Green Bowl Bar; Sorrel & Cream"),
        kinds_b=listed("udon soup; jacket potatoes; poached fish; steamed bowls; creamy pasta"),
        moved_by=(On("illness", "b", 0.4), On("new_child", "b", 0.2), On("trip", "a", 0.3)),
    ),
    Preference(
        name="holiday_style",
        label="holidays",
        axis="mountains or the sea",
        a="the mountains",
        b="the sea",
        traits=("outdoor", "traveller"),
        qualifiers=listed("above all in summer; with the family; for short breaks; off season"),
        choices=("Google/ClickResult/holiday", "Google Maps/SearchPlaces/holiday", "Instagram/LikePost/travel"),
        options_a=listed("Hochfeld; Lake Merrin; Brannoch; Stone Pass; Upper Valdry"),
        kinds_a=listed("alpine huts; glacier lake; summit trails; via ferrata; high valley"),
        options_b=listed("Saltholm; Amberstrand; Port Ellory; Pebble Bay; Lagoon Reach"),
        kinds_b=listed("island ferries; sandy beach; harbour town; surf school; lagoon"),
        moved_by=(
            On("wedding", "b", 0.15),
            On("new_car", "a", 0.25),
            On("trip", "b", 0.25),
            On("injury", "b", 0.25),
            On("pet", "a", 0.2),
        ),
    ),
)

STATES = (*ATTRIBUTES, *COLLECTIONS, *HABITS, *PREFERENCES)
