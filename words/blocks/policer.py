"""The keys of `policer NAME { ... }`."""

from __future__ import annotations

from typing import Any

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import AnyName
from fairc.dsl.core.registry import Registry
from fairc.words.policers import A_POLICER

AT = Parameter("at", AnyName("a router"), "router that polices what it sends", required=True)
TO = Parameter("to", AnyName("a node"), "to this neighbour", required=True)
MODE = Parameter("mode", A_POLICER, "what the policer does", required=True)

POLICER: Registry[Parameter[Any]] = Registry("key of policer", "key", [AT, TO, MODE])
