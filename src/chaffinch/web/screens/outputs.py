"""Outputs of others: a file of outputs or an ACRO folder is checked, and each output approved or rejected by a person."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from ..._base.errors import ChaffinchError, InputError
from ..._base.text import count_noun
from ..commands import check_words
from ..decisions import RECORD, Checker, put_down
from ..fields import fields_of, sent_options
from ..jobs import Job
from ..page import Page, SentForm, form_of, go
from ..project import read_json

if TYPE_CHECKING:
    from ...outputs.check import CheckResult


def start(page: Page, request: Request) -> Response:
    """Check a file of outputs or an ACRO folder."""
    form = form_of(request)
    path = page.places.inside(form.word("path"))
    page.project.change(check_options=sent_options(form, fields_of("check")))
    folder = page.project.next_folder("runs")
    (folder / "out").mkdir(mode=0o700)
    shutil.copyfile(page.project.path("project.toml"), folder / "project.toml")
    (folder / "project.toml").chmod(0o600)
    page.queue.ask(folder, check_words(page.choices, page.roles, path, folder / "out"))
    return go("/runs")


def show(page: Page, request: Request) -> Response:
    """Return the screen of a check."""
    return _screen(page, page.queue.job(request.path_params["number"]))


def _screen(page: Page, job: Job, alert: str = "") -> Response:
    from ...report.check import check_page

    result = _result_of(job)
    return page.show(
        "outputs.html.j2",
        step="decide",
        commands=[job.command],
        alert=alert,
        context={
            "number": job.number,
            "summary": result.summary,
            "body": check_page(result).fragment,
            "about": result.about,
        },
    )


def _result_of(job: Job) -> CheckResult:
    from ...outputs.check import CheckResult

    data = read_json(job.written / "check.json") if job.kind == "check" else None
    if data is None:
        raise InputError(f"Run {job.number} is no check that came to an end.")
    return CheckResult.from_dict(data)


def decide(page: Page, request: Request) -> Response:
    """Keep what was decided of each output; for an ACRO folder, in a copy of it too."""
    form, job = form_of(request), page.queue.job(request.path_params["number"])
    result = _result_of(job)
    try:
        page.check_decisions(form)
        checker = Checker.now(form.word("name", 200))
        decided = [_decision(form, index, row.output) for index, row in enumerate(result.summary)]
        decisions = {entry["decision"] for entry in decided}
        folder = page.project.next_folder("decisions")
        try:
            put_down(
                folder,
                "approved"
                if decisions == {"approved"}
                else "rejected"
                if decisions == {"rejected"}
                else "returned",
                run=job.number,
                reason=form.text("reason").strip() or "See each output.",
                checkers=(checker,),
                waiting=False,
                about={
                    "outputs": decided,
                    "policy": result.rules.policy,
                    "policy_hash": result.rules.policy_hash,
                    "versions": dict(result.run.versions),
                },
            )
            if (source := Path(job.command[1])).is_dir():
                _write_back(source, folder, decided, checker)
        except ChaffinchError:
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
            raise
    except ChaffinchError as error:
        return _screen(page, job, str(error))
    return go("/decide")


def _decision(form: SentForm, index: int, output: str) -> dict[str, str]:
    word, reason = form.word(f"word-{index}", 20), form.word(f"reason-{index}", 2000)
    if word not in ("approved", "rejected"):
        raise InputError(f"Say of each output whether it is approved: '{output}' is open.")
    if word == "rejected" and not reason:
        raise InputError(f"Say why '{output}' is rejected.")
    return {"output": output, "decision": word, "reason": reason}


def _write_back(
    source: Path, folder: Path, decided: list[dict[str, str]], checker: Checker
) -> None:
    """Put each decision into a copy of an ACRO folder, as a comment on its output: no status in it is changed."""
    from ...outputs.readers.acro.read import read_acro
    from ...outputs.readers.acro.write import write_back

    known = {entry.uid for entry in read_acro(source).results}
    comments = {
        entry["output"]: f"{entry['decision']} by {checker.name}, {checker.time}"
        + (f": {entry['reason']}" if entry["reason"] else "")
        for entry in decided
    }
    write_back(
        source,
        folder / "acro",
        report=folder / RECORD,
        assessed={uid: comment for uid, comment in comments.items() if uid in known},
        summary=f"Approved: {sum(entry['decision'] == 'approved' for entry in decided)} of {count_noun(len(decided), 'output')}.",
        failed=any(entry["decision"] == "rejected" for entry in decided),
    )
