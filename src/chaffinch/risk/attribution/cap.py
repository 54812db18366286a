"""Correct attribution: what source rows with a person's keys say about the person's sensitive value.

The measures are functions of what `match` counts: for each person, the source rows with the same keys and those with the same sensitive
value too. Each gives a score for every person (`Scores`), in [0, 1], higher is riskier. CAP, DCAP and DiSCO are attackers too.

The names are those of Elliot (2014; CAP), Taub, Elliot and Sakshaug (2020; DCAP, TCAP) and of Raab, Nowok and Dibben
(2024; the others), with "original" read as people and "synthetic" as source. A key is *disclosive* where all
rows with it have one sensitive value; with `tau` below 1, where at least a share tau of them has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...stats.rates import Scores
from ..attacker import ATTACKERS, Attacker
from .attempt import AttackScores, attack_scores
from .matching import Match, share

if TYPE_CHECKING:
    from .attempt import AttackContext


def cap(matches: Match) -> Scores:
    """Return CAP: the share of matching source rows with the person's value, over people with a match."""
    return Scores(share(matches.n_both, matches.n_key), matches.matched)


def dcap(matches: Match) -> Scores:
    """Return DCAP: the same over all people, 0 for those without a match. DCAP = iS x CAP."""
    return Scores(share(matches.n_both, matches.n_key), np.ones(matches.n_entries))


def in_source(matches: Match) -> Scores:
    """Return iS: the share of people whose key a source row has."""
    return _share_of_all(matches.matched)


def dis(matches: Match, *, tau: float = 1.0) -> Scores:
    """Return DiS: the share of people whose key is disclosive in the source, rightly or wrongly."""
    return _share_of_all(matches.disclosive_at(tau))


def disco(matches: Match, *, tau: float = 1.0) -> Scores:
    """Return DiSCO: the share of people whose key is disclosive in the source and gives their own value."""
    return _share_of_all(matches.right_at(tau))


def disdio(matches: Match, *, tau: float = 1.0) -> Scores:
    """Return DiSDiO: the share of people for whom DiSCO holds and whose key is disclosive among people too."""
    return _share_of_all(matches.right_at(tau) & matches.people_at(tau))


def uis(matches: Match) -> Scores:
    """Return UiS: the share of source rows whose key no other source row has; scores stand for batches of source rows."""
    rows = matches.source_rows
    return Scores(np.where(rows.own_key == 1, rows.weight, 0), rows.weight)


def dorig(matches: Match, *, tau: float = 1.0) -> Scores:
    """Return Dorig: the share of people whose value their key discloses among people. A reference: DiSCO of a copy."""
    return _share_of_all(matches.people_at(tau))


MEASURES: dict[str, Callable[[Match], Scores]] = {
    "CAP": cap,
    "DCAP": dcap,
    "iS": in_source,
    "DiS": dis,
    "DiSCO": disco,
    "DiSDiO": disdio,
    "UiO": lambda matches: _share_of_all(matches.unique_people),
    "UiS": uis,
    "UiOiS": lambda matches: _share_of_all(matches.unique_people & matches.matched),
    "repU": lambda matches: _share_of_all(matches.unique_people & (matches.n_key == 1)),
    "Dorig": dorig,
    "CAPd": lambda matches: _share_of_all(share(matches.people_both, matches.people_key)),
    "baseCAPd": lambda matches: _share_of_all(matches.people_value / max(matches.n_people, 1)),
}
"""The measures by the names of the literature.

UiO, UiOiS, repU: the share of people whose key no other person has; and some source row has; and exactly one source row has.
CAPd: the share of people with the person's key who have their value. A reference: DCAP of a copy. baseCAPd: the share of
people with the person's value; its mean is the sum of squared shares. A guess that knows no key and draws from the
distribution of the sensitive value is right so often.
"""


def _share_of_all(numerator: NDArray[Any]) -> Scores:
    return Scores(numerator, np.ones(len(numerator)))


# As attackers.

ELLIOT = "Elliot 2014, SYLLS report"
TAUB = "Taub, Elliot, Pampaka and Smith 2018, Privacy in Statistical Databases"


def _attack(measure: Callable[[Match], Scores]) -> Callable[[AttackContext], list[AttackScores]]:
    """Return the attack that scores people by a measure of their matches."""

    def scored(match_of_all: Match, persons: Match) -> AttackScores:
        reason = "no source row has the keys of any person"
        scores = match_of_all.of_people(measure(match_of_all))
        result = attack_scores(
            scores,
            match_of_all.values,
            n_matched=match_of_all.people_in(match_of_all.matched),
            reason=reason,
        )
        return (
            result
            if persons is match_of_all
            else result.with_persons(measure(persons), match_of_all.n_people)
        )

    return lambda attempt: [
        scored(match_of_all, persons)
        for match_of_all, persons in zip(attempt.whole_matches, attempt.matches, strict=True)
    ]


ATTACKERS.register(
    Attacker(
        name="cap",
        attack=_attack(cap),
        title="CAP",
        guess_by="draw",
        people="matched",
        own_stream=False,
        counted=True,
        says="someone who draws one of the synthetic rows with the same keys (people without such rows left out) gets {sensitive}",
        definition="Share of synthetic rows with a person's keys that have the person's value, mean over people with such rows.",
        reference=ELLIOT,
    )
)
ATTACKERS.register(
    Attacker(
        name="dcap",
        attack=_attack(dcap),
        title="DCAP",
        guess_by="draw",
        own_stream=False,
        counted=True,
        says="someone who draws one of the synthetic rows with the same keys (no such row counts as wrong) gets {sensitive}",
        definition="CAP over all people; 0 for those whose keys no synthetic row has.",
        reference=f"{ELLIOT}; {TAUB}",
    )
)
ATTACKERS.register(
    Attacker(
        name="disco",
        attack=_attack(disco),
        title="DiSCO",
        people="right",
        own_stream=False,
        counted=True,
        says="all synthetic rows with the same keys agree on {sensitive}, and are",
        definition="Share of all people whose keys have one value only in the synthetic table, and it is theirs.",
        reference="Raab, Nowok and Dibben 2024",
    )
)
