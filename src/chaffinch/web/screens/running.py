"""Run: what runs, how far it is and what waits; start, stop, start again. All of it is told from files, so a reload changes nothing."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ..._base.errors import ChaffinchError, InputError
from ..._base.files import remove_left_behind
from ..._base.text import count_noun
from ..commands import check_words, release_words, roles_of
from ..fields import fields_of, sent_options, texts_of
from ..jobs import Job, JobState
from ..page import Page, SentForm, form_of, go
from ..project import ProjectChoices, ProjectFolder, read_json
from .promise import balance

LABELS = {
    JobState.WAITING: "waits",
    JobState.RUNNING: "runs",
    JobState.DONE: "done",
    JobState.REFUSED: "done, and above the limit",
    JobState.FAILED: "failed",
    JobState.STOPPED: "stopped",
    JobState.LOST: "ended without a word",
}
"""How a run stands, in words; of a check that came to an end its verdicts do."""
VERDICTS = {
    "fail": "to be held back",
    "not assessed": "not assessed",
    "review": "to be looked at",
    "pass": "passed",
}
"""What the verdicts on outputs are called after their number."""


def state_words(job: Job) -> str:
    """Return how a run stands: a check that came to an end by the verdicts on its outputs, since its exit code does not distinguish them."""
    state = job.state
    if job.kind != "check" or not state.has_result:
        return LABELS[state]
    summary = (read_json(job.written / "check.json") or {}).get("summary") or ()
    verdicts = [str(row.get("verdict", "")) for row in summary if isinstance(row, dict)]
    if not verdicts:
        return (
            "done, without an output to check" if state is JobState.DONE else "done, and not passed"
        )
    counts = [
        f"{verdicts.count(word)} {phrase}" for word, phrase in VERDICTS.items() if word in verdicts
    ]
    return f"done: of {count_noun(len(verdicts), 'output')} {', '.join(counts)}"


@dataclass(frozen=True)
class RunRow:
    """One run as the screen shows it."""

    number: int
    state: JobState
    status: str
    doing: str
    share: float
    remaining: str
    message: str
    asked: bool
    kind: str

    @property
    def noun(self) -> str:
        """What it is called: outputs of others are checked, tables are made by runs."""
        return "check" if self.kind == "check" else "run"


def rows_of(page: Page) -> list[RunRow]:
    """Return all runs, the newest first."""
    return [_row(page, job) for job in reversed(page.queue.jobs())]


def _row(page: Page, job: Job) -> RunRow:
    asked = page.queue.is_asked(
        job
    )  # before its state: once it is not asked for any more, it has begun
    state, progress = job.state, job.progress
    remaining = progress["left"]
    message = job.message.strip().removeprefix("Error: ") if state.is_fault else ""
    return RunRow(
        job.number,
        state,
        state_words(job),
        progress["doing"],
        progress["share"],
        f"{progress['seconds']:.0f} s so far"
        if remaining is None
        else f"about {remaining:.0f} s left of this",
        message[-2000:],
        asked,
        job.kind,
    )


def show(page: Page, request: Request) -> Response:
    """Return the screen."""
    return _screen(page)


def live(page: Page, request: Request) -> Response:
    """Return the list of runs alone, which the screen asks for again and again while something runs."""
    return HTMLResponse(
        page.environment.get_template("runs_list.html.j2").render(**_context(page), **page.stamps())
    )


def _context(page: Page) -> dict[str, Any]:
    rows = rows_of(page)
    return {
        "rows": rows,
        "busy": any(
            row.state is JobState.RUNNING or (row.state is JobState.WAITING and row.asked)
            for row in rows
        ),
    }


def _screen(
    page: Page, alert: str = "", form: SentForm | None = None, *, confirm: bool = False
) -> Response:
    choices, roles = page.choices, page.roles
    arguments = release_words(
        choices, roles, page.project.path("schema.toml"), page.project.path("runs", "NEW", "out")
    )
    undecided = _undecided_columns(page)
    settings = fields_of("release")
    texts = texts_of(choices.options)
    if form is not None:
        texts = {name: text for name in settings if (text := form.word(name))}
    spent = () if choices.epsilon is None else balance(page)
    context = {
        **_context(page),
        "choices": choices,
        "roles": roles,
        "confirm": confirm,
        "settings": settings,
        "texts": texts,
        "undecided": undecided,
        "balance": spent,
    }
    return page.show(
        "runs.html.j2",
        step="runs",
        commands=[arguments] if choices.source else [],
        alert=alert,
        context=context,
        live=True,
        reload=context["busy"] and not confirm,
        keeps=bool(choices.source) and not confirm,
    )


def _undecided_columns(page: Page) -> list[str]:
    """Columns that look as if they said who somebody is, and nobody decided on them."""
    columns = page.columns or {}
    decided = {name for name, _ in page.roles.decisions}
    return [name for name in columns.get("personal", {}) if name not in decided]


def start(page: Page, request: Request) -> Response:
    """Start a run with the choices as they are; one that spends a budget is asked for twice."""
    form, choices = form_of(request), page.choices
    try:
        page.check_choices(form)
        if form.word("with-options"):
            choices = page.project.change(options=sent_options(form, fields_of("release")))
        if form.word("go"):
            return go("/runs", form)
        page.known_columns()
        if not page.profile.state.is_complete:
            raise InputError(
                "The file is still being read: its columns are known from its first rows alone. Start the run when all rows were read."
            )
        if undecided := _undecided_columns(page):
            raise InputError(
                f"Say first what becomes of column '{undecided[0]}', which looks as if it said who somebody is: see Columns."
            )
        if choices.epsilon is not None and form.word("spend") != f"{choices.epsilon:g}":
            return _screen(page, confirm=True)
        _check_places(page, choices)
        for earlier in page.project.path("runs").iterdir():
            remove_left_behind(earlier, ".", ".part")  # of runs that were killed
        folder = page.project.next_folder("runs")
        for name in ("project.toml", "schema.toml", "columns.json"):
            shutil.copyfile(page.project.path(name), folder / name)
            (folder / name).chmod(0o600)
        page.queue.ask(
            folder, release_words(choices, page.roles, folder / "schema.toml", folder / "out")
        )
    except ChaffinchError as error:
        return _screen(page, str(error), form if form.word("with-options") else None)
    return go("/runs")


def stop(page: Page, request: Request) -> Response:
    """Stop a run; nothing that it half wrote stays."""
    page.queue.job(request.path_params["number"]).stop()
    return go("/runs")


def again(page: Page, request: Request) -> Response:
    """Start a run that waits since the page was closed."""
    job = page.queue.job(request.path_params["number"])
    if job.state is not JobState.WAITING:
        raise InputError(f"Run {job.number} does not wait: it {LABELS[job.state]}.")
    if job.command != _words_again(page, job):
        raise InputError(
            f"The command of run {job.number} is not the one that its choices make: its files were changed by somebody. Start a new run."
        )
    page.queue.again(job)
    return go("/runs")


def _words_again(page: Page, job: Job) -> list[str]:
    """The words that a run is made of by the choices in its folder, all files of which must lie in folders that were opened."""
    choices = ProjectFolder(job.folder).choices()
    if job.kind == "check":
        return check_words(
            choices, page.roles, page.places.still((job.command[1:2] or [""])[0]), job.written
        )
    folder = ProjectFolder(job.folder)
    _check_places(page, choices)
    return release_words(
        choices, roles_of(folder.schema_text()), folder.path("schema.toml"), job.written
    )


def _check_places(page: Page, choices: ProjectChoices) -> None:
    """Raise unless every file that a run reads is still inside the folders that were opened, where it was when it was chosen."""
    for path in (choices.source, choices.holdout, choices.domain, choices.ledger):
        if path:
            page.places.still(path)
