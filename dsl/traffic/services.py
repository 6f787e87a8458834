"""Services: `service film { ... }`, settings that flows have in common, and `flow a = film`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import refuse_unknown
from fairc.dsl.core.values import Symbol, Value
from fairc.dsl.expressions.evaluate import Scope, evaluate_with
from fairc.dsl.text import syntax


class Services:
    """The services of a file. A service is a word, so it can be swept and named by a `let`."""

    def __init__(self, declared: Mapping[str, syntax.Service]) -> None:
        self.declared = declared

    def parts(self, flow: syntax.Flow) -> list[syntax.Node]:
        """Return the flow, and every service that it may be."""
        return [flow, *(self.declared.values() if flow.base is not None else ())]

    def settings(self, flow: syntax.Flow) -> Iterator[syntax.Setting]:
        """Yield the settings that a flow may have: its own, and those of any service."""
        for part in self.parts(flow):
            if isinstance(part, syntax.Flow | syntax.Service):
                yield from part.settings.items

    def complete(self, flow: syntax.Flow, scope: Scope) -> syntax.Flow:
        """Return a flow with the settings of its service, where it has none of its own.

        Raises CompileError if it names no service.
        """
        if flow.base is None:
            return flow
        service = evaluate_with(flow.base, scope, self._service)
        own = {setting.key.text for setting in flow.settings.items}
        common = (item for item in service.settings.items if item.key.text not in own)
        settings = replace(flow.settings, items=(*common, *flow.settings.items))
        return replace(flow, settings=settings, base=None)

    def _service(self, value: Value) -> syntax.Service:
        if not isinstance(value, Symbol):
            fail(
                "wrong-type",
                f"a service is needed here, not {value.phrase}",
                value.span,
                help="declare it with `service NAME { ... }`, and write its name",
            )
        if value.name not in self.declared:
            refuse_unknown("service", "service", value.name, self.declared, value.span)
        return self.declared[value.name]
