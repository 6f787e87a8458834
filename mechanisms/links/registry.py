"""The mechanisms of links, from their folders."""

from __future__ import annotations

from fairc.mechanisms import load

from .link import LinkMechanism

LINKS: tuple[LinkMechanism, ...] = tuple(each.DECLARATION for each in load("links", "declaration"))
