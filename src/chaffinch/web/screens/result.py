"""Result: what to decide by, as the report says it, and the network: who tells of whom, and what to forbid or require.

The screen is made of the results in `report.json` and `shapes.json`, never of the page that lies beside them: a folder of a project may come from somebody else, and
what stands in its files becomes text and numbers on the screen, whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from markupsafe import Markup
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ..._base.errors import ChaffinchError, InputError, unknown_name
from ..._base.masking import masked_count
from ...counts import MemoryCounter
from ...synth.account import ModelAccount
from ...table import read
from ...table.domain import level_labels
from ...table.formats import Source
from ...table.sources import open_source
from ..guard import REPORT_POLICY
from ..jobs import Job
from ..page import Page, form_of, go
from ..project import read_json

if TYPE_CHECKING:
    from ...report.result import ReportResult

MOST_REPORTS = 12
"""Reports that are kept in memory."""


@dataclass(frozen=True)
class Links:
    """The links of a column in a network, the strongest first: parents and children, with what they tell in nats."""

    name: str
    parents: tuple[tuple[str, float | None], ...]
    children: tuple[tuple[str, float | None], ...]


def finished_runs(page: Page) -> list[Job]:
    """Return the releases that came to an end, the newest first."""
    return [
        job for job in reversed(page.queue.jobs()) if job.kind == "release" and job.state.has_result
    ]


def report_of_run(job: Job) -> ReportResult:
    """Return the report of a run; raise where it has none, or its files are not as a run writes them."""
    return _report_in(*_version(job))


def _version(job: Job) -> tuple[Job, tuple[int, ...]]:
    """A run, and what tells its files from earlier ones of the same name."""
    state: list[int] = []
    for path in _report_files(job):
        if path.exists():
            stat = path.stat()
            state += (stat.st_mtime_ns, stat.st_size)
    return job, tuple(state)


def _report_files(job: Job) -> tuple[Path, Path]:
    from ...workflows.run import CONFIDENTIAL

    folder = job.written / CONFIDENTIAL
    return folder / "report.json", folder / "shapes.json"


@lru_cache(maxsize=MOST_REPORTS)
def _report_in(job: Job, _state: tuple[int, ...]) -> ReportResult:
    from ...report.result import ReportResult
    from ...utility.shapes import TableShapes

    data, shapes = map(read_json, _report_files(job))
    if data is None:
        raise InputError(f"Run {job.number} has no report: it did not come to an end.")
    report = ReportResult.from_dict(data)
    if report.utility is None or shapes is None:
        return report
    return replace(report, utility=replace(report.utility, shapes=TableShapes.from_dict(shapes)))


@lru_cache(maxsize=MOST_REPORTS)
def _fragment_of(job: Job, state: tuple[int, ...]) -> Markup:
    """The page of a report as a part of the screen; in the picture of the network columns lead to their links."""
    from ...report.release import release_page

    report = _report_in(job, state)
    names = [column.name for column in report.about.columns]

    def link_of(name: str) -> str:
        return f"/result/{job.number}?column={quote(name, safe='')}#links" if name in names else ""

    has_links = bool(_network_of(report).edges)
    return release_page(report, link_of=link_of if has_links else None).fragment


def _network_of(report: ReportResult) -> ModelAccount:
    return ModelAccount() if report.synthesis is None else report.synthesis.model


def last(page: Page, request: Request) -> Response:
    """Go to the newest result."""
    runs = finished_runs(page)
    if not runs:
        raise InputError("No run has come to an end yet. Start one under Run.")
    return go(f"/result/{runs[0].number}")


def show(page: Page, request: Request) -> Response:
    """Return the screen of a run."""
    return _screen(
        page, page.queue.job(request.path_params["number"]), request.query_params.get("column", "")
    )


def _screen(page: Page, job: Job, column: str = "", alert: str = "") -> Response:
    report = report_of_run(job)
    network = _network_of(report)
    names = [column.name for column in report.about.columns]
    if column and column not in names:
        raise unknown_name("column", column, names)
    links = links_of(column, network) if column else None
    return page.show(
        "result.html.j2",
        step="result",
        commands=[job.command],
        alert=alert,
        context={
            "number": job.number,
            "body": _fragment_of(*_version(job)),
            "columns": names,
            "links": links,
            "has_network": bool(network.edges),
            "runs": [run.number for run in finished_runs(page)],
            "crossed": None
            if links is None or not (near := [*links.parents, *links.children])
            else cross_columns(_synthetic(job), column, near[0][0]),
        },
    )


def links_of(column: str, network: ModelAccount) -> Links:
    """Return the links of a column."""
    strengths = network.strengths or (None,) * len(network.edges)
    ranked = sorted(zip(network.edges, strengths, strict=False), key=lambda link: -(link[1] or 0.0))
    return Links(
        column,
        tuple((parent, strength) for (parent, child), strength in ranked if child == column),
        tuple((child, strength) for (parent, child), strength in ranked if parent == column),
    )


def _synthetic(job: Job) -> Path:
    """The table that a run made, also one that was refused."""
    from ...workflows.run import REFUSED, TO_RELEASE

    files = [
        path
        for folder in (TO_RELEASE, REFUSED)
        for path in sorted((job.written / folder).glob("synthetic*"))
    ]
    if not files:
        raise InputError(f"The table of run {job.number} is not there any more. Run it again.")
    return files[0]


def report(page: Page, request: Request) -> Response:
    """Return the report as the file that it is."""
    job = page.queue.job(request.path_params["number"])
    path = job.written / "confidential" / "report.html"
    if not path.is_file():
        raise InputError(f"Run {job.number} has no report.")
    return HTMLResponse(path.read_text("utf-8"), headers={"content-security-policy": REPORT_POLICY})


def edge(page: Page, request: Request) -> Response:
    """Forbid or require a link, from here on: the next run keeps to it."""
    form, job = form_of(request), page.queue.job(request.path_params["number"])
    names = [column.name for column in report_of_run(job).about.columns]
    parent, child, what = form.word("parent"), form.word("child"), form.word("what", 10)
    try:
        page.check_choices(form)
        for name in (parent, child):
            if name not in names:
                raise unknown_name("column", name, names)
        if what not in ("forbid", "require", "clear") or parent == child:
            raise InputError(
                "A link leads from one column to another, and is forbidden, required or left to the search."
            )
        choices, word = page.choices, f"{parent}:{child}"
        if ":" in parent:
            raise InputError(
                f"The name of column '{parent}' has a colon in it, which edges on the command line cannot have."
            )
        changed = {
            name: tuple(edge for edge in getattr(choices, name) if edge != word)
            for name in ("forbid", "require")
        }
        if what != "clear":
            changed[what] = (*changed[what], word)
        page.project.change(**changed)
    except ChaffinchError as error:
        return _screen(page, job, "", str(error))
    return go("/runs")


# Two columns of the synthetic table crossed: what a link looks like.

MOST_ROWS = 200_000
MOST_LEVELS = 8


@dataclass(frozen=True)
class CrossedColumns:
    """Rows of one column by the columns of another, as shares of each row that may be shown; `rows` have their names first."""

    column: str
    by: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    counted: int


def cross_columns(path: Path, column: str, by: str) -> CrossedColumns:
    """Return how a column spreads for each level of another in a synthetic table, or its first rows: counts rounded, small ones hidden."""
    source = open_source(path)
    table = (
        read(path) if source.text else read(_first_rows(source, [column, by]))
    )  # of words in a text file kinds are found, all rows read
    schema = table.schema
    counts = MemoryCounter(table).marginals([(by, column)])[0].dense()
    across, down = (_largest(counts.sum(axis=axis)) for axis in (0, 1))
    names = {name: level_labels(schema[name]) for name in (by, column)}
    cells = counts[np.ix_(down, across)]
    rows = tuple(
        (names[by][i], *(str(masked_count(cell)) for cell in line))
        for i, line in zip(down, cells, strict=True)
    )
    return CrossedColumns(column, by, tuple(names[column][j] for j in across), rows, table.n_rows)


def _first_rows(source: Source, columns: list[str]) -> pa.Table:
    batches, seen = [], 0
    for batch in source.batches(columns):
        batches.append(batch.slice(0, MOST_ROWS - seen))
        seen += len(batches[-1])
        if seen >= MOST_ROWS:
            break
    return pa.Table.from_batches(batches, schema=batches[0].schema)


def _largest(totals: NDArray[Any]) -> list[int]:
    """The levels with the most rows, in their order, none with fewer than are shown."""
    ranked = [int(i) for i in np.argsort(-totals, kind="stable")[:MOST_LEVELS] if totals[i] >= 10]
    return sorted(ranked)
