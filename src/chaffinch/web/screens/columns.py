"""Columns: what each is taken for and why, a small picture of it, what it is for; and the schema beside, in step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ..._base.errors import ChaffinchError, InputError, unknown_name
from ..._base.svg import GREY, SERIES, box, line, picture
from ..._base.text import count_noun
from ...table.infer import suggested_role
from ...table.schema import KINDS, ROLES, Column, Schema
from ...table.schema_file import schema_from_toml
from ..commands import CHOSEN, describe_words, with_entry, with_rules_in_step
from ..page import Page, ProfileState, SentForm, form_of, go
from ..project import write_private
from .opening import look_again

WIDE, TALL = 120.0, 34.0
DECISIONS = ("", "drop", "fake", "keep")


@dataclass(frozen=True)
class _ColumnRow:
    """One column as the screen shows it."""

    index: int
    name: str
    kind: str
    reason: str
    role: str
    suggested: str
    picture: Markup
    missing: str
    personal: str
    output: str


def show(page: Page, request: Request) -> Response:
    """Return the screen; while the file is being looked at, how far that is."""
    return _screen(page)


def live(page: Page, request: Request) -> Response:
    """Return how far the look at the file is; once there are columns to show, the whole screen is loaded again.

    Where columns are shown already, of first rows, somebody may be choosing among them: then it is only said that all rows were read.
    """
    profile, partial = page.profile, bool(request.query_params.get("part"))
    has_news = not partial and profile.state is not ProfileState.READING
    if has_news or not (profile.state.is_reading or profile.state.is_complete):
        return HTMLResponse("", headers={"HX-Refresh": "true"})
    return HTMLResponse(
        page.environment.get_template("looking.html.j2").render(profile=profile, part=partial)
    )


def _screen(
    page: Page, alert: str = "", text: str | None = None, form: SentForm | None = None
) -> Response:
    """The screen, with what was chosen and typed where a form was not saved."""
    choices, profile = page.choices, page.profile
    if not choices.source:
        raise InputError("No file is open. Open one first.")
    if profile.state is ProfileState.UNREAD:
        look_again(page)
        profile = page.profile
    if profile.state is ProfileState.FAILED and profile.job is not None:
        alert = (
            alert
            or profile.job.message.strip().removeprefix("Error: ")
            or "Reading the file ended without a word, as when memory is short or the computer was switched off. Open it again."
        )
    columns, schema_text = profile.columns, page.project.schema_text()
    return page.show(
        "columns.html.j2",
        step="columns",
        commands=[describe_words(choices)],
        alert=alert,
        context={
            "columns": columns,
            "profile": profile,
            "part": profile.is_partial,
            "text": schema_text if text is None else text,
            "rows": []
            if columns is None
            else _rows(columns, schema_from_toml(schema_text, name="schema.toml"), form),
            "kinds": KINDS,
            "roles": CHOSEN,
            "decisions": DECISIONS,
            "promised": choices.epsilon is not None,
        },
        live=not (profile.state.is_complete or alert),
        reload=columns is None,
        keeps=columns is not None,
    )


def _rows(
    columns: dict[str, Any], schema: Schema, form: SentForm | None = None
) -> list[_ColumnRow]:
    personal = columns.get("personal", {})
    known = {column.name: column for column in schema}
    rows = []
    for index, entry in enumerate(columns["columns"]):
        name = entry["name"]
        column = known.get(name)
        role = column.role if column is not None else entry["role"]
        idea = None if column is None else suggested_role(column)
        row = _ColumnRow(
            index,
            name,
            column.kind if column is not None else entry["kind"],
            entry["reason"],
            role,
            f"perhaps {idea.role}: {idea.reason}"
            if idea is not None and role == "other" and name not in personal
            else "",
            _bars(f"cells-{index}", name, entry.get("cells", ())),
            str(entry["missing"]),
            personal.get(name, ""),
            column.output if column is not None and column.output in DECISIONS else "",
        )
        sent: dict[str, Any] = (
            {}
            if form is None
            else {
                what: form.word(f"{what}-{index}", 20)
                for what in ("kind", "role", "output")
                if form.values(f"{what}-{index}")
            }
        )
        rows.append(replace(row, **sent))
    return rows


def _bars(key: str, name: str, cells: list[int | str]) -> Markup:
    """A column as small bars; a dashed stub where there are few records, which is not said how few."""
    counts = [cell if isinstance(cell, int) else None for cell in cells]
    max_count = max((count for count in counts if count), default=1)
    wide = WIDE / max(len(cells), 1)
    body = []
    for i, count in enumerate(counts):
        high = 3.0 if count is None else (TALL - 4) * count / max_count
        area = (i * wide + 0.5, TALL - high - 1, max(wide - 1, 1), high)
        body.append(
            box(*area, stroke=GREY, stroke_dasharray="2 2")
            if count is None
            else box(*area, fill=SERIES[0][0])
        )
    body.append(line([(0, TALL - 0.5), (WIDE, TALL - 0.5)], stroke=GREY))
    return picture(
        key,
        WIDE,
        TALL,
        title=f"{name}: how records spread",
        desc=f"{count_noun(len(cells), 'bar')}. Counts are rounded, and small ones hidden.",
        body=body,
    )


def save(page: Page, request: Request) -> Response:
    """Keep kinds, roles and decisions as the form says; and the text beside, where it was edited, which the form then changes."""
    form, columns, text = form_of(request), page.columns, page.project.schema_text()
    if columns is None:
        raise InputError("The file is still being looked at.")
    edited = (
        form.text("text")
        if form.values("text") and form.text("text").strip() != text.strip()
        else None
    )
    try:
        schema, before = schema_from_toml(text, name="schema.toml"), text
        if edited is not None:
            schema_from_toml(edited, name="schema.toml")  # says what is wrong with it
            text = edited
        for index, entry in enumerate(columns["columns"]):
            text = _with_row(text, schema[entry["name"]], index, form)
        if form.word("go") and text == before:
            return go("/columns", form)
        page.check_choices(form)
        _keep(page, text)
    except ChaffinchError as error:
        current = page.is_current(form)
        return _screen(page, str(error), edited if current else None, form if current else None)
    return go("/attackers" if form.word("next") else "/columns", form)


def _with_row(text: str, column: Column, index: int, form: SentForm) -> str:
    """The schema with what the form says of a column: only what it changes is written."""
    output, kind, role = (form.word(f"{what}-{index}", 20) for what in ("output", "kind", "role"))
    if output and output not in DECISIONS:
        raise unknown_name("decision", output, DECISIONS[1:])
    if kind and kind not in KINDS:
        raise unknown_name("kind", kind, KINDS)
    if role and role not in ROLES:
        raise unknown_name("role", role, ROLES)
    for key, new, old in (
        ("output", output, column.output),
        ("kind", kind, column.kind),
        ("role", role, column.role),
    ):
        sent = bool(form.values(f"{key}-{index}"))
        if sent and new != old:
            text = with_entry(text, column.name, key, new)
    return text


def save_text(page: Page, request: Request) -> Response:
    """Keep the schema as it was edited as text."""
    text = form_of(request).text("text")
    try:
        page.check_choices(form_of(request))
        if not page.profile.state.is_complete:
            raise InputError("The file is still being read. Edit the text when all rows were read.")
        _keep(page, text)
    except ChaffinchError as error:
        return _screen(page, str(error), text)
    return go("/columns")


def _keep(page: Page, text: str) -> None:
    text = with_rules_in_step(text)
    schema = schema_from_toml(text, name="schema.toml")
    columns = page.project.columns() or {"columns": [], "schema": text}
    names = [entry["name"] for entry in columns["columns"]]
    known = {column.name for column in schema}
    if absent := [name for name in names if name not in known]:
        raise InputError(
            f"The schema has no entry for column '{absent[0]}'. Columns that are to be left out have output = \"drop\"."
        )
    write_private(page.project.path("schema.toml"), text)
