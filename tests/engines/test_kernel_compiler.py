"""What the kernel is compiled with: which files read the compiled headers (cc.sh)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from waiting import completed

from fairc.runtime.uml import source

(COMPILER,) = (path for path in source.BUILD if path.name == "cc.sh")
OPTIONS = ("-nostdinc", "-I.", "-D__KERNEL__", '-DKBUILD_MODNAME="file"', "-c", "-o", "net/file.o")


@pytest.mark.parametrize(
    ("before", "header", "compiled"),
    [
        ("", "<linux/kernel.h>", True),
        ("#define LIMIT 3\n", "<linux/kernel.h>", False),
        ("#undef LIMIT\n", "<linux/kernel.h>", False),
        ('#define pr_fmt(fmt) "file: " fmt\n', "<linux/kernel.h>", True),
        ("#define CREATE_TRACE_POINTS\n", "<trace/events/net.h>", True),
        ("#define LIMIT 3\n", '"file.h"', True),
    ],
)
def test_files_whose_macros_speak_to_no_compiled_header_read_them(
    tmp_path: Path, before: str, header: str, compiled: bool
) -> None:
    """The rest is compiled from the headers' text, which takes 0.2 s longer."""
    program = tmp_path / "gcc"
    program.write_text('#!/bin/sh\necho "$*"\ncase "$*" in *stdin*) cat ;; esac\n')
    program.chmod(0o755)
    file = tmp_path / "file.c"
    file.write_text(f"#include <linux/types.h>\n{before}#include {header}\n")
    done = completed(
        ["sh", str(COMPILER), *OPTIONS, str(file)],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        check=True,
    )
    command, *names = done.stdout.splitlines()
    assert ("-include /build/headers.h -include /dev/stdin" in command) is compiled
    assert ('#define KBUILD_MODNAME "file"' in names) is compiled
