"""The keys of `users NAME { ... }`."""

from __future__ import annotations

from typing import Any

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_NUMBER_OF
from fairc.dsl.core.registry import Registry

COUNT = Parameter("count", A_NUMBER_OF, "number of hosts; 0: their flows are absent", required=True)

USERS: Registry[Parameter[Any]] = Registry("key of users", "key", [COUNT])
