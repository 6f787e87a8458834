"""What the process of a machine can do on the host: tried from inside, as root and as an ordinary
user.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from specs import only_cell_of
from waiting import completed, eventually

from fairc.runtime.engines import guest_job
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.host import bounds, seccomp
from fairc.runtime.uml import bubblewrap, confinement, policy, syscalls

ESCAPES = Path(__file__).parents[1] / "support/escapes.c"
GREEDY = ESCAPES.with_name("greedy.c")
HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
LARGEST_BYTES = 1 << 20
ORDINARY = 65_534
NOT_ROOT = "needs root, to be another user"
X32, I386 = 0x40000000, 0x40000003
ENOSYS = 38


def answer(code: bytes, number: int, arguments: tuple[int, ...] = (0,) * 6, arch: int = 0) -> int:
    """Return what a filter answers: an interpreter of its program, as in filter.rst."""
    data = struct.pack("<IIQ6Q", number, arch or seccomp.X86_64, 0, *arguments)
    place = accumulator = 0
    while True:
        kind, then, otherwise, operand = struct.unpack_from("<HBBI", code, 8 * place)
        place += 1
        if kind == 0x06:
            return int(operand)
        if kind == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif kind == 0x54:
            accumulator &= operand
        else:
            met = {0x15: accumulator == operand, 0x35: accumulator >= operand}.get(
                kind, accumulator > operand
            )
            place += then if met else otherwise


def expected(calls: seccomp.Calls, number: int, arguments: tuple[int, ...]) -> int:
    """Return what the filter should answer, from the list as it is written."""
    for name, conditions in calls.items():
        if seccomp.NUMBERS[name] == number and all(
            arguments[each.number] & each.mask & seccomp.WORD in each.values for each in conditions
        ):
            return seccomp.ALLOW
    return seccomp.FAIL | ENOSYS


CONDITIONS = [each for conditions in syscalls.CALLS.values() for each in conditions]
TELLING = sorted({value for each in CONDITIONS for value in each.values} | {0, 0x10000000, 8})


@given(
    st.sets(st.sampled_from(sorted(syscalls.CALLS)), min_size=1),
    st.integers(0, 500) | st.integers(0, seccomp.WORD),
    st.tuples(*6 * [st.sampled_from(TELLING) | st.integers(0, 2**64 - 1)]),
)
@example(set(syscalls.CALLS), X32 | seccomp.NUMBERS["read"], (0,) * 6)
def test_a_filter_answers_as_its_list_says(
    names: set[str], number: int, arguments: tuple[int, ...]
) -> None:
    calls = {name: syscalls.CALLS[name] for name in names}
    code = seccomp.program(calls)
    assert answer(code, number, arguments) == expected(calls, number, arguments)
    for each in names:  # random numbers seldom meet the list
        found = answer(code, seccomp.NUMBERS[each], arguments)
        assert found == expected(calls, seccomp.NUMBERS[each], arguments), each
    assert answer(code, number, arguments, I386) == seccomp.FAIL | ENOSYS


def test_the_numbers_are_those_of_linux() -> None:
    if not HEADER.exists():
        pytest.skip(f"{HEADER} (linux-libc-dev)")
    header = dict(re.findall(r"__NR_(\w+) (\d+)", HEADER.read_text()))
    assert {name: int(header[name]) for name in seccomp.NUMBERS} == seccomp.NUMBERS


def test_a_list_that_is_too_long_for_jumps_is_refused() -> None:
    many = (seccomp.Argument(0, tuple(range(300))),)
    with pytest.raises(ValueError, match="too long"):
        seccomp.program({"read": many, "write": many})


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that any user can enter, with the program of escapes and the files of a machine."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        command = [
            "cc",
            "-static",
            "-O1",
            "-Wall",
            "-Werror",
            "-o",
            f"{folder}/program",
            str(ESCAPES),
        ]
        subprocess.run(command, check=True)
        for name in ("initrd", "exchange"):
            Path(folder, name).write_bytes(b"0" * 100)
        yield Path(folder)


# What is not refused as a call that the kernel does not have (ENOSYS): files that are not there or
# cannot be written, a folder of bounded size, and the machine's own files, up to a limit.
NOT_THERE, READ_ONLY = {"ENOENT"}, {"EROFS", "EACCES"}
FOLDERS = ("make a folder in /", "make a folder in /cell")
OTHERWISE = {
    **dict.fromkeys(("write /kernel", "write initrd", *FOLDERS), READ_ONLY),
    "execute a program of the host": NOT_THERE,
    "write the exchange": {"1"},
    "write beyond the limit": {"EFBIG"},
    "more memory than the limit": {"EFBIG"},
    "signal a process of the host": {"ESRCH"},
    "a core": {"EPERM"},
    "more pending signals": {"EPERM"},
    "more processes": {"EPERM"},
    "locked memory": {"EPERM"},
    "i386": {f"-{ENOSYS}"},
}
TRIES = 76  # of the program, and as many of its child


def limits(within: policy.Policy) -> list[str]:
    """Return a command that sets the policy's limits, which are otherwise its watcher's."""
    names = {resource.RLIMIT_FSIZE: "fsize", resource.RLIMIT_CORE: "core"}
    return ["prlimit", *(f"--{names[kind]}={most}" for kind, most in within.limits.items()), "--"]


@pytest.fixture(params=confinement.WAYS, ids=lambda way: way.__name__.rpartition(".")[2])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The only way to confine a program."""
    found: ModuleType = request.param
    monkeypatch.setattr(confinement, "_way", lambda: found)
    return found


@pytest.mark.parametrize("who", ["this process", "an ordinary user"])
@pytest.mark.usefixtures("way")
def test_nothing_of_the_host_can_be_reached(place: Path, who: str) -> None:
    if who == "an ordinary user" and os.geteuid() != 0:
        pytest.skip(NOT_ROOT)
    within = policy.of_machine(
        place / "program",
        {"initrd": place / "initrd"},
        {"exchange": place / "exchange"},
        LARGEST_BYTES,
    )
    before: list[str] = []
    if who == "an ordinary user":
        within = replace(within, user=None)
        user = f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"
        before = ["setpriv", *user, "--"]
        os.chown(place / "exchange", ORDINARY, ORDINARY)
    words = [str(os.getpid()), *(str(seccomp.NUMBERS[name]) for name in syscalls.CALLS)]
    with confinement.command(within, words, place) as (command, files):
        done = completed(
            [*limits(within), *before, *command],
            pass_fds=files,
            timeout=60,  # without the filter it could stop its parent
        )
    assert (done.stderr, done.returncode) == ("", 0)
    first, second = done.stdout.removeprefix("the program:\n").split("a child:\n")
    for told in (first, second):
        found = dict(line.split(": ") for line in told.splitlines())
        assert len(found) == TRIES
        for name, outcome in found.items():
            usual = {"read": NOT_THERE, "write": NOT_THERE, "create": READ_ONLY}
            default = usual.get(name.split()[0], set()) if "/" in name else {"ENOSYS"}
            assert outcome in OTHERWISE.get(name, default), f"{name}: {outcome}"
    assert (place / "exchange").read_bytes() == b"x" + b"0" * 99


SPEC = """fexp 1
experiment confined {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: fifo(1bdp))
  flow a { cca = cubic  workload = file(50kB) }
  measure = [goodput]
}
"""
# Two guest programs that stay: their processes are the host's.
STAYS = "import os, time\nos.fork()\ntime.sleep(0.1)\nwhile True: pass"
STATUS = {"CapPrm": "0" * 16, "CapEff": "0" * 16, "CapBnd": "0" * 16, "NoNewPrivs": "1"}


def test_the_processes_of_a_running_machine_are_confined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: ModuleType
) -> None:
    monkeypatch.setattr(guest_job, "PROGRAM", STAYS)
    monkeypatch.setattr(guest_job, "EPOCH_S", 0.0)
    engine = UmlEngine()
    engine.prepare()
    run = threading.Thread(target=engine.run, args=(only_cell_of(SPEC), tmp_path))
    run.start()
    try:
        kernel, programs = _machine(programs=2)
        for pid in (kernel, *programs):
            status = dict(
                line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            )
            assert {name: status[name] for name in STATUS} == STATUS
            assert status["Seccomp"] == "2"
            # A program of the guest has that of the guest's kernel as well.
            assert status["Seccomp_filters"] == ("1" if pid == kernel else "2")
            (user,) = {*map(int, status["Uid"].split())}
            assert user in policy.NOBODYS_IDS if os.geteuid() == 0 else user == os.geteuid()
            assert status["Groups"].split() == (
                [] if os.geteuid() == 0 else status["Groups"].split()
            )
            for kind in ("user", "mnt", "pid", "net", "ipc", "uts"):
                own = Path(f"/proc/{pid}/ns/{kind}").readlink()
                assert own != Path(f"/proc/self/ns/{kind}").readlink()
            mounts = [
                line.split() for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()
            ]
            written = {each[4]: each[-1] for each in mounts if "rw" in each[5].split(",")}
            assert set(written) == {"/dev/null", "/cell/exchange", "/cell/clock"}
            limits = Path(f"/proc/{pid}/limits").read_text()
            assert re.search(r"Max core file size +1 +1 ", limits)
            assert re.search(r"Max file size +1073741824 +1073741824 ", limits)
            assert re.search(r"Max pending signals +256 +256 ", limits)
            assert re.search(r"Max processes +12001 +12001 ", limits)
            assert re.search(r"Max locked memory +0 +0 ", limits)
            assert re.search(r"Max msgqueue size +0 +0 ", limits)
    finally:
        engine.close()
        run.join()


@pytest.mark.usefixtures("way")
def test_a_greedy_machine_takes_nothing_of_another(tmp_path: Path) -> None:
    """Two machines of one user at once: each gets all that one may have."""
    program = tmp_path / "greedy"
    subprocess.run(["cc", "-static", "-O1", "-Wall", "-o", str(program), str(GREEDY)], check=True)
    with ExitStack() as stack:
        got = []
        for number in range(2):
            place = tmp_path / str(number)
            place.mkdir()
            within = policy.of_machine(program, {"initrd": program}, {}, LARGEST_BYTES)
            within = replace(within, processes=40)
            with confinement.command(within, [], place) as (command, files):
                machine = subprocess.Popen(
                    command, pass_fds=files, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
                stack.enter_context(machine)
                assert machine.stdin and machine.stdout
                stack.callback(machine.stdin.close)
                got.append([*map(int, machine.stdout.readline().split())])
    for timers, processes, flying in got:
        assert timers == policy.PENDING_SIGNALS
        assert 40 - 4 < processes < 40  # one is the program, one process 1 of its namespace
        # Those of one ordinary user are counted together: Linux has no other way.
        assert flying > 0 or os.geteuid() != 0


@pytest.mark.parametrize("umask", [0o027, 0o077])
@pytest.mark.usefixtures("way")
def test_the_umask_of_root_keeps_no_machine_from_its_files(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        program, initrd = tmp_path / "program", tmp_path / "initrd"
        program.write_bytes(confinement._executable(confinement.ENDS))
        program.chmod(0o777 & ~umask)
        initrd.write_bytes(b"")
        within = policy.of_machine(program, {"initrd": initrd}, {}, LARGEST_BYTES)
        with confinement.command(within, [], tmp_path) as (command, files):
            done = subprocess.run(command, pass_fds=files, capture_output=True, check=False)
    finally:
        os.umask(before)
    assert (done.stderr, done.returncode) == (b"", 0)
    assert os.geteuid() != 0 or initrd.stat().st_mode & 0o777 == 0o644 | 0o666 & ~umask


def _machine(programs: int) -> tuple[int, list[int]]:
    """Return the kernel of the machine that this process runs, and its guest's programs.

    Wait for this many of them, and until one has computed for a second, which none does during the
    boot.
    """
    before = dict[int, float]()

    def found() -> tuple[int, list[int]] | None:
        nonlocal before
        kernels, stubs = list[int](), dict[int, float]()
        for pid, fields in bounds.family(os.getpid()).items():
            with suppress(OSError):  # it has just ended
                name = Path(f"/proc/{pid}/comm").read_text().strip()
                if name == "kernel":
                    kernels.append(pid)
                elif name == "uml-userspace":
                    stubs[pid] = bounds.processor_s({pid: fields})
        if stubs.keys() != before.keys():
            before = stubs
        computed = any(stubs[pid] - before[pid] >= 1.0 for pid in stubs)
        return (kernels[0], [*stubs]) if kernels and len(stubs) >= programs and computed else None

    return eventually(found)


@pytest.mark.parametrize(
    ("euid", "ids", "becomes"),
    [
        (0, "0 0 4294967295", True),  # the host
        (0, "0 100000 65536", True),  # a container with IDs of its own
        (0, "0 1000 1", False),  # unshare --map-root-user
        (1000, "0 0 4294967295", False),
    ],
)
def test_root_becomes_a_user_who_owns_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, euid: int, ids: str, becomes: bool
) -> None:
    (tmp_path / "uid_map").write_text(f"{ids}\n")
    monkeypatch.setattr(policy, "IDS", tmp_path / "uid_map")
    monkeypatch.setattr(os, "geteuid", lambda: euid)
    found = [policy.unprivileged_id() for _ in range(3)]
    if becomes:
        assert len({*found}) == 3 and {*found} < {*policy.NOBODYS_IDS}
    else:
        assert found == [None] * 3


def test_a_host_that_refuses_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho 'bwrap: Unknown option --size' >&2; exit 1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert shutil.which("bwrap") == str(old)
    assert confinement._fault.__wrapped__(bubblewrap) == "bwrap: Unknown option --size"
