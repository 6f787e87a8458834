"""The folder of a suite: `.fexp` files and `suite.toml`, which is data alone.

title, source, cost        what the suite is, whose criteria it has, what it takes
[parameters.NAME]          a `let` of its files that users set: default, about
[quick]                    NAME = "EXPR": what `--quick` replaces
[member.NAME]              spec: a file of the folder; experiment, if not NAME; quick: more
[criterion."ID"]           title; members, and claims of theirs, or else a reason
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from fairc.dsl.core.registry import suggest

FILE = "suite.toml"
SIZE_LIMIT = 1_000_000
"""Bytes of a `suite.toml`."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPEC = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\.fexp")
_TABLE = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w-]+)\s*=""")
_PART = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*(?:\.|$)""")
_AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")

TEXT = "a text of one line"
TEXTS = "a list of texts"
TABLE = "a table"
SETTINGS = 'a table of NAME = "EXPR"'


class SuiteError(Exception):
    """A suite is wrong; help: what to do."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class Parameter:
    """A `let` of all files of a suite that users set. default: as `--set` takes it."""

    name: str
    default: str
    about: str


@dataclass(frozen=True, slots=True)
class Member:
    """An experiment of a suite.

    spec: the file in the folder. quick: what `--quick` replaces in it.
    """

    name: str
    spec: str
    experiment: str
    quick: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion that a suite decides.

    members: whose claims decide it. claims: their texts; empty: all of these members. reason: why
    nothing decides it; then it has no members.
    """

    name: str
    title: str
    members: tuple[str, ...]
    claims: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite as its folder describes it."""

    folder: Path
    title: str
    source: str
    cost: str
    parameters: tuple[Parameter, ...]
    quick: Mapping[str, str]
    members: tuple[Member, ...]
    criteria: tuple[Criterion, ...]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.resolve().name

    def target(self, member: Member) -> Path:
        """Return the experiment of a member, as commands name it."""
        return self.folder / f"{member.spec}:{member.experiment}"

    def settings(self, member: Member, given: Mapping[str, str], *, quick: bool) -> dict[str, str]:
        """Return what is set in a member. given: values of parameters; others have defaults."""
        values = {p.name: given.get(p.name, p.default) for p in self.parameters}
        return {**values, **self.quick, **member.quick} if quick else values


def shipped() -> dict[str, Path]:
    """Return the folders of the suites that come with fairc, by name."""
    place = Path(str(files("fairc") / "suite"))
    return {path.parent.name: path.parent for path in sorted(place.glob(f"*/{FILE}"))}


def find(name: Path) -> Path:
    """Return the folder of a suite: one that is shipped, by its name, or a path. Raises
    SuiteError.
    """
    if name.is_dir():
        return name
    known = shipped()
    if str(name) in known:
        return known[str(name)]
    near = suggest(str(name), known)
    raise SuiteError(
        f"there is no suite `{name}`{f'; did you mean `{near}`?' if near else ''}",
        f"name one of {', '.join(known)}, or a folder with a {FILE}",
    )


def read(folder: Path) -> Suite:
    """Read the suite in a folder. Raises SuiteError for what is wrong with it."""
    return _Reader(folder).suite()


class _Reader:
    """Reads one `suite.toml`, and knows the lines of its keys."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / FILE
        text = self._text()
        self._lines = dict(_places(text))
        try:
            self._whole = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            found = _AT.search(str(error))
            line = f":{found[1] or text.count(chr(10)) + 1}" if found else ""
            raise SuiteError(
                f"{self._path}{line}: not TOML: {_AT.sub('', str(error))}",
                'texts are in quotes: title = "..."; see https://toml.io',
            ) from None
        except ValueError:  # of Python's own, which has a limit
            raise SuiteError(
                f"{self._path}: a number in it has thousands of digits",
                'texts are in quotes: title = "..."',
            ) from None

    def _text(self) -> str:
        path = self._path
        if not _is(TEXT, name := self._folder.resolve().name):
            raise SuiteError(f"the folder of a suite is called {name!a}", f"its name is {TEXT}")
        if path.is_symlink() or not path.is_file():
            raise SuiteError(
                f"{self._folder} is no suite: it has no regular file {FILE}",
                "`fairc suite list` names those that are shipped",
            )
        try:
            with path.open("rb") as file:
                data = file.read(SIZE_LIMIT + 1)
            if len(data) > SIZE_LIMIT:
                raise SuiteError(f"{path} is larger than 1 MB", "a suite is a page or two of text")
            return data.decode("utf-8")
        except OSError as error:
            raise SuiteError(f"{path} cannot be read: {error.strerror}", "") from None
        except UnicodeDecodeError:
            raise SuiteError(f"{path} is not UTF-8 text", "save it as UTF-8") from None

    def suite(self) -> Suite:
        """Return the suite. Raises SuiteError."""
        required = {"title": TEXT, "source": TEXT, "cost": TEXT, "member": TABLE}
        optional = {"parameters": TABLE, "quick": SETTINGS, "criterion": TABLE}
        whole = self._table((), self._whole, required, optional)
        parameters = tuple(self._parameters(whole.get("parameters", {})))
        members = tuple(self._members(whole["member"]))
        quick = whole.get("quick", {})
        names = {parameter.name for parameter in parameters}
        for table, settings in [
            (("quick",), quick),
            *((("member", m.name, "quick"), m.quick) for m in members),
        ]:
            if both := sorted(names & {*settings}):
                self._fail((*table, both[0]), f"`{both[0]}` is a parameter", "leave it to --set")
        criteria = tuple(self._criteria(whole.get("criterion", {}), members))
        described = (whole["title"], whole["source"], whole["cost"])
        return Suite(self._folder, *described, parameters, quick, members, criteria)

    def _parameters(self, table: Mapping[str, Any]) -> Iterator[Parameter]:
        for name, value in table.items():
            at = ("parameters", name)
            self._word(at)
            found = self._table(at, value, {"default": TEXT, "about": TEXT}, {})
            yield Parameter(name, found["default"], found["about"])

    def _members(self, table: Mapping[str, Any]) -> Iterator[Member]:
        if not table:
            self._fail(("member",), "a suite has at least one member", "add [member.NAME]")
        running: dict[tuple[str, str], str] = {}
        for name, value in table.items():
            at = ("member", name)
            self._word(at)
            optional = {"experiment": TEXT, "quick": SETTINGS}
            found = self._table(at, value, {"spec": TEXT}, optional)
            spec = found["spec"]
            if not _SPEC.fullmatch(spec) or (self._folder / spec).is_symlink():
                self._fail(
                    (*at, "spec"),
                    f"`{spec}` is not the name of a .fexp file of the suite's own folder",
                    'write a file name without folders, such as spec = "scenarios.fexp"',
                )
            if not (self._folder / spec).is_file():
                near = suggest(spec, [path.name for path in self._folder.glob("*.fexp")])
                help = f"did you mean `{near}`?" if near else "add it, or remove the member"
                self._fail((*at, "spec"), f"there is no file `{spec}` in {self._folder}", help)
            experiment = found.get("experiment", name)
            self._word((*at, "experiment"), experiment)
            if (first := running.setdefault((spec, experiment), name)) != name:
                self._fail(
                    at,
                    f"the member `{first}` runs the experiment `{experiment}` of `{spec}` already",
                    "remove one of them, or give the file another experiment with `extends`",
                )
            yield Member(name, spec, experiment, found.get("quick", {}))

    def _criteria(self, table: Mapping[str, Any], members: Iterable[Member]) -> Iterator[Criterion]:
        specs = {member.name: member.spec for member in members}
        for name, value in table.items():
            at = ("criterion", name)
            if not _is(TEXT, name):
                self._fail(at[:1], f"a criterion is called {name!a}", f"its name is {TEXT}")
            optional = {"members": TEXTS, "claims": TEXTS, "reason": TEXT}
            found = self._table(at, value, {"title": TEXT}, optional)
            of, claims = tuple(found.get("members", ())), tuple(found.get("claims", ()))
            if ("reason" in found) == bool(of) or (claims and not of):
                self._fail(
                    at,
                    f"the criterion `{name}` needs either members that decide it, or a reason why"
                    " nothing does",
                    'members = ["NAME"], or reason = "..."',
                )
            for member in of:
                if member not in specs:
                    near = suggest(member, specs)
                    help = f"did you mean `{near}`?" if near else f"members: {', '.join(specs)}"
                    self._fail((*at, "members"), f"there is no member `{member}`", help)
            for claim in claims:
                self._claim((*at, "claims"), claim, {specs[member] for member in of})
            yield Criterion(name, found["title"], of, claims, found.get("reason", ""))

    def _claim(self, at: tuple[str, ...], claim: str, specs: Iterable[str]) -> None:
        """Refuse a claim that no file of its members makes."""
        asked = re.compile(rf'\bclaim\s+"{re.escape(claim)}"')
        for spec in specs:
            with (self._folder / spec).open(encoding="utf-8", errors="replace") as file:
                if asked.search(file.read(SIZE_LIMIT)):
                    return
        self._fail(at, f'no member makes the claim "{claim}"', "copy its text from the .fexp file")

    def _table(
        self,
        at: tuple[str, ...],
        value: Any,
        required: Mapping[str, str],
        optional: Mapping[str, str],
    ) -> Mapping[str, Any]:
        """Return a table whose keys and values are as they must be. Raises SuiteError."""
        known = {**required, **optional}
        if not isinstance(value, dict):
            self._fail(at, f"`{'.'.join(at)}` is not a table", f"it has {', '.join(known)}")
        for key, item in value.items():
            if key not in known:
                near = suggest(key, known)
                help = f"did you mean `{near}`?" if near else f"its keys are {', '.join(known)}"
                self._fail((*at, key), f"`{key}` is no key {_of(at)}", help)
            if not _is(known[key], item):
                self._fail((*at, key), f"`{key}` is not {known[key]}", _EXAMPLES[known[key]])
        for key in required:
            if key not in value:
                self._fail(at, f"`{key}` is missing {_of(at)}", _EXAMPLES[known[key]])
        return value

    def _word(self, at: tuple[str, ...], word: str | None = None) -> None:
        name = at[-1] if word is None else word
        if not _WORD.fullmatch(name):
            help = "letters, digits and underscores, as in a .fexp file"
            self._fail(at, f"`{name}` is not a name", help)

    def _fail(self, at: tuple[str, ...], message: str, help: str) -> NoReturn:
        """Raise SuiteError at a key, or at the nearest table around it that has a line."""
        line = next(
            (self._lines[at[:n]] for n in range(len(at), 0, -1) if at[:n] in self._lines), 1
        )
        raise SuiteError(f"{self._path}:{line}: {message}", help)


_EXAMPLES = {
    TEXT: 'write it in quotes, as in title = "..."',
    TEXTS: 'write ["one", "another"]',
    TABLE: "write a table, as in [member.NAME]",
    SETTINGS: 'write values in quotes, as in repeat = "3"',
}


def _is(kind: str, value: Any) -> bool:
    """Return whether a value of TOML is of a kind."""
    if kind == TEXT:
        return isinstance(value, str) and bool(value.strip()) and value.isprintable()
    if kind == TEXTS:
        return isinstance(value, list) and bool(value) and all(_is(TEXT, item) for item in value)
    if kind == SETTINGS:
        named = isinstance(value, dict) and all(_WORD.fullmatch(name) for name in value)
        return named and all(_is(TEXT, item) for item in value.values())
    return isinstance(value, dict)


def _of(at: tuple[str, ...]) -> str:
    return f"of [{'.'.join(at)}]" if at else f"of {FILE}"


def _places(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the path of each table and key that begins a line, and its line."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if found := _TABLE.match(line):
            table = tuple(_parts(found[1]))
            yield table, number
        elif found := _KEY.match(line):
            yield (*table, found[1].strip("\"'")), number


def _parts(name: str) -> Iterator[str]:
    """Yield the parts of a dotted name."""
    for found in _PART.finditer(name):
        yield next(part for part in found.groups() if part is not None)
