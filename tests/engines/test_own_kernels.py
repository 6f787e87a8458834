"""Custom kernels: what the language knows of them, and which of them a cell may boot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from specs import compilation_of, compile_spec

from fairc.cli.commands import image as command
from fairc.compiler import Cell, engine_choice
from fairc.compiler.plan import cell_json, parse_cell
from fairc.dsl import Source, load
from fairc.dsl.core.diagnostics import CompileError, Diagnostic
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.uml import custom_kernel, machine, trial
from fairc.runtime.uml import kernel as kernels
from fairc.runtime.uml.source import CONFIGURATION, Own, recipe_hash
from fairc.runtime.vm import image
from fairc.words.ccas import custom_kernels
from fairc.words.ccas.kernel import KERNEL

SPEC = """fexp 1
experiment x {{
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: {queue})
  hosts {{ kernel = {kernel} }}
  flow a {{ cca = {cca}  workload = file(1MB) }}
  measure = [goodput]
}}
"""
PROGRAM = "a" * 64


@pytest.fixture
def l4s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a kernel `l4s` of uml: Reno, a CCA of its own, and no dualpi2."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = custom_kernels.folder() / "l4s"
    folder.mkdir(parents=True)
    manifest = {
        "recipe": "0" * 16,
        "engine": recipe_hash(),
        "digest": "b" * 64,
        "kernel": "6.17.1",
        "sha256": PROGRAM,
        "ccas": {"bbr": {}, "reno": {}, "ours": {"gain": 3, "fast": True}},
        "qdiscs": ["bfifo", "netem", "pfifo"],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def compiled(cca: str, kernel: str = "l4s", queue: str = "fifo(10pkt)") -> list[Cell]:
    made = compile_spec(Source("x.fexp", SPEC.format(cca=cca, kernel=kernel, queue=queue)))
    cells = list(made.cells())
    made.diagnostics.raise_if_errors()
    return cells


def refused(cca: str, kernel: str = "l4s", queue: str = "fifo(10pkt)") -> Diagnostic:
    with pytest.raises(CompileError) as found:
        compiled(cca, kernel, queue)
    return found.value.diagnostics[0]


def test_a_cca_that_only_a_kernel_has_is_a_word_of_its_cells(l4s: Path) -> None:
    (cell,) = compiled("ours(gain: 5, fast: off)")
    assert cell.kernel is not None
    assert (cell.kernel.name, cell.kernel.sha256) == ("l4s", PROGRAM)
    assert cell.flows[0].cca == "ours"
    assert cell.flows[0].cca_parameters == {"gain": 5, "fast": False}
    assert refused("ours(gian: 5)").code == "unknown-argument"


def test_bbr_of_a_kernel_may_say_its_state(l4s: Path) -> None:
    """Of the standard kernel's, version 1, nothing would be measured."""
    states = SPEC.replace("[goodput]", "[goodput, state]").replace(
        "{queue})",
        "{queue}) with {{ link left -> right {{ at enters(a, probe_bw_up) {{ delay = 9ms }} }} }}",
    )
    found = {}
    for kernel in ("l4s", "standard"):
        text = states.format(cca="bbr", kernel=kernel, queue="fifo(10pkt)")
        made = compilation_of(text)
        if kernel == "l4s":
            (cell,) = made.cells()
            assert cell.flows[0].sample_every_ns == 10_000_000
        else:
            with pytest.raises(CompileError):
                list(made.cells())
        found[kernel] = {each.code for each in made.diagnostics}
    assert found == {"l4s": set(), "standard": {"unknown-state", "nothing-to-measure"}}


def test_the_checker_says_which_kernel_has_a_cca(l4s: Path) -> None:
    found = refused("ours", "standard")
    assert found.code == "unknown-cca"
    assert found.message == "the standard kernel has no CCA `ours`: kernel `l4s` has it"
    assert "hosts { kernel = l4s }" in str(found.help)
    assert refused("cubic").message == "the kernel `l4s` has no CCA `cubic`"


def test_a_queue_that_the_kernel_lacks_is_refused(l4s: Path) -> None:
    assert refused("reno", queue="dualpi2").code == "unknown-queue"
    assert compiled("reno", "standard", "dualpi2")[0].kernel is None


def test_a_kernel_that_is_not_here_is_refused_with_the_command_that_builds_it(l4s: Path) -> None:
    found = refused("reno", "l4z")
    assert found.code == "unknown-kernel"
    assert "fairc image build --name l4z" in str(found.help)
    assert "l4s" in found.note
    (l4s / "manifest.json").write_text("{}")
    assert refused("reno").code == "unknown-kernel"


def test_no_other_engine_boots_it(l4s: Path) -> None:
    asked = tuple(engine_choice.of_cell(compiled("reno")[0]))
    assert engine_choice.choose(asked).engine == "uml"
    for engine in ("vm", "mininet", "docker"):
        with pytest.raises(CompileError) as refused:
            engine_choice.given(engine, asked)
        (note,) = refused.value.diagnostics[0].notes
        assert note.endswith(f"which {engine} cannot boot (only uml does)")


@pytest.mark.parametrize(
    "medium", ["release = batch(every: 10ms)", "repair = arq(tries: 3, delay: 8ms)"]
)
def test_media_need_the_discipline_of_radio_links(l4s: Path, medium: str) -> None:
    block = f"fifo(10pkt), loss: 1%) with {{ link left -> right {{ {medium} }} }}"
    text = SPEC.format(cca="reno", kernel="l4s", queue="fifo(10pkt)")
    experiment, found = load(Source("x.fexp", text.replace("fifo(10pkt))", block)))
    assert experiment is None
    (wrong,) = found.errors
    assert wrong.code == "unknown-queue" and "radio" in wrong.message


def test_a_plan_with_it_can_be_read_where_it_is_not(
    l4s: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cell,) = compiled("ours(gain: 5)")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert parse_cell(cell_json(cell)) == cell
    with pytest.raises(EngineUnavailable, match="has not been built here") as absent:
        custom_kernel.require("l4s", PROGRAM)
    assert absent.value.remedy.startswith("fairc image build --name l4s")


def test_another_kernel_of_the_same_name_is_a_mismatch(l4s: Path) -> None:
    with pytest.raises(EngineUnavailable, match="is another one: its program is aaaa"):
        custom_kernel.require("l4s", "c" * 64)
    (l4s / "kernel").write_bytes(b"not that program")
    with pytest.raises(EngineUnavailable, match="damaged"):
        custom_kernel.require("l4s", PROGRAM)


def test_one_with_other_patches_of_the_engine_is_built_again(l4s: Path) -> None:
    """What the guest starts from goes with these patches: with older ones nothing in it runs."""
    manifest = json.loads((l4s / "manifest.json").read_text())
    for engine in ({"engine": "0" * 16}, {}):  # kernels of before have none
        rest = {key: value for key, value in manifest.items() if key != "engine"}
        (l4s / "manifest.json").write_text(json.dumps({**rest, **engine}))
        with pytest.raises(EngineUnavailable, match="patches of another version") as stale:
            custom_kernel.require("l4s", PROGRAM)
        assert stale.value.remedy.startswith("fairc image build --name l4s")


def test_patches_and_options_are_in_the_recipe(tmp_path: Path) -> None:
    patch, config = tmp_path / "a.patch", tmp_path / "own.config"
    patch.write_text("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    config.write_text("# CONFIG_NET_SCH_DUALPI2 is not set\nCONFIG_TCP_CONG_OURS=y\n")
    recipes = {
        Own("x").recipe_hash("0"),
        Own("x").recipe_hash("1"),
        Own("x", patches=(patch,)).recipe_hash("0"),
        Own("x", config=config).recipe_hash("0"),
    }
    assert len(recipes) == 4
    assert "CONFIG_NET_SCH_DUALPI2=y" in CONFIGURATION.read_text()
    merged = Own("x", config=config).configuration().splitlines()
    assert "CONFIG_NET_SCH_DUALPI2=y" not in merged
    assert "CONFIG_TCP_CONG_OURS=y" in merged


def test_what_cannot_be_built_is_refused_at_once(tmp_path: Path) -> None:
    old = tmp_path / "old"
    (old / "arch" / "um").mkdir(parents=True)
    (old / "arch" / "um" / "Kconfig").touch()
    (old / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 15\n")
    text = tmp_path / "text"
    text.write_text("no patch\n")
    for arguments, message in (
        (["--name", "../x"], "cannot name a kernel"),
        (["--name", "standard"], "cannot name a kernel"),
        (["--patch", str(text)], "of its own"),
        (["--name", "x", "--kernel", str(tmp_path)], "no arch/um/Kconfig"),
        (["--name", "x", "--kernel", str(old)], "is Linux 6.15"),
        (["--name", "x", "--kernel", str(text)], "is not a tarball"),
        (["--name", "x", "--patch", str(text)], "is not a patch"),
        (["--name", "x", "--config", str(text)], "text:1 is no line"),
        (["--name", "x", "--engine", "docker"], "boots no kernel but its own"),
        (["--kernel", str(text), "--engine", "vm"], "boots no kernel but its own"),
    ):
        with pytest.raises(Exception, match=message):
            CliRunner().invoke(
                command, ["build", *arguments], catch_exceptions=False, standalone_mode=False
            )


def test_a_kernel_is_asked_for_its_ccas_parameters_and_queues() -> None:
    built, root = kernels.find(), image.find()
    if built is None or root is None:
        pytest.skip("no kernel of the engine uml")
    answers = custom_kernel.answers(built, root)
    assert isinstance(answers["ccas"], dict)
    assert set(answers["ccas"]) == {cca.name for cca in KERNEL}
    for cca in KERNEL:
        for name, parameter in cca.fields.items():
            assert answers["ccas"][cca.name][name] == parameter.initial
    assert isinstance(answers["qdiscs"], list)
    assert {"netem", "fq_codel", "dualpi2", "pfifo"} <= set(answers["qdiscs"])


def test_a_kernel_may_say_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that are missing, and paths with other parts, are no parameters."""
    (tmp_path / "config").write_text(
        "".join(f"{option}=y\n" for option in custom_kernel.NEEDED) + "CONFIG_NET_SCH_RED=y\n"
    )
    said = (
        *("", "ccas cubic x/y", "parameter", "parameter a 1", "parameter a/b 1", "parameter / / /"),
        *("parameter tcp_cubic/parameters/beta 717", "parameter a/b/c/d 1", "end"),
    )
    console = "".join(f"{custom_kernel.MARK} {line}\n" for line in said)
    monkeypatch.setattr(trial, "boot", lambda *_: "seccomp")
    monkeypatch.setattr(trial, "ask", lambda *_: machine.ScriptRun(console, "", b""))
    nobody: Any = None
    found = custom_kernel.answers(kernels.Kernel(tmp_path, "", "", "", ""), nobody)
    assert found["ccas"] == {"cubic": {"beta": 717}, "x/y": {}}
