"""`import`: the `let`s, services and topologies of other files, all in the first one's folder."""

from __future__ import annotations

from pathlib import Path

from .core.attachments import inside
from .core.diagnostics import CompileError, Diagnostic, Label
from .core.problems import Gather, fail
from .core.source import Source
from .text import syntax
from .text.parser import parse
from .text.reading import read

Declared = syntax.Let | syntax.Service | syntax.Topology

FILE_LIMIT = 100
"""At most this many files are imported."""


def imported(file: syntax.File) -> tuple[list[Declared], list[Source]]:
    """Return the declarations of all files that a file imports, each file once and in order, and
    these files.

    Raises CompileError for paths that leave the folder, import loops, and what is wrong in the
    files.
    """
    root = Path(file.span.source.name).parent
    loader = _Loader(root)
    gather = Gather()
    loader.follow(file, (Path(file.span.source.name).resolve(),), gather)
    gather.finish()
    return loader.declarations, loader.sources


class _Loader:
    """Reads the files of one experiment."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: set[Path] = set()
        self.declarations: list[Declared] = []
        self.sources: list[Source] = []

    def follow(self, file: syntax.File, trail: tuple[Path, ...], gather: Gather) -> None:
        """Read everything that a file imports; trail: the paths from the first file to this one."""
        for statement in file.declarations:
            if isinstance(statement, syntax.Import):
                with gather.attempt():
                    self._one(statement, trail, gather)

    def _one(self, statement: syntax.Import, trail: tuple[Path, ...], gather: Gather) -> None:
        path = self._confined(statement, trail[-1].parent)
        real = path.resolve()
        if real in trail:
            fail(
                "import-loop",
                f"`{statement.path.value}` imports itself, directly or through another file",
                statement.path.span,
                help="move what both files need into a third one",
            )
        if real in self._seen:
            return
        if len(self._seen) == FILE_LIMIT:
            fail("too-many", f"more than {FILE_LIMIT} files are imported", statement.span)
        self._seen.add(real)
        try:
            source = read(path)
        except CompileError as error:
            reason = error.diagnostics[0]
            raise CompileError(
                [
                    Diagnostic(
                        reason.code,
                        reason.message,
                        statement.path.span,
                        labels=(Label(reason.span, reason.note),) if reason.span else (),
                        help=reason.help,
                    )
                ]
            ) from None
        self.sources.append(source)
        file = parse(source)
        self.follow(file, (*trail, real), gather)
        self.declarations.extend(d for d in file.declarations if isinstance(d, Declared))

    def _confined(self, statement: syntax.Import, folder: Path) -> Path:
        """Return the path of an import.

        Raises CompileError if it leaves the first file's folder.
        """
        text = statement.path.value
        path = inside(text, folder, self._root)
        if path is None or not text.endswith(".fexp"):
            fail(
                "import-path",
                "an import must be a .fexp file in the experiment's folder or below it",
                statement.path.span,
                help='write a relative path without `..`, such as "networks/dsl.fexp"',
            )
        return self._root / path.relative_to(self._root.resolve())
