"""The guest's first process: gets ready, then runs one job and ends the machine.

It reads its job from the exchange, reseeds the kernel's random generator, runs the script, and
writes what that left into the exchange. What differs between machines is the module `machine`, of
which the host brings the right one (machine_qemu.py, machine_uml.py).
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
import time

HERE = "/run/fairc"
OUT = "/tmp/out"
RNDRESEEDCRNG = 0x5207
CLOCK_S = 1_577_836_800  # what the clock shows when a machine boots: 2020-01-01
SIOCSIFFLAGS, IFF_UP = 0x8914, 1

sys.path[:0] = [HERE]
sys.path.append("/usr/lib/python3/dist-packages")  # `-S` leaves it out
sys.dont_write_bytecode = True

import exchange
import machine

libc = ctypes.CDLL(None, use_errno=True)


def mount(kind: str, target: str, options: str = "") -> None:
    """Mount a file system that the kernel makes up."""
    os.makedirs(target, exist_ok=True)
    if libc.mount(kind.encode(), target.encode(), kind.encode(), 0, options.encode()):
        raise OSError(ctypes.get_errno(), f"mount {target}")


def write(path: str, text: str) -> None:
    """Write a kernel option."""
    with open(path, "w") as file:
        file.write(text)


def loopback_up() -> None:
    """Do what `ip link set lo up` does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def prepare() -> None:
    """Do what all cells share: mounts, modules, imports."""
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", LANG="C.UTF-8")
    mount("tmpfs", "/tmp", "size=50%")
    mount("devpts", "/dev/pts")
    mount("tmpfs", "/dev/shm")
    mount("cgroup2", "/sys/fs/cgroup")
    machine.prepare()
    write("/proc/sys/kernel/printk", "4 4 1 4")
    write("/proc/sys/vm/panic_on_oom", "1")
    write("/proc/sys/net/ipv4/tcp_congestion_control", "cubic")
    # All emulated hosts share this machine's memory. By default TCP gets a sixteenth of it, in
    # pages; 32 full send buffers exceed that, and then every receiver offers windows of four
    # segments. A machine with more than 1 GiB has it for packets, too (runtime/uml/memory.py).
    pages = os.sysconf("SC_PHYS_PAGES")
    tcp, udp = max(131072, pages // 2), max(65536, pages // 4)
    write("/proc/sys/net/ipv4/tcp_mem", f"{tcp} {tcp} {tcp}")
    write("/proc/sys/net/ipv4/udp_mem", f"{udp} {udp} {udp}")
    loopback_up()

    import cell.netlink  # noqa: F401


def reseed(seed: bytes) -> None:
    """Make the kernel's random numbers a function of the seed alone."""
    with open("/dev/urandom", "wb", buffering=0) as pool:
        pool.write(seed)
        fcntl.ioctl(pool, RNDRESEEDCRNG)


def run_script(script: str) -> str:
    """Run the script in this process as Python's main program; return an error in words, or
    nothing.

    A process of its own would have a second copy of Python's memory, 8 MB: Python writes to
    whatever it uses.
    """
    agent = sys.modules["__main__"]
    status: object = 1
    try:
        sys.argv = [script, OUT]
        with open(script) as file:
            program = compile(file.read(), script, "exec")
        sys.modules["__main__"] = module = type(sys)("__main__")
        module.__file__ = script
        exec(program, vars(module))  # noqa: S102 - what the host has sent
        status = 0
    except SystemExit as stop:
        status = 0 if stop.code is None else stop.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.modules["__main__"] = agent
    return f"the script ended with status {status}" if status else ""


def prints_to(outputs: list[int]) -> None:
    """Print to these descriptors from now on: output and errors."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # where a script has filled its disk
            stream.flush()
    for number, descriptor in enumerate(outputs, 1):
        os.dup2(descriptor, number)


def main() -> None:
    prepare()
    with open(f"{HERE}/exchange") as file:
        device_name = file.read().strip()
    os.mkdir(OUT)
    machine.ready()

    device = exchange.Device(device_name)
    header, files = device.read_job()
    reseed(bytes.fromhex(header["seed"]))
    deadline_s = header["deadline_s"]
    for name, content in files.items():
        with open(f"/tmp/{name}", "wb") as copy:
            copy.write(content)
    files.clear()
    for name in ("fairc-endpoints", "fairc-browser"):
        if os.path.exists(f"{HERE}/{name}"):
            os.symlink(f"{HERE}/{name}", f"/tmp/{name}")
    console = [os.dup(1), os.dup(2)]
    log = os.open(f"{OUT}/console.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)

    def finish(error: str) -> None:
        """Write what the script has left."""
        prints_to(console)
        if error:
            with open(f"{OUT}/console.txt", errors="replace") as said:
                print(said.read(), error, sep="\n", flush=True)
        entries = os.scandir(OUT)
        paths = sorted(each.path for each in entries if each.is_file(follow_symlinks=False))
        result = {"kind": "result", "error": error, "clock_s": time.time() - CLOCK_S}
        device.write_result(result, paths)

    def overdue(*_: object) -> None:
        """End the machine, whatever the script is doing."""
        os.kill(-1, signal.SIGKILL)
        try:
            finish(f"the script was still running at its virtual deadline of {deadline_s:g} s")
        finally:
            machine.end()

    signal.signal(signal.SIGALRM, overdue)
    signal.setitimer(signal.ITIMER_REAL, deadline_s)
    prints_to([log, log])
    error = run_script(f"/tmp/{header['script']}")
    signal.setitimer(signal.ITIMER_REAL, 0)
    finish(error)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        sys.stderr.flush()
    machine.end()
    signal.pause()
