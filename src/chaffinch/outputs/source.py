"""Where outputs come from: a document, recipes, output files, an ACRO folder or Python objects, each as one `OutputSource`.

`open_outputs` finds which of them it is; nothing after it asks. Some outputs of a source are selected by name, then it puts them over the columns of the data, which gives recipes that
can be judged, and what the result says of where they came from.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .._base.checks import check_name
from .._base.errors import InputError
from .._base.masking import THRESHOLD
from .._base.results import PlainData, plain_form
from .document import FORMAT, VERSION, Outputs, named_columns, read_document, read_outputs
from .domain import OutputColumn, OutputDomain
from .records import TableCoder, fields_of_table
from .rules import Policy
from .rules.findings import RuleFinding, Status

if TYPE_CHECKING:
    from .check.result import CheckResult
    from .readers.files.protocol import ReadOutput

AnyPath = str | os.PathLike[str]
OutputsAddress = AnyPath | Sequence[Any] | Mapping[str, Any] | Outputs
"""What outputs are given as."""
CODES_NEED_RECIPES = (
    "Codes as data need recipes as outputs, which say what their columns are. Pass a table."
)
DOCUMENT_ENDINGS = (".toml", ".json")
"""Endings of files of outputs; other files are output files of some program."""


@dataclass(frozen=True)
class NotChecked:
    """A result of an ACRO folder, or an output in a file, that could not be read, why, and what kind of result it is said to be."""

    name: str
    reason: str
    kind: str = ""
    verdict: Status = "not assessed"
    """`fail` where what could be read of it fails all the same."""


@dataclass(frozen=True)
class ByRecipe:
    """A result of an ACRO folder in whose place a recipe was judged, and whether it could have been read."""

    name: str
    readable: bool


@dataclass(frozen=True)
class ReadFrom(PlainData):
    """An output that was read from a file: where it stands, and what was understood."""

    name: str
    location: str = field(metadata=plain_form(key="place"))
    understood: str


@dataclass(frozen=True, kw_only=True)
class CheckAbout:
    """What was checked: the names of files, the version of ACRO, what was released before and what was left out."""

    outputs: str | None = None
    acro: str | None = None
    data: str | None = None
    released: str | None = None
    released_head: str | None = None
    recorded: bool = False
    skipped: tuple[NotChecked, ...] = ()
    by_recipe: tuple[ByRecipe, ...] = ()
    not_asked: tuple[str, ...] = ()
    """Outputs that were left out as asked for: nothing is said of them."""
    ignored: tuple[str, ...] = ()
    """Outputs that outputs.toml ignores, which were not assessed."""
    ignored_accepted: bool = False
    """Whether they may leave all the same."""
    read: tuple[ReadFrom, ...] = ()
    """Outputs that were read from files, with what was understood."""


@dataclass(frozen=True)
class DataColumns:
    """The columns of the records, which outputs are put over."""

    coder: TableCoder
    names: tuple[str, ...] = ()
    """Columns that are wanted though no output is about them."""
    declared: tuple[OutputColumn, ...] = ()
    """Columns whose levels are known; others have those that occur."""
    threshold: int = THRESHOLD
    """Messages tell of the data what so many records share."""
    policy: Policy = field(default_factory=Policy)

    def fields(self, names: Collection[str]) -> OutputDomain:
        """Return those columns of the records that have some names, in the order of the records."""
        known = [name for name in self.coder.table.columns if name in names]
        return fields_of_table(self.coder, known, declared=self.declared, threshold=self.threshold)


@dataclass(frozen=True)
class PlacedOutputs:
    """The outputs of a source over the columns of the data, and what is said of where they came from.

    Parameters
    ----------
    recipes
        The outputs, to be judged; None where all that was read is judged as it is printed.
    about
        What the source says of itself, and of what in it could not be read.
    uncertain
        By the name of an output of which only the rules can be asked, why: its own numbers cannot be taken for those of the data.
    findings
        What the rules say of printed numbers that no recipe has.
    printed
        Outputs that are judged by their printed numbers alone, since there are no records.
    of_results
        By result of an ACRO folder, the names of its outputs.
    """

    recipes: Outputs | None
    about: CheckAbout = field(default_factory=CheckAbout)
    uncertain: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[RuleFinding, ...] = ()
    printed: tuple[ReadOutput, ...] = ()
    of_results: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class OutputSource(Protocol):
    """Outputs where they came from, before the data are known."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which outputs can be selected."""

    @property
    def path(self) -> Path | None:
        """The file or folder; None for what came as such."""
        return None

    @property
    def policy(self) -> Policy:
        """The rules that came with the outputs: the usual ones where none did."""
        return Policy()

    def only(self, names: Collection[str]) -> OutputSource:
        """Return the same with some of the outputs."""

    def place_on(self, columns: DataColumns) -> PlacedOutputs:
        """Return the outputs over the columns of the data; InputError where there are none."""

    def place_codes(self) -> PlacedOutputs:
        """Return outputs that say what their columns are, so that records can come as codes of these; InputError for others."""
        raise InputError(CODES_NEED_RECIPES)

    def place_printed(self) -> PlacedOutputs:
        """Return outputs whose printed numbers can be judged without the records; InputError for others."""
        raise InputError(
            "The records behind the outputs are missing: --data FILE. Only output files of other programs can be looked at without."
        )

    def check_write_back(self) -> None:
        """Raise InputError unless a result can be put into a copy of the source."""
        raise InputError(
            "--acro-write-back is for an ACRO folder, and there is no results.json in this one. Use --json and --html."
        )

    def write_back(
        self,
        folder: Path,
        placed: PlacedOutputs,
        result: CheckResult,
        *,
        report: Sequence[Path],
        summary: str,
    ) -> None:
        """Write a copy of the source with the files of a report, a summary and a comment on each result."""
        self.check_write_back()


@dataclass(frozen=True)
class RecipeSource(OutputSource):
    """Outputs over columns that they describe."""

    recipes: Outputs

    @property
    def names(self) -> tuple[str, ...]:
        return self.recipes.names

    def only(self, names: Collection[str]) -> RecipeSource:
        return RecipeSource(self.recipes.only([name for name in self.names if name in names]))

    def place_on(self, columns: DataColumns) -> PlacedOutputs:
        return self.place_codes()

    def place_codes(self) -> PlacedOutputs:
        if not len(self.recipes):
            raise _without_outputs(None)
        return PlacedOutputs(self.recipes)


@dataclass(frozen=True)
class DocumentSource(OutputSource):
    """What a file of outputs holds, or a mapping of the same form; columns that it does not describe are the data's."""

    content: Mapping[str, Any]
    path: Path | None = None

    @property
    def entries(self) -> list[Any]:
        """The entries as they stand there."""
        entries = self.content.get("outputs")
        return entries if isinstance(entries, list) else []

    @property
    def names(self) -> tuple[str, ...]:
        names = [entry.get("name") for entry in self.entries if isinstance(entry, Mapping)]
        return tuple(name for name in names if isinstance(name, str))

    def only(self, names: Collection[str]) -> DocumentSource:
        entries = [
            entry
            for entry in self.entries
            if not isinstance(entry, Mapping) or entry.get("name") in names
        ]
        return replace(self, content={**self.content, "outputs": entries})

    def place_on(self, columns: DataColumns) -> PlacedOutputs:
        known, fields = columns.coder.table.columns, None
        wanted = {*named_columns(self.entries, known), *columns.names}.intersection(known)
        if "columns" in self.content:
            head = {**self.content, "outputs": []}
            described = read_outputs(head, threshold=columns.threshold).fields
            if undescribed := wanted.difference(described.names):
                fields = OutputDomain((*described, *columns.fields(undescribed)))
        elif wanted:
            fields = columns.fields(wanted)
        elif not self.entries and self.content.get("format") == FORMAT:
            raise _without_outputs(self.path)
        recipes = read_outputs(dict(self.content), fields=fields, threshold=columns.threshold)
        if not len(recipes):
            raise _without_outputs(self.path)
        return PlacedOutputs(recipes)


def _without_outputs(path: Path | None) -> InputError:
    source = "The document" if path is None else f"'{path}'"
    return InputError(f"{source} has no outputs. Add an [[outputs]] block for each.")


def open_outputs(
    outputs: OutputsAddress, *, recipes: AnyPath | None = None, replace_readable: bool = False
) -> OutputSource:
    """Return the source of outputs, before any record is read.

    Parameters
    ----------
    outputs
        A file of outputs or a mapping of the same form, a folder that ACRO made, output files or a folder of them, `Outputs`, or a list of objects that hold outputs.
    recipes
        For an ACRO folder: a file of outputs that are named as results which cannot be read.
    replace_readable
        Whether recipes may stand in the place of results that can be read, too.

    Examples
    --------
    >>> table = {"name": "t", "kind": "table", "by": ["sex"]}
    >>> open_outputs({"format": "chaffinch-outputs", "version": 1, "outputs": [table]}).names
    ('t',)
    """
    paths = paths_of(outputs)
    path = paths[0] if len(paths) == 1 else paths[0].parent if paths else None
    if len(paths) == 1 and any(
        (paths[0] / name).exists() for name in ("results.json", "checksums")
    ):
        from .readers.acro.read import read_acro
        from .readers.acro.recipes import AcroSource

        directory = read_acro(paths[0], lenient=True)
        return AcroSource(directory, _recipes_by_name(recipes), replace_readable)
    if recipes is not None:
        what = f"'{path}' is a file of outputs" if path else "the outputs are none"
        raise InputError(f"--recipes is for an ACRO folder, and {what}. Add the recipes to it.")
    if (
        len(paths) == 1
        and not paths[0].is_dir()
        and (_is_document(paths[0]) or not paths[0].exists())
    ):
        return DocumentSource(read_document(paths[0]), paths[0])
    if paths:
        from .readers.files.read import read_files

        if document := next(filter(_is_document, paths), None):
            raise InputError(
                f"'{document}' is a file of outputs, and stands among output files. Check it by itself."
            )
        return replace(read_files(paths), path=path)
    if isinstance(outputs, Outputs):
        return RecipeSource(outputs)
    if isinstance(outputs, Mapping):
        return DocumentSource(outputs)
    if isinstance(outputs, Sequence) and outputs:
        from .readers.objects import entries_of_objects

        head = {"format": FORMAT, "version": VERSION}
        return DocumentSource({**head, "outputs": entries_of_objects(outputs)})
    raise InputError(
        f"The outputs must be a file of outputs, a folder that ACRO made, output files or a folder of them, a document with the same keys, objects that hold outputs or recipes. Got {type(outputs).__name__}."
    )


def paths_of(outputs: Any) -> list[Path]:
    """Return the files and folders that outputs came as; none for what came as such."""
    several = outputs if isinstance(outputs, list | tuple) else [outputs]
    are_paths = all(isinstance(path, str | os.PathLike) for path in several)
    return [Path(path) for path in several] if are_paths else []


def _is_document(path: Path) -> bool:
    return path.suffix.lower() in DOCUMENT_ENDINGS


def _recipes_by_name(recipes: AnyPath | None) -> dict[str, Mapping[str, Any]]:
    if recipes is None:
        return {}
    entries = read_document(recipes).get("outputs")
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in entries
    ):
        raise InputError(
            f"'{recipes}' must have [[outputs]] blocks, each named as the ACRO result that it describes."
        )
    return {entry["name"]: entry for entry in entries}


def select_outputs(
    source: OutputSource, only: Sequence[str] = (), exclude: Sequence[str] = ()
) -> tuple[OutputSource, tuple[str, ...]]:
    """Return a source with some outputs, or without some, and the names of those that were left out."""
    if not only and not exclude:
        return source, ()
    known = source.names
    named = {name for word in only or exclude for name in _split_names(word, known)}
    selected = [name for name in known if (name in named) == bool(only)]
    if not selected:
        raise InputError("--except leaves no output to check. Leave some name out of it.")
    return source.only(selected), tuple(name for name in known if name not in selected)


def _split_names(word: str, known: Sequence[str]) -> list[str]:
    """The outputs that a word names: itself, as names may hold commas; or each part between commas."""
    names = [word] if word in known else [name.strip() for name in word.split(",") if name.strip()]
    for name in names:
        check_name("output", name, known)
    return names
