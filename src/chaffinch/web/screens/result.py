"""Result: what to decide by, as the report says it, and the network: who tells of whom, and what to forbid or require."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ..._base.errors import ChaffinchError, InputError, unknown_name
from ..commands import shown_command
from ..fragments import checked_fragment
from ..guard import REPORT_POLICY
from ..jobs import Job
from ..page import Page, form_of, go
from ..project import read_json
from .crossing import crossed

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
        status=400 if alert else 200,
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
    from ...workflows.release_result import REFUSED, TO_RELEASE

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
