"""Commands that look at a table: `chaffinch schema` and `chaffinch describe`.

`schema` writes what each column is taken for, as a file to read and edit, or goes through the columns with a question for each, a suggestion where there is
one, and nothing assumed. `describe` prints columns, kinds, levels and missing, with small counts hidden.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from .._base.errors import InputError
from .._base.files import check_outputs, write_json
from .._base.options import FILES, Option
from .._base.text import count_noun
from ..table.settings import Reading
from ..workflows.settings import Execution
from .command import echo
from .options import (
    Cores,
    Html,
    InputAddress,
    Json,
    Silent,
    show_notes,
    show_table,
)


def schema(
    *,
    input: InputAddress,
    output: Annotated[
        Path | None,
        Option(
            "File to write (TOML). Default: standard output.",
            basic=True,
            panel=FILES,
            short="o",
            leaves=False,
        ),
    ] = None,
    reading: Reading,
    blank: Annotated[
        bool, Option("Write names and stored types only, to fill in: no row is read.")
    ] = False,
    codebook: Annotated[
        Path | None,
        Option(
            "Write what a codebook declares too, {codebooks}: no row is read. Implies --blank.",
            basic=True,
            flag="--from",
            panel=FILES,
        ),
    ] = None,
    edit: Annotated[
        bool,
        Option("Ask of each column what it is for; roles are suggested.", basic=True),
    ] = False,
    execution: Execution,
    json: Json = None,
    quiet: Silent = False,
    threads: Cores = None,
) -> None:
    """Write the schema of a table, inferred from all of its rows, as TOML with a reason for each column.

    The schema lists levels that occur in the data: treat it as confidential. Edit it, then pass it with --schema.
    With --blank it lists names and stored types only, for you to fill in: what a private fit needs. --from takes what a codebook
    declares into it: value labels, allowed values, ranges. With --edit a question is asked of each column; answers may come from a pipe.
    """
    from ..table import schema_text, write_schema
    from ..workflows.engines import engine_of
    from ..workflows.run import Observer
    from .observer import console_run

    source = Path(input)
    check_outputs(source, output, json)
    if blank or codebook is not None:
        if reading.schema is not None or json is not None or edit:
            raise InputError(
                "--blank writes names and types alone. It goes without --schema, --edit and --json."
            )
        if not engine_of(execution.engine).local:
            raise InputError(
                f"--blank reads names and types alone, on one machine: leave out --engine {execution.engine}."
            )
        _write_blank(source, output, reading, codebook, quiet=quiet)
        return
    with (
        console_run(threads=threads, quiet=quiet) as run,
        engine_of(execution.engine).started() as started,
    ):
        scanned: Any = started.open(input, reading, replace(run, observer=Observer()))
    if edit:
        from ..table.personal.detect import PERSONAL, personal_note
        from .editing import edited_schema

        edited = edited_schema(scanned.schema)
        others = [note for note in scanned.notes if note.what != PERSONAL]
        scanned = replace(scanned, schema=edited, notes=(*others, *personal_note(edited)))
    if output is None:
        echo(schema_text(scanned.schema, source=source.name), nl=False)
    else:
        write_schema(scanned.schema, output, source=source.name)
    if json is not None:
        columns = [
            {"name": c.name, "kind": c.kind, "role": c.role, "type": c.type, "reason": c.reason}
            for c in scanned.schema
        ]
        notes = [str(note) for note in scanned.notes]
        write_json(
            json,
            {
                "format": "chaffinch-columns",
                "version": 1,
                "rows": scanned.n_rows,
                "columns": columns,
                "notes": notes,
            },
        )
    show_notes(scanned.notes, quiet=quiet)
    if not quiet and output is not None:
        echo(
            f"Wrote {output}: {count_noun(len(scanned.schema.columns), 'column')}. It lists levels of the data: confidential.",
            err=True,
        )


def _write_blank(
    input: Path, output: Path | None, reading: Reading, codebook: Path | None, *, quiet: bool
) -> None:
    """Write a schema to fill in. The header, the stored types and a codebook are read; no row has a say in it."""
    from .._base.errors import join_names
    from .._base.files import write_text
    from ..table.codebooks import read_codebook
    from ..table.formats import Tagged
    from ..table.schema_file import blank_text
    from ..table.sources import open_source

    scanned = open_source(input, **reading.file, tolerant=True)
    types = {
        f.name: None if scanned.text else f.type.values if isinstance(f.type, Tagged) else f.type
        for f in scanned.schema
    }
    declared = None if codebook is None else read_codebook(codebook)
    if declared is not None and not any(column.name in types for column in declared):
        raise InputError(
            f"'{codebook}' and '{input}' have no column in common. Name the codebook of this table."
        )
    text = blank_text(types, source=input.name, decimal=scanned.decimal, codebook=declared)
    if output is None:
        echo(text, nl=False)
        return
    write_text(output, text)
    if not quiet:
        echo(
            f"Wrote {output}: {count_noun(len(types), 'column')} to fill in. No row was read.",
            err=True,
        )
        known = [] if declared is None else [column.name for column in declared]
        if declared is not None and (absent := [name for name in types if name not in known]):
            echo(f"The codebook does not have: {join_names(absent)}.", err=True)


def describe(
    *,
    input: InputAddress,
    reading: Reading,
    execution: Execution,
    json: Json = None,
    html: Html = None,
    quiet: Silent = False,
    threads: Cores = None,
) -> None:
    """Show what a table holds: its columns, their kinds, levels and missing values.

    Shows no value and no count that fewer than ten records share; other counts are rounded to tens.
    """
    from .._base.results import html_page
    from ..counts import describe as describe_counter
    from ..counts.counter import counter_of
    from ..table.personal.detect import PERSONAL
    from ..table.schema import note_lines
    from ..workflows.engines import engine_of
    from ..workflows.run import Destinations, Observer
    from .observer import console_run

    source, files = Path(input), Destinations(json=json, html=html)
    check_outputs(source, *files.paths)
    with (
        console_run(threads=threads, quiet=quiet) as run,
        engine_of(execution.engine, execution.cache).started() as started,
    ):
        rows = started.open(input, reading, replace(run, observer=Observer()))
        counter = counter_of(rows, threads=threads, progress=run.progress)
        description = describe_counter(counter, notes=tuple(map(str, rows.notes)))
    files.write(description, lambda: html_page(f"{source.name}", description._repr_html_()))
    echo(
        f"{count_noun(description.n_rows, 'row')} x {count_noun(len(description.columns), 'column')}"
    )
    screen = show_table(description.HEAD, description.rows())
    personal = [note for note in rows.notes if note.what == PERSONAL]
    show_notes(personal)
    for line in () if quiet else note_lines(note for note in rows.notes if note.what != PERSONAL):
        screen.print(f"Note: {line}", markup=False)
