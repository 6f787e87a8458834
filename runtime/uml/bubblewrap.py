"""A policy in the words of bubblewrap (bwrap(1)), which makes namespaces as an ordinary user."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from . import policy
from .policy import Bind, Link, Policy

PROGRAM = "bwrap"
ALONE = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
    *("--cap-drop", "ALL", "--die-with-parent", "--clearenv"),
)
STAGE = Path("/tmp")


def absent() -> str:
    """Return what is not installed of what it needs, in words, or nothing."""
    programs = (PROGRAM,) if policy.unprivileged_id() is None else (PROGRAM, "setpriv")
    return ", ".join(f"{name} is not installed" for name in programs if not shutil.which(name))


def command(within: Policy, arguments: list[str], filter_fd: int) -> list[str]:
    """Return the command that runs the policy's program.

    filter_fd: an open file with its seccomp filter.
    """
    if within.user is None:
        return _confined(within, arguments, filter_fd)
    # Files of root are out of the reach of the user whom it becomes, and a user namespace that root
    # makes belongs to root. So root first makes a view with the policy's files in it; in that the
    # user makes the policy's view.
    staged = [each for each in within.view if isinstance(each, Bind)]
    places = {each: STAGE / str(number) for number, each in enumerate(staged)}
    of_user = replace(
        within,
        view=tuple(
            replace(each, source=places[each]) if isinstance(each, Bind) else each
            for each in within.view
        ),
    )
    return [
        *(PROGRAM, "--die-with-parent", "--dev-bind", "/", "/"),
        *("--perms", "0755", "--tmpfs", str(STAGE)),
        *(word for each, place in places.items() for word in _words(replace(each, at=str(place)))),
        *("setpriv", f"--reuid={within.user}", f"--regid={within.user}", "--clear-groups"),
        *("--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--"),
        *_confined(of_user, arguments, filter_fd),
    ]


def _confined(within: Policy, arguments: list[str], filter_fd: int) -> list[str]:
    return [
        *(PROGRAM, *ALONE, "--seccomp", str(filter_fd)),
        *(word for each in within.view for word in _words(each)),
        *("--remount-ro", "/", "--chdir", within.folder, within.program, *arguments),
    ]


def _words(each: Bind | Link) -> tuple[str, ...]:
    match each:
        case Bind(at, source, writable, device):
            kind = "--dev-bind" if device else "--bind" if writable else "--ro-bind"
            return (kind, str(source), at)
        case Link(at, target):
            return ("--symlink", target, at)
