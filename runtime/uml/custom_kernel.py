"""A custom kernel for the engine `uml`: built as the standard one is, asked what it has, and found
by its name.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from fairc.compiler.files import content, sha256_of
from fairc.runtime.host import supervisor
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.vm import image
from fairc.words.ccas import custom_kernels
from fairc.words.ccas.custom_kernels import INTEGER

from . import kernel as kernels
from . import source, trial
from .kernel import Kernel

MARK = "fairc:"
REMEDY = (
    "a source on which these patches apply; an option that it lacks is left out by a --config with"
    " `# CONFIG_X is not set`"
)
INIT = f"""#!/bin/busybox sh
/bin/busybox mkdir /proc /sys
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
cd /sys/module
echo "{MARK} ccas $(/bin/busybox cat /proc/sys/net/ipv4/tcp_available_congestion_control)"
for file in tcp_*/parameters/*; do
    [ -w "$file" ] && echo "{MARK} parameter $file $(/bin/busybox cat "$file")"
done
echo "{MARK} end"
/bin/busybox poweroff -f
"""
QDISC = re.compile(r"^CONFIG_NET_SCH_(\w+)=y$", re.MULTILINE)
ALWAYS = ("bfifo", "pfifo")
# What every cell needs, whatever its words.
NEEDED = {
    "CONFIG_VETH": "links",
    "CONFIG_NET_NS": "hosts",
    "CONFIG_NET_SCH_NETEM": "delays and losses",
    "CONFIG_NET_SCH_TBF": "rates",
    "CONFIG_NET_SCH_HTB": "rates",
    "CONFIG_PACKET": "captures",
    "CONFIG_UML_TIME_TRAVEL_SUPPORT": "virtual time",
}


def require(name: str, sha256: str = "") -> Kernel:
    """Return a custom kernel, verified.

    sha256: of its program; empty: whichever has this name here. Raises EngineUnavailable with the
    command that builds it.
    """
    again = custom_kernels.build_command(name)
    place = custom_kernels.folder() / name
    known = custom_kernels.find(name)
    if known is None:
        damaged = place.exists()
        raise EngineUnavailable(
            (
                f"the kernel `{name}` in {place} is damaged: its manifest.json does not describe it"
                if damaged
                else f"the kernel `{name}` of this experiment has not been built here",
            ),
            again,
        )
    if sha256 and known.sha256 != sha256:
        raise EngineUnavailable(
            (
                (
                    f"the kernel `{name}` here is another one: its program is"
                    f" {known.sha256[:16]} (Linux {known.version}), that of this experiment"
                    f" {sha256[:16]}"
                ),
            ),
            f"compile it again for the kernel that is here, or build that one: {again}",
        )
    written = content(place / "manifest.json")
    manifest = image.described(written)
    if json.loads(written).get("engine") != source.recipe_hash():
        raise EngineUnavailable(
            (f"the kernel `{name}` was built with the patches of another version of fairc",), again
        )
    kernel = Kernel(place, manifest["recipe"], manifest["kernel"], known.sha256, manifest["digest"])
    kernel.verify()
    return kernel


def versions(name: str, kernel: Kernel) -> dict[str, str]:
    """Return what the lock records of a kernel: what it was built from, and by which compiler."""
    manifest = json.loads(content(kernel.folder / "manifest.json"))
    own = f"kernel {name}"
    origin = manifest["source"]
    found = {
        own: kernel.version,
        f"{own} program": kernel.sha256,
        f"{own} recipe": kernel.recipe,
        f"{own} source": f"{origin['name']} {origin['sha256']}",
        f"{own} compiler": manifest["compiler"],
    }
    for patch, sha256 in manifest["patches"].items():
        found[f"{own} patch {patch}"] = sha256
    if manifest["config"]:
        found[f"{own} config"] = hashlib.sha256(manifest["config"].encode()).hexdigest()
    return found


def build(
    own: source.Own, root: image.Image, progress: Callable[[str], None] = lambda _: None
) -> Kernel:
    """Build a custom kernel and ask it what it has, or return it if it is there.

    root: the image of its engine, whose busybox asks. One of the same name from another recipe is
    replaced. Raises EngineUnavailable as `build` does, and where the kernel does not boot or lacks
    what every cell needs.
    """
    place = custom_kernels.folder() / own.name
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=place.parent, prefix=supervisor.temporary_prefix("source")
    ) as scratch:
        tree = _archive(own, Path(scratch), progress)
        tree_sha256 = sha256_of(tree)
        wanted = own.recipe_hash(tree_sha256)
        if custom_kernels.find(own.name) is not None:
            manifest = image.described(content(place / "manifest.json"))
            if manifest["recipe"] == wanted:
                return require(own.name)
            progress(f"the kernel `{own.name}` was built from something else: it is built anew")
        kernels.require_mmdebstrap()
        with image.whole_build(place) as work:
            _compile(work, own, tree, progress)
            _describe(work, own, root, wanted, tree_sha256)
            if place.exists():
                shutil.rmtree(place)
    return require(own.name)


def _describe(
    work: Path, own: source.Own, root: image.Image, wanted: str, tree_sha256: str
) -> None:
    """Write what a built kernel is, and what it answers."""
    program = work / "kernel"
    program.chmod(0o755)
    sha256 = hashlib.sha256(content(program)).hexdigest()
    version = (work / "version").read_text().strip()
    described = Kernel(work, wanted, version, sha256, image.digest(work))
    manifest = {
        "recipe": wanted,
        "engine": source.recipe_hash(),
        "digest": described.digest,
        "kernel": version,
        "sha256": sha256,
        "source": {"name": own.tree.name if own.tree else source.TARBALL, "sha256": tree_sha256},
        "patches": {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in own.patches
        },
        "config": own.config.read_text() if own.config else "",
        "compiler": (work / "compiler").read_text().strip(),
        **answers(described, root),
    }
    image.write_manifest(work, manifest)


def _archive(own: source.Own, scratch: Path, progress: Callable[[str], None]) -> Path:
    """Return the archive of a kernel's source; of a folder, a new one, equal for equal files."""
    if own.tree is None:
        standard = kernels.require().folder / source.TARBALL
        if not standard.is_file():
            raise EngineUnavailable(
                ("the standard kernel came without its source",), "name a source: --kernel SOURCE"
            )
        return standard
    if own.tree.is_file():
        return own.tree.absolute()
    progress("packing the source")
    packed = scratch / "source.tar"
    subprocess.run(
        [
            *("tar", "--create", "--file", str(packed), "--sort=name", "--mtime=@0"),
            *("--owner=0", "--group=0", "--numeric-owner", "--exclude-vcs"),
            *("--directory", str(own.tree.absolute()), "."),
        ],
        check=True,
        capture_output=True,
    )
    return packed


def _compile(work: Path, own: source.Own, tree: Path, progress: Callable[[str], None]) -> None:
    """Write the parts of a custom kernel into `work`, which holds what the build reads.

    tree: the archive of its source.
    """
    (work / "kernel.config").write_text(own.configuration())
    (work / "patches").mkdir()
    for patch in source.patches():
        shutil.copy(patch, work / "patches")
    shutil.copy(source.PATCHES / "LICENSE", work / "patches")
    for number, patch in enumerate(own.patches):
        shutil.copy(patch, work / "patches" / f"{kernels.YOURS.format(number=number)}{patch.name}")
    scripts = (*source.BUILD, source.OWN)
    for path in scripts:
        shutil.copy(path, work)
    copy_in = [work / name for name in ("kernel.config", "patches")]
    copy_in += [work / path.name for path in scripts]
    fetch = f'cp {shlex.quote(str(tree))} "$1/build/source.tar"'
    kernels.in_debian(
        work,
        progress,
        copy_in,
        [fetch],
        source.OWN.name,
        (*kernels.PARTS, "compiler"),
        f"the kernel `{own.name}`",
        REMEDY,
    )


def answers(kernel: Kernel, root: image.Image) -> Mapping[str, object]:
    """Boot a kernel once; return its CCAs with their parameters, and its queueing disciplines.

    Raises EngineUnavailable where it lacks what every cell needs, or does not boot.
    """
    configured = (kernel.folder / "config").read_text()
    lacking = [
        f"{option} ({what})" for option, what in NEEDED.items() if f"{option}=y\n" not in configured
    ]
    if lacking:
        raise EngineUnavailable(
            (f"this kernel lacks what every cell needs: {', '.join(lacking)}",),
            "leave these options of --config as they are",
        )
    trial.boot(kernel, root)
    ran = trial.ask(kernel, root, INIT)
    said = [line.split()[1:] for line in ran.console.splitlines() if line.startswith(MARK)]
    if ["end"] not in said:
        last = ran.console[-200:].strip() or "it says nothing"
        raise EngineUnavailable(
            (f"this kernel does not run a shell: {ran.stopped or last}",),
            "fairc doctor",
        )
    ccas: dict[str, dict[str, int | bool]] = {
        name: {} for words in said if words[0] == "ccas" for name in words[1:]
    }
    for words in said:
        if words[0] != "parameter" or len(words) != 3:
            continue
        module, _, parameter = words[1].split("/")
        value = _setting(words[2])
        if value is not None and (cca := module.removeprefix("tcp_")) in ccas:
            ccas[cca][parameter] = value
    qdiscs = {name.lower() for name in QDISC.findall(configured)}
    return {"ccas": ccas, "qdiscs": sorted({*qdiscs, *ALWAYS})}


def _setting(text: str) -> int | bool | None:
    """Return the value of a module's parameter; None: it is neither a number nor a switch."""
    if text in ("Y", "N"):
        return text == "Y"
    value = int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None
    return value if value is not None and INTEGER[0] <= value <= INTEGER[1] else None
