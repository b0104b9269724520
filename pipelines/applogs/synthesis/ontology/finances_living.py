"""Finances and material living: home and its contracts, money put by, shopping, and the chores of both."""

from pipelines.applogs.synthesis.ontology.forms import Attribute, Collection, Habit, On, Preference, State, listed
from pipelines.applogs.synthesis.ontology.slots import FRI, MON, SAT, SUN, slot

ATTRIBUTES: tuple[State, ...] = (
    Attribute(
        name="home_address",
        label="home",
        lasting=True,
        act="live at {entity}, {qualifier}",
        category="home",
        shows=("Google Maps/ShareLocation", "Google Maps/GetDirections", "Amazon/Checkout"),
        entities=listed("""
            12 Canal Row; 7 Lantern Hill; 31 Mill Street; 4 Orchard Close; 58 Quay Road; 19 Upper Terrace; 2 Brick
            Lane; 26 Station Side
        """),
        qualifiers=listed(
            "two rooms on the third floor; the garden flat; a narrow house; the attic; with a shared yard"
        ),
        moved_by=(On("move", "modify", 1),),
    ),
    Attribute(
        name="internet_provider",
        label="internet at home",
        act="get my internet from {entity}, {qualifier}",
        category="internet",
        shows=("Chase/PayBill", "Gmail/ReadEmail"),
        entities=listed(
            "Fathom Fibre; Skylark Home; Northline; Glasswire; Tern Broadband; Rivernet; Ember Link; Quickbeam"
        ),
        qualifiers=listed("250 megabit; 500 megabit; on a rolling contract; with television; on the two-year offer"),
        amount=(2_400, 6_900),
        moved_by=(On("move", "modify", 0.4), On("squeeze", "detail", 0.25), On("job_change", "detail", 0.15)),
    ),
    Attribute(
        name="energy_tariff",
        label="energy contract",
        traits=("owner", "frugal"),
        act="heat with {entity}, {qualifier}",
        category="energy",
        shows=("Chase/PayBill", "Gmail/ReadEmail", "Google/Search"),
        entities=listed("""
            Greenfold Power; Harbour Gas; Bright Meadow Energy; Copper Coil; Tidewater Electric; Hearthside;
            Plainwatt; Windrow Co-op
        """),
        qualifiers=listed("on a fixed tariff; on the night tariff; on the solar tariff; paid every quarter"),
        amount=(5_500, 21_000),
        moved_by=(On("new_child", "modify", 0.15), On("squeeze", "modify", 0.35), On("move", "modify", 0.3)),
    ),
    Attribute(
        name="car",
        label="car",
        traits=("driver",),
        act="drive a {entity}, {qualifier}",
        category="car",
        shows=("Google Maps/GetDirections", "Chase/GetTransactions", "Gmail/ReadEmail"),
        entities=listed("""
            Corvin Estate; Tarn Electric; Pico Hatchback; Marlow Van; Alda Hybrid; Wren Compact; Solway Pickup; Lune
            Cabriolet
        """),
        qualifiers=listed("bought used; on a lease; shared with a neighbour; with a roof box; in need of new tyres"),
        amount=(12_000, 42_000),
        moved_by=(On("new_car", "modify", 1), On("new_car", "add", 1), On("squeeze", "remove", 0.2)),
    ),
    Attribute(
        name="savings_goal",
        label="savings goal",
        traits=("frugal", "investor"),
        act="save for {entity}, {qualifier}",
        category="savings",
        shows=("Chase/TransferMoney", "Chase/GetBalance", "Notion/UpdatePage"),
        entities=listed("""
            a heat pump; a year off; a new kitchen; a canal boat; a deposit for a flat; an emergency cushion; a cargo
            bike; the children's studies
        """),
        qualifiers=listed("a fixed sum a month; whatever is left; in a separate account; by the end of next year"),
        amount=(5_000, 60_000),
        moved_by=(
            On("wedding", "modify", 0.3),
            On("windfall", "modify", 0.3),
            On("new_child", "modify", 0.4),
            On("squeeze", "detail", 0.3),
        ),
    ),
    Attribute(
        name="home_insurance",
        label="home insurance",
        traits=("owner",),
        act="insure the home with {entity}, {qualifier}",
        category="insurance",
        shows=("Chase/PayBill", "Gmail/ReadEmail"),
        entities=listed("""
            Mutual of Northfold; Keystone Cover; Slate & Gable; Harbour Assurance; Lantern Mutual; Oak & Iron;
            Evenfall; Ridgeway
        """),
        qualifiers=listed("contents only; with glass cover; with a bicycle rider; with a high excess"),
        amount=(1_200, 6_500),
        moved_by=(
            On("new_car", "detail", 0.25),
            On("move", "modify", 0.35),
            On("windfall", "detail", 0.15),
            On("wedding", "detail", 0.25),
        ),
    ),
    Attribute(
        name="main_supermarket",
        label="supermarket",
        traits=("cook", "driver"),
        act="buy groceries at {entity}, {qualifier}",
        category="groceries",
        shows=("Chase/GetTransactions", "Google Maps/GetDirections", "Chase/SearchTransactions"),
        entities=listed("""
            Greenbasket; Corner & Co; Market Hall; Thriftwell; The Daily Crate; Fennel & Sons; Bulk Barn; Harvest Lane
        """),
        qualifiers=listed("with the loyalty card; once a week; with the car; mostly own brands; after eight"),
        amount=(3_500, 14_000),
        moved_by=(
            On("new_car", "modify", 0.3),
            On("move", "modify", 0.35),
            On("squeeze", "modify", 0.35),
            On("new_child", "detail", 0.2),
        ),
    ),
    Attribute(
        name="credit_card",
        label="card for daily use",
        traits=("traveller", "driver"),
        act="pay with the {entity}, {qualifier}",
        category="card",
        shows=("Chase/GetTransactions", "Gmail/ReadEmail", "Chase/SearchTransactions"),
        entities=listed("""
            Heron Blue card; Sapling card; Meridian Miles card; Plain Black card; Copper cashback card; Harbour debit
            card; Orchard co-op card; Two Rivers card
        """),
        qualifiers=listed("paid off monthly; without a yearly fee; with travel cover; with a low limit"),
        moved_by=(
            On("wedding", "modify", 0.25),
            On("trip", "modify", 0.25, stays=True),
            On("windfall", "modify", 0.2),
            On("squeeze", "detail", 0.3),
        ),
    ),
)

COLLECTIONS: tuple[State, ...] = (
    Collection(
        name="stock_holdings",
        label="shares held",
        traits=("investor",),
        act="hold {entity}, {qualifier}",
        category="stock",
        shows=("Robinhood/BuyStock", "Robinhood/GetPortfolio", "Robinhood/GetStockQuote"),
        entities=listed("""
            NFLD; TERN; QYRD; BRTW; ALQL; MDNT; CPLN; HRNB; WNDR; FTHM
        """),
        qualifiers=listed("for the long run; bought in small steps; for the dividend; as a small bet"),
        size=(2, 4),
        amount=(4_000, 90_000),
        moved_by=(On("windfall", "add", 0.45), On("squeeze", "remove", 0.35), On("new_child", "remove", 0.15)),
    ),
    Collection(
        name="paid_subscriptions",
        label="paid subscriptions",
        traits=("screen",),
        act="subscribe to {entity}, {qualifier}",
        category="subscription",
        shows=("Chase/PayBill", "Chase/SearchTransactions", "Gmail/ReadEmail"),
        entities=listed("""
            The Northfold Courier; Cloudbox; Fernseh Plus; The Slow Quarterly; Stitchbox; Meal Parcel; Audible Rivers;
            Puzzle Post; Lens Club; Roaster's Choice
        """),
        qualifiers=listed("monthly; yearly; on the family tier; on the trial price"),
        size=(2, 4),
        amount=(400, 3_500),
        moved_by=(On("squeeze", "remove", 0.45), On("windfall", "add", 0.2), On("course", "add", 0.2)),
    ),
    Collection(
        name="home_projects",
        label="projects in the home",
        traits=("owner",),
        act="work on {entity}, {qualifier}",
        category="home improvement",
        shows=("Amazon/Checkout", "Notion/CreatePage", "Google/Search"),
        entities=listed("""
            the bathroom tiles; the hall cupboard; the leaking gutter; a window seat; the cellar shelves; the kitchen
            lamp; the garden wall; new floorboards; the front door; a loft ladder
        """),
        qualifiers=listed("by ourselves; with a craftsman; bit by bit; before winter"),
        size=(1, 3),
        amount=(2_500, 38_000),
        moved_by=(On("move", "add", 0.4), On("windfall", "add", 0.3), On("injury", "remove", 0.2)),
    ),
    Collection(
        name="watchlist_stocks",
        label="shares on the watchlist",
        traits=("investor",),
        act="keep an eye on {entity}, {qualifier}",
        category="stock",
        shows=("Robinhood/GetWatchlist", "Robinhood/GetStockQuote", "Robinhood/SearchStocks"),
        entities=listed("""
            LNDF; OXMR; CLST; GRWT; ELMC; STOR; WNDB; HRMR; TRNB; FRHV
        """),
        qualifiers=listed("waiting for a dip; after the earnings; out of curiosity; on a colleague's tip"),
        moved_by=(On("windfall", "add", 0.3), On("promotion", "add", 0.2), On("squeeze", "remove", 0.15)),
    ),
)

HABITS: tuple[State, ...] = (
    Habit(
        name="budget_review",
        label="budget review",
        traits=("frugal", "investor"),
        activity="reviewing the budget",
        category="Budget",
        apps=("Chase/GetTransactions", "Chase/GetBalance", "Notion/UpdatePage"),
        words=listed("""
            groceries over, fuel under; a charge nobody remembers; envelopes filled; the holiday pot; a refund
            arrived; categories tidied; down to the cent; the big picture; one subscription too many; better than last
            month
        """),
        minutes=(20, 30, 40),
        slot=slot("nine", SUN),
        frequencies=("weekly", "biweekly"),
        places=(("Kitchen table", "Home"), ("Café Lindgrove", "9 Mill Street"), ("Study", "Home")),
        moved_by=(On("squeeze", "acquire", 0.35), On("squeeze", "days", 0.25), On("wedding", "place", 0.2)),
    ),
    Habit(
        name="bill_payment",
        label="paying the bills",
        traits=("owner",),
        activity="paying the bills",
        category="Bills",
        apps=("Chase/PayBill", "Chase/GetBalance", "Gmail/ReadEmail"),
        words=listed("""
            water and power; the council letter; two reminders; all in one go; reference numbers; paper ones too; the
            chimney sweep; rounded up; standing order changed; receipt filed
        """),
        minutes=(15, 20, 30),
        slot=slot("four", dates=(1, 2, 3, 4, 5)),
        frequencies=("monthly_by_date",),
        places=(("Study", "Home"), ("Kitchen table", "Home"), ("Desk by the window", "Home")),
        amount=(4_000, 26_000),
        moved_by=(On("move", "days", 0.3), On("squeeze", "days", 0.3), On("job_change", "days", 0.25)),
    ),
    Habit(
        name="portfolio_check",
        label="look at the portfolio",
        traits=("investor",),
        activity="checking the portfolio",
        category="Investing",
        apps=("Robinhood/GetPortfolio", "Robinhood/GetWatchlist", "Robinhood/GetStockQuote"),
        words=listed("""
            red, all of it; green at last; dividends in; a position trimmed in thought; the long chart; earnings next
            week; no action; rebalancing on paper; cash too high; the funds only
        """),
        minutes=(10, 15, 20),
        slot=slot("noon", MON, FRI),
        counts=(1, 2),
        places=(("Desk corner", "Office"), ("Canteen", "Office"), ("Kitchen table", "Home")),
        moved_by=(On("windfall", "acquire", 0.3), On("job_change", "place", 0.25), On("new_child", "days", 0.25)),
    ),
    Habit(
        name="grocery_order",
        label="grocery order",
        traits=("parent", "driver"),
        activity="ordering groceries",
        category="Groceries",
        apps=("Amazon/AddToCart", "Amazon/Checkout", "Chase/GetTransactions"),
        words=listed("""
            the usual list; fruit for lunch boxes; a treat for the weekend; oats, again; out of rice; something for
            guests; big bags this time; lighter than last week; coffee, urgently; only what is on the list
        """),
        minutes=(15, 20, 30),
        slot=slot("nine", SAT),
        frequencies=("weekly", "biweekly"),
        places=(("Kitchen table", "Home"), ("Sofa", "Home"), ("Tram seat", "Line 4")),
        amount=(4_200, 14_500),
        moved_by=(
            On("winter", "time", 0.25),
            On("new_child", "acquire", 0.25),
            On("squeeze", "days", 0.3),
            On("move", "time", 0.2),
        ),
    ),
    Habit(
        name="subscription_check",
        label="check of subscriptions",
        traits=("frugal",),
        activity="checking subscriptions",
        category="Subscriptions",
        apps=("Chase/SearchTransactions", "Gmail/GetInbox", "Notion/UpdatePage"),
        words=listed("""
            two cancelled; one that crept up; a trial about to end; shared logins sorted; nothing unused; the yearly
            one; a call to the hotline; moved to the cheaper tier; kept, with doubts; list updated
        """),
        minutes=(15, 20, 25),
        slot=slot("four", dates=(20, 21, 22, 23, 24)),
        frequencies=("monthly_by_date",),
        places=(("Sofa", "Home"), ("Kitchen table", "Home"), ("Desk by the window", "Home")),
        moved_by=(On("squeeze", "acquire", 0.3), On("job_change", "days", 0.2), On("windfall", "drop", 0.15)),
    ),
    Habit(
        name="savings_transfer",
        label="transfer to savings",
        traits=("frugal", "investor"),
        activity="moving money to savings",
        category="Savings",
        apps=("Chase/TransferMoney", "Chase/GetBalance"),
        words=listed("""
            first pay yourself; a little more than last time; half of the overtime; rounding up; the usual sum; for
            the boat; slowly getting there; before I can spend it; a good month; a thin month
        """),
        minutes=(10, 15),
        slot=slot("four", dates=(25, 26, 27, 28)),
        frequencies=("monthly_by_date",),
        places=(("Desk corner", "Office"), ("Kitchen table", "Home"), ("Sofa", "Home")),
        amount=(5_000, 48_000),
        moved_by=(On("windfall", "acquire", 0.3), On("squeeze", "drop", 0.3), On("promotion", "days", 0.25)),
    ),
    Habit(
        name="meal_preparation",
        label="meals prepared ahead",
        traits=("cook",),
        activity="preparing meals ahead",
        category="Cooking",
        apps=("Notion/UpdatePage", "Instagram/PostStory", "Google/Search"),
        words=listed("""
            six boxes; lentils and roots; soup frozen; overnight oats lined up; a tray of vegetables; labels with
            dates; pasta salad; the big pot; sauces in jars; lunches until Thursday
        """),
        minutes=(40, 50, 60),
        slot=slot("six", SUN),
        frequencies=("weekly", "biweekly"),
        places=(("Our kitchen", "Home"), ("Community kitchen", "Mill Hall"), ("Shared kitchen", "Home")),
        moved_by=(
            On("winter", "time", 0.25),
            On("illness", "acquire", 0.35),
            On("new_child", "acquire", 0.15),
            On("course", "time", 0.25),
        ),
    ),
)

PREFERENCES: tuple[State, ...] = (
    Preference(
        name="shopping_condition",
        label="new or used",
        axis="buying new or second-hand",
        a="second-hand things",
        b="new things",
        traits=("craft", "frugal"),
        qualifiers=listed("above all for furniture; above all for electronics; for children's things; for tools"),
        choices=("Amazon/Checkout/household", "Amazon/AddToCart/electronics", "Amazon/AddToWishlist/household"),
        options_a=listed("""
            Wexley lamp, restored; Quarto tablet, used; Tuba speaker, refurbished; Cinder pan, pre-owned;
            Alder chair, ex-display
        """),
        kinds_a=listed("restored; used; refurbished; pre-owned; ex-display"),
        options_b=listed("""
            Halden lamp, factory-sealed; Merlin tablet, unopened; Boom Mini speaker, brand-new; Forge
            pan, this year's model; Moss chair, in its first box
        """),
        kinds_b=listed("factory-sealed; unopened; brand-new; this year's model; first box"),
        moved_by=(On("squeeze", "a", 0.4), On("windfall", "b", 0.3), On("new_child", "a", 0.2)),
    ),
    Preference(
        name="investment_style",
        label="how to invest",
        axis="broad funds or single shares",
        a="broad funds",
        b="single shares",
        traits=("investor",),
        qualifiers=listed("above all for the long run; with small sums; with fresh money; when markets are nervous"),
        choices=(
            "Robinhood/SearchStocks/investing",
            "Google/ClickResult/investing",
            "LLM Assistant/CreateConversation/investing",
        ),
        options_a=listed("WRLD; BLND; INDX; ALLC; CALM"),
        kinds_a=listed("etf; etf; etf; etf; etf"),
        options_b=listed("ASHW; BRKL; CTHR; DNWD; EVRD"),
        kinds_b=listed("stock; stock; stock; stock; stock"),
        moved_by=(On("windfall", "b", 0.25), On("squeeze", "a", 0.3), On("new_child", "a", 0.35)),
    ),
    Preference(
        name="food_source",
        label="where food comes from",
        axis="market produce or discounters",
        a="market produce",
        b="discounter offers",
        traits=("cook", "frugal"),
        qualifiers=listed("above all for vegetables; at the end of the month; for guests; for staples"),
        choices=(
            "Chase/SearchTransactions/groceries",
            "Google Maps/GetDirections/groceries",
            "Google Maps/SearchPlaces/groceries",
        ),
        options_a=listed("Saltgate; Brookmead; the Friday Growers; Orchard Barrow; Wharf Baskets"),
        kinds_a=listed("vegetable stalls; farm shop; growers' co-op; fruit barrow; organic box"),
        options_b=listed("Pennysave; Crate Cuts; Basket Zero; Bottom Shelf; Pallet Plus"),
        kinds_b=listed("cut-price grocer; bulk deals; no-frills store; clearance grocer; warehouse club"),
        moved_by=(On("squeeze", "b", 0.4), On("illness", "a", 0.3), On("move", "a", 0.15)),
    ),
    Preference(
        name="delivery_speed",
        label="how parcels come",
        axis="fast or bundled delivery",
        a="bundled delivery",
        b="the fastest delivery",
        traits=("office",),
        qualifiers=listed("above all for presents; for everyday things; before trips; unless it is urgent"),
        choices=("Gmail/ReadEmail/delivery", "WhatsApp/SendMessage/delivery", "Google/ClickResult/delivery"),
        options_a=listed(
            "the Friday bundle; no-rush shipping; the one-box round; the green window; next week's kiosk pick-up"
        ),
        kinds_a=listed("bundle; no-rush; one-box; green window; next week"),
        options_b=listed("""
            the same-day courier; express shipping; the two-hour window; overnight post; the bike
            messenger by noon
        """),
        kinds_b=listed("same-day; express; two-hour; overnight; by noon"),
        moved_by=(On("new_child", "b", 0.3), On("squeeze", "a", 0.3), On("job_change", "b", 0.15)),
    ),
)

STATES = (*ATTRIBUTES, *COLLECTIONS, *HABITS, *PREFERENCES)
