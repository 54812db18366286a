"""What to expect of a privacy budget before it is spent, from the schema alone: `chaffinch.plan`.

Where levels and bounds are still to be discovered, a plan reckons with a likely domain and with what discovery leaves of the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .._base.checks import check_at_least
from .._base.errors import InputError
from .._base.results import html_table
from .._base.text import text_table
from ..privacy.advice import Advice, Expectation, advise
from ..privacy.discover import as_words
from ..privacy.domain import declared_schema, undeclared_error
from ..privacy.ledger import HEAD as SPLIT
from ..privacy.ledger import Plan
from ..privacy.prepare import with_person
from ..privacy.session import BudgetPlan, DiscoveryPrice, discovery_price, plan_budget
from ..synth import BayesNet, PrivBayes, Settings, synthesiser_of
from ..table import Column, Schema
from ..table.schema_file import SchemaLike, as_schema

HEAD = (
    "method",
    "neighbours",
    "column: noise",
    "count",
    "error",
    "pair: noise",
    "count",
    "useful pairs",
    "at once",
    "largest table",
    "enough for",
)


@dataclass(frozen=True, repr=False)
class PlanResult:
    """What to expect of each method, the chosen one first, and how that would split its budget. Nothing has been spent.

    `price` is what discovery would take of it; None where all is declared.
    """

    advice: Advice
    split: Plan
    price: DiscoveryPrice | None = None

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row of words for each method, as `HEAD` names them."""
        return [_row(method) for method in self.advice.methods]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data: `chaffinch-advice`, version 1."""
        discovery = {} if self.price is None else {"discovery": self.price.to_dict()}
        return {
            "format": "chaffinch-advice",
            "version": 1,
            **self.advice.to_dict(),
            "plan": self.split.to_dict(),
            **discovery,
        }

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the chosen method's budget is enough for, whether noise takes more than links give, what would help, and what discovery takes."""
        chosen = self.advice.chosen
        warning = (self.advice.warning,) if self.advice.warning else ()
        return (
            f"{chosen.method}: {chosen.verdict.sentence}",
            *warning,
            *self.advice.remedies,
            *self.discovery,
        )

    @property
    def discovery(self) -> tuple[str, ...]:
        """What discovery takes, and what the rest of the plan reckons with; nothing where all is declared."""
        if self.price is None:
            return ()
        return (
            *self.price.sentences,
            f"The figures above reckon with what discovery leaves, and with up to {MOST_LEVELS} levels for each column of words that is discovered.",
        )

    def show(self) -> None:
        """Print the advice, then how the chosen method would split the budget."""
        print(text_table(HEAD, self.rows()))
        print("\n".join(self.sentences))
        print(text_table(SPLIT, self.split.rows_table()))

    def __repr__(self) -> str:
        return f"PlanResult({self.advice.chosen.method}, epsilon {self.split.budget.epsilon:g}: {self.advice.chosen.verdict.value})"

    def _repr_html_(self) -> str:
        return html_table(HEAD, self.rows(), caption=" ".join(self.sentences)) + html_table(
            SPLIT, self.split.rows_table()
        )


def plan(
    schema: SchemaLike | None,
    method: Settings | str,
    *,
    rows: int | None = None,
    person: str | None = None,
    neighbours: str | None = None,
) -> PlanResult:
    """Return what to expect of a privacy budget: from the schema, the number of rows and the method's settings alone.

    The data are not opened, so this may be asked as often as one likes.

    Parameters
    ----------
    schema
        Public, with a domain for every column, declared or with `discover = true`; or the path of its file.
    method
        A synthesiser with an epsilon, as `BayesNet(epsilon=1.0)`, or in a line, as "privbayes:epsilon=1".
    rows
        The number of rows, roughly; that of the schema unless given.
    person
        The column that says whose row it is, where people have several.
    neighbours
        The relation under which other methods are put beside it; each under its own default unless given.
    """
    chosen = synthesiser_of(method) if isinstance(method, str) else method
    if not isinstance(chosen, Settings) or not chosen.private:
        raise InputError(
            "A plan is for a privacy budget: give a method with an epsilon, as BayesNet(epsilon=1.0)."
        )
    promised = _schema_with_rows(as_schema(schema), rows, person)
    split = chosen.plan(promised)
    compared = _methods_to_compare(chosen, neighbours)
    price = discovery_price(plan_budget(promised, chosen.budget, chosen.unit))
    if price is None:
        declared = promised if promised.sealed else declared_schema(promised)
    else:  # levels cannot be discovered without a delta, so nor can methods without one be compared
        declared = assumed_schema(promised, price, promised.rows or 0)
        no_words = all(column.records is None for column in price.columns)
        compared = [
            with_what_is_left(s, plan_budget(promised, s.budget, s.unit))
            for s in compared
            if s.budget.delta or no_words
        ]
    return PlanResult(
        advise(declared, declared.rows or 0, [s.expectation(declared) for s in compared]),
        split,
        price,
    )


def _schema_with_rows(schema: Schema | None, rows: int | None, person: str | None) -> Schema:
    """Return the schema that a fit would follow, with a number of rows."""
    if schema is None:
        raise undeclared_error()
    check_at_least("--rows", rows, 0, optional=True)
    if rows is None and schema.rows is None:
        raise InputError(
            "A plan needs the number of rows: give --rows N (roughly is enough), or declare it in the schema."
        )
    promised = with_person(schema, person)
    return replace(promised, rows=schema.rows if rows is None else rows)


def _methods_to_compare(chosen: Settings, neighbours: str | None) -> list[Settings]:
    """Return the chosen settings, then those of the other methods with the same promise; pure and Gaussian where there is a delta."""
    promise: dict[str, Any] = {
        name: getattr(chosen, name) for name in ("epsilon", "delta", "rows_per_person")
    }
    if neighbours is not None:
        promise["neighbours"] = neighbours
    others: list[Settings] = [
        BayesNet(**promise),
        BayesNet(**{**promise, "delta": None}),
        PrivBayes(**promise),
    ]
    by_title = {chosen.title: chosen}
    for settings in others:
        by_title.setdefault(settings.title, settings)
    return list(by_title.values())


MOST_LEVELS = 10
"""Levels that a column of words is reckoned with, if there are records enough for each to be found."""


def assumed_schema(schema: Schema, price: DiscoveryPrice, rows: int) -> Schema:
    """Return a schema that declares what is to be discovered as it is likely to come out: sealed, and of the same columns.

    Words have ten levels, or as many as records can be for each to reach its threshold, and `(other)`; numbers have all their bins.
    """
    records = {column.column: column.records for column in price.columns}
    columns = [
        _assume_column(column, records.get(column.name), rows) if column.name in records else column
        for column in as_words(schema)
    ]
    return declared_schema(replace(schema, columns=tuple(columns), rules=()))


def _assume_column(column: Column, records: int | None, rows: int) -> Column:
    if column.kind != "categorical":
        # Bins of one unit, so that whole numbers have as many.
        return replace(
            column,
            type="string",
            bounds=(0.0, float(column.bins * column.step)),
            binning="width",
            edges=None,
            discover=False,
        )
    many = max(1, min(MOST_LEVELS, rows // max(records or 1, 1)))
    return replace(
        column,
        type="string",
        levels=tuple(f"level {i}" for i in range(1, many + 1)),
        other=True,
        discover=False,
    )


def with_what_is_left(settings: Settings, opening: BudgetPlan) -> Settings:
    """Return the settings with the epsilon that discovery leaves: the most whose budget is what is left of the whole one."""
    low, high = 0.0, opening.budget.epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if replace(opening.budget, epsilon=middle).total <= opening.remaining
            else (low, middle)
        )
    promise: dict[str, Any] = {"epsilon": low}
    return settings.set_params(**promise)


def _row(expected: Expectation) -> tuple[str, ...]:
    parents = "" if expected.parents is None else f", {expected.parents} parents"
    values = (
        expected.column_noise,
        expected.column_count,
        expected.column_error,
        expected.pair_noise,
        expected.pair_count,
    )
    return (
        expected.method,
        expected.relation,
        *("" if value is None else f"{value:.3g}" for value in values),
        f"{expected.useful_pairs:,} of {expected.pairs:,}",
        f"{expected.at_once:,}",
        f"{expected.largest_table:,} cells{parents}",
        expected.verdict.value,
    )
