"""Compare and undo: all runs of the project side by side and on one picture, and the way back to the choices of any."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..._base.errors import ChaffinchError, InputError
from ..jobs import Job
from ..page import Page, form_of, go
from ..project import write_private
from .result import body_of, finished, report_of_run

MOST = 12
"""Runs that are compared at once."""


def show(page: Page, request: Request) -> Response:
    """Return the screen: those that were ticked, or all."""
    done = finished(page)
    asked = {int(word) for word in request.query_params.getlist("run") if word.isdigit()}
    chosen = [job for job in reversed(done) if not asked or job.number in asked][-MOST:]
    context: dict[str, Any] = {
        "done": done,
        "chosen": {job.number for job in chosen},
        "body": None,
        "changed": _changed(page, done),
    }
    alert = ""
    if len(chosen) > 1:
        try:
            context["body"] = _compared(page, chosen)
        except ChaffinchError as error:
            alert = str(error)
    words = (
        [["compare", *(str(job.written / "confidential" / "report.json") for job in chosen)]]
        if len(chosen) > 1
        else []
    )
    return page.show(
        "compare.html.j2", step="compare", commands=words, alert=alert, status=200, context=context
    )


def _compared(page: Page, jobs: list[Job]) -> Any:
    from ...report.compare import compare

    path = page.project.path("comparison.html")
    write_private(
        path,
        compare(
            *[report_of_run(job) for job in jobs], labels=[f"run {job.number}" for job in jobs]
        ).to_html(),
    )
    return body_of(path)


def _changed(page: Page, jobs: list[Job]) -> dict[int, str]:
    """What each run was made with, as the words of its command after the file."""
    return {
        job.number: " ".join(job.words[job.words.index("-o") + 2 :]) if "-o" in job.words else ""
        for job in jobs
    }


def back(page: Page, request: Request) -> Response:
    """Go back to the choices of a run: the runs after it stay."""
    page.check_choices(form_of(request))
    job = page.queue.job(request.path_params["number"])
    if job.kind != "release":
        raise InputError(f"Run {job.number} was made with no choices of its own.")
    page.project.use_again(job.folder)
    return go("/columns")
