"""What is promised, for a reader who has never heard of epsilon: to whom, how much, what it is not, and what was spent on it.

The account that came with a synthesis is worked out anew from its charges: its words are never taken from the file. One that does
not add up counts as none. Columns that were kept as they are come from the original cell by cell, so a table with one has no
promise, whatever its model has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp
from typing import Any

from .._base.errors import InputError, join_names
from .._base.results import to_plain
from .._base.text import capital, display_name, letter
from ..privacy.ledger import HEAD, Account, account_from_dict
from ..synth.account import SynthesisAccount
from .sections import Block, Col, Listing, Num, Paragraph, Section, Wide, page_table

TEST_ONLY = "TEST ONLY: the noise was drawn from a seed, so the table and its model carry no promise of privacy. Do not release them."
NONE = "No formal promise: the table was made without epsilon."
DAMAGED = "No formal promise: an account of privacy came with the table, but it does not add up or is of another version. Make the table again."
MOST_CELL = 300


@dataclass(frozen=True, kw_only=True)
class PromiseRow:
    """The promise as a row of a report's verdict: its word is `promised`, `test only` or `no promise`, its value epsilon."""

    section: str = "promise"
    id: str = "promise"
    measure: str = "Promise of privacy"
    question: str = "How much can one record change what is released?"
    value: float | None = None
    delta: float | None = None
    relation: str | None = None
    direction: str = "lower is safer"
    word: str
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data."""
        plain: dict[str, Any] = to_plain(self)
        return plain


@dataclass(frozen=True)
class Promise:
    """What a synthesis promises: its account if it has a sound one, columns that void it, and the words to say first.

    `line` is one line that stands below the title and in the verdict; `alarm` is "" unless something has to be said loudly.
    """

    account: Account | None
    kept_columns: tuple[str, ...]
    line: str
    alarm: str = ""

    @property
    def holds(self) -> bool:
        """Whether the synthetic table carries a promise."""
        return self.account is not None and not self.account.test_only and not self.kept_columns

    @property
    def row(self) -> PromiseRow:
        """The promise as a row of a report's verdict."""
        account = self.account
        if account is not None and self.holds:
            return PromiseRow(
                question=f"How much can one {account.unit.whose} change what is released?",
                value=account.epsilon,
                delta=account.delta,
                relation=account.unit.description,
                word="promised",
                sentence=account.sentence,
            )
        word = "test only" if account is not None and account.test_only else "no promise"
        return PromiseRow(word=word, sentence=self.alarm or self.line)


def promise_of(synthesis: SynthesisAccount | None) -> Promise | None:
    """Return what a synthesis promises; None where nothing is known of how the table was made."""
    if synthesis is None or not synthesis.network:
        return None
    model = synthesis.model
    kept_columns = tuple(display_name(name, 40) for name in model.kept_columns)
    if model.privacy is None:
        return Promise(None, kept_columns, NONE)
    try:
        account = account_from_dict(model.privacy)
    except InputError:
        return Promise(None, kept_columns, DAMAGED, DAMAGED)
    if account.test_only:
        return Promise(account, kept_columns, account.short, TEST_ONLY)
    if kept_columns:
        alarm = (
            f"NO PROMISE FOR THIS TABLE: {join_names(kept_columns, max_names=4)} stand in it as they are in the original, row by row. The model alone "
            f"is private ({account.short}). Make a table without kept columns."
        )
        return Promise(
            account,
            kept_columns,
            "NO PROMISE for this table: it holds columns of the original",
            alarm,
        )
    return Promise(account, kept_columns, f"{account.short}; this report is not covered")


def best_guess(epsilon: float, delta: float | None = None) -> float:
    """Return the largest share of right guesses between two neighbouring tables that are equally likely: 0.5 is a coin, 1 is sure.

    The errors p and q of any test satisfy p + e^epsilon q >= 1 - delta and the same with p and q exchanged (Wasserman and Zhou 2010; Kairouz,
    Oh and Viswanath 2015). Their sum is least where they are equal, (1 - delta) / (1 + e^epsilon).

    Examples
    --------
    >>> round(best_guess(1.0), 4), best_guess(1e9), round(best_guess(1e-9, 0.1), 6)
    (0.7311, 1.0, 0.55)
    """
    small = exp(-epsilon)  # in this form nothing overflows
    return 1 - (1 - (delta or 0.0)) * small / (1 + small)


def promise_section(promise: Promise | None, *, public: bool = False) -> Section | None:
    """Return the section that says what is promised, what is not, and what was spent; None without an account.

    A `public` page holds no figure that the promise does not cover, and says so.
    """
    if promise is None or promise.account is None:
        return None
    account = promise.account
    blocks: list[Block] = []
    if promise.alarm:
        blocks.append(Paragraph(promise.alarm, "alarm"))
    if account.test_only:
        blocks.append(
            Paragraph("With noise of the operating system, these settings would promise:")
        )
    real = replace(account, test_only=False)
    blocks.append(Paragraph(real.sentence, "lead"))
    blocks.append(Listing(tuple(_meaning(real))))
    blocks.append(Paragraph("What this is not", "strong"))
    blocks.append(Listing(tuple(_limits(real, public=public))))
    blocks += _spending(account)
    return Section("promise", "What is promised", tuple(blocks))


def _meaning(account: Account) -> Iterator[str]:
    """What the numbers mean here, for someone who meets them for the first time."""
    unit, epsilon, delta = account.unit, account.epsilon, account.delta
    person = unit.whose == "person"
    max_rows = (
        "of which one is kept"
        if unit.rows_per_person == 1
        else f"at most {unit.rows_per_person} of them"
    )
    whose = f"one person's rows, {max_rows}" if person else "one record"
    if unit.bounded:
        summary = f"Two tables are compared that differ in {whose}: exchanged for {'those of another' if person else 'any other'}."
        task = f"which of two {'people' if person else 'records'} was in the data"
    else:
        summary = f"Two tables are compared: one with {whose}, one without."
        task = f"whether {'a person' if person else 'a record'} was in the data"
    times = f"{exp(epsilon):.3g}" if epsilon < 10 else f"e^{epsilon:.6g}"
    yield (
        f"{summary} Epsilon says how far apart the results may be: whatever is drawn, or concluded from it, is at most about {times} times as "
        "likely from the one as from the other. Smaller is stronger; at 0 the result would tell nothing of the data."
    )
    if delta is not None:
        odds = f" (about 1 in {1 / delta:,.0f})" if delta < 0.1 else ""
        yield f"Delta is a chance on top, at most {delta:.6g}{odds}, for results to which that limit does not apply."
    share = ceil(1000 * best_guess(epsilon, delta) - 1e-9) / 10  # rounded up: it is a limit
    yield (
        f"In other words: someone who knows everything else, and guesses {task}, both being equally likely, is right in at "
        f"most {min(share, 100.0):.1f}".removesuffix(".0")
        + "\xa0% of cases. A coin is right in 50\xa0%."
    )
    yield _whose(account)


def _whose(account: Account) -> str:
    unit, declared, max_rows = (
        account.unit,
        account.rows_how == "declared",
        account.unit.rows_per_person,
    )
    if unit.by_person:
        kept_rows = (
            "one row of each person was used"
            if max_rows == 1
            else f"at most {max_rows} rows of each person were used"
        )
        who = (
            f"Each person is protected, with all of their rows: {kept_rows}, by the identifier of people in the table. This is no promise for a single record: "
            "without one record of a person another of theirs may take its place, which can count twice."
        )
    elif max_rows > 1:
        who = f"The table has no identifier of people. Any {max_rows} rows together are protected: a person with at most {max_rows} rows, and nobody with more."
    else:
        who = (
            "Each record is protected by itself. The table has no identifier of people: a person with several records is protected less, epsilon being "
            "multiplied by the number of their records."
        )
    if unit.bounded and max_rows == 1:
        return f"{who} The number of records is public."
    return f"{who} The number of rows was {'declared as public' if declared else 'measured with noise, as part of the promise'}."


def _limits(account: Account, *, public: bool) -> Iterator[str]:
    covers = "It covers the synthetic table and the model, whatever is done with them. It does not cover "
    if public:
        yield f"{covers}figures that were measured on the real data to judge the table: none of them is on this page."
    else:
        yield (
            f"{covers}this report: its figures are computed on the real data, without noise, and no budget is spent on them. Keep this report "
            "inside, as confidential as the data."
        )
    whom = "records" if account.unit.whose == "record" else "people"
    yield (
        f"It is not a promise about groups. For a family of three {whom} epsilon is three times as large"
        f"{'' if account.delta is None else ', and delta grows even more'}."
    )
    yield (
        "It does not keep anyone from learning about a person what holds for everybody like that person: such a conclusion is nearly the same with "
        "and without the person's data."
    )
    yield (
        "It is not the whole if the same data are released again, in whatever form: budgets add up. A project ledger (--ledger) keeps the sum."
    )
    yield (
        "It takes the declared schema as public. Columns, levels, bounds or settings that were chosen by looking at the real data are not paid "
        "for here, nor is the choice of one of several results by figures that were measured on the data."
    )


def _spending(account: Account) -> Iterator[Block]:
    budget, (epsilon, delta) = account.budget, account.spent_guarantee
    rows = tuple(
        tuple(display_name(cell, MOST_CELL) for cell in row) for row in account.rows_table()
    )
    if rows:
        first, second, *others = map(capital, HEAD)
        yield page_table(
            "What was spent on what", rows, Wide(first), Num(second), *map(Col, others)
        )
    x_start = account.unspent
    unspent = (
        f"{budget.currency} {x_start:.4g} was not spent"
        if x_start > 1e-6 * budget.total
        else "nothing is left"
    )
    at_delta = f" at delta {delta:.6g}" if delta else ""
    yield Paragraph(
        f"Spent: {budget.currency} {account.spent:.4g} of {budget.total:.4g}, which is epsilon {epsilon:.4g}{at_delta}; {unspent}. "
        f"{account.conversion} Noise: {account.noise_source}."
    )


# Two promises side by side: equal numbers need not promise the same.

UNKNOWN = "not known: the report does not say how the table was made"


@dataclass(frozen=True)
class PromiseLine:
    """One part of what is promised in each of several reports, in words."""

    what: str
    values: tuple[str, ...]


def promise_rows(promises: Sequence[Promise | None]) -> tuple[PromiseLine, ...]:
    """Return promises line by line, in words; none where no synthesis has an account."""
    if not any(p is not None and (p.account is not None or p.alarm) for p in promises):
        return ()
    columns = [_promise_column(promise) for promise in promises]
    return tuple(
        PromiseLine(what, tuple(column[what] for column in columns)) for what in columns[0]
    )


def _promise_column(promise: Promise | None) -> dict[str, str]:
    account = None if promise is None else promise.account
    line = UNKNOWN if promise is None else promise.line
    if account is None:
        return {"promise": line} | dict.fromkeys(
            ("epsilon", "delta", "neighbours", "rows per person", "noise"), "–"
        )
    return {
        "promise": line if promise is not None and not promise.holds else "differentially private",
        "epsilon": f"{account.epsilon:.6g}",
        "delta": "none" if account.delta is None else f"{account.delta:.6g}",
        "neighbours": account.unit.description,
        "rows per person": str(account.unit.rows_per_person),
        "noise": account.noise_source,
    }


def promise_notes(promises: Sequence[Promise | None]) -> Iterator[str]:
    """Yield what to know of promises before any number is compared; nothing where they are the same."""
    by_letter = {letter(i): promise for i, promise in enumerate(promises)}
    for key, promise in by_letter.items():
        if promise is not None and promise.alarm:
            yield f"{key}: {promise.alarm}"
    holding = [key for key, promise in by_letter.items() if promise is not None and promise.holds]
    others = [key for key in by_letter if key not in holding]
    if holding and others:
        known = any(by_letter[key] is not None for key in others)
        verb = "carries" if len(holding) == 1 else "carry"
        none = "no promise" if known else "none that is known"
        yield f"{', '.join(holding)} {verb} a promise of privacy, {', '.join(others)} {none}. {_PRICE}"
    compared = {
        key: promise.account
        for key, promise in by_letter.items()
        if promise is not None and promise.account is not None and (key in holding or not holding)
    }
    if compared:
        (first, account), *more = compared.items()
        for key, other in more:
            yield from _promise_differences(account, other, first, key)


_PRICE = "A table that promises less can come nearer to the original for that reason alone."


def _promise_differences(a: Account, b: Account, first: str, second: str) -> Iterator[str]:
    """What differs between two promises, in sentences."""
    differing = list(_parts(a, b, first, second))
    if not differing:
        return
    if (a.unit, a.delta) == (b.unit, b.delta):
        yield f"The promises differ in epsilon: {a.epsilon:.6g} in {first}, {b.epsilon:.6g} in {second}; smaller is stronger. {_PRICE}"
        return
    same = a.epsilon == b.epsilon
    start = f"Both say epsilon {a.epsilon:.6g}, but these" if same else "These"
    yield f"{start} are different promises: {'; '.join(differing)}. {_PRICE}"
    if a.unit.neighbours != b.unit.neighbours:
        yield _implied_words(*((b, a, second) if a.unit.bounded else (a, b, first)))


def _parts(a: Account, b: Account, first: str, second: str) -> Iterator[str]:
    if a.epsilon != b.epsilon:
        yield f"epsilon {a.epsilon:.6g} in {first}, {b.epsilon:.6g} in {second}"
    if a.unit != b.unit:
        yield f"{a.unit.description} in {first}, {b.unit.description} in {second}"
    if a.delta != b.delta:
        deltas = ["none" if x.delta is None else f"{x.delta:.6g}" for x in (a, b)]
        yield f"delta {deltas[0]} in {first}, {deltas[1]} in {second}, and smaller is stronger"


def _implied_words(added: Account, replaced: Account, side: str) -> str:
    """What a promise under add-remove is worth under replace-one: two steps, so twice epsilon, and delta (1 + e^epsilon)."""
    epsilon, delta = added.epsilon, added.delta
    at_delta = ""
    if delta is not None:
        grown = delta * (1 + exp(min(epsilon, 700.0)))
        at_delta = f" at delta {grown:.3g}" if grown < 1 else ", with a delta that means nothing"
    rows = (
        ""
        if added.unit.rows_per_person == replaced.unit.rows_per_person
        else " for as many rows of a person"
    )
    return (
        f"An epsilon under add-remove implies twice that epsilon under replace-one, not the other way round: {side} promises epsilon "
        f"{2 * epsilon:.6g}{at_delta} if one is replaced{rows}."
    )
