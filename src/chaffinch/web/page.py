"""What all screens share: the project, the queue, the templates, and how an answer is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from .commands import Roles, shown_command
from .guard import Keys
from .jobs import Queue
from .places import Places
from .project import ProjectChoices, ProjectFolder
from .roles import roles_of

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["STEPS", "Page", "SentForm", "form_of", "go"]

STEPS = (
    ("open", "Open"), ("columns", "Columns"), ("attackers", "Who might attack"), ("promise", "Promise"), ("runs", "Run"), ("result", "Result"),
    ("compare", "Compare"), ("decide", "Decide"),
)  # fmt: skip
"""The screens, in the order of the journey: the path of each, and its name."""


@dataclass(frozen=True)
class SentForm:
    """The fields of a form that was sent."""

    fields: tuple[tuple[str, str], ...]

    def word(self, name: str, most: int = 4096) -> str:
        """Return a field without blanks around it, cut to so many characters; empty where it was not sent."""
        return next((value.strip()[:most] for key, value in self.fields if key == name), "")

    def text(self, name: str) -> str:
        """Return a field as it was written, with plain line ends."""
        return next((value.replace("\r\n", "\n") for key, value in self.fields if key == name), "")

    def words(self, name: str) -> tuple[str, ...]:
        """Return all fields of a name."""
        return tuple(value for key, value in self.fields if key == name)


def form_of(request: Request) -> SentForm:
    """Return the form that a request carries: the guard has read and checked it."""
    return SentForm(tuple(request.state.form))


def go(path: str) -> Response:
    """Return an answer that leads to another screen."""
    return RedirectResponse(path, status_code=303)


@dataclass(eq=False)
class Page:
    """The page of one project."""

    project: ProjectFolder
    places: Places
    queue: Queue
    keys: Keys

    @property
    def choices(self) -> ProjectChoices:
        """What was chosen."""
        return self.project.choices()

    @property
    def roles(self) -> Roles:
        """What columns are for."""
        return roles_of(self.project.schema_text())

    def show(
        self, template: str, *, step: str, commands: Sequence[Sequence[str]] = (), alert: str = "", status: int = 200,
        context: Mapping[str, Any] | None = None,
    ) -> Response:  # fmt: skip
        """Return a screen.

        Parameters
        ----------
        step
            Which of the journey it is.
        commands
            Words of the commands that do the same.
        alert
            What went wrong, above all else.
        """
        html = self.environment.get_template(template).render(
            steps=STEPS, step=step, commands=[shown_command(words) for words in commands], alert=alert, form_key=self.keys.form,
            source=Path(self.choices.source).name, **(context or {}),
        )  # fmt: skip
        return HTMLResponse(html, status_code=status)

    @cached_property
    def environment(self) -> Environment:
        """The templates: the page's own, and those of the report."""
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

        loader = ChoiceLoader([PackageLoader("chaffinch.web", "templates"), PackageLoader("chaffinch.report", "templates")])
        return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
