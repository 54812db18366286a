"""`chaffinch describe`: columns, kinds, levels and missing, with small counts hidden."""

from __future__ import annotations

from .options import (
    Decimal,
    Delimiter,
    Encoding,
    HtmlOut,
    Input,
    JsonOut,
    Quiet,
    Rare,
    SchemaIn,
    SeedIn,
    Threads,
    check_outputs,
    console,
    start_arrow,
    write_json,
)

__all__ = ["describe"]


def describe(
    input: Input,
    schema: SchemaIn = None,
    encoding: Encoding = "utf-8",
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    rare: Rare = "pool",
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: SeedIn = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Show what a table holds: its columns, their kinds, levels and missing values.

    Shows no value and no count that fewer than ten records share; other counts are rounded to tens.
    """
    from rich.table import Table as RichTable

    from .._base.html import html_page, write_page
    from .._base.progress import progress_bar
    from ..counts import StreamCounter
    from ..counts import describe as describe_counter
    from ..table.personal import PERSONAL
    from .reading import scan_input, show_notes

    check_outputs(input, json, html)
    start_arrow(threads)
    with progress_bar(quiet=quiet) as progress:
        found = scan_input(input, schema=schema, encoding=encoding, delimiter=delimiter, decimal=decimal, rare=rare, progress=progress)
        counter = StreamCounter(found, threads=threads, progress=progress)
        description = describe_counter(counter, notes=tuple(str(note) for note in found.notes))
    if json is not None:
        write_json(json, description.to_dict())
    if html is not None:
        write_page(html, html_page(f"{input.name}", description._repr_html_()))
    screen = console()
    screen.print(f"{description.n_rows:,} rows x {len(description.columns)} columns")
    table = RichTable(*description.HEAD, box=None, pad_edge=False)
    for row in description.rows():
        table.add_row(*row)
    screen.print(table)
    personal = [note for note in found.notes if note.what == PERSONAL]
    show_notes(personal)
    if not quiet:
        for note in found.notes:
            if note not in personal:
                screen.print(f"Note: {note}", markup=False)
