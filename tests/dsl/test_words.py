"""Registries: complete, without duplicates, helpful about unknown names."""

from __future__ import annotations

from typing import Any

import pytest

from fairc.cell.frames import MTU
from fairc.cell.model import TransportOptions
from fairc.dsl import CompileError, Source, Span
from fairc.dsl.core.entries import Entry
from fairc.dsl.core.literals import literal
from fairc.dsl.core.registry import Registry, distance, suggest
from fairc.dsl.core.values import Quantity
from fairc.mechanisms.devices.pep.declaration import PEPS
from fairc.mechanisms.devices.policer.declaration import POLICERS
from fairc.mechanisms.queues.discipline import queue_of
from fairc.mechanisms.queues.registry import QUEUES
from fairc.mechanisms.workloads.registry import WORKLOADS
from fairc.runtime.metrics import registry
from fairc.words.blocks import flow, link
from fairc.words.ccas import CCAS, QUIC_CCAS, TCP_CCAS
from fairc.words.distributions import DISTRIBUTIONS
from fairc.words.figures import FIGURES
from fairc.words.losses import LOSSES
from fairc.words.metrics import METRICS
from fairc.words.pages.page import PAGES
from fairc.words.presets import TOPOLOGIES
from fairc.words.reference import BLOCKS, WORDS_OF
from fairc.words.transports import TRANSPORTS

NETWORK = (TOPOLOGIES, QUEUES, LOSSES, DISTRIBUTIONS, POLICERS, PEPS)
TRAFFIC = (TCP_CCAS, QUIC_CCAS, WORKLOADS, PAGES, TRANSPORTS)
ALL = (*NETWORK, *TRAFFIC, METRICS, FIGURES)


def test_duplicates_are_refused() -> None:
    with pytest.raises(ValueError, match="two entries are called 'a'"):
        Registry("thing", "thing", [Entry("a", "One"), Entry("a", "Two")])


def test_unknown_names_get_choices_and_a_suggestion() -> None:
    span = Span(Source("x", "cubik"), 0, 5)
    with pytest.raises(CompileError) as caught:
        CCAS.get("cubik", span)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.note) == ("unknown-cca", "did you mean `cubic`?")
    assert diagnostic.help == "known: " + ", ".join(CCAS.names())


@pytest.mark.parametrize("words", ALL, ids=lambda words: words.word)
def test_entries_say_what_they_are(words: Registry[Entry]) -> None:
    for entry in words:
        assert entry.summary and not entry.summary.endswith(".")
        names = [p.name for p in entry.parameters]
        assert len(set(names)) == len(names)
        assert all(p.summary and p.kind.phrase for p in entry.parameters)
        # One that takes all that is left is the first or the last.
        assert all(not p.repeated for p in entry.parameters[1:-1])


def test_metrics_that_run_are_those_that_are_computed() -> None:
    def full(entry: Entry) -> list[str]:
        return [f"{entry.name}.{value}" for value in entry.values]

    running = {entry.name: full(entry) for entry in METRICS if entry.runs}
    computed = {
        metric.name: [v.name for v in metric.values if v.name != metric.name]
        for metric in registry.METRICS
    }
    assert running == computed


@pytest.mark.parametrize(
    ("word", "choices", "expected"),
    [
        ("cubik", ["cubic", "bbr"], "cubic"),
        ("fq_coddel", ["codel", "fq_codel"], "fq_codel"),
        ("worklaod", ["workload", "load"], "workload"),
        ("good", ["goodput"], "goodput"),
        ("xyz", ["cubic", "bbr"], None),
        ("", ["cubic"], None),
        ("CUBIC", ["cubic"], "cubic"),
        ("jane", ["jain", "json", "share"], "jain"),
        ("jane", ["jain", "jaen"], "jaen"),
        ("time", ["item", "rate"], None),
        ("rule", ["rate"], None),
        ("lost", ["loss", "slot"], "loss"),
        ("cwnd_mean", ["cwnd", "rtt"], "cwnd"),
        ("tcp_bbr", ["bbr", "cubic"], "bbr"),
        ("mean_queue_delay", ["delay", "queue_delay"], "queue_delay"),
        ("mean_size", ["a", "e", "resize"], None),
    ],
)
def test_suggestions(word: str, choices: list[str], expected: str | None) -> None:
    assert suggest(word, choices) == expected


def test_distance_counts_edits() -> None:
    assert distance("kitten", "sitting", 5) == 3
    assert distance("ab", "ba", 2) == 1
    assert distance("a", "abcdef", 2) == 3


@pytest.mark.parametrize(
    ("title", "words"), [*BLOCKS, *WORDS_OF], ids=lambda found: str(found)[:20]
)
def test_defaults_are_values_of_their_kind(title: str, words: Registry[Any]) -> None:
    parameters = [p for word in words for p in getattr(word, "parameters", (word,))]
    for parameter in parameters:
        assert not (parameter.default and parameter.otherwise), parameter.name
        if parameter.default:
            value = parameter.fallback
            assert value is not None
            if isinstance(value, Quantity):
                assert value.span.text == parameter.default


def test_a_default_that_is_no_literal_is_refused() -> None:
    for text in ("5 parsecs", "fifo(1000pkt", "1ms 2ms", "", "a b"):
        with pytest.raises((ValueError, KeyError)):
            literal(text)


def test_the_defaults_of_a_link_are_those_of_the_model() -> None:
    assert link.MTU.fallback.number == 8 * MTU
    queue = queue_of(link.QUEUE.fallback, Span(Source("x", "x"), 0, 1))
    assert (queue.kind, queue.size.canonical) == ("fifo", "1000pkt")
    options = TransportOptions()
    assert (options.sack, options.fast_open) == (flow.SACK.fallback, flow.FAST_OPEN.fallback)
