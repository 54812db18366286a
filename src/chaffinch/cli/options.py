"""Options that commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Decimal",
    "Delimiter",
    "DryRun",
    "Encoding",
    "HtmlOut",
    "Input",
    "JsonOut",
    "LedgerIn",
    "Quiet",
    "Rare",
    "SchemaIn",
    "SeedIn",
    "Threads",
    "check_outputs",
    "console",
    "number",
    "start_arrow",
    "write_json",
]

Input = Annotated[
    Path,
    typer.Argument(help="A table: {formats}.", show_default=False),
]
SchemaIn = Annotated[Path | None, typer.Option("--schema", help="Schema file (TOML, or SDV metadata in JSON).")]
Encoding = Annotated[str, typer.Option(help="Encoding of a text file.")]
Delimiter = Annotated[str | None, typer.Option(help="Delimiter of a text file; found from its header unless given.")]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="Decimal sign of a text file: . or ,; found from its numbers unless given (a private fit takes the schema's)."
    ),
]
Rare = Annotated[str, typer.Option(help="Levels with fewer than three records: pool or keep.")]
JsonOut = Annotated[Path | None, typer.Option("--json", help="Write the result as JSON.")]
HtmlOut = Annotated[
    Path | None,
    typer.Option("--html", help="Write the result as a page, to keep inside until reviewed: readable by you alone."),
]
LedgerIn = Annotated[
    Path | None,
    typer.Option("--ledger", help="Project ledger that adds up releases of this data, and may refuse this one."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show how the budget would be split, and stop: nothing is read.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar and no notes.")]
Threads = Annotated[int | None, typer.Option(help="Threads to use; all cores unless given.")]
SeedIn = Annotated[int | None, typer.Option("--seed", help="Accepted by every command; nothing is drawn in this one.")]


def start_arrow(threads: int | None) -> None:
    """Keep Arrow to the number of threads asked for, and let it look for pandas while Ctrl-C waits.

    Arrow imports pandas, where it is installed, at the first array it makes, and swallows every exception then.
    """
    import signal

    import pyarrow as pa

    from .._base.threads import thread_count

    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        pa.array([0])
    finally:
        if held is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
    if threads is not None:
        pa.set_cpu_count(thread_count(threads))


def check_outputs(source: Path, *outputs: Path | None) -> None:
    """Raise unless every output can be written, is not the input, and is not another output."""
    from .._base import safe_files

    safe_files.check_outputs(source, *outputs)


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write a result as JSON, wholly or not at all."""
    from .._base.safe_files import write_text

    write_text(path, json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def console() -> Console:
    """Return where tables are printed: as wide as the terminal, or 160 characters where none watches."""
    import sys

    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def number(value: float | None) -> str:
    """Return a number for a table on the screen: three digits, nothing where there is none.

    Examples
    --------
    >>> number(0.123456), number(None)
    ('0.123', '')
    """
    return "" if value is None else f"{value:.3g}"
