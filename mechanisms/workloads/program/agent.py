"""A program of the user's own in a node: started in namespaces and under limits of its own, waited
for, and what it left behind collected.

It runs beside the program, in the guest of a virtual machine alone; `cell.py` says what runs. The
program is no root, has no capability, sees the files of the experiment and of the guest read-only,
and can write to `/work`, `/tmp` and `/dev/shm` only; one of a container image to a layer over the
image, too. It shares the node's network, and nothing else, with others (docs/learn/programs.md).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import sys
import time
import warnings  # noqa: F401 - Python itself wants it later, where the root may be an image's

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any, NoReturn

FILES, WORK = "/program", "/work"  # the former as in `cell.py`
LOGS = "/logs"
IMAGE_USER = 10_000
"""Whom all files of a container image belong to, and who runs its programs."""

AGENT = "/run/fairc/agent.py"
"""Of fairc's virtual machines: nowhere else does a program of a user's run."""
INPUTS, ROOTS = "/tmp", "/tmp/programs"
MOST_PROCESSES, MOST_OPEN_FILES = 128, 4096
MOST_FILE_BYTES = 16 << 20
"""Of one file of a program, and of what it prints."""
MOST_DATA_BYTES = 512 << 20
FOLDER_SIZE = "64m"
MOST_LEFT, MOST_LEFT_BYTES = 64, 32 << 20
"""How many files of a working folder are kept, and how many bytes of them in all."""
LAST_BYTES = 600
POLL_NS, LOOK_NS, LATER_NS = 10_000_000, 100_000_000, 1_000_000_000
FOREVER_NS = 10**15

TICK_NS = 4_000_000

IN_CLOSE_WRITE = 8
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWPID = 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 1, 2, 4, 32, 4096
MS_REC, MS_PRIVATE = 16384, 1 << 18
MNT_DETACH = 2
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, LAST_CAPABILITY = 24, 38, 63
PIVOT_ROOT = 155  # on x86-64
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, DUMP, INET_DIAG_CONG = 4, 20, 0x301, 4
LISTEN = "0A"

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)
_libc = ctypes.CDLL(None, use_errno=True)


class Ended(Exception):
    """The program has ended; its argument is its status, negative for a signal."""


class Runner:
    """Runs a program. epoch_ns: of the cell. description: as in `cell.py`."""

    def __init__(self, epoch_ns: int, description: dict[str, Any]) -> None:
        self.epoch_ns, self.job = epoch_ns, description
        self.name: str = f"{description['flow']}.{description['side']}"
        self.is_server: bool = description["side"] == "server"
        self.contract: dict[str, Any] = description.get("contract", {})
        self.waited_for: socket.socket | None = None
        self.closes, self.closed_ns = -1, 0
        self.disk: str = description.get("disk", "")
        self.root = f"{ROOTS}/{self.name}"
        self.init, self.init_end = 0, -1
        self.stopping = False
        self.wake, self.waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.ccas: set[str] = set()
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self.out, self.err, self.report = (
            os.open(f"{self.name}.{kind}", flags, 0o644) for kind in ("stdout", "stderr", "status")
        )

    def say(self, event: str, at_ns: int | None = None, **more: object) -> None:
        """Write an event, of now or of a time."""
        t_ns = (time.time_ns() if at_ns is None else at_ns) - self.epoch_ns
        print(json.dumps({"t_ns": t_ns, "event": event} | more), flush=True)

    def run(self) -> None:
        """Run it to its end."""
        signal.signal(signal.SIGTERM, self.stop)
        self._furnish()
        self._start()
        ready = not self.is_server
        try:
            if self.is_server:
                ready = self._await_ready()
            if self.is_server and ready:
                self.say("listening", port=self.job["port"])
            self._watch()
        except Ended as ended:
            self._end(ended.args[0], ready)
        self._collect()

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Have the program end, as the conductor says."""
        self.stopping = True
        os.write(self.waker, b"!")

    # Its root

    def _furnish(self) -> None:
        """Lay out the file systems that it sees."""
        with open("/proc/sys/user/max_user_namespaces", "w") as file:
            file.write("0")  # in one of its own it would be root
        _call(_libc.unshare, CLONE_NEWNS)
        _mount("none", "/", "", MS_REC | MS_PRIVATE)
        root = self.root
        os.makedirs(root, mode=0o755)
        if self.disk:
            self._take_image()
        else:
            self._take_guest()
        self._devices()
        user = self.job["user"]
        for folder in ("work", "tmp", "dev/shm"):
            options = f"size={FOLDER_SIZE},nr_inodes=4096,mode=1777"
            _mount("tmpfs", f"{root}/{folder}", "tmpfs", MS_NOSUID | MS_NODEV, options)
        os.chown(f"{root}{WORK}", user, user)
        if self.contract:
            self._take_contract()
        for descriptor in (self.out, self.err):  # so that it can open /dev/stdout
            os.fchown(descriptor, user, user)
        hosts = "".join(f"{address} {name}\n" for name, address in self.job["hosts"])
        texts = {
            "hosts": "127.0.0.1 localhost\n" + hosts,
            "hostname": f"{self.job['side']}\n",
            "resolv.conf": "",
        }
        if not self.disk:
            texts |= {
                "passwd": f"root:x:0:0::/:/bin/sh\nuser:x:{user}:{user}::{WORK}:/bin/sh\n",
                "group": f"root:x:0:\nuser:x:{user}:\n",
                "nsswitch.conf": "hosts: files\n",
            }
        for name, text in texts.items():
            with open(f"{root}/etc/{name}", "w") as file:
                file.write(text)
        kept = f"{ROOTS}/{self.name}.files"
        for path, sha256 in self.job["files"]:
            place = f"{kept}/{path}"
            os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
            os.chmod(f"{INPUTS}/{sha256}.program", 0o755)
            os.link(f"{INPUTS}/{sha256}.program", place)
        os.makedirs(kept, mode=0o755, exist_ok=True)
        _bind_read_only(kept, f"{root}{FILES}")
        if not self.disk:
            _mount("none", root, "", MS_REMOUNT | MS_RDONLY | MS_NOSUID)

    def _take_guest(self) -> None:
        """Let its root be that of the guest, of which it sees /usr."""
        root = self.root
        _mount("tmpfs", root, "tmpfs", MS_NOSUID, "size=1m,mode=755")
        for folder in ("dev", "etc", "old", "proc", "program", "run", "tmp", "usr", "var", "work"):
            os.mkdir(f"{root}/{folder}")
        for folder in ("bin", "lib", "lib64", "sbin"):
            os.symlink(f"usr/{folder}", f"{root}/{folder}")
        _mount("/usr", f"{root}/usr", "", MS_BIND)

    def _take_image(self) -> None:
        """Let its root be an image's files, over which it can write.

        All that is mounted or written below it is a plain folder or file: whoever unpacked the
        image saw to that.
        """
        root = self.root
        below, above = f"{root}.image", f"{root}.written"
        for folder in (below, above):
            os.makedirs(folder, mode=0o755)
        _mount(f"/dev/{self.disk}", below, "ext2", MS_RDONLY | MS_NOSUID | MS_NODEV)
        options = f"size={FOLDER_SIZE},nr_inodes=16384,mode=755"
        _mount("tmpfs", above, "tmpfs", MS_NOSUID | MS_NODEV, options)
        for folder in ("upper", "work"):
            os.mkdir(f"{above}/{folder}", 0o755)
        os.chown(f"{above}/upper", IMAGE_USER, IMAGE_USER)
        layers = f"lowerdir={below},upperdir={above}/upper,workdir={above}/work"
        _mount("overlay", root, "overlay", MS_NOSUID | MS_NODEV, layers)
        _mount("tmpfs", f"{root}/dev", "tmpfs", MS_NOSUID, "size=64k,nr_inodes=64,mode=755")

    def _devices(self) -> None:
        """Give it the devices that do not lead out."""
        for name in ("null", "zero", "full", "random", "urandom"):
            place = f"{self.root}/dev/{name}"
            with open(place, "w"):
                pass
            _mount(f"/dev/{name}", place, "", MS_BIND)
        os.mkdir(f"{self.root}/dev/shm")
        for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
            os.symlink(f"/proc/self/fd{target}", f"{self.root}/dev/{name}")

    def _take_contract(self) -> None:
        """Lay out what quic-interop-runner's contract has: certificates, logs, which are the files
        of /work, and the file, or the folder for it.
        """
        from fairc.cell.certificates import CERTIFICATES
        from fairc.cell.image import FILE, await_clients, content

        size = self.contract["bytes"]
        own = "www" if self.is_server else "downloads"
        for folder in ("certs", "logs", own):
            place = f"{self.root}/{folder}"
            if os.path.islink(place) or (os.path.exists(place) and not os.path.isdir(place)):
                self.say("error", message=f"its image has something else than a folder at {place}")
                raise SystemExit(0)
            os.makedirs(place, mode=0o755, exist_ok=True)
        _mount(f"{self.root}{WORK}", f"{self.root}{LOGS}", "", MS_BIND)
        for folder, room in (("certs", 1 << 16), (own, size + (1 << 20))):
            options = f"size={room},nr_inodes=64,mode=755"
            _mount("tmpfs", f"{self.root}/{folder}", "tmpfs", MS_NOSUID | MS_NODEV, options)
        for name, text in CERTIFICATES.items():
            with open(f"{self.root}/certs/{name}", "w") as file:
                file.write(text)
        if self.is_server:
            with open(f"{self.root}/www/{FILE}", "wb") as served:
                served.writelines(content(size))
        else:
            os.chown(f"{self.root}/downloads", self.job["user"], self.job["user"])
            self.waited_for = await_clients()
            self.closes = _libc.inotify_init1(os.O_CLOEXEC)
            _call(_libc.inotify_add_watch, self.closes, place.encode(), IN_CLOSE_WRITE)

    # Its start and its end

    def _start(self) -> None:
        """Make its namespaces; start it at once, or at the start of its flow."""
        go, signal_go = os.pipe2(os.O_CLOEXEC)
        failure, write_failure = os.pipe2(os.O_CLOEXEC)
        _call(_libc.unshare, CLONE_NEWPID)
        self.init = os.fork()
        if self.init == 0:
            for descriptor in (signal_go, failure):
                os.close(descriptor)
            self._be_init(go, write_failure)
        os.close(go)
        os.close(write_failure)
        self.init_end = os.pidfd_open(self.init)
        if not self.is_server:
            self._sleep_until(self.epoch_ns + self.job["start_ns"])
        if self.stopping:
            os.kill(self.init, signal.SIGKILL)
            raise SystemExit(0)
        self.say("started", command=self.job["command"])
        os.write(signal_go, b"!")
        said = b""
        while part := os.read(failure, 4096):  # closed by a successful execve
            said += part
        os.close(failure)
        if said:
            self._reap()
            self.say("error", message=said.decode())
            raise SystemExit(0)

    def _be_init(self, go: int, failure: int) -> NoReturn:
        """Be the first process of its namespaces, which ends all others with itself."""
        status = 255
        try:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            _call(_libc.unshare, CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS)
            _mount("proc", f"{self.root}/proc", "proc", MS_NOSUID | MS_NODEV)
            os.chdir(self.root)
            _call(_libc.syscall, PIVOT_ROOT, b".", b"old")
            os.chdir("/")
            _call(_libc.umount2, b"/old", MNT_DETACH)
            socket.sethostname(self.job["side"])
            os.read(go, 1)
            child = os.fork()
            if child == 0:
                self._be_program(failure)
            os.close(failure)
            signal.signal(signal.SIGTERM, self._stop_all)
            with contextlib.suppress(ChildProcessError):  # all have ended
                while True:
                    pid, found = os.wait()
                    if pid == child:
                        code = os.waitstatus_to_exitcode(found)
                        status = code if code >= 0 else 128 - code
                        os.write(self.report, str(code).encode())
                        if not self.stopping:
                            break
        except BaseException as error:  # noqa: BLE001
            # No child may go on as its parent would.
            message = f"it cannot be confined: {error}"
            with contextlib.suppress(OSError):
                os.write(failure, message.encode())
        os._exit(status & 0xFF)

    def _stop_all(self, number: int, frame: FrameType | None) -> None:
        """Have the program end, and what it started, as the agent says."""
        self.stopping = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGTERM)

    def _be_program(self, failure: int) -> NoReturn:
        """Become the program."""
        command = self.job["command"]
        try:
            os.setsid()
            null = os.open("/dev/null", os.O_RDONLY)
            for number, descriptor in enumerate((null, self.out, self.err)):
                os.dup2(descriptor, number)
            for limit, most in (
                (resource.RLIMIT_CORE, 0),
                (resource.RLIMIT_DATA, MOST_DATA_BYTES),
                (resource.RLIMIT_FSIZE, max(MOST_FILE_BYTES, self.contract.get("bytes", 0))),
                (resource.RLIMIT_NOFILE, MOST_OPEN_FILES),
                (resource.RLIMIT_NPROC, MOST_PROCESSES),
            ):
                resource.setrlimit(limit, (most, most))
            os.chdir(self.contract.get("folder", WORK))
            os.umask(0o022)
            for capability in range(LAST_CAPABILITY + 1):
                _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
            _call(_libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            os.setgroups([])
            os.setresgid(*3 * [self.job["user"]])
            os.setresuid(*3 * [self.job["user"]])
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            os.execvpe(command[0], command, self._environment())
        except OSError as error:
            os.write(failure, _why_not(command[0], error, bool(self.disk)).encode())
        os._exit(127)

    def _environment(self) -> dict[str, str]:
        """Return its environment: what makes it run alike on every host, and what it may want."""
        kept = {name: os.environ[name] for name in ALIKE if name in os.environ}
        return {
            **kept,
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": WORK,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "GODEBUG": "cpu.all=off",
            "LD_LIBRARY_PATH": f"{FILES}:{FILES}/lib",
            "PYTHONDONTWRITEBYTECODE": "1",
            **self.job["environment"],
            "FAIRC_FLOW": self.job["flow"],
            "FAIRC_SIDE": self.job["side"],
        }

    def _await_ready(self) -> bool:
        """Wait until the server is ready, or its flow begins; return whether it is. Raises
        Ended.
        """
        due_ns = self.epoch_ns + self.job["start_ns"]
        ready: str = self.job["ready"]
        while not (_printed(self.name, ready) if ready else self._listens()):
            if time.time_ns() >= due_ns:
                what = f"print `{ready}`" if ready else self._listening()
                self.say("error", message=f"it did not {what} before its flow began")
                return False
            self._sleep_until(min(due_ns, time.time_ns() + POLL_NS))
            if self.stopping:
                return False
        return True

    def _listening(self) -> str:
        over = self.job["transport"].upper()
        return f"listen on {over} port {self.job['port']}, which is `{{port}}`,"

    def _listens(self) -> bool:
        """Whether a socket of its node has its port."""
        kind, port = self.job["transport"], f":{self.job['port']:04X}"
        for family in (kind, kind + "6"):
            try:
                with open("/proc/net/" + family) as table:
                    for line in list(table)[1:]:
                        fields = line.split()
                        if fields[1].endswith(port) and (kind == "udp" or fields[3] == LISTEN):
                            return True
            except FileNotFoundError:
                pass
        return False

    def _watch(self) -> None:
        """Wait for its end; stop it when it is time. Raises Ended."""
        from fairc.cell.processes import PATIENCE_NS

        stop_ns = self.job["stop_ns"]
        until_ns = None if stop_ns is None else self.epoch_ns + stop_ns
        looks = self.is_server and self.job["transport"] == "tcp"
        while not self.stopping and (until_ns is None or time.time_ns() < until_ns):
            pause_ns = FOREVER_NS if not looks else LATER_NS if self.ccas else LOOK_NS
            next_ns = time.time_ns() + pause_ns
            self._sleep_until(next_ns if until_ns is None else min(next_ns, until_ns))
            if looks:
                self.ccas |= set(_ccas(self.job["port"]))
        self.stopping = True
        os.kill(self.init, signal.SIGTERM)
        killed_ns = time.time_ns() + PATIENCE_NS
        while time.time_ns() < killed_ns:
            self._sleep_until(killed_ns)
        ended = os.stat(f"{self.name}.status").st_size > 0
        what = "what it had started" if ended else "it"
        patience = f"within {PATIENCE_NS / 1e9:g} s of SIGTERM"
        self.say("remark", message=f"{what} did not end {patience}, and was killed")
        os.kill(self.init, signal.SIGKILL)
        raise Ended(self._reap())

    def _sleep_until(self, at_ns: int) -> None:
        """Return at a time or, earlier, when it is to stop. Raises Ended when it has ended."""
        from fairc.cell.clock import RealTime

        watched = [self.wake, self.init_end, *([self.closes] if self.closes >= 0 else [])]
        ready = RealTime().wait(watched, at_ns)
        if self.closes in ready:
            os.read(self.closes, 4096)
            self.closed_ns = time.time_ns()
        if self.init_end in ready:
            raise Ended(self._reap())
        if self.wake in ready:
            os.read(self.wake, 16)

    def _reap(self) -> int:
        """Return its status, once all of its processes have ended."""
        _, status = os.waitpid(self.init, 0)
        code = os.waitstatus_to_exitcode(status)
        with open(f"{self.name}.status") as file:
            text = file.read()
        os.unlink(f"{self.name}.status")
        return int(text) if text else code

    def _end(self, status: int, ready: bool) -> None:
        """Say how it ended; ready: whether it had been."""
        if self.ccas:
            self.say("ccas", ccas=sorted(self.ccas))
        if self.contract and not self.is_server:
            self._end_download(status)
        elif self.stopping:
            self.say("stopped", status=status)
        elif status == 0 and not ready:
            self.say("error", message="it ended with status 0 before it was ready")
        elif status == 0:
            self.say("done")
        else:
            self.say("error", message=self._how(status))

    def _end_download(self, status: int) -> None:
        """Say how a client of the contract ended, and whether the file is what was served."""
        from fairc.cell.image import FILE, TESTCASE, UNSUPPORTED, content

        size, place = self.contract["bytes"], f"{self.root}/downloads/{FILE}"
        if self.stopping:
            self.say("error", message="it was stopped before its download was complete")
        elif status == UNSUPPORTED:
            self.say("error", message=f"its image does not support the test case `{TESTCASE}`")
        elif status != 0:
            self.say("error", message=self._how(status))
        elif not os.path.isfile(place) or os.path.islink(place):
            self.say("error", message="it ended with status 0 and downloaded nothing")
        elif (found := os.stat(place)).st_size != size:
            self.say("error", message=f"it downloaded {found.st_size} bytes, not {size}")
        else:
            with open(place, "rb") as file:
                if any(file.read(len(block)) != block for block in content(size)):
                    self.say("error", message="what it downloaded differs from what was served")
                else:
                    # A file has the time of the kernel's last tick.
                    ended_ns = self.closed_ns or time.time_ns()
                    self.say("done", at_ns=min(ended_ns, found.st_mtime_ns + TICK_NS))

    def _how(self, status: int) -> str:
        """Return how it failed, with what it said last."""
        if status == -signal.SIGXFSZ:
            most = f"{MOST_FILE_BYTES >> 20} MiB"
            return f"it was ended because it wrote more than {most} to a file or its output"
        how = f"ended with status {status}"
        if status < 0:
            how = f"was ended by {signal.Signals(-status).name}"
        said = _last(f"{self.name}.stderr") or _last(f"{self.name}.stdout") or "it printed nothing"
        return f"it {how}: {said}"

    def _collect(self) -> None:
        """Keep the files of its working folder, within bounds."""
        kept, left_out, room = list[str](), list[str](), MOST_LEFT_BYTES
        for entry in sorted(os.scandir(f"{self.root}{WORK}"), key=lambda each: each.name):
            plain = entry.is_file(follow_symlinks=False) and _NAME.fullmatch(entry.name)
            size = entry.stat(follow_symlinks=False).st_size
            if not plain or size > room or len(kept) == MOST_LEFT:
                left_out.append(entry.name[:100])
                continue
            shutil.copyfile(entry.path, f"{self.name}.file.{entry.name}")
            kept.append(entry.name)
            room -= size
        self.say("left", files=kept, left_out=left_out[:MOST_LEFT])


ALIKE = ("GLIBC_TUNABLES", "OPENSSL_ia32cap")
"""Variables of the guest by which libraries choose the same code on every processor."""


def _why_not(program: str, error: OSError, in_image: bool) -> str:
    """Return why a program cannot be started; in_image: whether its root is an image's."""
    where, lack = ("its image", "lacks") if in_image else ("the hosts", "lack")
    if error.errno == errno.ENOENT and os.path.exists(program):
        loader = _loader(program)
        if loader:
            return (
                f"`{program}` cannot be started: {where} {lack} {loader}, which it names:"
                " link it statically"
            )
    if error.errno == errno.ENOENT and "/" not in program:
        return f"`{program}` is no program of {where}; a file of yours is written `./{program}`"
    return f"`{program}` cannot be started: {os.strerror(error.errno or 0)}"


def _loader(program: str) -> str:
    """Return what runs a program by its first bytes: the loader of an ELF file, or an
    interpreter.
    """
    with open(program, "rb") as file:
        head = file.read(64)
        if head.startswith(b"#!"):
            return head[2:].split(b"\n")[0].strip().decode(errors="replace")
        if not head.startswith(b"\x7fELF"):
            return ""
        (offset,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(offset)
        table = file.read(size * count)
        for at in range(0, len(table), size):
            kind, _, begin, _, _, length = struct.unpack_from("<IIQQQQ", table, at)
            if kind == 3:
                file.seek(begin)
                return file.read(min(length, 256)).rstrip(b"\0").decode(errors="replace")
    return ""


def _ccas(port: int) -> Iterator[str]:
    """Yield the CCAs of connections from a port of this node (sock_diag(7))."""
    for family in (socket.AF_INET, socket.AF_INET6):
        states = 1 << 1  # established
        request = struct.pack(
            "=BBBxI", family, socket.IPPROTO_TCP, 1 << (INET_DIAG_CONG - 1), states
        )
        request += bytes(48)
        header = struct.pack("=IHHII", 16 + len(request), SOCK_DIAG_BY_FAMILY, DUMP, 1, 0)
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC
        with socket.socket(socket.AF_NETLINK, kind, NETLINK_SOCK_DIAG) as link:
            link.send(header + request)
            done = False
            while not done:
                data = link.recv(1 << 16)
                while len(data) >= 16:
                    length, what = struct.unpack_from("=IH", data)
                    if what != SOCK_DIAG_BY_FAMILY:
                        done = True
                        break
                    (source,) = struct.unpack_from("!H", data, 16 + 4)
                    if source == port:
                        yield from _attribute(data[16 + 72 : length])
                    data = data[(length + 3) & ~3 :]


def _attribute(data: bytes) -> Iterator[str]:
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        if kind == INET_DIAG_CONG:
            yield data[4:length].rstrip(b"\0").decode()
        data = data[max(4, (length + 3) & ~3) :]


def _printed(name: str, text: str) -> bool:
    """Whether a program has printed a text."""
    with open(f"{name}.stdout", "rb") as file:
        return text.encode() in file.read()


def _last(path: str) -> str:
    """Return the last words of an output, as one line."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_BYTES))
        words = file.read().decode(errors="replace").split()
    return "".join(char if char.isprintable() else "?" for char in " ".join(words))


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    texts = (source, target, kind)
    _call(_libc.mount, *(text.encode() for text in texts), ctypes.c_ulong(flags), options.encode())


def _bind_read_only(source: str, target: str) -> None:
    _mount(source, target, "", MS_BIND)
    _mount("none", target, "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _call(function: Any, *arguments: Any) -> None:
    """Call into the C library. Raises OSError."""
    if function(*arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{getattr(function, '__name__', 'call')}: {os.strerror(code)}")


def main() -> None:
    """Be the program of a flow's end: `--epoch-ns N DESCRIPTION`."""
    runner = Runner(int(sys.argv[2]), json.loads(sys.argv[3]))
    if not os.path.exists(AGENT):
        runner.say("error", message="programs of a user's run in fairc's virtual machine only")
        return
    runner.run()
