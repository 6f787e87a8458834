"""The language server, through its protocol, with a client library."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from fairc.dsl.core.source import Source
from fairc.dsl.text.layout import layout

TEXT = """fexp 1
let slow = 5Mbit/s
experiment two {
  sweep { loss_rate = [0%, 1%] }
  topology = bottleneck(rate: slow, rtt: 40ms, loss: loss_rate, queue: fifo(1bdp))
  flow one { cca = cubic  workload = file(1MB) }
  flow other { cca = bbr  workload = bulk }
  duration = 10s
  measure = [goodput, fct]
}
"""
URI = "file:///nowhere/two.fexp"
DOCUMENT = lsp.TextDocumentIdentifier(URI)


class Client(LanguageClient):
    """A client that keeps what is published. found: diagnostics, the latest last."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.found: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        keep = lambda params: self.found.put_nowait(params)  # pygls sets attributes of it
        self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(keep)

    async def open(self, text: str) -> list[lsp.Diagnostic]:
        """Open a text; return what is published first."""
        item = lsp.TextDocumentItem(URI, "fexp", 1, text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.published(1)

    async def published(self, version: int) -> list[lsp.Diagnostic]:
        """Return what is published next of a version of the text; what the compiler says of an
        earlier one may come between.
        """
        while (found := await self.found.get()).version != version:
            continue
        return list(found.diagnostics)

    async def type(self, text: str, version: int) -> list[lsp.Diagnostic]:
        """Replace the text; return what is published first."""
        self.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(version, URI),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )
        return await self.published(version)

    async def labels(self, text: str, version: int) -> list[str]:
        """Replace the text, where `|` is the cursor; return the labels of what is offered there."""
        position = place(text, text.index("|"))
        await self.type(text.replace("|", ""), version)
        offered = await self.text_document_completion_async(
            lsp.CompletionParams(DOCUMENT, position)
        )
        assert isinstance(offered, lsp.CompletionList)
        return [item.label for item in offered.items]

    async def explained(self, text: str, word: str) -> str:
        """Return what is said of the first occurrence of a word."""
        position = place(text, text.index(word) + 1)
        said = await self.text_document_hover_async(lsp.HoverParams(DOCUMENT, position))
        if said is None:
            return ""
        assert isinstance(said.contents, lsp.MarkupContent)
        return said.contents.value


def place(text: str, offset: int) -> lsp.Position:
    """Return an offset as a line and UTF-16 units."""
    before = text[:offset].split("\n")
    return lsp.Position(len(before) - 1, len(before[-1].encode("utf-16-le")) // 2)


Talk = Callable[[Callable[[Client], Coroutine[Any, Any, None]]], None]


@pytest.fixture
def talk() -> Talk:
    """Run a conversation with a server of its own, and end it."""

    async def run(about: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
        client = Client()
        await client.start_io(sys.executable, "-m", "fairc", "lsp")
        capabilities = lsp.ClientCapabilities()
        await client.initialize_async(lsp.InitializeParams(capabilities))
        client.initialized(lsp.InitializedParams())
        try:
            await about(client)
        finally:
            await client.shutdown_async(None)
            client.exit(None)
            await client.stop()  # type: ignore[no-untyped-call]

    def wait(about: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
        asyncio.run(asyncio.wait_for(run(about), 120))

    return wait


def test_diagnostics_and_hints(talk: Talk) -> None:
    async def about(client: Client) -> None:
        assert await client.open(TEXT) == []
        wrong = TEXT.replace("cubic", "cubik")
        (found,) = await client.type(wrong, 2)
        assert (found.code, found.severity) == ("unknown-cca", lsp.DiagnosticSeverity.Error)
        assert "cubic" in found.message
        assert found.range.start == place(wrong, wrong.index("cubik"))
        assert found.range.end == place(wrong, wrong.index("cubik") + 5)
        assert await client.type(TEXT, 3) == []
        await client.published(3)  # the compiler has looked at it, too
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
        hints = await client.text_document_inlay_hint_async(lsp.InlayHintParams(DOCUMENT, whole))
        assert hints is not None
        (hint,) = hints
        assert isinstance(hint.label, str) and hint.label.startswith("2 cells, ")
        assert hint.label.endswith("BDP 25 kB")  # 5 Mbit/s x 40 ms / 8
        assert hint.position == place(TEXT, TEXT.index("two {") + 3)

    talk(about)


def test_places_are_counted_in_utf16(talk: Talk) -> None:
    """A character outside the basic plane is two units, one character and four bytes."""

    async def about(client: Client) -> None:
        text = TEXT.replace("flow one {", 'title = "𝜃"  flow one {').replace("cubic", "cubik")
        (found,) = await client.open(text)
        assert found.range.start == place(text, text.index("cubik"))

    talk(about)


def test_positions_outside_of_the_text_harm_nothing(talk: Talk) -> None:
    """Between the two units of a character, after the end of a line and of the file."""
    text = TEXT.replace("fexp 1", "fexp 1\n# \N{GRINNING FACE}")

    async def about(client: Client) -> None:
        assert await client.open(text) == []
        for line, units in ((1, 3), (1, 99), (99, 0), (0, 2**31 - 1)):
            position = lsp.Position(line, units)
            await client.text_document_hover_async(lsp.HoverParams(DOCUMENT, position))
            await client.text_document_completion_async(lsp.CompletionParams(DOCUMENT, position))
        assert "CUBIC" in await client.explained(text, "cubic  workload")

    talk(about)


def test_text_that_cannot_be_parsed_harms_nothing(talk: Talk) -> None:
    async def about(client: Client) -> None:
        for version, text in enumerate(("", "{{{", "\0", "fexp 1\nexperiment x {", '"' * 99), 2):
            found = await (client.type(text, version) if version > 2 else client.open(text))
            assert version == 2 or found
        assert await client.type(TEXT, 9) == []

    talk(about)


def test_completion(talk: Talk) -> None:
    async def about(client: Client) -> None:
        await client.open(TEXT)
        at = {
            "keys": TEXT.replace("duration", "du|ration"),
            "ccas": TEXT.replace("cca = bbr", "cca = |"),
            "units": TEXT.replace("10s", "10|"),
            "arguments": TEXT.replace("rtt: 40ms", "|"),
            "values": TEXT.replace("rate: slow", "rate: |"),
            "flow": TEXT.replace("workload = bulk", "|"),
            "metrics": TEXT.replace("fct]", "|]"),
            "queues": TEXT.replace("fifo(1bdp)", "|"),
            "comment": TEXT.replace("fexp 1", "fexp 1 # |"),
        }
        offered = {
            name: await client.labels(text, n) for n, (name, text) in enumerate(at.items(), 2)
        }
        assert {"duration", "topology", "measure", "sweep", "flow"} <= set(offered["keys"])
        assert {"cubic", "bbr", "prague", "slow"} <= set(offered["ccas"])
        assert "fifo" not in offered["ccas"]
        assert {"10ms", "10s", "10min"} <= set(offered["units"])
        assert {"rate", "rtt", "queue"} <= set(offered["arguments"])
        assert {"slow", "loss_rate"} <= set(offered["values"])
        assert {"cca", "workload", "start"} <= set(offered["flow"])
        assert "topology" not in offered["flow"]
        assert {"goodput", "rtt", "rtt.p95", "fairness.F"} <= set(offered["metrics"])
        assert {"fifo", "fq_codel", "dualpi2"} <= set(offered["queues"])
        assert offered["comment"] == []

    talk(about)


def test_explanations_definitions_outline_and_layout(talk: Talk) -> None:
    async def about(client: Client) -> None:
        await client.open(TEXT)
        assert "congestion control" in await client.explained(TEXT, "cca")
        assert "CUBIC" in await client.explained(TEXT, "cubic")
        assert "base round trip" in await client.explained(TEXT, "rtt:")
        assert "let slow = 5Mbit/s" in await client.explained(TEXT, "slow,")
        assert await client.explained(TEXT, "1MB") == ""

        position = place(TEXT, TEXT.index("slow,"))
        found = await client.text_document_definition_async(
            lsp.DefinitionParams(DOCUMENT, position)
        )
        assert isinstance(found, lsp.Location)
        assert found.range.start == place(TEXT, TEXT.index("slow"))

        symbols = await client.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(DOCUMENT)
        )
        assert symbols is not None
        top = {symbol.name: symbol for symbol in symbols}
        assert list(top) == ["slow", "two"]
        inner = top["two"]
        assert isinstance(inner, lsp.DocumentSymbol) and inner.children is not None
        assert [child.name for child in inner.children] == ["loss_rate", "one", "other"]

        untidy = TEXT.replace("  flow one", "flow   one")
        await client.type(untidy, 2)
        options = lsp.FormattingOptions(2, True)
        edits = await client.text_document_formatting_async(
            lsp.DocumentFormattingParams(DOCUMENT, options)
        )
        assert edits is not None and [edit.new_text for edit in edits] == [
            layout(Source(URI, untidy))
        ]

    talk(about)


def test_without_its_libraries_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from click.testing import CliRunner

    from fairc.cli.commands import lsp as command

    monkeypatch.delitem(sys.modules, "fairc.lsp.server", raising=False)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    result = CliRunner().invoke(command)
    assert result.exit_code == 2
    assert "pip install pygls" in result.output
