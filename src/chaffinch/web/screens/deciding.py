"""Decide: approve, reject or return a run, with a reason and a name; a second checker where one is asked for. Nothing is ticked before."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from ..._base.errors import ChaffinchError, InputError
from ..decisions import (
    Checker,
    DecisionRecord,
    DecisionState,
    approve,
    other_name,
    put_down,
    read_record,
    read_records,
    withdraw,
)
from ..fields import fields_of, texts_of
from ..jobs import Job
from ..page import Page, form_of, go
from .result import finished_runs, report_of_run
from .running import state_words

if TYPE_CHECKING:
    from ...risk.verdict import LimitVerdict


def show(page: Page, request: Request) -> Response:
    """Return the screen: runs to decide on, what was decided, and outputs to check."""
    asked = request.query_params.get("run", "")
    return _screen(page, int(asked) if asked.isdigit() else None)


def _screen(
    page: Page, chosen: int | None = None, alert: str = "", form: dict[str, str] | None = None
) -> Response:
    done = finished_runs(page)
    job = next((run for run in done if run.number == chosen), done[0] if done else None)
    records = read_records(page.project.path("decisions"))
    return page.show(
        "decide.html.j2",
        step="decide",
        alert=alert,
        context={
            "done": [run.number for run in done],
            "job": job,
            "answers": () if job is None else report_of_run(job).decision.answers,
            "records": records,
            "second": page.choices.second,
            "form": {"word": "", "reason": "", "name": "", **(form or {})},
            "checks": [
                _check_line(job, records)
                for job in reversed(page.queue.jobs())
                if job.kind == "check"
            ],
            "check_settings": fields_of("check"),
            "check_texts": texts_of(page.choices.check_options),
            "limit": _limit(job),
            "folder": page.project.path("decisions"),
        },
    )


def _check_line(job: Job, records: Sequence[DecisionRecord]) -> tuple[int, str]:
    """The number of a check, how it stands, and what was decided of it: an exit code decides nothing."""
    decided = next(
        (
            f"{record.decision} by {', '.join(checker.name for checker in record.checkers)}"
            for record in records
            if record.run == job.number
        ),
        "not decided",
    )
    status = state_words(job)
    return job.number, f"{status}; {decided}" if job.state.has_result else status


def _policy(job: Job | None) -> dict[str, Any]:
    """The limit that a run was held against, and what all its findings together say of it; empty where there was none."""
    verdict = _limit(job)
    if verdict is None:
        return {}
    decided = {} if verdict.passed is None else {"passed": verdict.passed}
    return {"max_excess": verdict.max_excess, "state": str(verdict.state), **decided}


def _limit(job: Job | None) -> LimitVerdict | None:
    return None if job is None else report_of_run(job).decision.limit


def decide(page: Page, request: Request) -> Response:
    """Keep a decision; an approval that needs no second name fills its folder."""
    form, job = form_of(request), page.queue.job(request.path_params["number"])
    word, reason, name = form.word("word", 20), form.text("reason"), form.word("name", 200)
    try:
        page.check_decisions(form)
        checker = Checker.now(name)
        if not reason.strip():
            raise InputError("A decision has a reason: write one.")
        if word not in ("approved", "rejected", "returned"):
            raise InputError("Choose one: approve, reject or return.")
        _write_decision(page, job, word, reason, checker)
    except ChaffinchError as error:
        return _screen(page, job.number, str(error), {"word": word, "reason": reason, "name": name})
    return go("/decide")


def _write_decision(page: Page, job: Job, word: str, reason: str, checker: Checker) -> None:
    about = _about(job)  # raises before anything is written where there is no result
    waiting = word == "approved" and page.choices.second
    folder = page.project.next_folder("decisions")
    try:
        _put_down(folder, job, word, reason, (checker,), about, waiting=waiting)
    except ChaffinchError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    _take_back(page, folder)


def _put_down(
    folder: Path,
    job: Job,
    word: str,
    reason: str,
    checkers: tuple[Checker, ...],
    about: dict[str, Any],
    *,
    waiting: bool = False,
) -> None:
    """Write a decision; an approval that waits for nobody fills its folder."""
    if word == "approved" and not waiting:
        _fill(folder, job, reason, checkers, about)
    else:
        put_down(
            folder,
            word,
            run=job.number,
            reason=reason,
            checkers=checkers,
            waiting=waiting,
            about=about,
        )


def _take_back(page: Page, folder: Path) -> None:
    """Withdraw earlier approvals of a run that the decision in a folder rejects or returns."""
    record = read_record(folder)
    if record is not None and record.decision in ("rejected", "returned"):
        withdraw(page.project.path("decisions"), record)


def second(page: Page, request: Request) -> Response:
    """Confirm an approval under a second name, or refuse it."""
    form = form_of(request)
    folder = page.project.path("decisions", f"{request.path_params['number']:04d}")
    record = read_record(folder)
    if record is None or record.state is not DecisionState.WAITING:
        raise InputError("There is no such approval that waits for a second checker.")
    job = page.queue.job(record.run)
    try:
        page.check_decisions(form)
        checkers = (*record.checkers, other_name(form.word("name", 200), record.checkers))
        reason, word = form.text("reason").strip(), form.word("word", 20)
        if word not in ("approved", "rejected"):
            raise InputError("Choose one: approve or reject.")
        if word == "rejected" and not reason:
            raise InputError("A decision has a reason: write one.")
        both = f"{record.reason}\n{checkers[-1].name}: {reason}" if reason else record.reason
        _put_down(folder, job, word, both, checkers, _about(job))
        _take_back(page, folder)
    except ChaffinchError as error:
        return _screen(page, job.number, str(error))
    return go("/decide")


def _fill(
    folder: Path, job: Job, reason: str, checkers: tuple[Checker, ...], about: dict[str, Any]
) -> None:
    from ...report.release import render

    if (limit := _limit(job)) is not None and limit.state == "exceeds":
        raise InputError(
            f"Run {job.number} exceeds its limit, so its table was refused and cannot be approved. Reject or return it; to release one, change settings or the limit and run again."
        )
    tables = sorted(path for path in (job.written / "to-release").iterdir() if path.is_file())
    approve(
        folder,
        tables,
        render(report_of_run(job), public=True),
        run=job.number,
        reason=reason,
        checkers=checkers,
        about=about,
    )


def _about(job: Job) -> dict[str, Any]:
    """What a record says of the run: the limit and what is known of it, versions, and the command, names of files without their folders."""
    run = report_of_run(job).run
    return {
        "policy": _policy(job),
        "versions": dict(run.versions),
        "made": run.date,
        "command": run.command,
    }
