"""The protocol: what an editor asks, answered from a file's text."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from fairc import __version__, compiler, dsl
from fairc.cli.check import CONFIGURATIONS, compiled
from fairc.cli.show import pages, with_definition
from fairc.compiler.estimate import Estimate
from fairc.compiler.passes.queues import bdp_bytes
from fairc.compiler.plan import Cell
from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Diagnostics, Severity
from fairc.dsl.core.source import Source, Span
from fairc.dsl.experiment import Experiment
from fairc.dsl.text.layout import layout
from fairc.runtime.formatting import counted, size
from fairc.runtime.run.progress import duration
from fairc.words.manual import KEYS, Page

from .cursor import Cursor, cursor_at, word_at
from .offers import Offer, Pages, Sort, markdown, offers
from .places import Declaration, declaration_of, declarations

PAUSE_S = 0.3
"""After the last keystroke, until the compiler looks at all configurations."""

KINDS = {
    Sort.KEY: lsp.CompletionItemKind.Property,
    Sort.STATEMENT: lsp.CompletionItemKind.Keyword,
    Sort.WORD: lsp.CompletionItemKind.Value,
    Sort.UNIT: lsp.CompletionItemKind.Unit,
    Sort.NAME: lsp.CompletionItemKind.Variable,
}
SYMBOLS = {
    "experiment": lsp.SymbolKind.Class,
    "template": lsp.SymbolKind.Class,
    "topology": lsp.SymbolKind.Namespace,
    "flow": lsp.SymbolKind.Function,
    "metric": lsp.SymbolKind.Method,
    "axis": lsp.SymbolKind.Array,
    "node": lsp.SymbolKind.Object,
}


class Server(LanguageServer):
    """A language server for `.fexp` files.

    hints: of each file, what the compiler found for its experiments.
    """

    def __init__(self) -> None:
        super().__init__(
            "fairc", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full
        )
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.hints: dict[str, list[lsp.InlayHint]] = {}


server = Server()


@cache
def manual() -> dict[str, Any]:
    """Return the manual: pages by family."""
    return dict(pages())


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
@server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
def changed(
    ls: Server,
    params: lsp.DidOpenTextDocumentParams
    | lsp.DidSaveTextDocumentParams
    | lsp.DidChangeTextDocumentParams,
) -> None:
    """Look at a text: at once for what the file alone says, after a pause for what the compiler
    says.
    """
    uri = params.text_document.uri
    document = ls.workspace.get_text_document(uri)
    experiments, found = dsl.load_all(source_of(document))
    publish(ls, document, found)
    if uri in ls.waiting:
        ls.waiting[uri].cancel()
    ls.waiting[uri] = asyncio.get_running_loop().create_task(
        settle(ls, document, document.version, experiments, found)
    )


async def settle(
    ls: Server,
    document: TextDocument,
    version: int | None,
    experiments: tuple[Experiment, ...],
    found: Diagnostics,
) -> None:
    """Compile what was typed, once nobody types; publish what is found if it is still the text."""
    await asyncio.sleep(PAUSE_S)
    loop = asyncio.get_running_loop()
    whole, costs = await loop.run_in_executor(None, examine, experiments, found)
    if document.version != version:
        return
    publish(ls, document, whole)
    ls.hints[document.uri] = [
        lsp.InlayHint(extent(document, one.name_at).end, costs[one.name], padding_left=True)
        for one in declarations(source_of(document))
        if one.sort == "experiment" and one.name in costs
    ]
    workspace = ls.client_capabilities.workspace
    if workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
        ls.workspace_inlay_hint_refresh(None)


def examine(
    experiments: tuple[Experiment, ...], found: Diagnostics
) -> tuple[Diagnostics, dict[str, str]]:
    """Return everything that is wrong, and the hint of each experiment that can be compiled."""
    whole, costs = [*found], {}
    for experiment in experiments:
        more = compiled(experiment, experiment.diagnostics)
        whole += more
        if not more.errors:
            costs[experiment.name] = cost(experiment)
    return Diagnostics(whole), costs


def cost(experiment: Experiment) -> str:
    """Return how many cells an experiment has, what they take, and the BDPs of its flows."""
    compilation = compiler.compile(experiment)
    cells = list(compilation.representatives(CONFIGURATIONS))
    estimate = Estimate(1, compilation.choice.engine)
    for cell, repetitions in cells:
        estimate.add(cell, repetitions)
    estimate.extrapolate(experiment.count().cells)
    parts = [counted(estimate.cells, "cell"), f"{duration(estimate.wall_s)} of one core"]
    products = sorted({bdp for cell, _ in cells for bdp in bdps_bytes(cell)})
    if products:
        ends = dict.fromkeys(size(bdp) for bdp in (products[0], products[-1]))
        parts.append(f"BDP {' to '.join(ends)}")
    return ", ".join(parts)


def bdps_bytes(cell: Cell) -> Iterator[int]:
    """Yield the bandwidth-delay product of each flow: its bottleneck's rate x its base RTT / 8."""
    for flow in cell.flows:
        node, name = flow.bottleneck
        (shaper,) = (
            interface.shaper
            for each in cell.nodes
            if each.name == node
            for interface in each.interfaces
            if interface.name == name
        )
        if shaper is not None:
            yield bdp_bytes(shaper.rate_bps, flow.base_rtt_ns)


def publish(ls: Server, document: TextDocument, found: Iterable[Diagnostic]) -> None:
    """Show diagnostics in a document; those of another file at its first line."""
    ls.text_document_publish_diagnostics(
        lsp.PublishDiagnosticsParams(
            uri=document.uri,
            version=document.version,
            diagnostics=[told(document, diagnostic) for diagnostic in found],
        )
    )


def told(document: TextDocument, diagnostic: Diagnostic) -> lsp.Diagnostic:
    """Return a diagnostic as the protocol has it."""
    span, more = diagnostic.span, []
    is_here = span is not None and span.source.text == document.source
    if span is not None and not is_here:
        more.append(f"in {span.source.name}:{span.line}")
    more += [diagnostic.note, *diagnostic.remarks]
    if diagnostic.help:
        more.append(f"help: {diagnostic.help}")
    severity = lsp.DiagnosticSeverity
    return lsp.Diagnostic(
        range=extent(document, span) if span is not None and is_here else lsp.Range(START, START),
        message="\n".join([diagnostic.message, *filter(None, more)]),
        severity=severity.Error if diagnostic.severity is Severity.ERROR else severity.Warning,
        code=diagnostic.code,
        source="fairc",
        related_information=[
            lsp.DiagnosticRelatedInformation(
                lsp.Location(document.uri, extent(document, label.span)), label.text
            )
            for label in diagnostic.labels
            if label.span.source.text == document.source
        ],
    )


START = lsp.Position(0, 0)


def source_of(document: TextDocument) -> Source:
    """Return a document's text; files that it names are read from beside it."""
    return Source(to_fs_path(document.uri) or document.uri, document.source)


def place(document: TextDocument, source: Source, offset: int) -> lsp.Position:
    """Return an offset as the client counts: lines, and units of its encoding."""
    line, column = source.position(offset)
    position = lsp.Position(line - 1, column - 1)
    return document.position_codec.position_to_client_units(document.lines, position)


def extent(document: TextDocument, span: Span) -> lsp.Range:
    """Return a span as the client counts."""
    return lsp.Range(
        place(document, span.source, span.start), place(document, span.source, span.end)
    )


@server.feature(
    lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["=", "(", ",", ":"])
)
def complete(ls: Server, params: lsp.CompletionParams) -> lsp.CompletionList:
    """Offer what may stand at the cursor."""
    document = ls.workspace.get_text_document(params.text_document.uri)
    offset = document.offset_at_position(params.position)
    at = cursor_at(document.source, offset)
    if at is None:
        return lsp.CompletionList(is_incomplete=False, items=[])
    source = source_of(document)
    where = lsp.Range(place(document, source, at.start), params.position)
    found = offers(at, manual(), declarations(source))
    items = [item(offer, where, f"{number:04}") for number, offer in enumerate(found)]
    return lsp.CompletionList(is_incomplete=bool(at.typed) and at.typed[0].isdigit(), items=items)


def item(offer: Offer, where: lsp.Range, order: str) -> lsp.CompletionItem:
    """Return an offer as the protocol has it."""
    page = lsp.MarkupContent(lsp.MarkupKind.Markdown, offer.page) if offer.page else None
    return lsp.CompletionItem(
        label=offer.label,
        kind=KINDS[offer.sort],
        detail=offer.detail or None,
        documentation=page,
        sort_text=order,
        filter_text=offer.label,
        text_edit=lsp.TextEdit(where, offer.text),
    )


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    """Return the manual's page of a word, or where a name was declared."""
    document = ls.workspace.get_text_document(params.text_document.uri)
    text, source = document.source, source_of(document)
    start, end = word_at(text, document.offset_at_position(params.position))
    at = cursor_at(text, start)
    if start == end or at is None:
        return None
    after = text[end : end + 80].lstrip()
    is_key = after.startswith(("=", ":")) and not after.startswith("==")
    found = explanation(text[start:end], at, manual(), is_key)
    if not found:
        one = declaration_of(text[start:end], start, declarations(source))
        if one is None:
            return None
        found = f"{one.sort}\n\n```fexp\n{' '.join(one.whole.text.split())[:200]}\n```"
    where = lsp.Range(place(document, source, start), place(document, source, end))
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found), where)


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def define(ls: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    """Return where the name under the cursor is declared in this file."""
    document = ls.workspace.get_text_document(params.text_document.uri)
    offset = document.offset_at_position(params.position)
    start, end = word_at(document.source, offset)
    name = document.source[start:end].partition(".")[0]
    found = declaration_of(name, start, declarations(source_of(document)))
    return lsp.Location(document.uri, extent(document, found.name_at)) if found else None


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def outline(ls: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    """Return the declarations of a file, each inside the one that contains it."""
    document = ls.workspace.get_text_document(params.text_document.uri)
    top: list[lsp.DocumentSymbol] = []
    containing: list[tuple[Declaration, lsp.DocumentSymbol]] = []
    for one in declarations(source_of(document)):
        symbol = lsp.DocumentSymbol(
            name=one.name,
            detail=one.sort,
            kind=SYMBOLS.get(one.sort, lsp.SymbolKind.Variable),
            range=extent(document, one.whole),
            selection_range=extent(document, one.name_at),
            children=[],
        )
        while containing and containing[-1][0].depth >= one.depth:
            containing.pop()
        siblings = containing[-1][1].children if containing else top
        assert siblings is not None
        if isinstance(siblings, list):
            siblings.append(symbol)
        containing.append((one, symbol))
    return top


@server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
def format_document(ls: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    """Return the canonical layout; nothing while the file has syntax errors."""
    document = ls.workspace.get_text_document(params.text_document.uri)
    source = source_of(document)
    try:
        text = layout(source)
    except CompileError:
        return []
    whole = lsp.Range(START, place(document, source, len(source.text)))
    return [] if text == source.text else [lsp.TextEdit(whole, text)]


@server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
def hints(ls: Server, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """Return how many cells each experiment has, and what they cost."""
    return ls.hints.get(params.text_document.uri, [])


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    """Forget a file."""
    uri = params.text_document.uri
    if uri in ls.waiting:
        ls.waiting.pop(uri).cancel()
    ls.hints.pop(uri, None)


def explanation(word: str, cursor: Cursor, pages: Pages, is_key: bool) -> str:
    """Return Markdown about a word; empty if the manual has no page of it.

    is_key: whether `=` or `:` follows it.
    """
    found = _page(word, cursor, pages, is_key)
    return "\n\n---\n\n".join(markdown(with_definition(page)) for page in found)


def _page(word: str, cursor: Cursor, pages: Pages, is_key: bool) -> list[Page]:
    if is_key and not cursor.call:
        return [page for page in pages.get(KEYS + cursor.block, ()) if page.name == word]
    if is_key:
        parameters = _of_call(cursor.call, pages)
        return [
            Page(word, f"parameter of {cursor.call}", field.summary, field.runs, (field,))
            for page in parameters
            for field in page.fields
            if field.name == word
        ][:1]
    named = [page for page in _words(pages) if page.name == word]
    if not named and "." in word:
        named = [page for page in pages["metrics"] if word in page.values]
    return named


def _of_call(call: str, pages: Pages) -> list[Page]:
    return [page for page in _words(pages) if page.name == call.partition(".")[0]]


def _words(pages: Pages) -> list[Page]:
    left_out = ("blocks", "units", "targets", "engines")
    return [
        page
        for family, members in pages.items()
        if family not in left_out and not family.startswith(KEYS)
        for page in members
    ]
