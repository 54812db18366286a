"""Open: a file by its path or by looking for it, and what was understood of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..._base.errors import ChaffinchError, InputError
from ..commands import describe_words
from ..page import Page, ProfileState, form_of, go
from ..project import FOUND, READING, ProjectChoices


def show(page: Page, request: Request) -> Response:
    """Return the screen: the folder, and the file that is open."""
    return _screen(page, request.query_params.get("folder", ""))


def _screen(page: Page, folder: str, alert: str = "") -> Response:
    choices = page.choices
    if folder == "" and choices.source:
        folder = str(Path(choices.source).parent)
    try:
        listing = page.places.listing(folder)
    except ChaffinchError as error:
        listing, alert = page.places.listing(), alert or str(error)
    return page.show(
        "open.html.j2",
        step="open",
        commands=[describe_words(choices)] if choices.source else [],
        alert=alert,
        context={"listing": listing, "choices": choices, "profile": page.profile},
    )


def choose(page: Page, request: Request) -> Response:
    """Open the file that was named."""
    form = form_of(request)
    reading = {name: form.word(name, 40) for name in READING}
    try:
        page.check_choices(form)
        path = page.places.inside(form.word("path"))
        if path.is_dir() and not form.word("as_table"):
            return _screen(page, str(path))
        open_file(page, path, **reading)
    except ChaffinchError as error:
        return _screen(page, "", str(error))
    return go("/columns")


def open_file(page: Page, path: Path, **reading: Any) -> None:
    """Make a file the one of the project: what was chosen for another is put away, and it is looked at."""
    before = page.choices
    same = before.source == str(path)
    start = before if same else ProjectChoices()
    after = start.model_copy(update={"source": str(path), **reading})
    page.project.save(after)
    if after != before:
        for name in ("columns.json", "schema.toml", FOUND):
            page.project.path(name).unlink(missing_ok=True)
    if page.profile.state not in (ProfileState.COMPLETE, ProfileState.READING_REST):
        look_again(page)


def look_again(page: Page) -> None:
    """Look at the file of the project in a process of its own."""
    choices = page.choices
    if not choices.source:
        raise InputError("Open a file first.")
    folder = page.project.path("look")
    reading = [
        word for name in READING if (value := getattr(choices, name)) for word in (name, value)
    ]
    page.queue.look(
        folder, ["look", str(page.places.still(choices.source)), str(page.project.folder), *reading]
    )
