"""The guest's first process: gets ready, lets the snapshot be taken, then runs one job.

The moment of the snapshot is the guest's choice: a write to the pvpanic port pauses the machine.
After a restore the agent goes on from there: it reads its job, reseeds the kernel's random
generator, runs the script, writes what it left into the exchange and ends the machine.
"""

import ctypes
import fcntl
import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import time
import traceback

HERE = "/run/fairc"
OUT = "/tmp/out"
PVPANIC_PORT = 0x505
RNDRESEEDCRNG = 0x5207
SIOCSIFFLAGS, SIOCGIFFLAGS, IFF_UP = 0x8914, 0x8913, 1

sys.path[:0] = [HERE]
sys.path.append("/usr/lib/python3/dist-packages")

libc = ctypes.CDLL(None, use_errno=True)
out = None  # set by main: port_writer()


def mount(kind, target, options=""):
    os.makedirs(target, exist_ok=True) if target.startswith(("/dev/", "/run/")) else None
    if libc.mount(kind.encode(), target.encode(), kind.encode(), 0, options.encode()):
        raise OSError(ctypes.get_errno(), f"mount {target}")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def prepare():
    """Everything that all cells share: mounts, modules, imports, warm caches."""
    os.environ.update(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root",
                      LANG="C.UTF-8", TERM="dumb")
    mount("tmpfs", "/tmp", "size=75%")
    mount("devpts", "/dev/pts")
    mount("tmpfs", "/dev/shm")
    mount("cgroup2", "/sys/fs/cgroup")
    modules = open(f"{HERE}/modules").read().split()
    release = os.uname().release
    ccas = sorted(name.split(".")[0] for name in os.listdir(f"/lib/modules/{release}/kernel/net/ipv4")
                  if name.startswith("tcp_") and not name.startswith("tcp_diag"))
    subprocess.run(["modprobe", "-a", *modules, *ccas], check=True)
    write("/proc/sys/kernel/printk", "4 4 1 4")
    write("/proc/sys/vm/panic_on_oom", "1")
    write("/proc/sys/net/ipv4/tcp_congestion_control", "cubic")
    import fcntl as _fcntl
    import socket
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", IFF_UP)
        _fcntl.ioctl(control, SIOCSIFFLAGS, request)
    import mininet.link
    import mininet.net
    import mininet.node
    import mininet.topo
    import mininet.util  # noqa: F401
    import json, runpy  # noqa: E401, F401
    for command in (["ip", "-V"], ["tc", "-V"], ["tcpdump", "--version"], ["ethtool", "--version"], ["ping", "-V"],
                    [f"{HERE}/fairc-endpoints", "--version"], ["bash", "-c", "true"], ["mnexec", "true"]):
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def port_writer():
    """Return a function that writes a byte to an I/O port.

    This kernel has no /dev/port, so the OUT instruction itself is placed in executable memory:
    mov edx, edi; mov eax, esi; out dx, al; ret.
    """
    if libc.ioperm(PVPANIC_PORT, 1, 1):
        raise OSError(ctypes.get_errno(), "ioperm")
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("89fa 89f0 ee c3"))
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    function = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int)(address)
    function.page = page  # or it would be unmapped
    return function


def pause_machine():
    """Write to the pvpanic port: QEMU pauses (while the snapshot is made) or ends (in a cell)."""
    out(PVPANIC_PORT, 1)


def reseed(seed):
    """Make the kernel's random numbers a function of the seed alone."""
    with open("/dev/urandom", "wb", buffering=0) as pool:
        pool.write(seed)
        fcntl.ioctl(pool, RNDRESEEDCRNG)


def run_script(script, seconds):
    """Run the script in a child as Python's main program; return an error in words, or nothing."""
    child = os.fork()
    if not child:
        status = 1
        try:
            log = os.open(f"{OUT}/console.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.setsid()
            import runpy
            sys.argv = [script, OUT]
            try:
                runpy.run_path(script, run_name="__main__")
                status = 0
            except SystemExit as stop:
                status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    pidfd = os.pidfd_open(child)
    ready, _, _ = select.select([pidfd], [], [], seconds)
    if not ready:
        os.killpg(child, signal.SIGKILL)
        return f"the script was still running at its virtual deadline of {seconds:g} s"
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return "" if code == 0 else f"the script ended with status {code}"


def main():
    global out
    out = port_writer()
    prepare()
    import exchange
    device_name = open(f"{HERE}/exchange").read().strip()
    os.mkdir(OUT)
    print("fairc: ready", flush=True)
    pause_machine()

    started = time.monotonic()
    device = exchange.Device(device_name)
    header, files = device.read_job()
    reseed(bytes.fromhex(header["seed"]))
    for name, content in files.items():
        with open(f"/tmp/{name}", "wb") as file:
            file.write(content)
    os.symlink(f"{HERE}/fairc-endpoints", "/tmp/fairc-endpoints")
    error = run_script(f"/tmp/{header['script']}", header["deadline_s"])
    if error:
        with open(f"{OUT}/console.txt", errors="replace") as console:
            print(console.read(), error, sep="\n", flush=True)
    paths = sorted(entry.path for entry in os.scandir(OUT) if entry.is_file(follow_symlinks=False))
    device.write_result({"kind": "result", "error": error, "virtual_s": time.monotonic() - started}, paths)
    pause_machine()


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        pause_machine()
    signal.pause()
