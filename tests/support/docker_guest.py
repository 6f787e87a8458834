"""Run inside the virtual machine: a Docker engine, and on it a cell's Compose file.

The machine's agent gives the folder for results as the only argument. Beside this file lie
`compose.yaml`, `experiment.py`, the endpoints, the modules of mechanisms (`queues_*.py`,
`workloads_*.py`), and the engine's probe of the kernel: `probe.py` and its argument, `probe.json`;
the machine has `cell/`. Standard library only.
"""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

OUT = Path(sys.argv[1])
HERE = Path(__file__).parent
CELL = Path("/run/fairc/cell")
PACKAGES = "usr/lib/python3/dist-packages"
CELLS = Path("/tmp/cells")
IMAGE = Path("/tmp/image")
START_S = 60.0
# Nothing but the networks of the cell; the machine has no other. The root file system is read-only.
DAEMON = (
    *("dockerd", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--bridge=none"),
    *("--storage-driver=overlay2", "--data-root=/tmp/docker"),
)
# What the Dockerfile of a cell has, out of this machine's root file system, which is that of
# fairc's base image: no more than that, for an import is slow in emulation.
ROOT = (
    *("bin", "sbin", "lib", "lib64", "etc/ld.so.cache", "etc/protocols", "usr/lib64"),
    *("usr/lib/x86_64-linux-gnu",),
    *("usr/bin/python3", "usr/bin/python3.13", "usr/lib/python3.13"),
    *("usr/bin/ip", "usr/sbin/ip", "usr/sbin/tc"),
)
LEFT_OUT = (
    "perl*",
    "libperl*",
    "gconv",
    "krb5",
    "security",
    "systemd",
    "ossl-modules",
    "engines-3",
)


def say(what: str) -> None:
    """Note a step with the machine's time."""
    print(f"{time.monotonic():.1f} s: {what}", flush=True)


def start_engine() -> None:
    """Start dockerd; return when it answers."""
    key = ("mount", "-t", "tmpfs", "none", "/etc/docker")  # dockerd keeps one there
    subprocess.run(key, check=True)
    with (OUT / "dockerd.log").open("wb") as log:
        daemon = subprocess.Popen(DAEMON, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    give_up = time.monotonic() + START_S
    while subprocess.run(("docker", "version"), capture_output=True, check=False).returncode:
        if daemon.poll() is not None or time.monotonic() > give_up:
            sys.exit("dockerd did not start")
        time.sleep(0.5)


def import_image(name: str) -> None:
    """Make the image of the cell's containers: a part of this root file system, endpoints and
    `cell/`.
    """
    (IMAGE / "usr/local/bin").mkdir(parents=True)
    shutil.copy(HERE / "fairc-endpoints", IMAGE / "usr/local/bin")
    shutil.copytree(CELL, IMAGE / PACKAGES / "cell")
    families = ("queues", "workloads", "devices", "links", "effects")
    for module in (path for family in families for path in HERE.glob(f"{family}_*.py")):
        shutil.copy(module, IMAGE / PACKAGES / "cell")
    excluded = [f"--exclude={left_out}" for left_out in LEFT_OUT]
    command = ("tar", "-c", *excluded, "-C", "/", *ROOT, "-C", str(IMAGE))
    command += ("usr/local/bin", PACKAGES)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as tar:
        subprocess.run(("docker", "import", "-", name), stdin=tar.stdout, check=True)
    if tar.returncode:
        sys.exit("tar could not read the root file system")


def probe(image: str) -> None:
    """Try in a container what the kernel has, as the engine `docker` does before a cell."""
    rights = ("--cap-drop=ALL", "--cap-add=NET_ADMIN", "--cap-add=NET_RAW", "--network=none")
    program = ("python3", "-c", (HERE / "probe.py").read_text(), (HERE / "probe.json").read_text())
    with (OUT / "probe.json").open("wb") as out:
        subprocess.run(("docker", "run", *rights, image, *program), stdout=out, check=True)


def main() -> None:
    """Run the cell, and fetch what it has left."""
    cell, results = CELLS / "cell", CELLS / "cell/results"
    results.mkdir(parents=True)
    (CELLS / "image").mkdir()  # the Compose file names it; nothing is built
    shutil.copy(HERE / "compose.yaml", cell)
    shutil.copy(HERE / "experiment.py", results)
    compose = (cell / "compose.yaml").read_text()
    image = re.findall(r'^ *image: "(.+)"$', compose, re.MULTILINE)[0]
    say("the machine is up")
    start_engine()
    say("dockerd answers")
    import_image(image)
    say("the image is there")
    probe(image)
    say("the kernel has been probed")
    up = ("docker-compose", "--ansi", "never", "up", "--no-build")
    try:
        subprocess.run((*up, "--exit-code-from", "cell.conductor"), cwd=cell, check=True)
    finally:
        say("the containers have ended")
        for path in results.iterdir():
            if path.is_file() and path.name != "experiment.py":
                shutil.copy(path, OUT)


if __name__ == "__main__":
    main()
