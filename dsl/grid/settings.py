"""`--set NAME=EXPR`: replaces the whole value of a swept name, a `let` or an experiment key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from fairc.dsl.blocks import Block
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Source, Span
from fairc.dsl.expressions.names import mentioned
from fairc.dsl.model.requests import Setting
from fairc.dsl.text import syntax
from fairc.dsl.text.parser import parse_expression
from fairc.words.blocks.experiment import EXPERIMENT, SAMPLE


class Overrides:
    """The settings of a command line, parsed."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        gather = Gather()
        self._values: dict[str, tuple[syntax.Word, syntax.Expr]] = {}
        self._instead: dict[str, str] = {}
        self._sweeps: list[syntax.Expr] = []
        for name, text in settings.items():
            source = Source("--set", f"{name}={text}")
            with gather.attempt():
                start = len(name) + 1
                value = parse_expression(source, start)
                self._values[name] = (syntax.Word(Span(source, 0, len(name)), name), value)
        gather.finish()

    @property
    def names(self) -> frozenset[str]:
        """The names that are set."""
        return frozenset(self._values)

    @property
    def texts(self) -> frozenset[str]:
        """The setting, as it was written."""
        return frozenset(word.span.source.text for word, _ in self._values.values())

    @property
    def words(self) -> frozenset[str]:
        """The words of the sweeps that have been replaced: the file may compare with them."""
        return frozenset(word for sweep in self._sweeps for word in mentioned(sweep))

    @property
    def narrows(self) -> bool:
        """Whether configurations of the file may be left out."""
        return bool(self._sweeps) or SAMPLE.name in self._instead

    @property
    def applied(self) -> tuple[Setting, ...]:
        """The replaced settings, by name; complete once `apply` has returned."""
        return tuple(
            Setting(name=name, value=self._values[name][1].span.text, instead=instead)
            for name, instead in sorted(self._instead.items())
        )

    def apply(
        self,
        bindings: list[syntax.Binding],
        lets: dict[str, syntax.Expr],
        block: Block,
        elsewhere: Collection[str] = (),
    ) -> None:
        """Replace values in place.

        elsewhere: names that other experiments have, which need not be here. Raises CompileError
        for unknown names.
        """
        gather = Gather()
        here = {*lets, *EXPERIMENT.names(), *(w.text for b in bindings for w in b.names)}
        for name, (word, value) in self._values.items():
            if name in elsewhere and name not in here:
                continue
            with gather.attempt():
                self._one(name, word, value, bindings, lets, block)
        gather.finish()

    def _one(
        self,
        name: str,
        word: syntax.Word,
        value: syntax.Expr,
        bindings: list[syntax.Binding],
        lets: dict[str, syntax.Expr],
        block: Block,
    ) -> None:
        for i, binding in enumerate(bindings):
            if name not in [w.text for w in binding.names]:
                continue
            if binding.is_tuple:
                fail(
                    "tuple-name",
                    f"`{name}` is swept together with other names, so it cannot be set alone",
                    word.span,
                    help="use `--where` to run some of its values only",
                )
            self._instead[name] = binding.value.span.text
            self._sweeps.append(binding.value)
            bindings[i] = replace(binding, value=value)
            return
        if name in lets:
            self._instead[name] = lets[name].span.text
            lets[name] = value
        elif name in EXPERIMENT:
            old = block.settings.get(name)
            self._instead[name] = old.value.span.text if old else ""
            block.replace(syntax.Setting(word.span, word, value))
        else:
            known = sorted(
                {*lets, *EXPERIMENT.names(), *(w.text for b in bindings for w in b.names)}
            )
            near = suggest(name, known)
            fail(
                "unknown-setting",
                f"`{name}` is not defined in this file",
                word.span,
                note=f"did you mean `{near}`?" if near else "",
                help=f"names that can be set: {', '.join(known)}; to set another value of the"
                " file, name it with `let`",
            )
