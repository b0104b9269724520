"""Spotify: songs known by their name, playlists and followed artists that grow."""

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import identifier, slug, whole_of
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

ARTISTS = (
    *("Amber Causeway", "Blue Ferry Line", "Cinder Street", "Dry Stone Choir", "Empty Lido", "Far Orchard"),
    *("Grey Heron Set", "Half Moon Depot", "Inland Tide", "Juniper Road", "Kiln & Rafter", "Low Winter Sun"),
    *("Mossy Signal", "Night Allotment", "Old Viaduct", "Paper Regatta", "Quiet Turbine", "Red Dovecote"),
    *("Slow Canal", "Tall Grass Radio"),
)
SONGS = (
    *("After the Ferry", "Borrowed Umbrella", "Copper Rain", "Down by the Sidings", "Every Other Window"),
    *("Five Bells", "Gravel and Glass", "Halfway Up the Stairs", "Ink on the Map", "Just Past Midnight"),
    *("Kitchen Light", "Long Way Round", "Morning Platform", "North of Here", "Open Gate", "Paper Boats"),
    *("Quarter to Nine", "Row of Poplars", "Salt on the Road", "Two Trains"),
)
GENRES = (
    *(
        "charts",
        "interludes",
        "singles",
        "album cuts",
        "bonus tracks",
        "medleys",
        "remixes",
        "covers",
        "compilations",
        "b-sides",
    ),
    *("demos", "reissues"),
)
"""Genres of songs of which no event tells one: they speak of no style that anybody might like."""


class Spotify:
    """Playlists (id → playlist) and followed artists, the last kept."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._place = place
        self._premium = place.chance("premium", 0.6)
        self._playlists: dict[str, Json] = {}
        self._followed: list[Json] = []

    def search_songs(self, call: Call) -> Exchange:
        """The song and what stands beside it, in drawn order, among songs that nobody meant."""
        others = call.slots.get("others", [])[:4]
        named = [_song(call, name) for name in (call.slots.get("entity"), *others) if name]
        made_up = [_song(call, name) for name in call.several("songs", SONGS, max(2, 8 - len(named)))]
        shown = call.several("order", named + made_up, 8)
        return {"query": call.slots["text"]}, {"songs": shown, "search_timestamp": call.stamp()}

    def play_song(self, call: Call) -> Exchange:
        """Plays a song."""
        song = _song(call, call.slots["entity"])
        return {"song_id": song["song_id"]}, {
            "song": song,
            "playing_status": "playing",
            "premium": call.fact("premium", self._premium),
            "play_started_at": call.stamp(),
        }

    def add_to_playlist(self, call: Call) -> Exchange:
        """Puts a song at the end of the playlist named by `title`, which begins with some songs of its own."""
        song, name = identifier("song", call.slots["entity"]), call.slots.get("title") or "Liked Songs"
        known = f"playlist_{slug(name)}"
        playlist = self._playlists.get(known) or self._begun(known, name)
        songs = [one for one in playlist["song_ids"] if one != song]
        self._playlists[known] = {**playlist, "song_ids": [*songs, song][-KEPT:]}
        return {"playlist_id": known, "song_id": song}, {"playlist": self._playlists[known]}

    def _begun(self, known: str, name: str) -> Json:
        songs = self._place.at(known).some("songs", SONGS, self._place.whole(known, 2, 6))
        return {"playlist_id": known, "name": name, "song_ids": [identifier("song", song) for song in songs]}

    def follow_artist(self, call: Call) -> Exchange:
        """Follows an artist."""
        artist = {"artist_id": identifier("artist", call.slots["entity"]), "artist_name": call.slots["entity"]}
        self._followed = [*(one for one in self._followed if one != artist), artist][-KEPT:]
        return artist, {"followed_artists": self._followed}


def _song(call: Call, name: str) -> Json:
    main = name == call.slots.get("entity")
    genre = GENRES[whole_of("genre", name, 0, len(GENRES) - 1)]
    artist = ARTISTS[whole_of("artist", name, 0, len(ARTISTS) - 1)]
    beside = name in call.slots.get("others", [])
    return {
        "song_id": identifier("song", name),
        "title": name,
        "artist": call.fact("artist", artist) if main else artist,
        "genre": call.slots.get("category", genre) if main else call.fact("other_category", genre) if beside else genre,
        "duration_minutes": whole_of("length", name, 21, 68) / 10,
    }


APP = App(
    "Spotify",
    Spotify,
    {
        "SearchSongs": Api(Spotify.search_songs, needs=("text",)),
        "PlaySong": Api(Spotify.play_song, needs=("entity",)),
        "AddToPlaylist": Api(Spotify.add_to_playlist, needs=("entity",), running=("playlist.song_ids",)),
        "FollowArtist": Api(Spotify.follow_artist, needs=("entity",), running=("followed_artists",)),
    },
)
