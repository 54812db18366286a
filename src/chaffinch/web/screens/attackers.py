"""Who might attack: what an outsider may know and wants to know, people who are not in the table, and the limit."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from ..._base.errors import ChaffinchError, InputError
from ..._base.options import settings_of
from ...risk.settings import RiskSettings
from ..commands import release_words
from ..fields import value_in
from ..page import Page, SentForm, form_of, go


def show(page: Page, request: Request) -> Response:
    """Return the screen."""
    return _screen(page)


FIELDS = ("holdout", "max_excess", "attackers", "thorough", "second")


def _stored_fields(page: Page) -> dict[str, str]:
    """What the fields show of what was saved."""
    choices = page.choices
    limit = "" if choices.max_excess is None else str(choices.max_excess)
    return {
        "holdout": choices.holdout,
        "max_excess": limit,
        "attackers": ", ".join(choices.attackers),
        "thorough": "yes" if choices.thorough else "",
        "second": "yes" if choices.second else "",
    }


def _screen(page: Page, alert: str = "", form: SentForm | None = None) -> Response:
    """The screen, with what was typed where a form was not saved."""
    from ...risk.attacker import STUDIED, attackers_of_kind

    choices, roles, columns = page.choices, page.roles, page.known_columns()
    arguments = release_words(
        choices, roles, page.project.path("schema.toml"), page.project.path("runs", "NEW")
    )
    typed = _stored_fields(page) if form is None else {name: form.word(name) for name in FIELDS}
    return page.show(
        "attackers.html.j2",
        step="attackers",
        commands=[arguments],
        alert=alert,
        context={
            "typed": typed,
            "settings": settings_of(RiskSettings),
            "roles": roles,
            "rows": columns["rows"],
            "attackers": attackers_of_kind(*STUDIED),
        },
        keeps=True,
    )


def save(page: Page, request: Request) -> Response:
    """Keep the holdout, the limits and who attacks."""
    from ...risk.attacker import plan_attackers

    form = form_of(request)
    if form.word("go") and {name: form.word(name) for name in FIELDS} == _stored_fields(page):
        return go("/attackers", form)
    try:
        page.check_choices(form)
        holdout = form.word("holdout")
        path = str(page.places.inside(holdout)) if holdout else ""
        if path and path == page.choices.source:
            raise InputError(
                "The holdout is the table itself. Name a file with other people, or none."
            )
        settings = settings_of(RiskSettings)
        limit = value_in(settings["max_excess"], form.word("max_excess"))
        names = form.word("attackers").replace(" ", ",")
        attackers = value_in(settings["attackers"], names)
        roles = page.roles
        if limit is not None and not (roles.keys and roles.sensitive):
            raise InputError(
                "A limit needs an attack: give a column the role key and one the role sensitive first."
            )
        plan_attackers(("keys", "sensitive"), attackers)
        page.project.change(
            holdout=path,
            max_excess=limit,
            attackers=attackers or (),
            thorough=bool(form.word("thorough")),
            second=bool(form.word("second")),
        )
    except ChaffinchError as error:
        return _screen(page, str(error), form if page.is_current(form) else None)
    return go("/promise", form)
