"""Promise: none, or epsilon and delta, with what to expect of them in words and what the ledger has left. Nothing is spent here."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..._base.errors import ChaffinchError
from ..commands import plan_words, release_words
from ..page import Page, form_of, go
from .attackers import number_in

__all__ = ["balance", "save", "show"]


def show(page: Page, request: Request) -> Response:
    """Return the screen."""
    return _shown(page)


def _shown(page: Page, alert: str = "") -> Response:
    choices, columns = page.choices, page.columns
    context: dict[str, Any] = {"choices": choices, "sentences": (), "balance": ()}
    commands = [release_words(choices, page.roles, page.project.path("schema.toml"), page.project.path("runs", "NEW"))] if choices.source else []
    if choices.epsilon is not None and columns is not None and not columns.get("part"):
        commands.insert(0, plan_words(choices, columns["rows"]))
        try:
            context["sentences"] = _expected(page, columns["rows"])
            context["balance"] = balance(page)
        except ChaffinchError as error:
            alert = alert or str(error)
    return page.show("promise.html.j2", step="promise", commands=commands, alert=alert, status=400 if alert else 200, context=context)


def _expected(page: Page, rows: int) -> tuple[str, ...]:
    """What to expect of the budget, as `chaffinch plan` says it; the header of the data is read, no record."""
    from ...synth import BayesNet
    from ...workflows.plan import plan
    from ...workflows.synthesise import ReadSettings

    choices = page.choices
    reading = ReadSettings(schema=choices.domain or None, discover=None if choices.domain else "all")
    settings = BayesNet(epsilon=choices.epsilon, delta=choices.delta)
    return plan(reading.promised_schema(choices.source), settings, rows=rows).sentences


def balance(page: Page) -> tuple[str, ...]:
    """Return what the project ledger has spent, and its limit, in words; nothing without a ledger."""
    from ...privacy.project import open_project

    ledger = page.choices.ledger
    if not ledger:
        return ()
    project = open_project(ledger)
    spent = project.totals.epsilon if project.releases else 0.0
    limit = "It has no limit." if project.epsilon is None else f"Its limit is epsilon {project.epsilon:g}."
    return (f"The ledger of '{project.data}' has {len(project.releases)} releases, which add up to epsilon {spent:.4g}.", limit)


def save(page: Page, request: Request) -> Response:
    """Keep the promise. Spending it is asked for again when a run is started."""
    form = form_of(request)
    try:
        page.check_choices(form)
        if form.word("kind") != "epsilon":
            page.project.change(epsilon=None, delta=None, domain="", ledger="")
            return go("/runs")
        epsilon = number_in(form, "epsilon", "Epsilon", low=0.0, above=True)
        delta = number_in(form, "delta", "Delta", low=0.0, high=0.5, above=True)
        places = {name: str(page.places.inside(word)) if (word := form.word(name)) else "" for name in ("domain", "ledger")}
        page.project.change(epsilon=epsilon, delta=delta, **places)
    except ChaffinchError as error:
        return _shown(page, str(error))
    return go("/runs") if form.word("next") else _shown(page)
