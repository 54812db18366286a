"""`chaffinch compare`: reports of tables with the same columns, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from .._base.errors import FileError, InputError
from .._base.files import check_outputs
from .._base.options import Option
from .command import echo
from .options import Html, Json, Silent

NEXT_STEP = "Give a folder of release, its report.json, or the --json file of utility or risk."


def compare(
    *,
    reports: Annotated[
        Sequence[Path],
        Option(
            "Reports of tables with the same columns: folders of release, or JSON of utility or risk.",
            argument=True,
            metavar="REPORT",
            read=Path,
        ),
    ],
    json: Json = None,
    html: Html = None,
    quiet: Silent = False,
) -> None:
    """Compare reports: which table is nearer the original and which is safer, by each measure, and whether they can be told apart.

    Tables are named by what differs in how they were made, and stand on one picture of risk beside worth.
    """
    from ..report.compare import compare as compare_reports
    from ..workflows.run import Destinations

    paths = [_report_file(path) for path in reports]
    files = Destinations(json=json, html=html)
    check_outputs(None, *files.paths, inputs=paths)
    comparison = compare_reports(*[_read(path) for path in paths])
    files.write(comparison, comparison.to_html)
    if not quiet:
        echo(comparison.to_text())


def _report_file(path: Path) -> Path:
    """The file of a report: of a folder of `release` the one inside."""
    from ..workflows.release import EARLIER

    if not path.is_dir():
        return path
    if not (path / EARLIER).is_file():
        raise InputError(f"The folder '{path}' has no {EARLIER}. {NEXT_STEP}")
    return path / EARLIER


def _read(path: Path) -> dict[str, Any]:
    import json as plain

    try:
        data = plain.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FileError(
            f"Cannot read '{path}': {error.strerror or 'the system refused'}."
        ) from None
    except (ValueError, RecursionError):
        raise InputError(f"'{path}' is not JSON. {NEXT_STEP}") from None
    if not isinstance(data, dict):
        raise InputError(f"'{path}' is no report. {NEXT_STEP}")
    return data
