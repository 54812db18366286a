"""`chaffinch compare`: reports of tables with the same columns, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .._base.files import check_outputs
from .options import HtmlOut, JsonOut, Quiet, write_json


def compare(
    first: Annotated[
        Path, typer.Argument(help="JSON of utility, or report.json of release.", show_default=False)
    ],
    second: Annotated[
        Path,
        typer.Argument(help="Another one, of tables with the same columns.", show_default=False),
    ],
    more: Annotated[
        list[Path] | None, typer.Argument(help="Further ones.", show_default=False)
    ] = None,
    json: JsonOut = None,
    html: HtmlOut = None,
    quiet: Quiet = False,
) -> None:
    """Compare reports: which table is nearer the original and which is safer, by each measure, and whether they can be told apart.

    Tables are named by what differs in how they were made, and stand on one picture of risk beside worth.
    """
    from .._base.results import write_page
    from ..report.compare import compare as compare_reports

    reports = [first, second, *(more or ())]
    check_outputs(None, json, html, inputs=reports)
    found = compare_reports(*[_read(path) for path in reports])
    if json is not None:
        write_json(json, found.to_dict())
    if html is not None:
        write_page(html, found.to_html())
    if not quiet:
        typer.echo(found.to_text())


def _read(path: Path) -> dict[str, Any]:
    import json as plain

    from .._base.errors import FileError, InputError

    try:
        data = plain.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FileError(
            f"Cannot read '{path}': {error.strerror or 'the system refused'}."
        ) from None
    except (ValueError, RecursionError):
        raise InputError(
            f"'{path}' is not JSON. Give the --json file of utility, or report.json of release."
        ) from None
    if not isinstance(data, dict):
        raise InputError(
            f"'{path}' is no report. Give the --json file of utility, or report.json of release."
        )
    return data
