"""What a release may be made of: drops of one source, or logs of the chain with descriptions of markets."""

from typing import Any

import pytest

from pipelines.commerce.settings import CommerceSettings
from pipelines.onchain.settings import OnchainSettings
from pipelines.tracks import ALL_SOURCES, TRACKS, track_of
from resources.drops import Drop
from resources.release_spec import load_release, release_of, save_release
from resources.store import Store

CHAIN = OnchainSettings(min_markets=4)
SHOP = CommerceSettings(batch_visits=40)


def drop(source: str, number: int = 0, **more: Any) -> Drop:
    return Drop(f"{source}-{number}", source, (), **more)


@pytest.mark.parametrize(
    "sources",
    [
        ("polygon_logs",),
        ("polygon_rpc",),
        ("polygon_logs", "polygon_rpc"),
        ("polygon_logs", "gamma_markets"),
        ("gamma_markets", "polygon_rpc", "polygon_logs"),
    ],
)
def test_logs_of_the_chain_go_together_with_descriptions_of_markets(sources: tuple[str, ...]) -> None:
    spec = release_of([drop(source) for source in sources], CHAIN)
    assert (spec.track, spec.source, spec.settings) == ("onchain", "polygon", CHAIN)
    assert spec.drops == tuple(sorted(f"{source}-0" for source in sources))
    assert spec == release_of([drop(source) for source in reversed(sources)], CHAIN)


@pytest.mark.parametrize(
    ("drops", "settings", "says"),
    [
        ([], SHOP, "not of 0"),
        ([drop("rees46"), drop("taobao")], SHOP, "not of 2"),
        ([drop("rees46"), drop("polygon_logs")], SHOP, "not of 2"),
        ([drop("mapping", 1, mapping={"name": "a"}), drop("mapping", 2, mapping={"name": "b"})], SHOP, "not of 2"),
        ([drop("gamma_markets")], CHAIN, "describes markets; a release needs a drop of polygon_logs or polygon_rpc"),
        ([drop("rees46"), drop("gamma_markets")], SHOP, "not of 2"),
        ([drop("polygon_logs")], SHOP, "a release of onchain has OnchainSettings, not CommerceSettings"),
        ([drop("rees46")], CHAIN, "a release of commerce has CommerceSettings, not OnchainSettings"),
    ],
)
def test_what_makes_no_release_is_refused(drops: list[Drop], settings: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        release_of(drops, settings)


def test_a_superseded_drop_is_left_out_and_settings_keep_their_model(tmp_path: Any) -> None:
    store = Store(str(tmp_path))
    for source, settings in (("polygon_logs", CHAIN), ("rees46", SHOP)):
        spec = release_of([drop(source, 1), drop(source, 2, supersedes=(f"{source}-1",))], settings)
        assert spec.drops == (f"{source}-2",)
        assert load_release(store, save_release(store, spec)) == spec


SOME_SOURCES = ("rees46", "mapping", "polygon_rpc", "gamma_markets", "app_logs")


def test_every_source_belongs_to_one_track() -> None:
    assert len(ALL_SOURCES) == len(set(ALL_SOURCES))
    assert {source: track_of(source).name for source in SOME_SOURCES} == {
        "rees46": "commerce",
        "mapping": "commerce",
        "polygon_rpc": "onchain",
        "gamma_markets": "onchain",
        "app_logs": "applogs",
    }
    assert set(TRACKS) == {"commerce", "onchain", "applogs"}
    with pytest.raises(KeyError, match="no source 'nobody'"):
        track_of("nobody")
