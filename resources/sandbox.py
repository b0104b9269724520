"""A Linux wall around one command: it sees the named folders, read-only, its own work folder, and nothing else (ours).

Run as a script, on the standard library only: `python sandbox.py PLAN` where PLAN is
the JSON of `Plan`. New user, mount, pid, network, IPC and UTS namespaces; a fresh root
made of bind mounts (so that the old tree, `/proc` of other processes, other sockets
and shared memory have no name inside); hidden folders below a bound one are covered;
every capability is given up before the command starts. Exit status 77: no wall here.
"""

import ctypes
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

NO_WALL = 77
"""Exit status when the system refuses what the wall needs."""

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/etc/ld.so.cache", "/etc/ld.so.conf")
"""What every command sees of the system."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (
    0x00020000,
    0x04000000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000


@dataclass(frozen=True)
class Plan:
    """What the command sees."""

    binds: list[str]
    """Files and folders, read-only, at their own paths."""
    hidden: list[str]
    """Files and folders that are empty even where they lie below a bound one."""
    work: str
    """The only writable folder besides `/tmp`; current folder of the command."""
    root: str
    """An empty folder to build the new root on."""
    command: list[str]
    decoys: dict[str, str] = field(default_factory=dict)
    """Folder that must not be seen → the folder that lies at its path instead, read-only."""

    def argv(self) -> list[str]:
        """The command line that runs `command` behind the wall."""
        return [sys.executable, "-I", "-S", "-B", str(Path(__file__).resolve()), json.dumps(asdict(self))]


@lru_cache(maxsize=1)
def wall_missing() -> str:
    """Why there is no wall on this machine; empty when there is one. Tried once, for real."""
    if sys.platform != "linux":
        return "namespaces are a Linux feature"
    with tempfile.TemporaryDirectory() as name:
        work, root = Path(name) / "work", Path(name) / "root"
        work.mkdir()
        root.mkdir()
        plan = Plan(interpreter(), [], str(work), str(root), [sys.executable, "-I", "-S", "-c", "print('in')"])
        try:
            done = subprocess.run(
                plan.argv(), capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    return "" if done.returncode == 0 and done.stdout == "in\n" else done.stderr.strip() or f"exit {done.returncode}"


def interpreter() -> list[str]:
    """Folders the running Python needs."""
    return list(dict.fromkeys([sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]))


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    assert _libc is not None
    encoded = [text.encode() if text is not None else None for text in (source, target, kind, data)]
    _check(_libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]), f"mount {target}")


def _read_only(target: str) -> None:
    """The mount and all below it, read-only and without setuid programs or devices (Linux 5.12)."""
    assert _libc is not None
    attributes = (ctypes.c_uint64 * 4)(_RDONLY | _NOSUID, 0, 0, 0)
    size = ctypes.sizeof(attributes)
    result = _libc.syscall(
        _MOUNT_SETATTR, _AT_FDCWD, target.encode(), _AT_RECURSIVE, ctypes.byref(attributes), ctypes.c_size_t(size)
    )
    _check(result, f"read-only {target}")


def _bind(source: str, target: str, *, writable: bool = False) -> None:
    if Path(source).is_dir():
        Path(target).mkdir(parents=True, exist_ok=True)
    elif not Path(target).exists():  # below a folder that is bound already it does, and cannot be touched
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(target).touch()
    _mount(source, target, None, _BIND | _REC)
    if not writable:
        _read_only(target)


def _cover(target: str) -> None:
    """An empty folder or file over what is there; nothing where there is nothing."""
    if Path(target).is_dir():
        _mount("tmpfs", target, "tmpfs", _NOSUID | _NODEV, "mode=755,size=64k")
    elif Path(target).exists():
        _mount("/dev/null", target, None, _BIND)


def names(paths: Iterable[str]) -> list[str]:
    """Each path as given and resolved, parents first."""
    found = {name for path in paths for name in (os.path.abspath(path), os.path.realpath(path))}  # noqa: PTH100
    return sorted(found, key=lambda name: (name.count("/"), name))


def _build(plan: Plan) -> None:
    """Make the new root and step into it."""
    assert _libc is not None
    root = plan.root
    _mount(None, "/", None, _REC | _PRIVATE)
    _mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, "mode=755,size=16m")
    for path in SYSTEM:
        if Path(path).is_symlink():
            Path(root + path).symlink_to(Path(path).readlink())
        elif Path(path).exists():
            _bind(path, root + path)
    Path(root + "/tmp").mkdir()
    _mount("tmpfs", root + "/tmp", "tmpfs", _NOSUID | _NODEV, "mode=1777,size=512m")
    for path in _DEVICES:
        _bind(path, root + path, writable=True)
    # By depth: what is hidden below a bound folder is covered, what is needed below a hidden one shows again.
    shown, hidden = set(names(plan.binds)), set(names(plan.hidden))
    for path in sorted(shown | hidden, key=lambda name: (name.count("/"), name)):
        if path in hidden:
            _cover(root + path)
        else:
            _bind(path, root + path)
    for place, decoy in plan.decoys.items():
        for path in names([place]):
            _bind(decoy, root + path)
    for path in names([plan.work]):
        _bind(plan.work, root + path, writable=True)
    Path(root + "/proc").mkdir(exist_ok=True)
    # Read-only: for a real root, its kernel settings would be a way out. Containers that mask
    # parts of /proc refuse a fresh one; then there is none, which hides as much.
    with suppress(OSError):
        _mount("proc", root + "/proc", "proc", _RDONLY | _NOSUID | _NODEV | _NOEXEC)
    _mount(None, root, None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)
    os.chdir(root)
    _check(_libc.syscall(_PIVOT_ROOT[platform.machine()], b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _DETACH), "leaving the old root")
    os.chdir(plan.work)


def _give_up_capabilities() -> None:
    assert _libc is not None
    bounding_drop, no_new_privileges, ambient, clear_all, death_signal = 24, 38, 47, 4, 1
    for capability in range(64):
        if _libc.prctl(bounding_drop, capability, 0, 0, 0) != 0:
            break
    _libc.prctl(ambient, clear_all, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _check(_libc.capset(ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())), "capset")
    _check(_libc.prctl(no_new_privileges, 1, 0, 0, 0), "no_new_privs")
    _check(_libc.prctl(death_signal, int(signal.SIGKILL), 0, 0, 0), "parent death signal")


def _leave(user: int, group: int) -> None:
    """New namespaces: a user namespace for whoever may make one, without it for a root who may not."""
    assert _libc is not None
    others = _NEWNS | _NEWPID | _NEWNET | _NEWIPC | _NEWUTS
    if _libc.unshare(_NEWUSER | others) == 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    else:
        _check(_libc.unshare(others), "new namespaces")


def _enter(plan: Plan) -> int:
    """Run the command behind the wall; its exit status, or NO_WALL."""
    assert _libc is not None
    user, group = os.getuid(), os.getgid()
    try:
        if platform.machine() not in _PIVOT_ROOT:
            raise OSError(f"system call numbers of {platform.machine()} are not known here")
        _leave(user, group)
        # Without this, a parent killed between here and the fork would leave the child behind.
        _check(_libc.prctl(1, int(signal.SIGKILL), 0, 0, 0), "parent death signal")
    except OSError as error:
        print(f"no wall: {error}", file=sys.stderr)
        return NO_WALL
    child = os.fork()
    if child == 0:
        try:
            _build(plan)
            _give_up_capabilities()
            os.execv(plan.command[0], plan.command)
        except BaseException as error:
            print(f"no wall: {error}", file=sys.stderr, flush=True)
            os._exit(NO_WALL)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) % 256


if __name__ == "__main__":
    sys.exit(_enter(Plan(**json.loads(sys.argv[1]))))
