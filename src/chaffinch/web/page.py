"""What all screens share: the project, the queue, the templates, and how an answer is made."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from .._base.errors import InputError
from .._base.text import count_noun
from .commands import Roles, roles_of, shown_command
from .fields import hint_of, label_of
from .guard import LIVE_POLICY, Keys
from .jobs import Job, JobState, Queue
from .project import Places, ProjectChoices, ProjectFolder

if TYPE_CHECKING:
    from jinja2 import Environment


STEPS = (
    ("open", "Open"),
    ("columns", "Columns"),
    ("attackers", "Who might attack"),
    ("promise", "Promise"),
    ("runs", "Run"),
    ("result", "Result"),
    ("compare", "Compare"),
    ("decide", "Decide"),
)
"""The screens, in the order of the journey: the path of each, and its name."""


class ProfileState(Enum):
    """How far the file that is open has been read, and whether that goes on."""

    UNREAD = "nobody reads it: it was not started, or was stopped"
    READING = "it is being read, and nothing is known yet"
    READING_REST = "its columns are known from its first rows, and the rest is being read"
    FAILED = "reading ended before all rows were read"
    COMPLETE = "all rows were read"

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing more to know."""
        return self is ProfileState.COMPLETE

    @property
    def is_reading(self) -> bool:
        """Whether more is to come."""
        return self in (ProfileState.READING, ProfileState.READING_REST)


def profile_state(columns: Mapping[str, Any] | None, job_state: JobState | None) -> ProfileState:
    """Return how far a file has been read, by what is known of its columns and by the state of the look at it; None where there was none."""
    if columns is not None and not columns.get("part"):
        return ProfileState.COMPLETE
    if job_state is None or job_state is JobState.STOPPED:
        return ProfileState.UNREAD
    if not job_state.is_open:
        return ProfileState.FAILED
    return ProfileState.READING if columns is None else ProfileState.READING_REST


@dataclass(frozen=True)
class Profile:
    """What is known of the file that is open: its columns, None before there are any, the look at it, None where there was none, and how far that is."""

    columns: dict[str, Any] | None
    job: Job | None
    state: ProfileState

    @property
    def is_partial(self) -> bool:
        """Whether columns are known from first rows alone."""
        return self.columns is not None and not self.state.is_complete


@dataclass(frozen=True)
class SentForm:
    """The fields of a form that was sent."""

    fields: tuple[tuple[str, str], ...]

    def word(self, name: str, max_length: int = 4096) -> str:
        """Return a field without blanks around it, cut to so many characters; empty where it was not sent."""
        return next((value.strip()[:max_length] for key, value in self.fields if key == name), "")

    def text(self, name: str) -> str:
        """Return a field as it was written, with plain line ends."""
        return next((value.replace("\r\n", "\n") for key, value in self.fields if key == name), "")

    def values(self, name: str) -> tuple[str, ...]:
        """Return all fields of a name."""
        return tuple(value for key, value in self.fields if key == name)


def form_of(request: Request) -> SentForm:
    """Return the form that a request carries: the guard has read and checked it."""
    return SentForm(tuple(request.state.form))


def go(path: str, form: SentForm | None = None) -> Response:
    """Return an answer that leads to another screen: that of the bar where a form was sent by it."""
    step = "" if form is None else form.word("go", 20)
    return RedirectResponse(f"/{step}" if step in dict(STEPS) else path, status_code=303)


@dataclass(eq=False)
class Page:
    """The page of one project."""

    project: ProjectFolder
    places: Places
    queue: Queue
    keys: Keys
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    """Held while something is changed: one change after the other."""

    @property
    def choices(self) -> ProjectChoices:
        """What was chosen."""
        return self.project.choices()

    @property
    def roles(self) -> Roles:
        """What columns are for."""
        return roles_of(self.project.schema_text())

    @property
    def columns(self) -> dict[str, Any] | None:
        """What was understood of the file; None before anything was."""
        with self.lock:
            self.project.adopt()
        return self.project.columns()

    @property
    def profile(self) -> Profile:
        """What is known of the file that is open."""
        job = Job(self.project.path("look"))
        # Its state before the columns: once a look has ended, all that it found is there.
        job_state = job.state if job.command else None
        columns = self.columns
        return Profile(columns, job if job.command else None, profile_state(columns, job_state))

    def known_columns(self) -> dict[str, Any]:
        """Return what was understood of the file; raise before anything was."""
        if (columns := self.columns) is None:
            raise InputError(
                "The columns are not known yet. Open a file, and look at its columns first."
            )
        return columns

    def is_current(self, form: SentForm) -> bool:
        """Return whether a form is of choices as they are now: what another tab has changed is shown instead."""
        return form.word("choices") == self.project.stamp()

    def check_choices(self, form: SentForm) -> None:
        """Raise where choices were changed since the form was made, as in another tab: the later form would undo that unseen."""
        columns = self.project.columns() or {}
        if form.word("choices") not in (self.project.stamp(), str(columns.get("before", "-"))):
            raise InputError(
                "What was chosen has been changed since this form was loaded: in another tab, or in the files. Nothing of the form was kept. "
                "Here it is as it stands now: change it again."
            )

    def check_decisions(self, form: SentForm) -> None:
        """Raise where something was decided since the form was made, as in another tab."""
        if form.word("decisions") != self.project.decisions_stamp():
            raise InputError(
                "Something was decided since this form was loaded, as in another tab. Nothing was put down. Look at what was decided, below, first."
            )

    def stamps(self) -> dict[str, str]:
        """Return what every form carries: that this page made it, and of which state."""
        return {
            "form_key": self.keys.form,
            "choices_stamp": self.project.stamp(),
            "decisions_stamp": self.project.decisions_stamp(),
        }

    def show(
        self,
        template: str,
        *,
        step: str,
        commands: Sequence[Sequence[str]] = (),
        alert: str = "",
        status: int | None = None,
        context: Mapping[str, Any] | None = None,
        live: bool = False,
        reload: bool = True,
        keeps: bool = False,
    ) -> Response:
        """Return a screen.

        Parameters
        ----------
        step
            Which of the journey it is.
        commands
            Words of the commands that do the same.
        alert
            What went wrong, above all else.
        status
            400 with an alert, else 200, unless given.
        live
            Whether a part of it loads itself again and again: only then the page has a script.
        reload
            Whether the whole of it is loaded again and again where scripts are off: not while somebody fills it in.
        keeps
            Whether the bar saves the form `kept` of the screen before it leads elsewhere, so that nothing that was filled in is lost.
        """
        html = self.environment.get_template(template).render(
            steps=STEPS,
            step=step,
            commands=[shown_command(arguments) for arguments in commands],
            alert=alert,
            live=live,
            reload=live and reload,
            keeps=keeps,
            source=Path(self.choices.source).name,
            **self.stamps(),
            **(context or {}),
        )
        return HTMLResponse(
            html,
            status_code=status or (400 if alert else 200),
            headers={"content-security-policy": LIVE_POLICY} if live else None,
        )

    @cached_property
    def environment(self) -> Environment:
        """The templates of the screens."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("chaffinch.web", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters |= {
            "count_noun": count_noun,
            "option_label": label_of,
            "option_hint": hint_of,
        }
        return environment
