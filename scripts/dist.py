"""Make a release: the wheels and the sources of what is under the GPL in them (`make dist`).

Run in `scripts/` as `python -m dist FOLDER` from a clean tree whose endpoints, kernel and image
have been built. The same commit and the same kernel and image give the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import fairc
from fairc.compiler.binary import NAME, find_endpoints
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.uml import kernel, source, source_offer
from fairc.runtime.vm import image, portable, recipe, shipped

ROOT = Path(__file__).resolve().parents[1]
# Endpoints and kernel are static programs: any C library will do.
PLATFORMS = ("manylinux_2_17_x86_64", "musllinux_1_1_x86_64")
# Of the packages in plugins/, each an extra of fairc by its name. The others are for tests.
RELEASED = ("deviations",)
LEVEL = 19
EPOCH = (2020, 1, 1, 0, 0, 0)
MOST_MACHINE_BYTES = 50_000_000
PROGRAM, FILE = 0o755, 0o644
PYTHONS = ">=3.11"

Files = dict[str, tuple[bytes, int]]
"""The files of a wheel: path -> content and permissions."""


def git(*arguments: str) -> str:
    """Return what git prints."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=True)
    return done.stdout.decode().strip()


def version() -> str:
    """Return the version of the commit: that of its tag `vX.Y.Z`, else one that pip takes for older
    than any release.

    Raises SystemExit for a tree with changes, and for a tag that is not the program's version.
    """
    if git("status", "--porcelain"):
        sys.exit("error: the tree has changes: commit them, so that the release is of a commit")
    tags = [tag for tag in git("tag", "--points-at", "HEAD").split() if re.match(r"v\d", tag)]
    if tags:
        if f"v{fairc.__version__}" not in tags:
            sys.exit(
                f"error: the commit's tag is {tags[0]}, and fairc.__version__ {fairc.__version__}"
            )
        return fairc.__version__
    return f"{fairc.__version__}.dev0+g{git('rev-parse', '--short=12', 'HEAD')}"


def write_wheel(
    folder: Path,
    name: str,
    version: str,
    files: Files,
    metadata: bytes,
    platforms: Sequence[str] = PLATFORMS,
) -> Path:
    """Write a wheel; equal arguments give equal bytes.

    files: without what `.dist-info` must have. platforms: for which it is; `any` is all.
    """
    info = f"{name}-{version}.dist-info"
    pure = "true" if "any" in platforms else "false"
    about = ["Wheel-Version: 1.0", "Generator: fairc", f"Root-Is-Purelib: {pure}"]
    about += [f"Tag: py3-none-{platform}" for platform in platforms]
    whole = {
        **files,
        f"{info}/METADATA": (metadata, FILE),
        f"{info}/WHEEL": ("\n".join([*about, ""]).encode(), FILE),
    }
    whole[f"{info}/RECORD"] = (record(whole, f"{info}/RECORD"), FILE)
    path = folder / f"{name}-{version}-py3-none-{'.'.join(platforms)}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for member, (content, mode) in sorted(whole.items()):
            entry = zipfile.ZipInfo(member, EPOCH)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, content)
    return path


def record(files: Files, itself: str) -> bytes:
    """Return the RECORD of a wheel: a line for each file with its hash and size."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    for name, (content, _) in sorted(files.items()):
        sha256 = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.writerow((name, f"sha256={sha256}", len(content)))
    lines.writerow((itself, "", ""))
    return text.getvalue().encode()


def program(folder: Path, version: str, endpoints: Path) -> Path:
    """Write the wheel `fairc`: the packages of the commit and the endpoints' program."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = checkout(Path(scratch, "tree"))
        module = tree / "fairc/__init__.py"
        module.write_text(module.read_text().replace(f'"{fairc.__version__}"', f'"{version}"'))
        content = endpoints.read_bytes()
        place = tree / "compiler/targets" / NAME
        place.write_bytes(content)
        place.with_name(f"{NAME}.sha256").write_text(hashlib.sha256(content).hexdigest() + "\n")
        files, info = built(tree)
    program = f"fairc/compiler/targets/{NAME}"
    files[program] = (files[program][0], PROGRAM)
    first, blank, text = info.pop("METADATA").partition(b"\n\n")
    needs = "".join(
        f'Provides-Extra: {name}\nRequires-Dist: fairc-{name}=={version}; extra == "{name}"\n'
        for name in RELEASED
    )
    needs += f'Requires-Dist: fairc-machine=={version}; platform_machine == "x86_64"'
    metadata = first + b"\n" + needs.encode() + blank + text
    return write_wheel(
        folder, "fairc", version, {**files, **named(info, "fairc", version)}, metadata
    )


def plugin(folder: Path, version: str, name: str) -> Path:
    """Write the wheel of a package in `plugins/`, for this version of fairc alone."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = checkout(Path(scratch, "tree")) / "plugins" / name
        project = tree / "pyproject.toml"
        text = project.read_text().replace('version = "0"', f'version = "{version}"')
        project.write_text(text.replace('"fairc"', f'"fairc=={version}"'))
        files, info = built(tree)
    metadata = info.pop("METADATA")
    package = f"fairc_{name}"
    files |= named(info, package, version)
    return write_wheel(folder, package, version, files, metadata, ("any",))


def checkout(tree: Path) -> Path:
    """Unpack the commit into a new folder, and return it."""
    tree.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
    return tree


def built(tree: Path) -> tuple[Files, dict[str, bytes]]:
    """Return what `read_wheel` does of the wheel that pip makes of a project."""
    with tempfile.TemporaryDirectory() as wheels:
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"),
                *("--no-build-isolation", "--wheel-dir", wheels, str(tree)),
            ],
            check=True,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(recipe.SOURCE_DATE_EPOCH)},
        )
        (wheel,) = Path(wheels).glob("*.whl")
        return read_wheel(wheel)


def named(info: Mapping[str, bytes], package: str, version: str) -> Files:
    """Return the files of a `.dist-info` by their paths."""
    return {
        f"{package}-{version}.dist-info/{name}": (content, FILE) for name, content in info.items()
    }


def read_wheel(wheel: Path) -> tuple[Files, dict[str, bytes]]:
    """Return a wheel's files, and those of its `.dist-info` that are not written anew, by name."""
    files, info = {}, {}
    with zipfile.ZipFile(wheel) as content:
        for name in content.namelist():
            folder, _, rest = name.partition("/")
            if not folder.endswith(".dist-info"):
                files[name] = (content.read(name), FILE)
            elif rest not in ("RECORD", "WHEEL"):
                info[rest] = content.read(name)
    return files, info


def machine(folder: Path, version: str, built: kernel.Kernel, root: image.Image) -> Path:
    """Write the wheel `fairc-machine`: the kernel without the archive of its source and what modules
    are compiled with, and the image of `uml`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        bare = Path(scratch, "kernel")
        shutil.copytree(
            built.folder,
            bare,
            ignore=shutil.ignore_patterns(source.TARBALL, kernel.MODULES, "build.log"),
        )
        digest = image.digest(bare)
        manifest = {
            "recipe": built.recipe,
            "digest": digest,
            "kernel": built.version,
            "sha256": built.sha256,
        }
        image.write_manifest(bare, manifest)
        packed = Path(scratch, shipped.FILE)
        parts = [
            portable.Part("kernels", bare, digest),
            portable.Part("images", root.folder, root.digest),
        ]
        portable.save(parts, packed, LEVEL)
        content = packed.read_bytes()
    if len(content) > MOST_MACHINE_BYTES:
        sys.exit(
            f"error: the machine has {len(content) / 1e6:.0f} MB, more than"
            f" {MOST_MACHINE_BYTES / 1e6:.0f}"
        )
    packages = (root.folder / "packages.txt").read_text()
    licence = LICENCE.format(version=version, kernel=built.version, packages=packages)
    init = (
        '"""The machine of fairc\'s engine uml: a Linux kernel and a root file system, in one'
        ' file."""\n'
    )
    files: Files = {
        f"{shipped.PACKAGE}/__init__.py": (init.encode(), FILE),
        f"{shipped.PACKAGE}/{shipped.FILE}": (content, FILE),
        f"{shipped.PACKAGE}/SOURCES.txt": (licence.encode(), FILE),
    }
    lines = [
        "Metadata-Version: 2.1",
        "Name: fairc-machine",
        f"Version: {version}",
        "Summary: The Linux kernel and the root file system of fairc's engine uml",
        "License: GPL-2.0-only and others: SOURCES.txt",
        f"Requires-Python: {PYTHONS}",
    ]
    return write_wheel(
        folder, shipped.PACKAGE, version, files, "\n".join([*lines, "", licence]).encode()
    )


LICENCE = """\
This package holds a Linux kernel {kernel} (User-Mode Linux; GPL-2.0-only) with fairc's patches and configuration, and files of
these packages of Debian, under the licences that each of them states in its source:

{packages}
(name, version, source package, its version)

The complete source of all of them, with the patches, the configuration and the script that builds the kernel, is published with this
package as fairc-{version}-sources.tar; `fairc image source` of the installed program says where it is, or writes it.
"""


def all_sources(
    folder: Path,
    version: str,
    built: kernel.Kernel,
    root: image.Image,
    mirrors: Sequence[str],
    kept: Path,
) -> Path:
    """Write the archive of the sources.

    mirrors: for what Debian's usual one no longer has. kept: the folder where sources stay until
    the archive is whole: 450 MB are not fetched twice.
    """
    path = folder / f"fairc-{version}-sources.tar"
    kept.mkdir(exist_ok=True)
    source_offer.write(kept, built, root, print, mirrors)
    subprocess.run(
        [
            *("tar", "-c", "-f", str(path), "--sort=name", "--owner=0", "--group=0"),
            *("--numeric-owner", "--mode=u=rwX,go=rX", f"--mtime=@{recipe.SOURCE_DATE_EPOCH}"),
            *("-C", str(kept), "."),
        ],
        check=True,
    )
    shutil.rmtree(kept)
    return path


def told(paths: Iterable[Path]) -> Mapping[str, str]:
    """Return the hash of each file by its name."""
    hashes = {}
    for path in paths:
        with path.open("rb") as file:
            hashes[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def main() -> None:
    """Write the release into a folder."""
    parser = argparse.ArgumentParser(prog="dist", description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without-sources", action="store_true", help="only the wheels")
    parser.add_argument(
        "--mirror", action="append", default=[], help="of Debian, for sources; repeatable"
    )
    asked = parser.parse_args()
    folder, now = asked.folder.absolute(), version()
    made, root = kernel.require(), image.require(recipe.UML)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as scratch:
        new, paths = Path(scratch), list[Path]()
        if not asked.without_sources:  # first: without them, the wheels may not be published
            try:
                paths.append(all_sources(new, now, made, root, asked.mirror, folder / "sources"))
            except EngineUnavailable as error:
                lines = "\n".join(f"error: {each}" for each in error.missing)
                sys.exit(
                    f"{lines}\nhelp: nothing was built, as a release has the sources of its"
                    f" machine. `make dist` where {source_offer.archive(root)} can be reached, or"
                    " with MIRROR=URL of another copy of Debian's archive, fetches what is missing."
                    " Or, as mirrors keep only the newest version: after `fairc image rm` it makes"
                    " kernel and image of today's packages. Wheels that you do not publish:"
                    " `make wheels`"
                )
        paths += [program(new, now, find_endpoints()), machine(new, now, made, root)]
        paths += [plugin(new, now, name) for name in RELEASED]
        for old in folder.glob("fairc*"):  # now that all of the new ones are there
            old.unlink()
        paths = [path.rename(folder / path.name) for path in paths]
    for name, sha256 in told(paths).items():
        print(f"{sha256}  {name}  {(folder / name).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
