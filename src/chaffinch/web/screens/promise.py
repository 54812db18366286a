"""Promise: none, or epsilon and delta, with what to expect of them in words and what the ledger has left. Nothing is spent here."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..._base.errors import ChaffinchError, InputError, join_names
from ..._base.options import settings_of
from ..._base.text import count_noun
from ...privacy.settings import PrivacyBudget
from ..commands import plan_words, release_words
from ..fields import value_in
from ..page import Page, SentForm, form_of, go


def show(page: Page, request: Request) -> Response:
    """Return the screen."""
    return _screen(page)


FIELDS = ("epsilon", "delta", "domain", "ledger")


def _stored_fields(page: Page) -> dict[str, str]:
    """What the fields show of what was saved."""
    values = {name: getattr(page.choices, name) for name in FIELDS}
    return {name: "" if value is None else str(value) for name, value in values.items()}


def _screen(page: Page, alert: str = "", form: SentForm | None = None) -> Response:
    """The screen, with what was typed where a form was not saved."""
    choices, profile = page.choices, page.profile
    typed: dict[str, Any] = {**_stored_fields(page), "promised": choices.epsilon is not None}
    if form is not None:
        typed = {name: form.word(name) for name in FIELDS} | {
            "promised": form.word("kind") == "epsilon"
        }
    context: dict[str, Any] = {
        "typed": typed,
        "settings": settings_of(PrivacyBudget),
        "sentences": (),
        "balance": (),
    }
    commands = (
        [
            release_words(
                choices,
                page.roles,
                page.project.path("schema.toml"),
                page.project.path("runs", "NEW"),
            )
        ]
        if choices.source
        else []
    )
    if choices.epsilon is not None and profile.columns is not None and profile.state.is_complete:
        commands.insert(0, plan_words(choices, profile.columns["rows"]))
        try:
            context["sentences"] = _expectations(page, profile.columns["rows"])
            context["balance"] = balance(page)
        except ChaffinchError as error:
            alert = alert or str(error)
    return page.show(
        "promise.html.j2",
        step="promise",
        commands=commands,
        alert=alert,
        context=context,
        keeps=True,
    )


def _expectations(page: Page, rows: int) -> tuple[str, ...]:
    """What to expect of the budget, as `chaffinch plan` says it; the header of the data is read, no record."""
    from ...privacy.prepare import guarantee_schema
    from ...synth import BayesNet
    from ...table.settings import Reading
    from ...workflows.plan import plan

    choices = page.choices
    reading, discover = Reading(schema=choices.domain or None), None if choices.domain else "all"
    settings = BayesNet(epsilon=choices.epsilon, delta=choices.delta)
    return plan(guarantee_schema(choices.source, reading, discover), settings, rows=rows).sentences


def balance(page: Page) -> tuple[str, ...]:
    """Return what the project ledger has spent, and its limit, in words; nothing without a ledger."""
    from ...privacy.project import open_project

    ledger = page.choices.ledger
    if not ledger:
        return ()
    project = open_project(ledger)
    spent = project.totals.epsilon if project.releases else 0.0
    limit = (
        "It has no limit."
        if project.epsilon is None
        else f"Its limit is epsilon {project.epsilon:g}."
    )
    return (
        f"The ledger of '{project.data}' has {count_noun(len(project.releases), 'release, which adds up', 'releases, which add up')} to epsilon {spent:.6g}.",
        limit,
    )


def save(page: Page, request: Request) -> Response:
    """Keep the promise. Spending it is asked for again when a run is started."""
    form = form_of(request)
    stored = _stored_fields(page)
    same = all(_same(form.word(name), stored[name]) for name in FIELDS) and (
        form.word("kind") == "epsilon"
    ) == (page.choices.epsilon is not None)
    if form.word("go") and same:
        return go("/promise", form)
    try:
        page.check_choices(form)
        if form.word("kind") != "epsilon":
            _check_nothing(page, form)
            page.project.change(epsilon=None, delta=None, domain="", ledger="")
            return go("/runs", form)
        settings = settings_of(PrivacyBudget)
        epsilon = value_in(settings["epsilon"], form.word("epsilon", 40))
        if epsilon is None:
            raise InputError(
                "Differential privacy is ticked, and epsilon is empty. Give one, as 1, or tick Nothing."
            )
        delta = value_in(settings["delta"], form.word("delta", 40))
        places = {
            name: str(page.places.inside(word)) if (word := form.word(name)) else ""
            for name in ("domain", "ledger")
        }
        page.project.change(epsilon=epsilon, delta=delta, **places)
    except ChaffinchError as error:
        return _screen(page, str(error), form if page.is_current(form) else None)
    return go("/runs", form) if form.word("next") or form.word("go") else _screen(page)


def _same(typed: str, stored: str) -> bool:
    """Whether a field says what was saved, numbers however they are written."""
    try:
        return typed == stored or float(typed.replace(",", ".")) == float(stored)
    except ValueError:
        return False


def _check_nothing(page: Page, form: SentForm) -> None:
    """Raise where fields of a promise were filled in while nothing is promised; those that show what was saved before may stay."""
    stored = _stored_fields(page)
    filled = [
        name for name in FIELDS if form.word(name) and not _same(form.word(name), stored[name])
    ]
    if filled:
        names = {
            "epsilon": "epsilon",
            "delta": "delta",
            "domain": "a schema that declares the domain",
            "ledger": "a ledger",
        }
        raise InputError(
            f"Nothing is promised, and {join_names([names[name] for name in filled])} {'was' if len(filled) == 1 else 'were'} filled in. "
            "Tick Differential privacy, or empty the fields. Nothing was saved."
        )
