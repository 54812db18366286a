"""Compare and undo: all runs of the project side by side and on one picture, and the way back to the choices of any."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from ..._base.errors import ChaffinchError, InputError
from ..jobs import Job
from ..page import Page, form_of, go
from .result import finished_runs, report_of_run

MOST = 12
"""Runs that are compared at once."""


def show(page: Page, request: Request) -> Response:
    """Return the screen: those that were ticked, or all."""
    done = finished_runs(page)
    asked = {int(word) for word in request.query_params.getlist("run") if word.isdigit()}
    chosen = [job for job in reversed(done) if not asked or job.number in asked][-MOST:]
    context: dict[str, Any] = {
        "done": done,
        "chosen": {job.number for job in chosen},
        "body": None,
        "changed": {
            # What each run was made with, as the words of its command after the file.
            job.number: " ".join(job.command[job.command.index("-o") + 2 :])
            if "-o" in job.command
            else ""
            for job in done
        },
    }
    alert = ""
    if len(chosen) > 1:
        try:
            context["body"] = _comparison(chosen)
        except ChaffinchError as error:
            alert = str(error)
    commands = (
        [["compare", *(str(job.written / "confidential" / "report.json") for job in chosen)]]
        if len(chosen) > 1
        else []
    )
    return page.show(
        "compare.html.j2",
        step="compare",
        commands=commands,
        alert=alert,
        status=200,
        context=context,
    )


def _comparison(jobs: list[Job]) -> Markup:
    from ...report.compare import compare

    labels = [f"run {job.number}" for job in jobs]
    return compare(*map(report_of_run, jobs), labels=labels).page.fragment


def back(page: Page, request: Request) -> Response:
    """Go back to the choices of a run: the runs after it stay."""
    page.check_choices(form_of(request))
    job = page.queue.job(request.path_params["number"])
    if job.kind != "release":
        raise InputError(f"Run {job.number} was made with no choices of its own.")
    page.project.use_again(job.folder)
    return go("/columns")
