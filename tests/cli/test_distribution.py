"""What a release is made of: wheels whose bytes depend on their content alone, and what they bring
at first use.
"""

from __future__ import annotations

import base64
import csv
import errno
import fnmatch
import functools
import hashlib
import http.server
import importlib.util
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from configparser import ConfigParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from setuptools import find_packages  # type: ignore[import-untyped]
from waiting import completed

from fairc.cli import console
from fairc.compiler.binary import NAME, find_endpoints
from fairc.runtime.host.faults import EngineUnavailable, NotBuilt
from fairc.runtime.uml import kernel, source, source_offer
from fairc.runtime.vm import image, recipe, shipped
from fairc_fake.engine import FakeEngine

Fairc = Callable[..., Any]  # conftest.py
ROOT = Path(__file__).parents[2]
VERSION = "1.2.3"


@pytest.fixture(scope="module")
def dist() -> ModuleType:
    """The program that makes a release."""
    found = importlib.util.spec_from_file_location("dist", ROOT / "scripts/dist.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, with a small kernel and a small image in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = {
        kernel.folder(): {"kernel": b"program", source.TARBALL: b"source", "build.log": b"today"},
        image.folder(): {
            "root.ext2": bytes(100_000),
            "busybox": b"busybox",
            "packages.txt": b"libc6 2 glibc 2\nlibc-bin 2 glibc 2\nip 1+b1 iproute2 1\n",
        },
    }
    for folder, files in made.items():
        folder.mkdir(parents=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        manifest = {
            "recipe": folder.name,
            "digest": image.digest(folder),
            "kernel": "7",
            "sha256": hashlib.sha256(b"program").hexdigest(),
        }
        (folder / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path / "cache"


def machine(dist: ModuleType, folder: Path) -> Path:
    """Write the wheel of what is in the cache."""
    folder.mkdir()
    wheel: Path = dist.machine(folder, VERSION, kernel.require(), image.require())
    return wheel


def put(wheel: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a wheel for this process."""
    with zipfile.ZipFile(wheel) as content:
        content.extractall(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, shipped.PACKAGE, raising=False)


def test_a_wheel_is_whole_and_depends_on_its_content_alone(
    dist: ModuleType, tmp_path: Path
) -> None:
    files = {"some/data": (b"data", 0o644), "some/program": (b"#!/bin/sh\n", 0o755)}
    metadata = f"Metadata-Version: 2.1\nName: some\nVersion: {VERSION}\n".encode()
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        wheel = dist.write_wheel(tmp_path / folder, "some", VERSION, files, metadata)
        files = dict(reversed(files.items()))
    assert wheel.read_bytes() == (tmp_path / "a" / wheel.name).read_bytes()
    with zipfile.ZipFile(wheel) as content:
        rows = list(
            csv.reader(io.StringIO(content.read(f"some-{VERSION}.dist-info/RECORD").decode()))
        )
        assert sorted(row[0] for row in rows) == sorted(content.namelist())
        for name, sha256, _ in rows[:-1]:
            digest = hashlib.sha256(content.read(name)).digest()
            assert sha256 == "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")
    target = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(target), str(wheel)], check=True)
    assert (target / "some/program").stat().st_mode & stat.S_IXUSR
    other = wheel.with_name(wheel.name.replace("x86_64", "aarch64"))
    wheel.rename(other)
    refused = completed([*install, str(other)])
    assert "is not a supported wheel on this platform" in refused.stderr


def test_the_machine_comes_out_of_its_wheel_as_it_went_in(
    dist: ModuleType, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = machine(dist, tmp_path / "a")
    assert wheel.read_bytes() == machine(dist, tmp_path / "b").read_bytes()
    built, root = kernel.require(), image.require()
    image.remove()
    shipped.install(source.recipe_hash())  # without the package: nothing
    assert kernel.find() is None
    put(wheel, tmp_path / "installed", monkeypatch)
    said: list[str] = []
    for _ in range(2):
        shipped.install(source.recipe_hash(), said.append)
    assert len(said) == 1
    found = kernel.require()
    assert (found.sha256, image.require().digest) == (built.sha256, root.digest)
    found.verify(whole=True)
    assert found.program.stat().st_mode & stat.S_IXUSR
    assert not (found.folder / source.TARBALL).exists()
    with pytest.raises(EngineUnavailable) as refused:
        source_offer.write(tmp_path, found, image.require())
    assert "-sources.tar of the release" in refused.value.remedy


def test_a_machine_of_another_version_is_refused(
    dist: ModuleType, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(machine(dist, tmp_path / "a"), tmp_path / "installed", monkeypatch)
    image.remove()
    monkeypatch.setattr(recipe.Variant, "hash", lambda self: "0123456789abcdef")
    with pytest.raises(EngineUnavailable, match="another version of fairc") as refused:
        shipped.install(source.recipe_hash())
    assert refused.value.remedy == "pip install fairc-*.whl fairc_machine-*.whl"


def test_a_cache_that_cannot_be_written_is_named(
    dist: ModuleType, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(machine(dist, tmp_path / "a"), tmp_path / "installed", monkeypatch)
    image.remove()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("fairc.runtime.vm.portable.load", full)
    with pytest.raises(EngineUnavailable, match=rf"{cache}.*: No space left on device") as refused:
        shipped.install(source.recipe_hash())
    assert "XDG_CACHE_HOME=/another/folder with 80 MB" in refused.value.remedy


@pytest.mark.parametrize("fails", ["all_sources", "machine", "plugin", None])
def test_an_older_release_stays_until_the_new_one_is_whole(
    dist: ModuleType,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fails: str | None,
) -> None:
    """Each part is written, or fails, in the order of a release."""
    folder = tmp_path / "dist"
    folder.mkdir()
    (folder / "fairc-0.9.whl").write_text("older")
    (folder / "notes.txt").write_text("a person's")

    def part(name: str) -> Callable[..., Path]:
        def written(where: Path, version: str, *_: object) -> Path:
            if name == fails:
                raise EngineUnavailable(("one",), "") if name == "all_sources" else OSError(name)
            path = where / f"fairc-{version}-{name}.whl"
            path.write_text(name)
            return path

        return written

    parts = ("all_sources", "program", "machine", "plugin")
    for name in parts:
        monkeypatch.setattr(dist, name, part(name))
    monkeypatch.setattr(dist, "version", lambda: VERSION)
    monkeypatch.setattr(sys, "argv", ["dist", str(folder)])
    if fails is None:
        dist.main()
        new = {f"fairc-{VERSION}-{name}.whl" for name in parts}
        assert {path.name for path in folder.iterdir()} == {*new, "notes.txt"}
        return
    with pytest.raises((SystemExit, OSError)):
        dist.main()
    assert {path.name for path in folder.iterdir()} == {"fairc-0.9.whl", "notes.txt"}


def test_the_sources_of_an_image_are_named_once(cache: Path) -> None:
    assert source_offer.packages(image.require()) == [("glibc", "2"), ("iproute2", "1")]


def test_the_endpoints_need_no_library_of_the_host() -> None:
    """They run on any x86-64 Linux, as the wheel's name says."""
    headers = completed(
        ["readelf", "--program-headers", "--dynamic", str(find_endpoints())], check=True
    ).stdout
    assert "INTERP" not in headers and "NEEDED" not in headers


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Callable[[str, set[str]], str]]:
    """Starts a mirror of Debian on this machine, with source packages `glibc` and `iproute2`, but
    for the files that it lost; returns its address.
    """
    servers: list[http.server.ThreadingHTTPServer] = []

    def start(name: str, lost: set[str]) -> str:
        root = tmp_path / name
        suite = root / "dists" / recipe.SUITE
        (suite / "main/source").mkdir(parents=True)
        entries = []
        for package, version in (("glibc", "2"), ("iproute2", "1")):
            pool = root / "pool" / package
            pool.mkdir(parents=True)
            archive, about = f"{package}_{version}.tar.xz", f"{package}_{version}.dsc"
            content = f"the source of {package}".encode()
            (pool / archive).write_bytes(content)
            (pool / about).write_text(f"Source: {package}\nVersion: {version}\n")
            files = "".join(
                f"\n {hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_size} {path.name}"
                for path in (pool / about, pool / archive)
            )
            entries.append(
                f"Package: {package}\nBinary: {package}\nVersion: {version}\nFormat: 1.0\n"
                f"Directory: pool/{package}\nChecksums-Sha256:{files}\n"
            )
            for file in lost & {archive, about}:
                (pool / file).unlink()
        index = "\n".join(entries).encode()
        (suite / "main/source/Sources").write_bytes(index)
        (suite / "Release").write_text(
            f"Suite: {recipe.SUITE}\nCodename: {recipe.SUITE}\nComponents: main\n"
            f"Architectures: source\nDate: Wed, 01 Jan 2020 00:00:00 UTC\nSHA256:\n"
            f" {hashlib.sha256(index).hexdigest()} {len(index)} main/source/Sources\n"
        )
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(root))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="sources come by apt-get")
def test_sources_that_a_mirror_lost_are_named_and_come_from_another(
    fairc: Fairc,
    cache: Path,
    mirror: Callable[[str, set[str]], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source_offer, "SIGNED", "[trusted=yes]")
    monkeypatch.setattr(recipe, "MIRROR", mirror("usual", {"iproute2_1.dsc", "iproute2_1.tar.xz"}))
    assert re.fullmatch(
        r"https://snapshot\.debian\.org/archive/debian/2\d{7}T\d{6}Z",
        source_offer.archive(image.require()),
    )
    monkeypatch.setattr(source_offer, "ARCHIVE", "http://127.0.0.1:9")  # nobody is there
    folder = tmp_path / "out"
    refused = fairc("image", "source", str(folder)).require(3)
    assert "the source of iproute2 1 cannot be fetched" in refused.err
    assert "404" in refused.err and "the source of glibc" not in refused.err
    assert "http://127.0.0.1:9 does not answer: " in refused.err
    assert "Debian's archive (http://127.0.0.1:9)" in refused.err
    there = {path.name for path in (folder / "packages").iterdir()}
    assert there == {"glibc_2.dsc", "glibc_2.tar.xz"}
    other = mirror("other", {"glibc_2.dsc"})
    done = fairc("image", "source", str(folder), "--mirror", other).require(0)
    assert "the sources of Linux 7 and 2 packages" in done.out
    assert (folder / "packages/iproute2_1.tar.xz").read_bytes() == b"the source of iproute2"
    assert (folder / "kernel" / source.TARBALL).read_bytes() == b"source"
    (folder / "mine").touch()
    assert "has other files" in fairc("image", "source", str(folder)).err
    monkeypatch.setattr(source_offer, "ARCHIVE", other)
    done = fairc("image", "source", str(tmp_path / "again")).require(0)
    assert len([*(tmp_path / "again/packages").iterdir()]) == 4


def test_a_clone_without_dpkg_names_what_is_missing(tmp_path: Path) -> None:
    for name in ("id", "sed", "sh"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    done = completed(["sh", str(ROOT / "scripts/setup"), "machine"], env={"PATH": str(tmp_path)})
    assert done.returncode == 3
    assert "not here: apt bubblewrap cpio genext2fs git mmdebstrap uidmap python3" in done.stderr
    assert "install the wheels that `make wheels` writes on Debian" in done.stderr


def test_what_a_user_installs_is_locked_apart_from_what_developers_do() -> None:
    locks = [
        set(re.findall(r"^([a-z0-9.-]+)==", (ROOT / name).read_text(), re.MULTILINE))
        for name in ("requirements.lock", "requirements-dev.lock")
    ]
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    asked = setup["options"]["install_requires"].split("\n")
    names = {re.split("[<>=]", line)[0] for line in filter(None, asked)}
    assert names <= locks[0]
    assert not locks[0] & locks[1]
    assert {"mypy", "pyright", "pytest", "ruff"} <= locks[1]


def test_the_wheel_has_the_endpoints_and_the_example() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    data = setup["options.package_data"]
    assert NAME in data["fairc.compiler.targets"].split(", ")
    assert "quickstart.fexp" in data["fairc"].split(", ")
    assert (ROOT / "fairc/quickstart.fexp").read_text() == (
        ROOT / "examples/quickstart.fexp"
    ).read_text()


def test_a_demo_runs_once_and_keeps_what_a_user_changed(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairc.cli.run.requested_engine", lambda engine: "fake")
    first = fairc("demo").require(0)
    page = Path("fairc-demo/run/report.html")
    assert f"report: {page}" in first.out and page.is_file()
    assert "6 cells to run" in first.err
    assert "6 cells to run" not in fairc("demo").err
    spec = Path("fairc-demo/quickstart.fexp")
    spec.write_text(spec.read_text().replace("10MB", "1MB"))
    changed = fairc("demo").require(2)
    assert f"`fairc run {spec}` runs yours" in changed.err
    assert "1MB" in spec.read_text()


@pytest.mark.parametrize(
    ("what", "command", "size", "method"),
    [
        ("no image", "fairc image build", "7 MB", "prepare"),
        ("no browser", "fairc image build --browser", "930 MB", "identity_for"),  # of a cell
    ],
)
def test_what_is_needed_is_built_after_one_question(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch, what: str, command: str, size: str, method: str
) -> None:
    told: list[str] = []
    original = getattr(FakeEngine, method)

    def lacking(*arguments: Any) -> object:
        if "built" not in told:
            raise NotBuilt(what, command, size, lambda say: told.append("built"))
        return original(*arguments)

    monkeypatch.setattr(FakeEngine, method, lacking)
    refused = fairc("run", "tiny.fexp")  # nobody is at the terminal
    assert (refused.status, told) == (3, [])
    assert f"help: {command}\n" in refused.err

    def agreed(question: str) -> bool:
        told.append(question)
        return True

    monkeypatch.setattr(console, "agreed", agreed)
    assert fairc("run", "tiny.fexp").status == 0
    assert told == [f"{what}: build it now ({size})?", "built"]


def test_a_library_of_the_system_that_is_missing_is_named(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(engine: FakeEngine) -> None:
        raise ImportError("libx.so.1: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(FakeEngine, "prepare", prepare)
    called = fairc("run", "tiny.fexp").require(3)
    assert "cannot be loaded: libx.so.1" in called.err


def names(file: str) -> set[str]:
    """Return the distributions that a lock names."""
    return set(re.findall(r"^([a-z0-9.-]+)==", (ROOT / file).read_text(), re.MULTILINE))


IMPORTING = """
import importlib, sys
from importlib.metadata import packages_distributions
allowed, modules = (set(words.split()) for words in sys.argv[1:])
for package, owners in packages_distributions().items():
    if not {owner.lower().replace("_", "-") for owner in owners} & {*allowed, "fairc", "pip"}:
        sys.modules.setdefault(package, None)
for module in sorted(modules):
    importlib.import_module(f"fairc.cli.{module}")
"""


def import_with(distributions: set[str], modules: set[str]) -> str:
    """Import commands where only some distributions are installed; return what fails."""
    lists = (" ".join(distributions), " ".join(modules))
    done = completed([sys.executable, "-c", IMPORTING, *lists])
    return done.stderr


def test_every_command_is_imported_with_what_a_user_installs() -> None:
    commands = {path.stem for path in (ROOT / "fairc/cli").glob("*.py")} - {"__init__"}
    assert import_with(names("requirements.lock"), commands) == ""


def test_the_kernel_is_built_before_the_large_packages_are_there() -> None:
    first = re.search(r"^FIRST := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert first
    assert import_with(set(first[1].split()), {"image"}) == ""
    assert "halted" in import_with(set(first[1].split()), {"report"})


def test_every_file_of_a_package_is_in_the_wheel() -> None:
    """Of files that are not Python, the wheel has those that `package_data` names."""
    settings = ConfigParser()
    settings.read(ROOT / "setup.cfg")
    packages = {"fairc", *(f"fairc.{found}" for found in find_packages(str(ROOT / "fairc")))}
    named = settings["options.package_data"]
    folders = ("cell", "compiler", "dsl", "fairc", "mechanisms", "runtime", "words")
    command = ["git", "ls-files", *folders]
    listed = completed(command, cwd=ROOT, check=True).stdout
    left_out = []
    for name in listed.splitlines():
        path = Path(name) if name.startswith("fairc/") else Path("fairc", name)
        if path.suffix == ".py" or (ROOT / name).is_symlink():
            continue
        package = next(p for p in path.parents if ".".join(p.parts) in packages)
        patterns = named.get(".".join(package.parts), "").split(", ")
        inside = str(path.relative_to(package))
        if not any(fnmatch.fnmatchcase(inside, pattern) for pattern in patterns):
            left_out.append(name)
    assert not left_out
