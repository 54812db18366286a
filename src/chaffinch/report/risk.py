"""Attacks as sections of a page: what each tells beside its references, which keys tell most, and what was not asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from .._base.masking import THRESHOLD
from .._base.text import count_noun, fixed, number, percent, shown, signed
from ..risk.attribution.attack import Attack
from ..risk.attribution.attacker import attacker_of
from ..risk.attribution.exposure import ExposedPeople, Funnel
from ..risk.attribution.result import RiskResult
from ..risk.attribution.verdict import family_sentence, keys_words, several, worse
from .memorisation import memorisation_tests
from .risk_figures import MOST, attacks_table, funnel, ladder, records
from .risk_map import subset_map
from .sections import Block, Cell, Details, Listing, PageTable, Paragraph, Row, Section
from .sentences import MEMORISATION, RISK_LIMITS
from .together import joint_blocks

MOST_SENSITIVE = 8
MOST_SETTING = 300
MOST_OPEN = 24


class _OnColumn(Protocol):
    @property
    def sensitive(self) -> str: ...


T = TypeVar("T", bound=_OnColumn)


def risk_sections(result: RiskResult, threshold: int = THRESHOLD) -> Iterator[Section]:
    """Yield what a result has to show, after the verdict: only sections that have something."""
    parts: tuple[tuple[str, str, Iterable[Block]], ...] = (
        ("risk-attacks", "What attacks tell, and beside what", _attacks(result)),
        ("risk-keys", "Which keys tell most", _keys(result)),
        ("risk-attackers", "Over all attackers", _attackers(result)),
        ("risk-funnel", "From a match to disclosure", _funnels(result)),
        ("risk-records", "How the risk is spread over records", _records(result, threshold)),
        ("risk-together", "Several releases together", joint_blocks(result)),
        ("risk-cross-fit", "Cross-fit: without a holdout file", _cross_fit(result)),
        (
            "memorisation",
            "Memorisation: what the released table shows about who was in the data",
            _memorisation(result),
        ),
        (
            "risk-limits",
            "What the attacks do not show",
            [Listing(RISK_LIMITS)] if result.attacks or result.memorisation_tests else [],
        ),
        ("risk-measures", "How each attack is defined", _definitions(result)),
    )
    for key, title, blocks in parts:
        if shown_blocks := tuple(blocks):
            yield Section(key, title, shown_blocks)


def risk_facts(result: RiskResult) -> tuple[tuple[str, str], ...]:
    """Return what stands below the title of a report with attacks: keys and sensitive columns."""
    columns = (("Keys", result.about.keys), ("Sensitive", result.about.sensitive))
    return tuple((name, keys_words(names, most=20)) for name, names in columns if names)


def _by_sensitive(rows: Iterable[T]) -> dict[str, list[T]]:
    out: dict[str, list[T]] = {}
    for row in rows:
        out.setdefault(row.sensitive or "unnamed", []).append(row)
    return out


def _some(groups: Mapping[str, list[T]]) -> Iterator[tuple[int, str, list[T]]]:
    for i, (sensitive, rows) in enumerate(list(groups.items())[:MOST_SENSITIVE]):
        yield i, sensitive, rows


def _left_out(groups: Mapping[str, Any]) -> Iterator[Block]:
    if len(groups) > MOST_SENSITIVE:
        yield Paragraph(
            f"The first {MOST_SENSITIVE} of {len(groups)} sensitive columns; all are in the JSON.",
            "note",
        )


# Attacks and keys.


def _attacks(result: RiskResult) -> Iterator[Block]:
    attacks = result.attacks
    if not attacks:
        return
    if result.about.scenario:
        yield Paragraph(shown(result.about.scenario, 600), "lead")
    sets = several(attacks)
    groups = _by_sensitive(attacks)
    for i, sensitive, rows in _some(groups):
        figure = ladder(f"fig-risk-{i}", sensitive, rows, several=sets)
        if figure is not None:
            yield figure
    yield from _left_out(groups)
    missing = [attack for attack in attacks if attack.value is None]
    if missing:
        words = [
            f"{a.attacker.title} on {shown(a.sensitive, 40)} knowing {keys_words(a.keys)}: not applicable, "
            f"{shown(a.reason or 'no value was given', 300)}"
            for a in missing[:MOST]
        ]
        rest = [f"And {len(missing) - MOST:,} more, in the JSON."] if len(missing) > MOST else []
        yield Listing((*words, *rest))
    reasons = list(dict.fromkeys(a.reason for a in attacks if a.reason and a.value is not None))
    notes = [*reasons[:5], *result.about.notes]
    if notes:
        yield Listing(tuple(shown(note, 400) for note in notes[:MOST]))


def _keys(result: RiskResult) -> Iterator[Block]:
    if not several(result.attacks):
        return
    groups = _by_sensitive(result.attacks)
    for i, sensitive, rows in _some(groups):
        figure = subset_map(f"fig-risk-keys-{i}", sensitive, rows, result.family.p_value)
        if figure is not None:
            yield figure
    yield from _left_out(groups)
    cells = tuple(
        (
            Cell(attacker_of(row.measure).title, f"on {shown(row.sensitive, 40)}"),
            number(row.key_sets),
            fixed(row.mean),
            fixed(row.maximum),
            keys_words(row.maximum_keys, most=12),
            signed(row.mean_excess),
            signed(row.maximum_excess),
        )
        for row in result.by_measure[: 2 * MOST]
    )
    if cells:
        head = (
            "Attack",
            "Sets of keys",
            "Mean",
            "Largest",
            "Keys of the largest",
            "Mean excess",
            "Largest excess",
        )
        yield _folded(
            PageTable(
                "Mean and largest value over sets of keys",
                head,
                cells,
                frozenset({1, 2, 3, 5, 6}),
                frozenset({4}),
            )
        )


def _attackers(result: RiskResult) -> Iterator[Block]:
    rows = result.by_attacker
    if not rows:
        return

    def above(row: Any) -> float:
        return -9.0 if row.value is None else float(row.value) - (row.guess or 0.0)

    some = sorted(rows, key=above, reverse=True)[:MOST] if len(rows) > MOST else rows
    of = f", the {len(some)} worst of {len(rows):,}" if len(some) < len(rows) else ""
    names = dict.fromkeys(name for row in some for name in row.attackers)
    head = (
        "Sensitive",
        "Keys",
        "Mean",
        "Largest",
        "Guess",
        "Marginals only",
        "Label only",
        "Holdout",
        "Original",
    )
    cells: tuple[Row, ...] = tuple(
        (
            shown(row.sensitive, 40),
            keys_words(row.keys),
            fixed(row.value),
            Cell(fixed(row.maximum), attacker_of(row.maximum_attacker).title),
            *(
                fixed(side)
                for side in (
                    row.guess,
                    row.marginals_only,
                    row.label_only,
                    row.holdout,
                    row.original,
                )
            ),
        )
        for row in some
    )
    words = ", ".join(attacker_of(name).title for name in list(names)[:20])
    yield Paragraph(
        f"Mean and largest share of right answers over attackers that say a value: {words}."
    )
    table = PageTable(
        f"Attackers together; references are means over the same attackers{of}",
        head,
        cells,
        frozenset(range(2, 9)),
        frozenset({0, 1}),
    )
    yield _folded(table)


def _folded(table: PageTable) -> Block:
    """Return a table, a long one behind a line that opens it."""
    return (
        table
        if len(table.rows) <= MOST_OPEN
        else Details(f"{table.caption} ({count_noun(table.length, 'row')})", (table,))
    )


# The funnel, records, cross-fit, memorisation.


def _funnels(result: RiskResult) -> Iterator[Block]:
    rows = result.funnel or ()
    groups = _by_sensitive(rows)

    def correct(row: Funnel) -> float:
        return -1.0 if row.DiSCO is None else row.DiSCO

    for i, _, some in _some(groups):
        figure = funnel(f"fig-risk-funnel-{i}", max(some, key=correct), len(some))
        if figure is not None:
            yield figure
    yield from _left_out(groups)
    worst = sorted((row for row in rows if row.tcap), key=lambda row: -correct(row))[:MOST]
    if not worst:
        return
    conventions = dict(attacker_of("tcap").conventions)
    names = list(dict.fromkeys([*conventions, *(name for row in worst for name in row.tcap)]))[:12]
    used = [name for name in names if any(row.tcap.get(name) is not None for row in worst)]
    chosen = result.about.settings.get("convention")
    head = (
        "Sensitive",
        "Keys",
        *(f"{shown(name, 20)}{' (used here)' * (name == chosen)}" for name in used),
    )
    cells = tuple(
        (
            shown(row.sensitive, 40),
            keys_words(row.keys),
            *(fixed(row.tcap.get(name)) for name in used),
        )
        for row in worst
    )
    of = f", the {len(worst)} worst of {len(rows):,} sets of keys" if len(worst) < len(rows) else ""
    yield PageTable(
        f"TCAP by convention{of}", head, cells, frozenset(range(2, len(head))), frozenset({0, 1})
    )
    yield Listing(tuple(f"{name}: {conventions[name]}." for name in used if name in conventions))


def _records(result: RiskResult, threshold: int) -> Iterator[Block]:
    for i, spread in enumerate((result.records or ())[:MOST_SENSITIVE]):
        figure = records(f"fig-risk-records-{i}", spread, threshold)
        if figure is not None:
            yield figure
    words = [sentence for one in result.classes or () if (sentence := _exposed(one))]
    if words:
        yield Listing(tuple(words[:MOST]))
        yield Paragraph(
            "Which people and which combinations of keys they are is confidential.", "note"
        )


def _exposed(exposed: ExposedPeople) -> str:
    """Return how many people are answered for, and rightly."""
    count = exposed.people
    if count is None:
        return ""
    many = shown(count, 20) if isinstance(count, str) or not count else f"about {number(count)}"
    share = "" if exposed.share is None else f" ({percent(exposed.share)} of all)"
    return f"People for whom the synthetic table is certain, and right, {shown(exposed.sensitive, 40)}: {many}{share}."


def _cross_fit(result: RiskResult) -> Iterator[Block]:
    crossed = result.cross_fit
    if crossed is None:
        return
    yield Paragraph(
        "The original was split into halves; a model was fitted to one half and its table used to attack people of both, then the reverse. "
        "People of the other half are a true holdout for that model."
    )
    note = (
        crossed.note
        or "The figures are for models of half the size, not for the table that was made."
    )
    yield Paragraph(shown(note, 600), "lead")
    yield Paragraph(family_sentence(crossed.family, crossed.attacks, crossed.memorisation_tests))
    if crossed.attacks:
        some = sorted(crossed.attacks, key=worse, reverse=True)[:MOST]
        of = (
            f", the {len(some)} worst of {len(crossed.attacks):,}"
            if len(some) < len(crossed.attacks)
            else ""
        )
        sets = several(crossed.attacks)
        yield attacks_table(
            f"Attacks from models of half the size{of}", some, keys=sets, sensitive=True
        )
    yield from memorisation_tests(crossed.memorisation_tests)


def _memorisation(result: RiskResult) -> Iterator[Block]:
    yield from memorisation_tests(result.memorisation_tests)
    equal = result.memorisation
    if equal is None or equal.rows_equal is None:
        return
    by_chance = (
        " No holdout says how many would by chance."
        if equal.holdout_rows_equal is None
        else f" Of the holdout's rows, {percent(equal.holdout_rows_equal)} equal one."
    )
    yield Paragraph(
        f"{percent(equal.rows_equal)} of the synthetic rows equal a row of the original.{by_chance}"
    )
    yield Paragraph(MEMORISATION)


# Definitions and settings.


def _definitions(result: RiskResult) -> Iterator[Block]:
    attackers = [attacker_of(name) for name in _names(result.attacks)]
    if not attackers:
        return
    rows = tuple(
        (attacker.title, attacker.definition, attacker.reference) for attacker in attackers
    )
    yield PageTable(
        "Definitions and where they come from",
        ("Attack", "Definition", "Reference"),
        rows,
        wide=frozenset({1, 2}),
    )
    settings = result.about.settings
    if settings:
        cells = tuple(
            (shown(key), _plain(value)) for key, value in list(settings.items())[: 2 * MOST]
        )
        table = PageTable(
            "Settings of the attacks", ("Setting", "Value"), cells, wide=frozenset({1})
        )
        yield Details("Settings of the attacks", (table,))


def _names(attacks: Sequence[Attack]) -> Iterable[str]:
    return dict.fromkeys(attack.measure for attack in attacks)


def _plain(value: Any) -> str:
    return shown(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), MOST_SETTING
    )
