"""Result: what to decide by, as the report says it, and the network: who tells of whom, and what to forbid or require.

Parts of the report's page are taken into the screen only if they are what a report is made of, words, tables and shapes: a folder of a project may come from
somebody else, and what stands in its pages must not be able to load, send or run anything, nor to reach beyond its place on the screen.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
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
from ...table import read
from ...table.domain import level_labels
from ...table.formats import Source
from ...table.sources import open_source
from ..commands import shown_command
from ..guard import REPORT_POLICY
from ..jobs import Job
from ..page import Page, form_of, go
from ..project import read_json

NODE = re.compile(r'(<rect [^>]*/>)(<text [^>]*text-anchor="middle" fill="#111">([^<]*)</text>)')
"""A node in the picture of a network: its box and its name."""


@dataclass(frozen=True)
class Links:
    """The links of a column in a network, the strongest first: parents and children, with what they tell in nats."""

    name: str
    parents: tuple[tuple[str, float | None], ...]
    children: tuple[tuple[str, float | None], ...]


def finished(page: Page) -> list[Job]:
    """Return the releases that came to an end, the newest first."""
    return [
        job
        for job in reversed(page.queue.jobs())
        if job.kind == "release" and job.state in ("done", "refused")
    ]


def report_of_run(job: Job) -> dict[str, Any]:
    """Return the report of a run as plain data."""
    data = read_json(job.written / "confidential" / "report.json")
    if data is None:
        raise InputError(f"Run {job.number} has no report: it did not come to an end.")
    return data


def last(page: Page, request: Request) -> Response:
    """Go to the newest result."""
    done = finished(page)
    if not done:
        raise InputError("No run has come to an end yet. Start one under Run.")
    return go(f"/result/{done[0].number}")


def show(page: Page, request: Request) -> Response:
    """Return the screen of a run."""
    return _shown(
        page, page.queue.job(request.path_params["number"]), request.query_params.get("column", "")
    )


def _shown(page: Page, job: Job, column: str = "", alert: str = "") -> Response:
    data = report_of_run(job)
    network = (data.get("synthesis") or {}).get("network") or {}
    names = [held["name"] for held in data["about"].get("columns", ())]
    if column and column not in names:
        raise unknown_name("column", column, names)
    links = links_of(column, network) if column else None
    body = (
        with_node_links(body_of(job.written / "confidential" / "report.html"), job.number, names)
        if network.get("edges")
        else None
    )
    context = {
        "number": job.number,
        "command": shown_command(job.words),
        "body": body_of(job.written / "confidential" / "report.html") if body is None else body,
        "columns": names,
        "links": links,
        "has_network": bool(network.get("edges")),
        "runs": [one.number for one in finished(page)],
        "crossed": None
        if links is None or not (near := [*links.parents, *links.children])
        else crossed(_synthetic(job), column, near[0][0]),
    }
    return page.show(
        "result.html.j2",
        step="result",
        commands=[job.words],
        alert=alert,
        context=context,
    )


def links_of(column: str, network: dict[str, Any]) -> Links:
    """Return the links of a column."""
    edges = network.get("edges", ())
    strengths = network.get("strengths") or [None] * len(edges)
    held = sorted(zip(edges, strengths, strict=False), key=lambda one: -(one[1] or 0.0))
    return Links(
        column,
        tuple((a, strength) for (a, b), strength in held if b == column),
        tuple((b, strength) for (a, b), strength in held if a == column),
    )


def with_node_links(body: Markup, number: int, names: Sequence[str]) -> Markup:
    """Return the body of a report in which every node of the picture of the network leads to its links."""
    start = body.find('<marker id="tip"')
    start, end = body.rfind("<svg ", 0, start), body.find("</svg>", start)
    if min(start, end) < 0:
        return body
    known = {escape(name, quote=True): name for name in names}

    def linked(found: re.Match[str]) -> str:
        name = known.get(found[3])
        if name is None:
            return found[0]
        return f'<a href="/result/{number}?column={quote(name, safe="")}#links" aria-label="Links of {found[3]}">{found[1]}{found[2]}</a>'

    picture = NODE.sub(linked, str(body[start:end])).replace('role="img"', 'role="group"', 1)
    return Markup(body[:start]) + Markup(picture) + Markup(body[end:])  # noqa: S704  a checked fragment, and names that are escaped in it


def _synthetic(job: Job) -> Path:
    """The table that a run made, also one that was refused."""
    from ...workflows.run import REFUSED, TO_RELEASE

    found = [
        path
        for folder in (TO_RELEASE, REFUSED)
        for path in sorted((job.written / folder).glob("synthetic*"))
    ]
    if not found:
        raise InputError(f"The table of run {job.number} is not there any more. Run it again.")
    return found[0]


def body_of(path: Path) -> Markup:
    """Return what stands in a page of the report between its head and its foot: the same words and pictures, not another copy of them.

    Its first line, whether it may leave, is left out: the frame of the screen says it of everything.
    """
    try:
        held = path.stat()
        return _body_in(path, held.st_mtime_ns, held.st_size)
    except OSError:
        raise InputError("The page of this run is not there any more. Run it again.") from None


@functools.lru_cache(maxsize=8)
def _body_in(path: Path, _changed: int, _size: int) -> Markup:
    """The body of a page that is as it was when it was changed last."""
    html = path.read_text("utf-8")
    start, end = html.find("<header>"), html.rfind("</main>")
    if start < 0 or end < start:
        raise InputError("The page of this run is not as a report is. Run it again.")
    inner = re.sub(
        r'<p class="(?:inside|leave)">.*?</p>', "", html[start:end], count=1, flags=re.DOTALL
    )  # the frame says it of all
    inner = inner.replace('<main id="main">', '<div class="report">') + "</div>"
    return checked_fragment(inner.replace("<h1>", '<h2 class="title">').replace("</h1>", "</h2>"))


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
    names = [held["name"] for held in report_of_run(job)["about"].get("columns", ())]
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
            name: tuple(one for one in getattr(choices, name) if one != word)
            for name in ("forbid", "require")
        }
        if what != "clear":
            changed[what] = (*changed[what], word)
        page.project.change(**changed)
    except ChaffinchError as error:
        return _shown(page, job, "", str(error))
    return go("/runs")


# Parts of a page that lies in a file.

VOID = frozenset(("br", "hr", "col"))
ELEMENTS = (
    "a abbr b bdi blockquote caption circle code colgroup dd defs desc details div dl dt ellipse em figcaption figure footer g h1 h2 h3 h4 header li "
    "line main marker nav ol p path pattern polygon polyline pre rect section small span strong sub summary sup svg table tbody td text tfoot th thead "
    "title tr tspan u ul use"
)
TAGS = VOID | frozenset(ELEMENTS.split())
ATTRIBUTES = (
    "class colspan cx cy d data-head dominant-baseline dx dy fill fill-opacity fill-rule font-family font-size font-style font-weight height href id lang marker-end "
    "marker-start markerHeight markerUnits markerWidth offset opacity open orient pointer-events patternUnits patternTransform points preserveAspectRatio r refX refY role "
    "rowspan rx ry scope shape-rendering span stroke stroke-dasharray stroke-linecap stroke-linejoin stroke-opacity stroke-width tabindex text-anchor title transform "
    "vector-effect viewBox width x x1 x2 xmlns y y1 y2"
)
NAMES = frozenset(ATTRIBUTES.split())
ATTRIBUTE = r'\s+([A-Za-z][\w:-]*)(?:="([^"<>]*)")?'
TAG = re.compile(rf"<(/?)([A-Za-z][A-Za-z0-9]*)((?:{ATTRIBUTE})*)\s*(/?)>|<|>")
OUTSIDE = re.compile(r"url\(\s*[^#\s]|javascript:", re.IGNORECASE)


def checked_fragment(html: str) -> Markup:
    """Return a part of a page as it is; raise unless all of it is what a report is made of, and every element that it opens is closed in it.

    Examples
    --------
    >>> checked_fragment('<p class="note">a &lt; b</p>')
    Markup('<p class="note">a &lt; b</p>')
    """
    opened: list[str] = []
    known: set[str] = set()
    for found in TAG.finditer(html):
        closing, tag, attributes, alone = found[1], found[2], found[3], found[6]
        if tag is None or tag not in TAGS:
            raise _strange(tag or "sign")
        if closing:
            if not opened or opened.pop() != tag:
                raise _strange(tag)
            continue
        if attributes and attributes not in known:
            _check_attributes(tag, attributes)
            known.add(attributes)
        if not alone and tag not in VOID:
            opened.append(tag)
    if opened:
        raise _strange(opened[-1])
    return Markup(html)  # noqa: S704  checked above: words, tables and shapes only


def _check_attributes(tag: str, attributes: str) -> None:
    for name, value in re.findall(ATTRIBUTE, attributes):
        fine = name in NAMES or name.startswith("aria-")
        if not fine or (name == "href" and not value.startswith("#")) or OUTSIDE.search(value):
            raise _strange(f"{tag} with {name}")


def _strange(what: str) -> InputError:
    return InputError(
        f"The page of this run is not as Chaffinch writes one ('{what[:40]}'): it was changed by somebody, or is of another release. Run it again."
    )


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


def crossed(path: Path, column: str, by: str) -> CrossedColumns:
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
