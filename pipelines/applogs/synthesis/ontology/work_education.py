"""Work and education: employer, place and tools of work, learning, and what a working week consists of."""

from pipelines.applogs.synthesis.ontology.forms import Attribute, Collection, Habit, On, Preference, State, listed
from pipelines.applogs.synthesis.ontology.slots import FRI, MON, THU, TUE, WED, WORKDAYS, slot

ATTRIBUTES: tuple[State, ...] = (
    Attribute(
        name="employer",
        label="employer",
        traits=("office", "leader"),
        lasting=True,
        act="work as {work} for {entity}, {qualifier}",
        category="company",
        shows=("LinkedIn/AddExperience", "LinkedIn/UpdateProfile", "Gmail/ReadEmail"),
        entities=listed("""
            Alder & Quill Group; Northfold Services; Brightwater Partners; Tern & Tide; Copperline; Hollis &
            Daughters; the Meridian Trust; Fenwick Works
        """),
        qualifiers=listed("""
            full time; four days a week; thirty hours a week; on a fixed-term contract; with every second Friday off
        """),
        moved_by=(On("job_change", "modify", 1), On("new_child", "detail", 0.3), On("parent_ill", "detail", 0.2)),
    ),
    Attribute(
        name="workplace",
        label="place of work",
        traits=("office",),
        lasting=True,
        act="work from {entity}, {qualifier}",
        category="office",
        shows=("Google Maps/CheckIn", "Google Maps/ShareLocation", "WhatsApp/SendMessage"),
        entities=listed("""
            the Quay Street building; the Foundry Yard campus; the Tower House annex; the Old Post Office hub; the
            Science Park block C; the Station Side office; the Mill Street studio; the Upper Terraces branch
        """),
        qualifiers=listed("every day; three days a week; two days a week; only on Mondays; at a shared desk"),
        moved_by=(On("job_change", "modify", 0.9), On("move", "detail", 0.25), On("new_child", "detail", 0.2)),
    ),
    Attribute(
        name="coworking_desk",
        label="coworking desk",
        traits=("freelance",),
        act="rent a desk at {entity}, {qualifier}",
        category="coworking space",
        shows=("Chase/PayBill", "Google Maps/CheckIn", "Gmail/ReadEmail"),
        entities=listed("""
            The Loom; Desk & Daylight; Pigeonhole Studios; Hatch Yard; The Reading Room; Corner Office Club; Warehouse
            Nine; Plain Table
        """),
        qualifiers=listed("a fixed desk; a hot desk; ten day passes; mornings only; with a phone booth"),
        amount=(6_000, 28_000),
        moved_by=(On("move", "modify", 0.35), On("squeeze", "remove", 0.3), On("new_child", "add", 0.15)),
    ),
    Attribute(
        name="study_programme",
        label="study programme",
        traits=("student",),
        act="study {entity}, {qualifier}",
        category="course of study",
        shows=("LinkedIn/UpdateProfile", "Gmail/ReadEmail", "Notion/CreatePage"),
        entities=listed("""
            Data Analysis at Northfold College; Urban Ecology at Elmscourt University; Bookkeeping at the Open Desk;
            Audio Engineering at Pier School; Law Practice at Callister Institute; Furniture Making at the Guild Hall;
            Public Health at Greywater University; Interaction Design at Mill School
        """),
        qualifiers=listed("part time; full time; by distance learning; in the evening; in the final year"),
        amount=(9_000, 60_000),
        moved_by=(
            On("course", "modify", 0.25, stays=True),
            On("job_change", "detail", 0.25),
            On("move", "detail", 0.2),
        ),
    ),
    Attribute(
        name="certification_goal",
        label="certificate in preparation",
        traits=("student",),
        act="prepare for the {entity}, {qualifier}",
        category="certificate",
        shows=("LinkedIn/PostUpdate", "Notion/CreatePage", "Amazon/Checkout"),
        entities=listed("""
            Lean Projects certificate; Cloud Basics certificate; Safeguarding certificate; Data Steward certificate;
            Sign Language level two; First Aid instructor badge; Negotiation diploma; Accessible Design certificate
        """),
        qualifiers=listed("with the exam in spring; with a study partner; on my own time; paid by work"),
        amount=(3_000, 18_000),
        moved_by=(
            On("course", "add", 0.4, stays=True),
            On("promotion", "modify", 0.25),
            On("new_child", "remove", 0.25),
        ),
    ),
    Attribute(
        name="commute",
        label="way to work",
        traits=("office", "driver"),
        act="get to work by {entity}, {qualifier}",
        category="commute",
        shows=("Google Maps/GetDirections", "Fitbit/RecordActivity", "Chase/PayBill"),
        entities=listed("""
            Line 4 tram; the Harbour ferry; the 62 bus; the regional express; a folding bike; the shared car pool; the
            Ridge cable line; my own car
        """),
        qualifiers=listed("door to door in half an hour; with a monthly pass; before the rush; with one change"),
        amount=(2_000, 11_000),
        moved_by=(On("move", "modify", 0.4), On("new_car", "modify", 0.4), On("injury", "modify", 0.3)),
    ),
    Attribute(
        name="work_laptop",
        label="computer for work",
        traits=("freelance", "student"),
        act="work on a {entity}, {qualifier}",
        category="laptop",
        shows=("Amazon/Checkout", "Amazon/WriteReview", "Amazon/ShowProduct"),
        entities=listed("""
            Slate 14 notebook; Ferrite Pro 16; Heron Air 13; Basalt Flex tablet; Orrin Studio 15; Palefire 14; Kite
            Mini desktop; Tundra X notebook
        """),
        qualifiers=listed("with 32 GB of memory; refurbished; with a second screen; with a docking station"),
        amount=(58_000, 210_000),
        moved_by=(
            On("job_change", "modify", 0.25),
            On("windfall", "modify", 0.3),
            On("course", "detail", 0.2, stays=True),
        ),
    ),
    Attribute(
        name="side_project",
        label="side project",
        traits=("freelance", "games"),
        act="build {entity}, {qualifier}",
        category="side project",
        shows=("Notion/UpdatePage", "LinkedIn/PostUpdate", "LLM Assistant/ContinueConversation"),
        entities=listed("""
            a recipe scaling tool; a tram delay map; a museum podcast; a seed swap website; a pocket atlas of benches;
            a card game about rivers; a newsletter on repair; a dialect dictionary
        """),
        qualifiers=listed("one evening a week; with an old classmate; for the fun of it; hoping to earn from it"),
        moved_by=(
            On("course", "modify", 0.2, stays=True),
            On("new_child", "remove", 0.3),
            On("new_circle", "add", 0.2),
        ),
    ),
)

COLLECTIONS: tuple[State, ...] = (
    Collection(
        name="professional_skills",
        label="skills at work",
        traits=("office", "freelance"),
        act="use {entity} at work, {qualifier}",
        category="skill",
        shows=("LinkedIn/AddSkill", "LinkedIn/UpdateProfile", "Notion/CreatePage"),
        entities=listed("""
            spreadsheet modelling; stakeholder interviews; plain-language writing; process mapping; workshop
            facilitation; survey design; budget planning; technical drawing; first-line mediation; dashboard building
        """),
        qualifiers=listed("self-taught; learned on the job; from a course; still a beginner"),
        moved_by=(On("course", "add", 0.4, stays=True), On("promotion", "add", 0.3), On("job_change", "add", 0.35)),
    ),
    Collection(
        name="active_projects",
        label="projects at work",
        traits=("leader", "office"),
        act="work on {entity}, {qualifier}",
        category="project",
        shows=("Notion/CreateDatabaseEntry", "Notion/UpdatePage", "Gmail/SendEmail"),
        entities=listed("""
            the archive migration; the visitor survey; the intake form rewrite; the spring catalogue; the warehouse
            audit; the onboarding handbook; the night-shift pilot; the supplier review; the accessibility check; the
            annual report
        """),
        qualifiers=listed("as the lead; as a stand-in; with a tight deadline; together with the other site"),
        moved_by=(On("promotion", "add", 0.4), On("job_change", "remove", 0.35), On("job_change", "add", 0.35)),
    ),
    Collection(
        name="professional_groups",
        label="professional groups",
        traits=("leader",),
        act="belong to the {entity}, {qualifier}",
        category="professional group",
        shows=("LinkedIn/CommentOnPost", "Gmail/ReadEmail", "LinkedIn/SendConnectionRequest"),
        entities=listed("""
            Harbour Makers Forum; Northfold Trades Circle; Women in Numbers table; Public Service Roundtable; Young
            Managers Breakfast; Slow Software Guild; Teachers' Exchange; Regional Buyers Ring; Night Workers Network
        """),
        qualifiers=listed("as a paying member; as a guest; on the organising side; by mail only"),
        size=(1, 2),
        amount=(1_500, 9_000),
        moved_by=(On("new_circle", "add", 0.25), On("promotion", "add", 0.25), On("squeeze", "remove", 0.25)),
    ),
    Collection(
        name="online_courses",
        label="online courses",
        traits=("student", "reader"),
        act="take the course {entity}, {qualifier}",
        category="online course",
        shows=("Gmail/ReadEmail", "Notion/CreatePage", "LLM Assistant/ContinueConversation"),
        entities=listed("""
            Statistics Without Fear; A Short History of Cities; Drawing for Thinkers; Patterns of Trade; Listening as
            a Craft; Soil and Seasons; Contracts in Plain Words; Colour in Practice; Maps that Argue
        """),
        qualifiers=listed("at my own pace; with weekly homework; for the certificate; only the videos"),
        size=(1, 2),
        amount=(0, 7_900),
        moved_by=(On("course", "add", 0.3), On("illness", "add", 0.15), On("new_child", "remove", 0.25)),
    ),
)

HABITS: tuple[State, ...] = (
    Habit(
        name="inbox_clearing",
        label="inbox clearing",
        traits=("office",),
        activity="clearing the inbox",
        category="mail",
        apps=("Gmail/GetInbox", "Gmail/ReplyEmail/workday", "Gmail/ReadEmail"),
        words=listed("""
            down to zero; only the flagged ones; three replies and a delegation; newsletters out; a stubborn thread
            closed; invoices forwarded; one apology; drafts from yesterday; the long one from legal; subject lines
            only
        """),
        minutes=(15, 20, 30),
        slot=slot("nine", *WORKDAYS),
        counts=(3, 4, 5),
        places=(("Desk by the window", "Office"), ("Kitchen table", "Home"), ("Tram seat", "Line 4")),
        moved_by=(
            On("summer", "time", 0.25),
            On("job_change", "time", 0.35),
            On("promotion", "days", 0.3),
            On("new_child", "place", 0.25),
        ),
    ),
    Habit(
        name="week_planning",
        label="planning of the week",
        traits=("leader", "freelance"),
        activity="planning the week",
        category="planning",
        apps=("Notion/UpdatePage", "Notion/CreatePage", "LLM Assistant/CreateConversation"),
        words=listed("""
            three things that must happen; blocks for deep work; what to say no to; carried over from last week; a
            slot for errands; one thing to look forward to; dates checked twice; the board tidied; a buffer on Friday;
            a list that fits one page
        """),
        minutes=(20, 30, 40),
        slot=slot("ten", MON),
        frequencies=("weekly", "weekly", "biweekly"),
        places=(("Whiteboard corner", "Office"), ("Café Lindgrove", "9 Mill Street"), ("Kitchen table", "Home")),
        moved_by=(
            On("summer", "place", 0.2),
            On("promotion", "acquire", 0.25),
            On("job_change", "time", 0.3),
            On("course", "place", 0.15),
        ),
    ),
    Habit(
        name="writing_practice",
        label="writing practice",
        traits=("reader", "freelance"),
        activity="writing",
        category="Writing",
        apps=("Notion/UpdatePage", "LLM Assistant/ContinueConversation", "Google/Search/workday"),
        words=listed("""
            five hundred words; a scene in a stairwell; rewriting the opening; a page by hand, then typed; dialogue
            only; cutting what I liked best; an outline; notes for the middle; a letter to the editor; a bad first
            draft
        """),
        minutes=(25, 30, 45),
        slot=slot("noon", TUE, THU),
        counts=(1, 2),
        places=(
            ("Library nook", "Elm Park Library"),
            ("Desk by the window", "Home"),
            ("The Reading Room", "Mint Street"),
        ),
        moved_by=(On("course", "days", 0.2), On("new_circle", "acquire", 0.15), On("move", "place", 0.35)),
    ),
    Habit(
        name="language_lesson",
        label="language lesson",
        traits=("traveller", "student"),
        activity="a language lesson",
        category="Language",
        apps=("LLM Assistant/ContinueConversation", "Spotify/PlaySong/workday", "Notion/UpdatePage"),
        words=listed("""
            past tenses; ordering food; verbs of motion; the subjunctive, alas; a dialogue at the station; ten new
            words; listening twice; false friends; small talk about weather; reading aloud
        """),
        minutes=(20, 30, 40),
        slot=slot("lunch", MON, WED, FRI),
        frequencies=("weekly", "weekly", "biweekly"),
        counts=(1, 2, 3),
        places=(("Break room", "Office"), ("Park bench", "Orchard Park"), ("Sofa", "Home")),
        moved_by=(
            On("summer", "place", 0.25),
            On("trip", "acquire", 0.25, stays=True),
            On("trip", "place", 0.2),
            On("job_change", "days", 0.25),
        ),
    ),
    Habit(
        name="mentoring_call",
        label="mentoring call",
        traits=("leader", "investor"),
        activity="a mentoring call",
        category="Mentoring",
        apps=("WhatsApp/SendMessage", "Notion/UpdatePage", "Gmail/SendEmail"),
        words=listed("""
            goals for the quarter; a difficult colleague; portfolio feedback; how to ask for more; practice pitch;
            what went well; what to drop; a book passed on; a contact shared; nerves before the interview
        """),
        minutes=(30, 40, 45),
        slot=slot("ten", TUE, THU),
        frequencies=("biweekly",),
        places=(("Phone booth", "Office"), ("Video call", "Home"), ("Café Lindgrove", "9 Mill Street")),
        people=("my mentee", "a former trainee", "a junior colleague"),
        moved_by=(
            On("summer", "place", 0.25),
            On("promotion", "acquire", 0.3),
            On("job_change", "drop", 0.25),
            On("course", "days", 0.2),
        ),
    ),
    Habit(
        name="course_study",
        label="course work",
        traits=("student",),
        activity="studying",
        category="Study",
        apps=("Notion/UpdatePage", "LLM Assistant/ContinueConversation", "Google/Search"),
        words=listed("""
            chapter four, again; exercises from the sheet; flash cards; a mock exam; notes into order; group work by
            video; the reading list; two proofs; a summary page; the hard module
        """),
        minutes=(40, 50, 60),
        slot=slot("eight", TUE),
        frequencies=("weekly", "biweekly"),
        places=(("Campus library", "Campus East"), ("Kitchen table", "Home"), ("Study room 2", "Elm Park Library")),
        moved_by=(
            On("summer", "drop", 0.3),
            On("course", "acquire", 0.45),
            On("new_child", "drop", 0.3),
            On("move", "place", 0.3),
        ),
    ),
    Habit(
        name="team_retrospective",
        label="team retrospective",
        traits=("office",),
        activity="a team retrospective",
        category="Meeting",
        apps=("Notion/CreateDatabaseEntry", "Gmail/SendEmail", "WhatsApp/SendMessage"),
        words=listed("""
            what to keep; what slowed us; one experiment for next month; kudos round; the release that slipped; fewer
            meetings, please; action items; a timeline on the wall; quiet voices first; the parking lot
        """),
        minutes=(30, 45, 50),
        slot=slot("ten", WED),
        frequencies=("monthly_nth_weekday",),
        places=(("Meeting room Heron", "Office"), ("Video call", "Home"), ("Courtyard table", "Inner courtyard")),
        people=("my team",),
        moved_by=(On("job_change", "days", 0.35), On("promotion", "acquire", 0.25), On("summer", "place", 0.15)),
    ),
    Habit(
        name="manager_one_on_one",
        label="one-on-one with the manager",
        traits=("office",),
        activity="a one-on-one",
        category="Meeting",
        apps=("Gmail/ReadEmail", "Notion/UpdatePage", "WhatsApp/GetMessages"),
        words=listed("""
            workload; priorities changed again; feedback on the report; holiday cover; the budget line; a thank-you;
            growth plan; a worry voiced; decisions pending; next steps
        """),
        minutes=(25, 30, 40),
        slot=slot("ten", FRI),
        frequencies=("weekly", "biweekly"),
        places=(("Meeting room Wren", "Office"), ("Walk around the yard", "Foundry Yard"), ("Video call", "Home")),
        people=("my manager",),
        moved_by=(On("job_change", "time", 0.35), On("promotion", "days", 0.3), On("winter", "place", 0.15)),
    ),
)

PREFERENCES: tuple[State, ...] = (
    Preference(
        name="meeting_mode",
        label="how to meet",
        axis="meeting on site or by video",
        a="meetings on site",
        b="meetings by video",
        traits=("office", "leader"),
        qualifiers=listed("above all with new people; above all for short topics; on Fridays; when it is about money"),
        choices=("Gmail/SendEmail/meeting", "Gmail/ReplyEmail/meeting", "WhatsApp/SendMessage/meeting"),
        options_a=listed("""
            Meeting room Heron; Meeting room Wren; the back table at Café Lindgrove; the courtyard table;
            the Tower House lobby
        """),
        kinds_a=listed("meeting room; meeting room; café; courtyard; lobby"),
        options_b=listed("a video call; the team's call link; a screen-sharing session; a dial-in; a camera-off round"),
        kinds_b=listed("video; call link; screen-sharing; dial-in; camera-off"),
        moved_by=(On("new_child", "b", 0.3), On("move", "b", 0.2), On("job_change", "a", 0.2)),
    ),
    Preference(
        name="learning_format",
        label="how to learn",
        axis="learning from books or from videos",
        a="textbooks",
        b="video lessons",
        traits=("student", "reader"),
        qualifiers=listed("above all for new topics; above all late in the day; when time is short; for exam work"),
        choices=("Google/ClickResult/learning", "Google/Search/learning", "Amazon/SearchProducts/learning"),
        options_a=listed("""
            The Patient Statistician; Foundations of Trade; An Ear for Sound; Law in Small Steps; The
            Draughtsman's Manual
        """),
        kinds_a=listed("primer; coursebook; handbook; annotated reader; manual"),
        options_b=listed("Statistics in Ten Minutes; Trade Explained; Sound Lab; Law Shorts; Draw Along"),
        kinds_b=listed("screencast; lecture recordings; animated channel; webinar series; filmed demonstrations"),
        moved_by=(On("course", "a", 0.25), On("new_child", "b", 0.2), On("illness", "b", 0.15)),
    ),
    Preference(
        name="task_tracking",
        label="how to keep track of tasks",
        axis="boards or plain lists",
        a="boards with columns",
        b="plain lists",
        traits=("freelance",),
        qualifiers=listed("above all for team work; above all for private things; in busy weeks; on Mondays"),
        choices=(
            "Notion/CreatePage/planning",
            "Notion/CreateDatabaseEntry/planning",
            "LLM Assistant/CreateConversation/planning",
        ),
        options_a=listed(
            "a three-column board; a swimlane board; a wall of cards; a kanban week; a backlog with stages"
        ),
        kinds_a=listed("three-column; swimlane; wall of cards; kanban; backlog"),
        options_b=listed(
            "a numbered list; a paper-style checklist; a one-line log; a daily to-do note; a short bullet note"
        ),
        kinds_b=listed("numbered; checklist; one-line; to-do; bullet"),
        moved_by=(On("promotion", "a", 0.3), On("job_change", "b", 0.2), On("squeeze", "b", 0.1)),
    ),
    Preference(
        name="job_priority",
        label="what counts in a job",
        axis="pay or flexible hours",
        a="flexible hours",
        b="higher pay",
        traits=("office", "investor"),
        qualifiers=listed("above all this year; when offers are close; even for a longer commute; for permanent posts"),
        choices=("LinkedIn/SearchJobs/jobs", "LinkedIn/LikePost/jobs", "LinkedIn/CommentOnPost/jobs"),
        options_a=listed("""
            four-day post at Millbrook & Co; job-share at the Ansley Trust; work-when-you-like post at
            Kestrel Data; flexitime post at Larch Works; term-time post at Hazel College
        """),
        kinds_a=listed("four-day; job-share; work-when-you-like; flexitime; term-time"),
        options_b=listed("""
            top-salary post at Stonegate; bonus post at Verity Partners; commission post at Oxbow; post
            with a shift premium at Greyport; senior-grade post at Marlin Group
        """),
        kinds_b=listed("top-salary; bonus; commission; premium; senior-grade"),
        moved_by=(On("new_child", "a", 0.4), On("squeeze", "b", 0.35), On("parent_ill", "a", 0.25)),
    ),
)

STATES = (*ATTRIBUTES, *COLLECTIONS, *HABITS, *PREFERENCES)
