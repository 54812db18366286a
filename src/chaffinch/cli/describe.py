"""`chaffinch describe`: columns, kinds, levels and missing, with small counts hidden."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .._base.files import check_outputs
from .._base.text import count_noun
from .arrow import start_arrow
from .options import (
    Cache,
    ClusterEngine,
    HtmlOut,
    JsonOut,
    Place,
    Quiet,
    Threads,
    expanded,
    reading_of,
    show_notes,
    write_json,
)
from .screen import show_table

if TYPE_CHECKING:
    from ..spark.scanning import SparkScan
    from ..table.scan import Scan
    from ..workflows.synthesise import ReadSettings


@expanded(reading=reading_of)
def describe(
    *,
    input: Place,
    reading: ReadSettings,
    engine: ClusterEngine = "auto",
    cache: Cache = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Show what a table holds: its columns, their kinds, levels and missing values.

    Shows no value and no count that fewer than ten records share; other counts are rounded to tens.
    """
    from .._base.results import html_page, write_page
    from .._base.runtime import progress_bar
    from ..counts import StreamCounter
    from ..counts import describe as describe_counter
    from ..table.personal.detect import PERSONAL
    from ..table.schema import note_lines
    from ..workflows.on_spark import described_on_spark
    from .on_spark import check_here
    from .reading import scan_input

    source = Path(input)
    check_outputs(source, json, html)
    start_arrow(threads)
    scanned: Scan | SparkScan
    if engine == "spark":
        scanned, description = described_on_spark(input, reading, cache=cache)
    else:
        check_here(engine, cache)
        with progress_bar(quiet=quiet) as progress:
            scanned = scan_input(source, reading, progress)
            counter = StreamCounter(scanned, threads=threads, progress=progress)
            description = describe_counter(
                counter, notes=tuple(str(note) for note in scanned.notes)
            )
    if json is not None:
        write_json(json, description.to_dict())
    if html is not None:
        write_page(html, html_page(f"{source.name}", description._repr_html_()))
    typer.echo(
        f"{count_noun(description.n_rows, 'row')} x {count_noun(len(description.columns), 'column')}"
    )
    screen = show_table(description.HEAD, description.rows())
    personal = [note for note in scanned.notes if note.what == PERSONAL]
    show_notes(personal)
    for line in (
        () if quiet else note_lines(note for note in scanned.notes if note.what != PERSONAL)
    ):
        screen.print(f"Note: {line}", markup=False)
