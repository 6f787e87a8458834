"""A policy in namespaces of fairc's own making (launcher.py), for hosts without bubblewrap."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .policy import Bind, Link, Policy

LAUNCHER = Path(__file__).with_name("launcher.py")


def absent() -> str:
    """Return what is not installed: nothing, because Python is all that it takes."""
    return ""


def command(policy: Policy, arguments: list[str], filter_fd: int) -> list[str]:
    """Return the command that runs the policy's program.

    filter_fd: an open file with its seccomp filter.
    """
    document = {
        "program": policy.program,
        "arguments": arguments,
        "folder": policy.folder,
        "user": policy.user,
        "filter": filter_fd,
        "view": [_entry(each) for each in policy.view],
    }
    return [sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(document)]


def _entry(each: Bind | Link) -> dict[str, object]:
    match each:
        case Bind(at, source, writable, device):
            return {
                "kind": "bind",
                "at": at,
                "source": str(source.absolute()),
                "writable": writable,
                "device": device,
            }
        case Link(at, target):
            return {"kind": "link", "at": at, "target": target}
