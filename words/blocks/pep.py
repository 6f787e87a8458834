"""The keys of `pep NAME { ... }`."""

from __future__ import annotations

from typing import Any

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import AnyName
from fairc.dsl.core.registry import Registry
from fairc.words.peps import A_PEP

TERMINAL = Parameter(
    "terminal", AnyName("a router"), "router at the clients' end of the link", required=True
)
GATEWAY = Parameter(
    "gateway", AnyName("a router"), "router at the servers' end of it", required=True
)
MODE = Parameter("mode", A_PEP, "what the proxies do", "split")

PEP: Registry[Parameter[Any]] = Registry("key of pep", "key", [TERMINAL, GATEWAY, MODE])
