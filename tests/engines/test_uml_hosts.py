"""Hosts on which the uml engine cannot run, or not as it would: status 3 and what helps, or equal
results.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from representatives import few
from waiting import completed

from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.uml import confinement, kernel, trial
from fairc.runtime.vm import image

SPEC = """fexp 1
experiment hosts {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, loss: 1%, queue: fifo(1bdp))
  flow a { cca = cubic  workload = file(50kB) }
  repeat  = 1
  measure = [goodput]
}
"""
CACHE = kernel.folder().parents[2]

# Starts a command for which system calls (by number, x86-64) are not permitted.
DENY = """
import ctypes, struct, sys
libc = ctypes.CDLL(None)
numbers = [int(number) for number in sys.argv[1].split(",")]
code = [(0x20, 0, 0, 0)]
code += [(0x15, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
code += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x50001)]
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = struct.pack("H6xP", len(code), ctypes.addressof(filter))
assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, program, 0, 0)
import os
os.execvp(sys.argv[2], sys.argv[2:])
"""
PTRACE, SECCOMP = 101, 317
NO_SECCOMP = [sys.executable, "-c", DENY, str(SECCOMP)]


def fairc(
    host: list[str], tmp_path: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    (tmp_path / "hosts.fexp").write_text(SPEC)
    return completed(
        [*host, sys.executable, "-m", "fairc", *arguments],
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(CACHE), **environment},
    )


def result(run: Path) -> tuple[str, dict[str, str]]:
    """Return the hash of the only cell's artefacts, and the versions in the lock."""
    (cell,) = (run / "cells").glob("*/result.json")
    lock = json.loads((run / "lock.json").read_text())
    return json.loads(cell.read_text())["result_sha256"], lock["engine"]["versions"]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the hash of the cell's artefacts on this host as it is."""
    folder = tmp_path_factory.mktemp("expected")
    done = fairc([], folder, "run", "hosts.fexp", "-o", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    return result(folder / "run")[0]


LACKING = {
    "too little memory": (
        ["prlimit", "--as=900000000"],
        ("a program may have a memory of only 858 MiB", "ulimit -v"),
    ),
    "neither ptrace nor seccomp": (
        [sys.executable, "-c", DENY, f"{PTRACE},{SECCOMP}"],
        (
            "the kernel of the engine `uml` does not start here",
            "ptrace or seccomp filters",
            "--engine vm",
        ),
    ),
}


@pytest.mark.parametrize("what", few(LACKING, "too little memory"))
def test_a_host_that_does_not_let_the_kernel_run_is_found_before_a_cell(
    tmp_path: Path, what: str
) -> None:
    host, words = LACKING[what]
    done = fairc(host, tmp_path, "run", "hosts.fexp", "-o", "run")
    assert done.returncode == 3, done.stdout + done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert not list((tmp_path / "run").glob("cells/*"))


def test_a_host_without_a_kernel(tmp_path: Path) -> None:
    done = fairc([], tmp_path, "run", "hosts.fexp", XDG_CACHE_HOME=str(tmp_path / "empty"))
    assert done.returncode == 3
    assert "the kernel of the engine `uml` has not been built" in done.stderr
    assert "fairc image build" in done.stderr
    assert "--engine vm" in done.stderr


@pytest.mark.full
def test_a_host_with_a_damaged_kernel(tmp_path: Path) -> None:
    built = kernel.require()
    place = tmp_path / "cache/fairc/kernels" / built.folder.name
    place.mkdir(parents=True)
    shutil.copy(built.folder / "manifest.json", place)
    (place / "kernel").write_bytes(built.program.read_bytes()[:-1])
    for arguments in (("run", "hosts.fexp"), ("doctor",)):
        done = fairc([], tmp_path, *arguments, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert "is damaged" in done.stdout + done.stderr
        assert "fairc image rm" in done.stdout + done.stderr
        if arguments[0] == "run":
            assert done.returncode == 3
            assert "--engine vm" in done.stderr


def test_a_kernel_that_ends_in_a_panic_is_found_before_a_cell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trial, "INIT", "not a program")
    with pytest.raises(EngineUnavailable, match=r"does not start here: .*panic"):
        trial.boot(kernel.require(), image.require())


def test_a_null_device_that_only_root_may_write_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "null"
    closed.touch(0o644)
    monkeypatch.setattr(trial, "NULL", closed)
    monkeypatch.setattr(trial, "INIT", "#!/bin/busybox sh\n/bin/busybox poweroff -f\n")
    with pytest.raises(EngineUnavailable, match="cannot be read and written by every user"):
        trial.boot(kernel.require(), image.require())


@pytest.mark.full
def test_without_any_other_program_the_results_are_the_same(tmp_path: Path, expected: str) -> None:
    """Neither bubblewrap nor util-linux: Python makes the namespaces."""
    (tmp_path / "bin").mkdir()
    path = str(tmp_path / "bin")
    done = fairc([], tmp_path, "run", "hosts.fexp", "-o", "run", PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    sha256, versions = result(tmp_path / "run")
    assert sha256 == expected
    assert versions["confined"] == "yes"
    examined = fairc([], tmp_path, "doctor", PATH=path).stdout
    assert "uml: ready" in examined
    assert "bubblewrap is not needed" in examined


# Root of a new user namespace may forbid further ones below it.
NO_NAMESPACES = [
    *("unshare", "--user", "--map-root-user", "sh", "-c"),
    'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"',
    "sh",
]


@pytest.mark.parametrize(
    "host",
    [
        pytest.param(NO_NAMESPACES, id="namespaces"),
        pytest.param(NO_SECCOMP, id="seccomp", marks=pytest.mark.full),
    ],
)
def test_what_a_host_forbids_does_not_change_results(
    tmp_path: Path, expected: str, host: list[str]
) -> None:
    done = fairc(host, tmp_path, "run", "hosts.fexp", "-o", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    sha256, versions = result(tmp_path / "run")
    assert sha256 == expected
    assert (versions["confined"] == "yes") == (host is NO_SECCOMP)
    assert versions["tracing"] == ("ptrace" if host is NO_SECCOMP else "seccomp")


@pytest.mark.full
def test_without_confinement_nothing_of_strangers_runs(tmp_path: Path) -> None:
    done = fairc([], tmp_path, "run", "hosts.fexp", "-o", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    done = fairc([], tmp_path, "pack", "run", "-o", "a.zip")
    assert done.returncode == 0, done.stdout + done.stderr
    # The mark of a container, in none.
    for command in ("run a.zip -o again", "verify a.zip", "image load a.zip"):
        done = fairc(NO_NAMESPACES, tmp_path, *command.split(), container="oci")
        assert done.returncode == 3, done.stdout + done.stderr
        assert "would not be confined on this machine: " in done.stderr
        assert "sudo sysctl user.max_user_namespaces=10000" in done.stderr
        assert "or a container" in done.stderr
    examined = fairc(NO_NAMESPACES, tmp_path, "doctor").stdout
    assert "none, so nothing that strangers made runs" in examined


@pytest.mark.parametrize(
    ("setting", "value", "command"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "sudo sysctl kernel.apparmor"),
        ("kernel/apparmor_restrict_unprivileged_userns", "0", "sudo apt-get install"),
        ("kernel/unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1"),
    ],
)
def test_a_setting_that_forbids_namespaces_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, command: str
) -> None:
    monkeypatch.setattr(confinement, "SETTINGS", tmp_path)
    (tmp_path / setting).parent.mkdir()
    (tmp_path / setting).write_text(f"{value}\n")
    assert confinement.remedy().startswith(command)


@pytest.mark.full
def test_a_cache_where_no_program_may_start(tmp_path: Path) -> None:
    built = kernel.require()
    (tmp_path / "cache").mkdir()
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    host = [
        *("unshare", *user, "--mount", "sh", "-c"),
        (
            "mount -t tmpfs -o noexec none cache && mkdir -p cache/fairc/kernels"
            f" && cp -r {built.folder} cache/fairc/kernels"
            ' && exec "$@"'
        ),
        "sh",
    ]
    done = fairc(host, tmp_path, "run", "hosts.fexp", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "is mounted noexec" in done.stderr
    assert "XDG_CACHE_HOME=/another/folder" in done.stderr


@pytest.mark.full
def test_a_container_is_the_confinement(tmp_path: Path, expected: str) -> None:
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    host = ["unshare", *user, "--pid", "--fork", "--kill-child", "--mount-proc", *NO_NAMESPACES]
    done = fairc(host, tmp_path, "run", "hosts.fexp", "-o", "run", container="oci")
    assert done.returncode == 0, done.stdout + done.stderr
    sha256, versions = result(tmp_path / "run")
    assert sha256 == expected
    assert versions["confined"] == "by its container"
    examined = fairc(host, tmp_path, "doctor", container="oci").stdout
    assert "that of the container in which fairc runs" in examined


@pytest.mark.full
def test_a_host_with_a_damaged_image(tmp_path: Path) -> None:
    built, there = kernel.require(), image.require()
    cache = tmp_path / "cache/fairc"
    (cache / "kernels").mkdir(parents=True)
    (cache / "kernels" / built.folder.name).symlink_to(built.folder)
    place = cache / "images" / there.folder.name
    shutil.copytree(there.folder, place, copy_function=os.symlink)
    for damaged in (False, True):
        if damaged:
            (place / "busybox").unlink()
            (place / "busybox").write_bytes(there.busybox.read_bytes()[:-1])
        done = fairc([], tmp_path, "doctor", XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert ("uml: ready" in done.stdout) is not damaged, done.stdout
    done = fairc([], tmp_path, "run", "hosts.fexp", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 3
    assert "is damaged: its hash is not the one recorded" in done.stderr
    assert "fairc image rm" in done.stderr
