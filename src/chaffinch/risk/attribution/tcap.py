"""Targeted correct attribution (TCAP): how often the source is right where it looks certain.

One name, five numbers in use; the convention is part of every result. A source row is *selected* where its WEAP, the
share of source rows with its key that have its value, is at least tau. Over people, a key is disclosive where some
value reaches that share, and right for a person whose own value does.

- matched_rows: share of people with the row's key who have its value, mean over selected source rows whose key some person has;
- all_rows: the same over all selected source rows, 0 where no person has the key;
- certain: right, and the person's value reaches tau among people with the key too, mean over people with a match;
- matched: right, mean over people with a match in the source;
- conditional: right, mean over people whose key is disclosive in the source.

"matched_rows" is the default because it is the definition printed with equations (Elliot, Little and Allmendinger, appendix A, after
Taub and Elliot 2019); their figure 3 uses "all_rows". "certain" = DiSDiO / iS, "matched" = DiSCO / iS, "conditional" = DiSCO / DiS, so
certain <= matched <= conditional.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._base.arrays import Floats, Ints
from ...stats.rates import ClassStatistic, Ratio, Scores
from ...table.compare.classes import Keys
from ..attacker import ATTACKERS, Attacker
from ..settings import CONVENTIONS, Convention, check_convention
from .attempt import AttackScores, Guess, guess
from .cap import TAUB
from .classes import KeyCells
from .matching import Match, check_tau, match

if TYPE_CHECKING:
    from .attempt import AttackContext


@dataclass(frozen=True, eq=False, repr=False)
class TcapCells:
    """What a mean over source rows depends on when people are drawn anew and the source stays.

    `weight`: selected source rows of each selected class (a key with at least one selected row). `person_class`: the selected class of
    each person, -1 for none. `person_right`: the share of the class's selected rows that have the person's value: 0 or 1 for tau above
    1/2. `zero`: whether classes without people count 0 ("all_rows") or are dropped ("matched_rows").
    """

    weight: Floats
    person_class: Ints
    person_right: Floats
    zero: bool = False

    @classmethod
    def from_cells(cls, cells: KeyCells, *, tau: float, zero: bool) -> TcapCells:
        """Return the selected classes of the cells of people and source."""
        rows = cells.source_of_class[cells.cell_class]
        selected = (cells.source > 0) & (cells.source / np.maximum(rows, 1) >= tau)
        chosen = np.where(selected, cells.source, 0)
        weight = np.bincount(cells.cell_class, chosen, cells.n_classes).astype(
            np.float64, copy=False
        )
        number = np.where(weight > 0, np.cumsum(weight > 0) - 1, -1)
        right = chosen / np.maximum(weight[cells.cell_class], 1)
        return cls(weight[weight > 0], number[cells.people_class], right[cells.people_cell], zero)

    @property
    def n_people(self) -> Ints:
        """The number of people in each selected class."""
        return np.bincount(self.person_class[self.person_class >= 0], minlength=len(self.weight))

    @property
    def statistic(self) -> ClassStatistic:
        """What makes a value of people's classes and rights."""
        return ClassStatistic(self.weight, "zero" if self.zero else "dropped")


@dataclass(frozen=True, eq=False, repr=False)
class Tcap:
    """TCAP under one convention, in [0, 1], higher is riskier.

    `value`, `reason`: the number, or None and the reason. `n_source_selected`: source rows with WEAP of at least tau. `n_matched`:
    matched_rows, all_rows: those of them whose key some person has. Else: people over whom the mean goes. `scores`: the score of each
    person; None for matched_rows and all_rows, which are no mean over people. `cells`: matched_rows and all_rows: what is needed to
    draw people anew; None else. `counted`: what the
    value divides by: source rows for matched_rows and all_rows, else people. `n_people`: people whom the value is about, by whom it is masked: with the
    keys of a selected source row; else as `n_matched`.
    """

    value: float | None
    reason: str
    convention: Convention
    tau: float
    n_source_selected: int
    n_matched: int
    scores: Scores | None = None
    cells: TcapCells | None = None
    counted: float = 0.0
    n_people: int = 0


def weap(source_keys: Keys, source_sensitive: NDArray[Any]) -> Floats:
    """Return for each source row the share of source rows with its key that have its value: WEAP, in (0, 1].

    Examples
    --------
    >>> weap(np.array([[0], [0], [1]]), np.array([1, 2, 2])).tolist()
    [0.5, 0.5, 1.0]
    """
    own_match = match(source_keys, source_sensitive, source_keys, source_sensitive)
    return own_match.n_both / own_match.n_key


def tcap(
    people_keys: Keys,
    people_sensitive: NDArray[Any],
    source_keys: Keys,
    source_sensitive: NDArray[Any],
    *,
    convention: Convention = "matched_rows",
    tau: float = 1.0,
) -> Tcap:
    """Return TCAP under one convention; codes are those of `match`.

    Examples
    --------
    >>> keys = np.array([[0], [0], [0], [1], [3], [3]]), np.array([[0], [1], [3], [3]])
    >>> round(tcap(keys[0], np.array([1, 1, 2, 2, 3, 4]), keys[1], np.array([1, 2, 3, 4])).value, 4)
    0.8333
    """
    matches = match(people_keys, people_sensitive, source_keys, source_sensitive)
    return tcap_of(matches, convention=convention, tau=tau)


def tcap_of(matches: Match, *, convention: Convention = "matched_rows", tau: float = 1.0) -> Tcap:
    """Return TCAP under one convention from a match."""
    check_tau(tau)
    check_convention(convention)
    if convention in ("matched_rows", "all_rows"):
        return _over_source(matches, convention, tau)
    return _over_people(matches, convention, tau)


def all_conventions(matches: Match, *, tau: float = 1.0) -> dict[Convention, Tcap]:
    """Return TCAP under every convention from one match."""
    return {
        convention: tcap_of(matches, convention=convention, tau=tau) for convention in CONVENTIONS
    }


def _over_source(matches: Match, convention: Convention, tau: float) -> Tcap:
    rows = matches.source_rows
    selected = rows.weap >= tau
    met = selected & (rows.people_key > 0)
    n_selected, n_met = int(rows.weight[selected].sum()), int(rows.weight[met].sum())
    cells = TcapCells.from_cells(matches.cells, tau=tau, zero=convention == "all_rows")
    count = n_selected if convention == "all_rows" else n_met
    reason = ""
    if not matches.n_people:
        reason = "there are no people"
    elif not n_selected:
        reason = f"no source row has a WEAP of at least {tau:g}"
    elif not count:
        reason = f"no person has the keys of a source row with a WEAP of at least {tau:g}"
    if reason:
        return Tcap(None, reason, convention, tau, n_selected, n_met, cells=cells)
    value = float((rows.weight[met] * (rows.people_both[met] / rows.people_key[met])).sum()) / count
    out = Tcap(value, "", convention, tau, n_selected, n_met, cells=cells, counted=count)
    return replace(out, n_people=matches.people_in(tcap_credit(matches, out) > 0))


def _over_people(matches: Match, convention: Convention, tau: float) -> Tcap:
    right, counted = matches.right_at(tau), matches.matched
    reason = "no person's keys are in the source"
    if convention == "certain":
        right = right & matches.people_at(tau)
    elif convention == "conditional":
        counted = matches.disclosive_at(tau)
        reason = f"no person's keys have a value with a share of at least {tau:g} in the source"
    scores = matches.of_people(Scores(right, counted))
    rows = matches.source_rows
    n_selected = int(rows.weight[rows.weap >= tau].sum())
    n_counted = matches.people_in(counted)
    why = "" if n_counted else reason
    return Tcap(
        scores.value,
        why,
        convention,
        tau,
        n_selected,
        n_counted,
        scores=scores,
        counted=n_counted,
        n_people=n_counted,
    )


def tcap_credit(matches: Match, result: Tcap) -> Floats:
    """Return what each person adds to TCAP, times `counted`, if the person's own value is answered for every key alike.

    An answer that knows no key scores the summed credit of the people with that value over `counted`: each person of those whom the
    measure counts adds 1 (under "certain" only where the key is certain among people too); over source rows the people of a key
    share what its rows weigh.

    Examples
    --------
    Two keys that the source is certain of, with 3 rows and 1; two people have the first key, one has the second:

    >>> keys = np.array([[0], [0], [1]]), np.array([[0], [0], [0], [1]])
    >>> found = match(keys[0], np.array([5, 6, 6]), keys[1], np.array([5, 5, 5, 6]))
    >>> tcap_credit(found, tcap_of(found)).tolist()
    [1.5, 1.5, 1.0]
    """
    if result.cells is not None:
        cells = result.cells
        here = cells.person_class >= 0
        class_number = cells.person_class[here]
        out = np.zeros(matches.n_entries)
        out[here] = cells.weight[class_number] / matches.people_key[here]
        return out
    assert result.scores is not None
    counts = result.scores.weight > 0
    return (
        counts & matches.people_at(result.tau) if result.convention == "certain" else counts
    ).astype(np.float64)


# As an attacker.


def _attack(attempt: AttackContext) -> list[AttackScores]:
    """Return the scores; over source rows sides are pooled, so that classes have one numbering."""
    convention: Any = attempt.question.convention
    tau = attempt.question.tau
    results = [
        tcap_of(match_of_side, convention=convention, tau=tau)
        for match_of_side in attempt.whole_matches
    ]
    guesses = [
        _guess(result, match_of_side)
        for result, match_of_side in zip(results, attempt.whole_matches, strict=True)
    ]
    people = [
        match_of_side.n_people if attempt.counts is not None else None
        for match_of_side in attempt.whole_matches
    ]
    if results[0].scores is not None:
        persons = [
            tcap_of(match_of_side, convention=convention, tau=tau).scores
            for match_of_side in attempt.matches
        ]
        groups = [(scores.numerator, scores.weight) for scores in persons if scores is not None]
        return [
            AttackScores(Ratio(), group, result.value, baseline, result.n_people, result.reason, n)
            for result, group, baseline, n in zip(results, groups, guesses, people, strict=True)
        ]
    cells = tcap_of(attempt.match(attempt.people), convention=convention, tau=tau).cells
    assert cells is not None
    classes = zip(
        *(np.split(values, attempt.ends) for values in (cells.person_class, cells.person_right)),
        strict=True,
    )
    return [
        AttackScores(
            cells.statistic, group, result.value, baseline, result.n_people, result.reason, n
        )
        for result, baseline, group, n in zip(results, guesses, classes, people, strict=True)
    ]


def _guess(result: Tcap, matches: Match) -> Guess:
    credit = tcap_credit(matches, result)
    return guess(
        matches.values,
        credit=credit if matches.count is None else credit * matches.count,
        counted=result.counted,
    )


ATTACKERS.register(
    Attacker(
        name="tcap",
        attack=_attack,
        title="TCAP",
        people="matched",
        own_stream=False,
        counted=True,
        says="someone who believes synthetic rows where all with the same keys agree gets {sensitive}",
        definition="Where synthetic rows with the same keys agree (WEAP of at least tau): the share of people with these keys who have "
        "that value.",
        reference=f"{TAUB}; Elliot, Little and Allmendinger, appendix A",
        conventions=(
            (
                "matched_rows",
                "mean over agreeing synthetic rows whose keys some person has (Elliot, Little and Allmendinger)",
            ),
            ("all_rows", "the same over all agreeing synthetic rows, 0 where nobody has the keys"),
            (
                "certain",
                "right, and certain in the original too, of people with a match (DiSDiO / iS)",
            ),
            ("matched", "right, of people with a match (DiSCO / iS)"),
            (
                "conditional",
                "right, of people whose keys have one value in the synthetic table (DiSCO / DiS)",
            ),
        ),
    )
)

ATTACKERS.register(
    Attacker(
        name="evolved_datasets",
        title="TCAP of evolved datasets",
        says="someone who looks people up in datasets evolved from the outputs, where all rows with the same keys agree, gets {sensitive}",
        definition="TCAP of datasets that reproduce published outputs, mean over key sets, datasets and folds of the people; a check of outputs runs it.",
        blindness="Another attacker may do better, know more than the keys named, or have other releases at hand.",
        reference="Elliot, Little and Allmendinger",
    )
)
