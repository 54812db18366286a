"""Two promises side by side, and in words where they are different ones: equal numbers need not promise the same."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp

from ..privacy.account import Account
from ..synth.account import SynthesisAccount
from .comparison import PromiseLine
from .promise import Promise, promise_of

__all__ = ["promise_notes", "promise_rows"]

UNKNOWN = "not known: the report does not say how the table was made"


def promise_rows(a: SynthesisAccount | None, b: SynthesisAccount | None) -> tuple[PromiseLine, ...]:
    """Return the promises of two syntheses line by line, in words; none where neither has an account."""
    pair = promise_of(a), promise_of(b)
    if not any(p is not None and (p.account is not None or p.alarm) for p in pair):
        return ()
    columns = [_column(promise) for promise in pair]
    return tuple(
        PromiseLine(what, columns[0][what], columns[1][what], columns[0][what] == columns[1][what])
        for what in columns[0]
    )


def _column(promise: Promise | None) -> dict[str, str]:
    account = None if promise is None else promise.account
    words = UNKNOWN if promise is None else promise.line
    if account is None:
        return {"promise": words} | dict.fromkeys(("epsilon", "delta", "neighbours", "rows per person", "noise"), "–")
    return {
        "promise": words if promise is not None and not promise.holds else "differentially private",
        "epsilon": f"{account.epsilon:.6g}",
        "delta": "none" if account.delta is None else f"{account.delta:.6g}",
        "neighbours": account.unit.words,
        "rows per person": str(account.unit.rows_per_person),
        "noise": account.noise_source,
    }


def promise_notes(a: SynthesisAccount | None, b: SynthesisAccount | None) -> Iterator[str]:
    """Yield what to know of two promises before any number is compared; nothing where they are the same."""
    pair = promise_of(a), promise_of(b)
    for side, promise in zip("AB", pair, strict=True):
        if promise is not None and promise.alarm:
            yield f"{side}: {promise.alarm}"
    held = [promise is not None and promise.holds for promise in pair]
    if held[0] != held[1]:
        with_it, without = ("A", "B") if held[0] else ("B", "A")
        none = "no promise" if pair["AB".index(without)] is not None else "none that is known"
        yield f"{with_it} carries a promise of privacy, {without} {none}. {_PRICE}"
        return
    accounts = [promise.account for promise in pair if promise is not None and promise.account is not None]
    if len(accounts) == 2:
        yield from _differences(*accounts)


_PRICE = "A table that promises less can come nearer to the original for that reason alone."


def _differences(a: Account, b: Account) -> Iterator[str]:
    """What differs between two promises, in sentences."""
    parts = list(_parts(a, b))
    if not parts:
        return
    if (a.unit, a.delta) == (b.unit, b.delta):
        yield f"The promises differ in epsilon: {a.epsilon:.6g} in A, {b.epsilon:.6g} in B; smaller is stronger. {_PRICE}"
        return
    same = a.epsilon == b.epsilon
    said = f"Both say epsilon {a.epsilon:.6g}, but these" if same else "These"
    yield f"{said} are different promises: {'; '.join(parts)}. {_PRICE}"
    if a.unit.neighbours != b.unit.neighbours:
        yield _implied(*((b, a) if a.unit.replaced else (a, b)), "B" if a.unit.replaced else "A")


def _parts(a: Account, b: Account) -> Iterator[str]:
    if a.epsilon != b.epsilon:
        yield f"epsilon {a.epsilon:.6g} in A, {b.epsilon:.6g} in B"
    if a.unit != b.unit:
        yield f"{a.unit.words} in A, {b.unit.words} in B"
    if a.delta != b.delta:
        one, other = ("none" if x.delta is None else f"{x.delta:.6g}" for x in (a, b))
        yield f"delta {one} in A, {other} in B, and smaller is stronger"


def _implied(added: Account, replaced: Account, side: str) -> str:
    """What a promise under add-remove is worth under replace-one: two steps, so twice epsilon, and delta (1 + e^epsilon)."""
    epsilon, delta = added.epsilon, added.delta
    at = ""
    if delta is not None:
        grown = delta * (1 + exp(min(epsilon, 700.0)))
        at = f" at delta {grown:.3g}" if grown < 1 else ", with a delta that means nothing"
    rows = "" if added.unit.rows_per_person == replaced.unit.rows_per_person else " for as many rows of a person"
    return (
        f"An epsilon under add-remove implies twice that epsilon under replace-one, not the other way round: {side} promises epsilon "
        f"{2 * epsilon:.6g}{at} if one is replaced{rows}."
    )
