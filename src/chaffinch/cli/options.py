"""What commands share: options, how lines and tables are printed so that they fit the terminal, and
how Arrow starts.

Arrow imports pandas, where it is installed, at the first array it makes: to know a frame if it were given one. That takes longer than most small jobs, and
swallows a Ctrl-C. So Arrow finds none at first, and looks again when pandas is imported for something: it then knows frames as ever.
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

from .._base.errors import LedgerError, join_names
from .._base.options import FILES, MEASURE, PRIVACY, RUN, Declared, Option
from .command import Exit, echo

if TYPE_CHECKING:
    from rich.console import Console

    from ..synth import Model
    from ..table import Note
    from ..workflows.run import Destinations, RunOptions


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


@dataclass(frozen=True, kw_only=True)
class RunRequest(Declared):
    """How a command runs, and where its result goes."""

    seed: RunSeed = None
    json: Json = None
    quiet: Silent = False
    threads: Cores = None

    @property
    def files(self) -> Destinations:
        """Where the result goes: the files that the command has an option for."""
        from ..workflows.run import Destinations

        names = [entry.name for entry in fields(Destinations) if hasattr(self, entry.name)]
        return Destinations(**{name: getattr(self, name) for name in names})

    def start(
        self, *, plain: bool = True, learns: bool = False
    ) -> AbstractContextManager[RunOptions]:
        """Give the run, which says how far it is: `console_run`."""
        from .observer import console_run

        return console_run(
            seed=self.seed, threads=self.threads, quiet=self.quiet, plain=plain, learns=learns
        )


@dataclass(frozen=True, kw_only=True)
class ReportRequest(RunRequest):
    """How a command runs that measures a table, and where its report goes."""

    public: Public = None
    verbose: Long = False


@dataclass(frozen=True, kw_only=True)
class MeasureRequest(ReportRequest):
    """How a command runs that measures a table and writes no other file: its page is where one names it."""

    html: Html = None


# Words.


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


@contextmanager
def ledger_allows() -> Iterator[None]:
    """End with 1 where the project ledger does not allow a release."""
    try:
        yield
    except LedgerError as error:
        echo(f"The project ledger says no: {error}", err=True)
        raise Exit(1) from None


# The screen.


def show_notes(notes: Iterable[Note], *, quiet: bool = False) -> None:
    """Say on standard error what was dropped, pooled or pointed out; columns that look personal also where all else is quiet."""
    from ..table.personal.detect import PERSONAL
    from ..table.schema import note_lines

    all_notes = list(notes)
    for note in all_notes:
        if note.what == PERSONAL:
            echo(f"Warning: {note}", err=True)
    for line in () if quiet else note_lines(note for note in all_notes if note.what != PERSONAL):
        echo(f"Note: {line}", err=True)


def show_promise(model: Model | None) -> None:
    """Say what is promised, in one sentence."""
    if model is not None and model.privacy is not None:
        echo(model.privacy.sentence, err=True)


def written_line(output: Path, names: Iterable[str]) -> str:
    """Return which files of a folder are meant to leave; a folder of files by its own name."""
    from ..workflows.run import CONFIDENTIAL, TO_RELEASE

    files = [name for name in names if name.startswith(f"{TO_RELEASE}/")]
    leaving = join_names(dict.fromkeys("/".join(name.split("/")[:2]) for name in files))
    if not leaving:
        return f"Wrote {output}: nothing to leave, all in {CONFIDENTIAL}/."
    return f"Wrote {output}: {leaving} to leave once you decide so, the rest in {CONFIDENTIAL}/."


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
    for number, columns in enumerate(parts):
        if number:
            screen.print()
        table = Table(box=None, pad_edge=False, show_header=bool(head))
        for j in columns:
            table.add_column(Text(head[j]) if head else "", overflow="fold")
        for line in lines:
            table.add_row(
                *(Text(line[j]) for j in columns)
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
    word_widths = [
        max(map(len, head[j].split()), default=0) if head else 0 for j in range(n)
    ]  # a heading may break between words
    max_width = max(width // 3, 1)
    needs = [min(max(cells[j], word_widths[j]), max_width) for j in range(n)]
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
        blocked = (
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            if hasattr(signal, "pthread_sigmask")
            else None
        )
        try:
            pa.array(
                [0]
            )  # an old Arrow (17) looks again at every array: let it find pandas now, while Ctrl-C waits
        finally:
            if blocked is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
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
