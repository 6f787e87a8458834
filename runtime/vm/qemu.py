"""QEMU: the one argument list of the virtual-time machine, and its monitor."""

from __future__ import annotations

import calendar
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairc.runtime.host.faults import EngineUnavailable, to_install

from . import exchange
from .recipe import Variant

PROGRAM = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"


RTC_BASE_S = 1_577_836_800  # 2020-01-01, as `arguments` says
# Without CMPXCHG16B: QEMU 7.2 computes its flags from a stale state, so that an interrupt right
# after it saves garbage as EFLAGS, and the kernel's allocator uses it for every packet. Symptom:
# crashes after about 10 s at 100 Mbit/s; the kernel has a fallback where the CPU lacks the
# instruction. Without ERMS and FSRM: they promise that REP MOVSB is fast, but here it takes an
# instruction per byte.
CPU = "max,-cx16,-erms,-fsrm"

# One instruction is 1 ns, and an idle machine's clock jumps to its next timer. In QEMU 7.2 the main
# loop may jump between the moment when the virtual CPU halts and the moment when its last
# instructions are counted: a race that occasionally goes wrong on a loaded host (3 of 10 runs at
# 100 Mbit/s with two CPU hogs). Recording mode takes a mutex that excludes it; the record itself is
# discarded. The machine that boots cannot record, because QEMU cannot save a recording machine.
RECORD = ",rr=record,rrfile=/dev/null"

# What QEMU may request of the host's kernel (seccomp(2)): no other program, no other user, no
# priority. A guest cannot see it, so it is not part of a snapshot's identity.
SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")

# The guest computes only what the experiment needs: no mitigations against other
# tenants (there are none), no zeroing of fresh memory, no security modules, no IPv6 traffic. The
# clock is the instruction counter, which the kernel reads as a reliable TSC.
KERNEL_ARGUMENTS = (
    "console=ttyS0 quiet panic=-1 nokaslr mitigations=off init_on_alloc=0 init_on_free=0 "
    "selinux=0 apparmor=0 audit=0 lsm= ipv6.disable=1 preempt=none "
    "clocksource=tsc tsc=reliable nowatchdog softlockup_panic=1 random.trust_cpu=on"
)


def kernel_arguments(variant: Variant) -> str:
    """Return the kernel's command line."""
    return f"{KERNEL_ARGUMENTS} {variant.kernel_arguments}".strip()


@dataclass(frozen=True)
class Devices:
    """The files that one machine works on.

    memory: backs the main memory; shared: the machine writes into it, otherwise its changes
    are private. root, exchange: the NVDIMMs. console: the serial port's output.
    """

    memory: Path
    shared: bool
    root: Path
    exchange: Path
    console: Path


def arguments(variant: Variant, devices: Devices, shift: int = 0) -> list[str]:
    """Return the arguments that a machine and its restored copies have in common.

    variant: determines the memory. shift: an instruction takes 2^shift ns.

    Nothing may enter the machine from outside while it runs: no virtio, no network, no disk.
    """
    memory = variant.memory_bytes
    return [
        *("-machine", "pc,nvdimm=on,hpet=off,memory-backend=ram0"),
        *("-cpu", CPU),
        *("-accel", f"tcg,tb-size={variant.translation_cache_mb}"),
        *("-icount", f"shift={shift},sleep=off" + ("" if devices.shared else RECORD)),
        *("-m", f"{memory >> 20}M,slots=4,maxmem=8G"),
        *("-object", _backend("ram0", devices.memory, memory, share=devices.shared)),
        *("-object", _backend("root", devices.root, devices.root.stat().st_size, readonly=True)),
        *("-device", "nvdimm,id=nvdimm1,memdev=root,unarmed=on"),
        *("-object", _backend("exchange", devices.exchange, exchange.SIZE)),
        *("-device", "nvdimm,id=nvdimm2,memdev=exchange"),
        *("-device", "pvpanic"),
        *("-nodefaults", "-display", "none", "-no-reboot"),
        *("-chardev", f"file,id=console,path={_escape(devices.console)}"),
        *("-serial", "chardev:console"),
        *("-rtc", "base=2020-01-01,clock=vm"),
        *("-seed", "1"),
    ]


def _backend(
    name: str, path: Path, size: int, *, share: bool = True, readonly: bool = False
) -> str:
    flags = f"share={'on' if share else 'off'}" + (",readonly=on" if readonly else "")
    return f"memory-backend-file,id={name},mem-path={_escape(path)},size={size},{flags}"


def _escape(path: Path) -> str:
    """Double the commas, as QEMU's option parser wants them."""
    return str(path).replace(",", ",,")


def version() -> str:
    """Return QEMU's version; raise EngineUnavailable when it is not installed, or knows no
    `SANDBOX`.
    """
    if shutil.which(PROGRAM) is None:
        raise EngineUnavailable(
            ("QEMU is not installed",),
            to_install(PACKAGE),
        )
    text = _printed("-version")
    if "-sandbox on" not in _printed("-help"):
        raise EngineUnavailable(
            ("this QEMU cannot filter its system calls: it was built without seccomp",),
            to_install(PACKAGE),
        )
    found = re.search(r"version (\S+(?: \(\S+\))?)", text)
    return found[1] if found else text.splitlines()[0]


def _printed(option: str) -> str:
    return subprocess.run(
        [PROGRAM, option], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    ).stdout


class Monitor:
    """A connection to QEMU's machine protocol (QMP).

    running: whether QEMU still runs, so that nobody waits for one that did not start.
    """

    def __init__(
        self, path: Path, timeout_s: float, running: Callable[[], bool] = lambda: True
    ) -> None:
        self._running = running
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout_s)
        try:
            self._connect(path, time.monotonic() + timeout_s)
            self._file = self._socket.makefile("rw")
            self._file.readline()  # the greeting
            self.command("qmp_capabilities")
        except BaseException:
            self._socket.close()
            raise

    def _connect(self, path: Path, deadline: float) -> None:
        folder = os.open(path.parent, os.O_PATH)  # a socket's path has at most 107 bytes
        try:
            while True:
                try:
                    self._socket.connect(f"/proc/self/fd/{folder}/{path.name}")
                    return
                except (FileNotFoundError, ConnectionRefusedError):
                    if not self._running():
                        raise ConnectionError("QEMU ended") from None
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.005)
        finally:
            os.close(folder)

    def command(self, name: str, **arguments: Any) -> Any:
        """Execute a command and return its result; RuntimeError when QEMU refuses it."""
        json.dump({"execute": name, "arguments": arguments}, self._file)
        self._file.write("\n")
        self._file.flush()
        return self._answer(name)

    def _answer(self, name: str) -> Any:
        while True:
            answer = self._read()
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise RuntimeError(f"QEMU refused {name}: {answer['error'].get('desc')}")

    def give(self, name: str, descriptor: int) -> None:
        """Pass QEMU an open file under a name: under `SANDBOX` it cannot start programs."""
        request = json.dumps({"execute": "getfd", "arguments": {"fdname": name}}).encode()
        socket.send_fds(self._socket, [request], [descriptor])
        self._answer("getfd")

    def wait_for_event(self, name: str) -> None:
        """Wait until an event arrives; TimeoutError after the monitor's time limit."""
        while self._read().get("event") != name:
            pass

    def _read(self) -> dict[str, Any]:
        line = self._file.readline()
        if not line:
            raise ConnectionError("QEMU ended")
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        """Close the connection; the machine goes on."""
        with suppress(OSError):  # what was not sent need not be
            self._file.close()
        self._socket.close()


def clock_ns(monitor: Path, timeout_s: float) -> int | None:
    """Return a running machine's clock, ns after its boot, in whole seconds; None if it does not
    answer.

    The real-time clock shows the virtual clock (`-rtc clock=vm`). The query does not affect the
    guest: results are the same bytes with and without it (tests/engines/test_vm.py). A guest that
    is root can set that clock to an invalid date: then there is no answer, and CPU time bounds the
    machine.
    """
    try:
        with closing(Monitor(monitor, timeout_s)) as connection:
            found = connection.command("qom-get", path="/machine", property="rtc-time")
            return (calendar.timegm(_tm(found)) - RTC_BASE_S) * 10**9
    except (OSError, RuntimeError, ValueError, OverflowError):
        return None


def _tm(found: dict[str, int]) -> tuple[int, int, int, int, int, int]:
    """Return a `struct tm` as calendar.timegm takes it."""
    year, month = 1900 + found["tm_year"], 1 + found["tm_mon"]
    return (year, month, found["tm_mday"], found["tm_hour"], found["tm_min"], found["tm_sec"])
