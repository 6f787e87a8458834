"""The keys of `users NAME { ... }`."""

from __future__ import annotations

from typing import Any

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_COUNT
from fairc.dsl.core.registry import Registry

COUNT = Parameter("count", A_COUNT, "number of hosts", required=True)

USERS: Registry[Parameter[Any]] = Registry("key of users", "key", [COUNT])
