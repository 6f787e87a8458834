"""Checks a block's settings against its keys (words/blocks), and evaluates them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from fairc.dsl.core.diagnostics import Diagnostic, Label
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import Switch, Words
from fairc.dsl.core.problems import Gather, fail, not_yet
from fairc.dsl.core.registry import Registry, suggest
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Symbol, Value
from fairc.dsl.expressions.evaluate import Scope, evaluate_with
from fairc.dsl.text import syntax
from fairc.words.blocks.claim import CLAIM
from fairc.words.blocks.experiment import EXPERIMENT
from fairc.words.blocks.flow import FLOW
from fairc.words.blocks.hosts import HOSTS
from fairc.words.blocks.link import LINK

T = TypeVar("T")

_MISSING, _MEANT = re.compile(r"`(\w+)` is missing"), re.compile(r"did you mean `(\w+)`\?")
"""Notes of a key that is missing, and of one that is misspelt."""

_FORMS: tuple[tuple[Registry[Parameter[Any]], str], ...] = (
    (EXPERIMENT, "experiment NAME {{ {} }}"),
    (FLOW, "flow NAME {{ {} }}"),
    (HOSTS, "hosts {{ {} }}"),
    (LINK, "link A -- B {{ {} }}"),
    (CLAIM, 'claim "TEXT" {{ {} }}'),
)
"""Blocks whose keys are sought in other blocks, and how each is written."""


def sort_settings(
    settings: Iterable[syntax.Setting], keys: Registry[Parameter[Any]], block: str
) -> tuple[Mapping[str, syntax.Setting], Sequence[Diagnostic]]:
    """Return settings by key, and what is wrong with the others: unknown and repeated keys."""
    gather = Gather()
    found: dict[str, syntax.Setting] = {}
    for setting in settings:
        name = setting.key.text
        with gather.attempt():
            if setting.per is not None and name != "sample":
                fail(
                    "syntax",
                    f"`per` belongs to `sample`, not to `{name}`",
                    setting.per.span,
                    help="for example `sample = 100 per (a, b)`",
                )
            if name not in keys:
                misplaced = keys.misplaced(name)
                near = None if misplaced else suggest(name, keys.names())
                fail(
                    "unknown-key",
                    f"{block} has no key `{name}`",
                    setting.key.span,
                    note=f"did you mean `{near}`?" if near else "",
                    help=misplaced
                    or (None if near else _in_other_block(setting, keys))
                    or (f"{_own(name, near, keys)}known: {', '.join(keys.names())}")
                    if keys.names()
                    else None,
                )
            if name in found and keys.get(name, setting.key.span).repeated:
                found[name] = _together(found[name], setting)
                continue
            if name in found:
                fail(
                    "duplicate-key",
                    f"`{name}` is given twice",
                    setting.key.span,
                    labels=(Label(found[name].key.span, "given here first"),),
                    help="keep one of them",
                )
            found[name] = setting
    return found, gather.found


def _own(name: str, near: str | None, keys: Registry[Parameter[Any]]) -> str:
    """Return how an experiment has a name of its own, which may be meant where no key is near."""
    if keys is not EXPERIMENT or near:
        return ""
    return f"`let {name} = ...` names a value, `sweep {{ {name} = [...] }}` compares several; "


def _in_other_block(setting: syntax.Setting, keys: Registry[Parameter[Any]]) -> str | None:
    """Return the help for a key that belongs to a block of another kind; None if it is in several,
    or in none.
    """
    name, text = setting.key.text, setting.span.one_line
    owners = [form for block, form in _FORMS if block is not keys and name in block]
    if len(owners) != 1:
        return None
    return f"`{name}` belongs elsewhere: `{owners[0].format(text)}`"


def misspelt(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield those diagnostics of missing keys that are given after all, under a misspelt name which
    is reported itself: of each such name the nearest one before it.
    """
    lacking: dict[tuple[str, str], list[Diagnostic]] = {}
    for one in found:  # in the order of the file
        block = one.message.split()[1]  # `a flow ...`, `an experiment ...`
        if one.code == "nothing-measured":
            lacking.setdefault((block, "measure"), []).append(one)
        elif one.code == "missing-key" and (name := _MISSING.fullmatch(one.note)):
            lacking.setdefault((block, name[1]), []).append(one)
        elif one.code == "unknown-key" and (meant := _MEANT.fullmatch(one.note)):
            yield from lacking.get((block, meant[1]), [])[-1:]


def _together(first: syntax.Setting, second: syntax.Setting) -> syntax.Setting:
    """Return two settings of the same key as one whose value is a list."""
    values = [
        item
        for one in (first, second)
        for item in (one.value.items if isinstance(one.value, syntax.ListOf) else (one.value,))
    ]
    return replace(first, value=syntax.ListOf(items=tuple(values), span=second.value.span))


def _closed_word(node: syntax.Expr, key: Parameter[Any]) -> Symbol | None:
    """Return the word itself for a key that takes one of a few fixed words, else None.

    `stop = first` means the word even where a swept name is called `first`.
    """
    if not isinstance(node, syntax.Name) or not isinstance(key.kind, Words | Switch):
        return None
    return Symbol(node.text, node.span) if node.span.text in key.kind.choices else None


class Block:
    """The settings of one block, evaluated and checked on demand."""

    def __init__(
        self, span: Span, items: Iterable[syntax.Setting], keys: Registry[Parameter[Any]], what: str
    ) -> None:
        self.span = span
        self.keys = keys
        self.what = what
        self.settings, self.problems = sort_settings(items, keys, what)

    def checked(self) -> None:
        """Raise CompileError if keys are wrong or missing."""
        gather = Gather()
        gather.found.extend(self.problems)
        for key in self.keys:
            if key.required and key.name not in self.settings:
                with gather.attempt():
                    fail(
                        "missing-key",
                        f"{self.what} needs `{key.name}`",
                        self.span,
                        note=f"`{key.name}` is missing",
                        help=f"give {key.kind.phrase}: {key.summary}",
                    )
        gather.finish()

    def replace(self, setting: syntax.Setting) -> None:
        """Replace the setting with the same key, or add this one if there is none."""
        self.settings = {**self.settings, setting.key.text: setting}

    def amended(self, more: Block) -> Block:
        """Return the block with the settings of another one, which replace its own."""
        whole = copy(self)
        whole.settings = {**self.settings, **more.settings}
        whole.problems = [*self.problems, *more.problems]
        return whole

    def read(self, scope: Scope, gather: Gather) -> Settings:
        """Return the values of all valid settings; `gather` collects what is wrong with the
        others.
        """
        read = Settings(self)
        for name in self.settings:
            with gather.attempt():
                read.typed[name], read.values[name] = self._evaluated(name, scope)
        return read

    def given(self, key: Parameter[T], scope: Scope) -> T | None:
        """Return the value of a key, or None if it is not given.

        Raises CompileError, with `not-yet` if the key cannot run yet.
        """
        if key.name not in self.settings:
            return None
        return cast(T, self._evaluated(key.name, scope)[0])

    def get(self, key: Parameter[T], scope: Scope) -> T:
        """Return the value of a key, or its default. Raises CompileError."""
        return (
            cast(T, self._evaluated(key.name, scope)[0])
            if key.name in self.settings
            else key.fallback
        )

    def _evaluated(self, name: str, scope: Scope) -> tuple[object, Value]:
        """Return the value of a setting: as its kind takes it, and as evaluated."""
        setting = self.settings[name]
        key = self.keys.get(name, setting.key.span)

        def taken(value: Value) -> tuple[object, Value]:
            return key.kind.take(value, f"`{name}`", setting.value.span), value

        gather, found = Gather(), None
        word = _closed_word(setting.value, key)
        with gather.attempt():
            found = taken(word) if word else evaluate_with(setting.value, scope, taken)
        if not key.runs:
            gather.found.append(not_yet(f"`{name}` of {self.what}", setting.span))
        gather.finish()
        assert found is not None
        return found


@dataclass
class Settings:
    """The values of a block's valid settings: settings[KEY] is the value of a key, or its default.

    typed: as their kinds take them.
    values: as evaluated, with their spans.
    """

    block: Block
    typed: dict[str, object] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)

    def __contains__(self, key: Parameter[Any]) -> bool:
        return key.name in self.typed

    def __getitem__(self, key: Parameter[T]) -> T:
        """Return the value of a key, or its default."""
        return cast(T, self.typed[key.name]) if key.name in self.typed else key.fallback

    def given(self, key: Parameter[T]) -> T | None:
        """Return the value of a key, or None if it is not given or wrong."""
        return cast("T | None", self.typed.get(key.name))

    def amended(self, more: Settings) -> Settings:
        """Return the settings with those of another block, which replace their own."""
        return Settings(
            self.block.amended(more.block),
            {**self.typed, **more.typed},
            {**self.values, **more.values},
        )

    def failed(self, *keys: Parameter[Any]) -> bool:
        """Return whether any of these keys is given but wrong."""
        return any(k.name in self.block.settings and k.name not in self.typed for k in keys)

    def place(self, key: str) -> Span:
        """Return the span of a key's setting, or the block's if there is none."""
        setting = self.block.settings.get(key)
        return setting.span if setting else self.block.span

    def span(self, key: Parameter[Any]) -> Span | None:
        """Return where the value of a key comes from."""
        value = self.values.get(key.name)
        return value.span if value is not None else None
