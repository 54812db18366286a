"""What commands share: options, how they are put into a command, how words are read, how lines and tables are printed so that they fit the terminal, and
how Arrow starts.

Arrow imports pandas, where it is installed, at the first array it makes: to know a frame if it were given one. That takes longer than most small jobs, and
swallows a Ctrl-C. So Arrow finds none at first, and looks again when pandas is imported for something: it then knows frames as ever.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._base.errors import InputError, LedgerError
from .._base.options import FILES, MEASURE, PRIVACY, RUN, Option

if TYPE_CHECKING:
    from rich.console import Console

    from ..synth import Model
    from ..table import FileOptions, Note
    from ..table.settings import Reading


Json = Annotated[
    Path | None, Option("Write the result as JSON to this file.", panel=FILES, leaves=False)
]
Html = Annotated[
    Path | None,
    Option(
        "Write the result as a page: confidential, readable by you alone.",
        basic=True,
        panel=FILES,
        leaves=False,
    ),
]
Public = Annotated[
    Path | None,
    Option("Write the variant of the page that may leave.", panel=FILES, leaves=False),
]
Secrets = Annotated[
    Path | None,
    Option(
        "Write what is about single records here: confidential, readable by you alone.",
        panel=FILES,
        leaves=False,
    ),
]
RunSeed = Annotated[
    int | None,
    Option(
        "Seed: the same seed gives the same result. With a privacy guarantee: for tests only, no privacy.",
        basic=True,
        panel=RUN,
        leaves=False,
    ),
]
Silent = Annotated[bool, Option("No progress bar, no notes, no printed result.", panel=RUN)]
Long = Annotated[bool, Option("Print the long tables too.", panel=RUN, short="v")]
Cores = Annotated[int | None, Option("Threads to use. Default: all cores.", panel=RUN, ge=1)]
DryRunOnly = Annotated[
    bool, Option("Show how the budget would be split, and stop: nothing is read.", panel=PRIVACY)
]

InputFile = Annotated[Path, Option("A table: {formats}.", argument=True, metavar="INPUT")]
InputAddress = Annotated[
    str,
    Option(
        "A table: {formats}; with --engine spark also an address, as hdfs:///people.",
        argument=True,
        metavar="INPUT",
    ),
]

HoldoutAddress = Annotated[
    str | None,
    Option(
        "People of the same population who are not in the original: a fresh sample.",
        basic=True,
        panel=MEASURE,
        metavar="PATH",
        leaves=False,
    ),
]
LedgerFile = Annotated[
    Path | None,
    Option(
        "Project ledger that adds up releases of this data, and may refuse this one.",
        panel=PRIVACY,
        leaves=False,
    ),
]
Title = Annotated[str | None, Option("Title of the report.", panel=FILES)]

Input = Annotated[
    Path,
    typer.Argument(help="A table: {formats}.", show_default=False),
]
SchemaIn = Annotated[
    Path | None, typer.Option("--schema", help="Schema file (TOML, or a codebook in JSON).")
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of text files; found where their bytes leave no doubt (a private fit takes utf-8).",
        show_default=False,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="Delimiter of text files; found from the first lines unless given."),
]
Header = Annotated[
    str | None,
    typer.Option(
        help="Names of columns in the first line: yes, no, units (a line of units follows), or the line they stand in; found unless given (a private fit takes yes)."
    ),
]
Comment = Annotated[
    str | None,
    typer.Option(help="Sign of lines that are no records; lines with # above the names are found."),
]
TableName = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="NAME",
        help="Sheet, table of a database or file in a zip; FILE::NAME says the same.",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="Decimal sign of text files: . or ,; found from its numbers unless given (a private fit takes the schema's)."
    ),
]
Rare = Annotated[str, typer.Option(help="Levels with fewer than three records: pool or keep.")]
Personal = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=WORD",
        help="What becomes of a column that says who somebody is: drop, fake (made up) or keep (synthesised); may be given again.",
    ),
]
JsonOut = Annotated[Path | None, typer.Option("--json", help="Write the result as JSON.")]
HtmlOut = Annotated[
    Path | None,
    typer.Option(
        "--html", help="Write the result as a page to keep inside: readable by you alone."
    ),
]
PublicOut = Annotated[
    Path | None, typer.Option("--public", help="Write the page's variant that may leave.")
]
LedgerIn = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        help="Project ledger that adds up releases of this data, and may refuse this one.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Show how the budget would be split, and stop: nothing is read."
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", help="No progress bar, no notes and nothing printed of the result."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print the long tables too.")]
ClusterEngine = Annotated[
    str,
    typer.Option(
        help="Rows all in memory (memory), or batch by batch in bounded memory (stream); auto takes memory for fewer than 1,000,000 that fit in half of what is free, and says so where not. Or spark: where a Spark cluster has the table, by an address such as hdfs:///people. auto never takes spark."
    ),
]
Cache = Annotated[
    str | None,
    typer.Option(
        help="With --engine spark: where codes are held meanwhile, a folder that all workers see, or an address; they are removed at the end."
    ),
]
Place = Annotated[
    str,
    typer.Argument(
        parser=str,
        metavar="INPUT",
        help="A table: {formats}; with --engine spark also an address, as hdfs:///people.",
        show_default=False,
    ),
]
SampleRows = Annotated[
    int,
    typer.Option(
        help="Where rows are read batch by batch: about how many records of the largest table go to measures that learn or compare rows; others count all."
    ),
]
Threads = Annotated[int | None, typer.Option(help="Threads to use; all cores unless given.")]

Holdout = Annotated[
    Path | None,
    typer.Option(help="People of the same population who are not in the original: a fresh sample."),
]
HoldoutPlace = Annotated[
    str | None,
    typer.Option(
        parser=str,
        metavar="PATH",
        help="People of the same population who are not in the original: a fresh sample.",
        show_default=False,
    ),
]
HoldoutShare = Annotated[
    float | None,
    typer.Option(
        help="Share of the people to set aside as a holdout, up to 0.5, by --seed. Default: none.",
        show_default=False,
    ),
]
Formula = Annotated[
    str | None, typer.Option(help="Regression to fit on both tables, as 'income ~ age + sex'.")
]
Repeats = Annotated[
    int | None,
    typer.Option(
        help="Splits for learners; more take longer and give tighter figures. Default: 3; 10 with --thorough.",
        show_default=False,
    ),
]
Thorough = Annotated[
    bool,
    typer.Option(
        "--thorough",
        help="Measure everything, in minutes: delta, support vector machines and forests, ten splits, all attackers.",
    ),
]
Measures = Annotated[
    str | None,
    typer.Option(
        help="Some of {metrics}, as A,B; or those of the run but some, as -A,-B. Unless given all; delta with --thorough."
    ),
]
Models = Annotated[
    str | None,
    typer.Option(
        help="Learners of the learning table: some of {models}, as A,B. Default: nb, knn, lr; all with --thorough.",
        show_default=False,
    ),
]
SvmRows = Annotated[
    int, typer.Option(help="The most records a support vector machine learns from; 0 for all.")
]
KeySizes = Annotated[
    str | None,
    typer.Option(help="Sizes of key subsets to try, as 3-6 or 4; all keys unless given."),
]
Attackers = Annotated[
    str | None,
    typer.Option(
        help="Attackers to run, as A,B: any of {attackers}. Default: matching, memorisation, nb, knn; svm, rf and lr too with --thorough.",
        show_default=False,
    ),
]
TcapConvention = Annotated[
    str, typer.Option(help="How TCAP counts: {conventions}; printed with the result.")
]
MaxExcess = Annotated[
    float | None,
    typer.Option(
        help="The limit on the excess: end with 1 if its simultaneous lower bound is above this."
    ),
]
RequireShown = Annotated[
    bool,
    typer.Option(
        "--require-shown", help="End with 1 also where the limit is not shown to be kept."
    ),
]
Threshold = Annotated[
    int,
    typer.Option(
        help="Records that must share a value or a cell before it shows in what may leave."
    ),
]


def row_count(words: Any) -> int:
    """Return a number of rows: digits, or a power of ten as 1e9.

    Examples
    --------
    >>> row_count("1e9"), row_count("2.5e3"), row_count("200")
    (1000000000, 2500, 200)
    """
    from decimal import Decimal, InvalidOperation

    try:
        n_rows = Decimal(str(words))
    except InvalidOperation:
        n_rows = Decimal("NaN")
    if not n_rows.is_finite() or n_rows != n_rows.to_integral_value() or abs(n_rows) > 10**15:
        raise typer.BadParameter(
            f"'{words}' is no whole number: write digits, or a power of ten as 1e9."
        )
    return int(n_rows)


RowCount = Annotated[
    int | None,
    typer.Option(
        parser=row_count,
        metavar="INTEGER",
        help="Rows to draw, as 50000 or 1e9; as many as the input has unless given.",
        show_default=False,
    ),
]

# Options that go together.


def expanded(**groups: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that puts the options of a function in the place of a parameter, and gives the command what it returns."""
    options = {name: _signature(build, "return").parameters for name, build in groups.items()}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = _signature(command, *groups, "return")
        merged: list[inspect.Parameter] = []
        for parameter in own.parameters.values():
            merged += options[parameter.name].values() if parameter.name in options else [parameter]
        merged = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in merged]

        @functools.wraps(command)
        def with_options(**given: Any) -> Any:
            built = {
                name: build(**{key: given.pop(key) for key in options[name] if key in given})
                for name, build in groups.items()
            }
            return command(**built, **given)

        with_options.__signature__ = own.replace(parameters=merged)  # type: ignore[attr-defined]
        with_options.__annotations__ = {
            parameter.name: parameter.annotation for parameter in merged
        }
        del with_options.__wrapped__
        return with_options

    return decorate


def _signature(function: Callable[..., Any], *unread: str) -> inspect.Signature:
    """The signature with the types themselves, but for annotations that say what no option is."""
    return inspect.signature(
        function,
        eval_str=True,
        locals={
            function.__annotations__[name]: Any
            for name in unread
            if name in function.__annotations__
        },
    )


def file_options(
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    header: Header = None,
    comment: Comment = None,
    table: TableName = None,
) -> FileOptions:
    """Return what is said of the input file."""
    given: FileOptions = {
        "encoding": encoding,
        "delimiter": plain_delimiter(delimiter),
        "decimal": decimal,
        "header": header,
        "comment": comment,
        "table": table,
    }
    return {name: word for name, word in given.items() if word is not None}  # type: ignore[return-value]


@expanded(file=file_options)
def reading_of(
    *, schema: SchemaIn = None, file: FileOptions, rare: Rare = "pool", personal: Personal = None
) -> Reading:
    """Return how the input is read."""
    from ..table.settings import Reading

    decisions = decisions_of(personal or ())
    return Reading(schema=schema, rare=rare, personal=decisions, **file)  # type: ignore[arg-type]


def decisions_of(words: Sequence[str]) -> dict[str, str]:
    """Return what was decided of columns.

    Examples
    --------
    >>> decisions_of(["name=drop", "a=b=keep"])
    {'name': 'drop', 'a=b': 'keep'}
    """
    decisions: dict[str, str] = {}
    for word in words:
        name, equals, decision = word.rpartition("=")
        if not equals or not name:
            raise InputError(f"--personal takes COLUMN=WORD, as name=drop. Got '{word}'.")
        if decisions.get(name, decision) != decision:
            raise InputError(f"--personal says two things of column '{name}'. Say one.")
        decisions[name] = decision
    return decisions


# Words.


def plain_delimiter(delimiter: str | None) -> str | None:
    """Return the delimiter itself where it was given by name."""
    return None if delimiter is None else {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)


def names_of(words: str | None) -> tuple[str, ...]:
    """Return the names in a comma-separated list.

    Examples
    --------
    >>> names_of("a, b")
    ('a', 'b')
    """
    return tuple(word.strip() for word in (words or "").split(",") if word.strip())


def key_sizes_of(words: str | None) -> tuple[int, int] | None:
    """Return the smallest and the largest size of key subsets.

    Examples
    --------
    >>> key_sizes_of("3-6"), key_sizes_of("4"), key_sizes_of(None)
    ((3, 6), (4, 4), None)
    """
    if words is None:
        return None
    low, _, high = words.partition("-")
    try:
        return int(low), int(high or low)
    except ValueError:
        raise InputError(
            f"--key-sizes takes a size or a range, as 4 or 3-6. Got '{words}'."
        ) from None


def command_line() -> str:
    """Return the command as it was given, with the names of files and not where they lie."""
    return shlex.join(["chaffinch", *map(_without_folder, sys.argv[1:])])


def _without_folder(word: str) -> str:
    """Return a word of the command line with the names of files, not where they lie.

    Examples
    --------
    >>> _without_folder("--json=/data/secret/u.json"), _without_folder("data/a.csv"), _without_folder("--seed")
    ('--json=u.json', 'a.csv', '--seed')
    """
    option, equals, value = word.rpartition("=")
    return option + equals + Path(value).name if "/" in value or "\\" in value else word


def run_facts() -> dict[str, Any]:
    """Return what may differ between two equal runs: versions, the date, the command."""
    from ..workflows.run import RunOptions

    return RunOptions(command=command_line()).facts


# Files.


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write a result as JSON, wholly or not at all."""
    from .._base.files import write_text

    write_text(path, json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_confidential(path: Path, secrets: dict[str, Any]) -> None:
    """Write what is for the steward's eyes alone, readable by the owner."""
    from .._base.files import write_text

    write_text(path, json.dumps(secrets, indent=1, ensure_ascii=False) + "\n", mode=0o600)


@contextmanager
def ledger_allows() -> Iterator[None]:
    """End with 1 where the project ledger does not allow a release."""
    try:
        yield
    except LedgerError as error:
        typer.echo(f"The project ledger says no: {error}", err=True)
        raise typer.Exit(1) from None


# The screen.


def show_notes(notes: Iterable[Note], *, quiet: bool = False) -> None:
    """Say on standard error what was dropped, pooled or pointed out; columns that look personal also where all else is quiet."""
    from ..table.personal.detect import PERSONAL
    from ..table.schema import note_lines

    every = list(notes)
    for note in every:
        if note.what == PERSONAL:
            typer.echo(f"Warning: {note}", err=True)
    for line in () if quiet else note_lines(note for note in every if note.what != PERSONAL):
        typer.echo(f"Note: {line}", err=True)


def show_promise(model: Model | None) -> None:
    """Say what is promised, in one sentence."""
    if model is not None and model.privacy is not None:
        typer.echo(model.privacy.sentence, err=True)


def show_lines(*lines: str) -> None:
    """Print sentences, a line each, broken where the screen ends; empty ones are left out."""
    screen = console()
    for line in lines:
        if line:
            screen.print(line, markup=False, soft_wrap=False)


def show_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Console:
    """Print a table, without a heading where there is none, and return where it was printed.

    What is wider than the screen is printed in parts below each other, the first column in each: words may break, numbers never.
    """
    from rich.table import Table
    from rich.text import Text

    screen, lines = console(), [tuple(row) for row in rows]
    parts = columns_that_fit(head, lines, screen.width)
    for number, part in enumerate(parts):
        if number:
            screen.print()
        table = Table(box=None, pad_edge=False, show_header=bool(head))
        for j in part:
            table.add_column(Text(head[j]) if head else "", overflow="fold")
        for line in lines:
            table.add_row(
                *(Text(line[j]) for j in part)
            )  # names may hold brackets, which are markup
        screen.print(table)
    return screen


def columns_that_fit(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> list[list[int]]:
    """Return the columns of each part of a table that may be so wide: all in one where they fit, else the first column in every part.

    Examples
    --------
    >>> columns_that_fit(["a", "b", "c"], [["one", "0.1234", "0.5678"]], 14), columns_that_fit(["a", "b"], [["one", "0.1"]], 80)
    ([[0, 1], [0, 2]], [[0, 1]])
    """
    n = len(head) or len(rows[0]) if head or rows else 0
    cells = [max((len(row[j]) for row in rows), default=0) for j in range(n)]
    names = [len(head[j]) if head else 0 for j in range(n)]
    if sum(map(max, zip(cells, names, strict=True))) + 2 * (n - 1) <= width:
        return [list(range(n))]
    words = [
        max(map(len, head[j].split()), default=0) if head else 0 for j in range(n)
    ]  # a heading may break between words
    most = max(width // 3, 1)
    needs = [min(max(cells[j], words[j]), most) for j in range(n)]
    parts, used = [[0]], needs[0]
    for j in range(1, n):
        if used + 2 + needs[j] > width and len(parts[-1]) > 1:
            parts.append([0])
            used = needs[0]
        parts[-1].append(j)
        used += 2 + needs[j]
    return parts


def console() -> Console:
    """Return where tables are printed: as wide as the terminal or COLUMNS say, or 160 characters where neither does."""
    from rich.console import Console

    return Console(
        width=None if sys.stdout.isatty() or os.environ.get("COLUMNS") else 160, highlight=False
    )


def number(value: float | None) -> str:
    """Return a number for a table on the screen: three digits, nothing where there is none.

    Examples
    --------
    >>> number(0.123456), number(None)
    ('0.123', '')
    """
    return "" if value is None else f"{value:.3g}"


def start_arrow(threads: int | None) -> None:
    """Keep Arrow to the number of threads asked for, and have it look for pandas when that is imported, not before."""
    import pyarrow as pa

    from .._base.runtime import thread_count

    if "pandas" not in sys.modules and not any(
        isinstance(finder, _PandasFinder) for finder in sys.meta_path
    ):
        finder = _PandasFinder()
        sys.meta_path.insert(0, finder)
        pa.array([0])
        finder.hides = False
        held = (
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            if hasattr(signal, "pthread_sigmask")
            else None
        )
        try:
            pa.array(
                [0]
            )  # an old Arrow (17) looks again at every array: let it find pandas now, while Ctrl-C waits
        finally:
            if held is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, held)
    if threads is not None:
        pa.set_cpu_count(thread_count(threads))


class _PandasFinder(MetaPathFinder):
    """Hides pandas while Arrow looks for it; later, finds it once and has Arrow look again."""

    hides = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "pandas":
            return None
        if self.hides:
            raise ModuleNotFoundError("pandas is not looked for yet", name=fullname)
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _PandasLoader(spec.loader)
        return spec


class _PandasLoader(Loader):
    """Loads pandas as its own loader does, then has Arrow know it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader  # as if it had been there alone
        self.loader.exec_module(module)
        import pyarrow as pa

        pa.array([0]).to_pandas()  # for this Arrow looks for pandas again, where it found none
