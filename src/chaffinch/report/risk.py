"""Attacks as sections of a page: the verdict, what each attack tells beside its references, which keys tell most, memorisation, several releases together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from .._base.masking import THRESHOLD
from .._base.text import NONE, between, count_noun, fixed, number, percent, shown, signed
from ..risk.attacker import ATTACKERS, attacker_of
from ..risk.attribution.exposure import ExposedPeople, Funnel
from ..risk.attribution.result import RiskResult
from ..risk.attribution.together import JointFinding, Together
from ..risk.attribution.verdict import (
    TOGETHER,
    RiskVerdictRow,
    family_sentence,
    several,
    worse,
)
from ..risk.finding import Finding, keys_words
from .risk_figures import (
    MOST,
    attacks_table,
    count_words,
    funnel,
    ladder,
    records,
    subset_map,
    used_sides,
    with_interval,
)
from .sections import Block, Cell, Details, Heading, Listing, PageTable, Paragraph, Row, Section
from .text import (
    CROSS_FIT_LINE,
    DETECTABLE_LINE,
    EXCESS_LINE,
    JOINT_LIMITS,
    MEMORISATION,
    MEMORISATION_TESTED,
    RISK_LIMITS,
)

MOST_SENSITIVE = 8
MOST_SETTING = 300
MOST_OPEN = 24
MOST_ROWS = 60
MOST_ALONE = 6
JOINT_HEAD = (
    "Attack or test",
    "Together",
    "Holdout",
    "Excess, together",
    "Excess, each alone",
    "Added to one",
    "95 % interval",
    "p, all together",
)


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
    for i, (sensitive, rows) in enumerate(islice(groups.items(), MOST_SENSITIVE)):
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
            f"{a.about.title} on {shown(a.sensitive, 40)} knowing {keys_words(a.keys)}: not applicable, "
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
    yield from memorisation_blocks(crossed.memorisation_tests)


def _memorisation(result: RiskResult) -> Iterator[Block]:
    yield from memorisation_blocks(result.memorisation_tests)
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
    attackers = [
        attacker_of(name) for name in dict.fromkeys(attack.attacker for attack in result.attacks)
    ]
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
            (shown(key), setting_words(value)) for key, value in list(settings.items())[: 2 * MOST]
        )
        table = PageTable(
            "Settings of the attacks", ("Setting", "Value"), cells, wide=frozenset({1})
        )
        yield Details("Settings of the attacks", (table,))


def setting_words(value: Any) -> str:
    """Return the value of a setting, as JSON where it is no text."""
    return shown(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), MOST_SETTING
    )


def memorisation_blocks(findings: Sequence[Finding]) -> Iterator[Block]:
    """Yield what tests found: nothing where there are none."""
    if not findings:
        return
    yield Paragraph(MEMORISATION_TESTED)
    yield Listing(tuple(shown(one.sentence, 400) for one in findings))
    head = (
        "Test",
        "People in the data",
        "Holdout",
        "Excess, towards risk",
        "95 % interval",
        "p",
        "p, all together",
        "People",
    )
    rows = tuple(
        (
            Cell(one.about.title, one.direction),
            _test_value(one, one.value),
            _test_value(one, one.holdout),
            signed(one.excess),
            between(one.excess_interval) if one.excess_interval else number(None),
            number(one.p_value),
            number(one.p_family),
            count_words(one.n_people),
        )
        for one in findings
    )
    yield PageTable(
        "Members beside people who are not in the data", head, rows, frozenset(range(1, 8))
    )
    defined = tuple(
        (one.about.title, one.about.definition, one.about.blindness, one.about.reference)
        for one in findings
    )
    table = PageTable(
        "Definitions of the tests, and what each does not see",
        ("Test", "Definition", "Does not see", "Reference"),
        defined,
        wide=frozenset({1, 2, 3}),
    )
    yield Details("How each test is defined, and what it does not see", (table,))


def _test_value(finding: Finding, value: float | None) -> str:
    return (
        (percent(value) if finding.about.share else fixed(value))
        if value is not None
        else number(None)
    )


def joint_blocks(result: RiskResult) -> Iterator[Block]:
    """Yield what releases tell together, of the cross-fit where that has it: nothing where there is one release."""
    joint = result.together
    if result.cross_fit is not None and result.cross_fit.together is not None:
        joint = result.cross_fit.together
    if joint is None:
        return
    yield Paragraph(joint.sentence, "lead")
    yield Paragraph(_joint_words(joint))
    table = PageTable(
        "What all releases tell together, and what that adds to one of them",
        JOINT_HEAD,
        tuple(_joint_row(one) for one in joint.ranked[:MOST]),
        frozenset(range(1, 8)),
        frozenset({0}),
    )
    yield _folded(table)
    yield Listing(JOINT_LIMITS)


def _joint_words(joint: Together) -> str:
    names = [shown(name, 40) for name in joint.names[:MOST_ALONE]]
    which = (
        f" Releases, in this order: {', '.join(names)}{' and others' if len(joint.names) > MOST_ALONE else ''}."
        if names
        else ""
    )
    model = (
        ""
        if joint.model_rows is None
        else f" The last of those alone is the model, as {count_noun(joint.model_rows, 'row')} drawn from it."
    )
    return f"The rows of all releases were attacked as one table, by attacks that do not learn and by all memorisation tests.{which}{model}"


def _joint_row(one: JointFinding) -> Row:
    about = f"on {shown(one.sensitive, 40)} knowing {keys_words(one.keys)}" if one.sensitive else ""
    alone = ", ".join("masked" if each is None else signed(each) for each in one.alone[:MOST_ALONE])
    return (
        Cell(one.title, about),
        fixed(one.value),
        fixed(one.holdout),
        signed(one.excess),
        alone + ", ..." * (len(one.alone) > MOST_ALONE),
        signed(one.added),
        "" if one.added_interval is None else between(one.added_interval),
        number(one.added_p_family),
    )


def risk_verdict_section(
    rows: Sequence[RiskVerdictRow], result: RiskResult | None = None
) -> Section:
    """Return the verdict on risk as a section; with its result, the headline of that stands first."""
    crossed = next((row for row in rows if row.id == "cross_fit"), None)
    alone = crossed is not None and not any(row.holdout is not None for row in rows)
    blocks: list[Block] = [Paragraph(_verdict_lead(rows, crossed if alone else None), "lead")]
    words = [EXCESS_LINE] if any(row.excess is not None or row.together for row in rows) else []
    words += [DETECTABLE_LINE] if any(row.detectable is not None for row in rows) else []
    words += [CROSS_FIT_LINE] if crossed is not None else []
    if words:
        blocks.append(Listing(tuple(words)))
    if result is not None and result.about.comparison:
        blocks.append(Listing(tuple(shown(sentence, 800) for sentence in result.about.comparison)))
    used = used_sides(rows)
    head = ("Attack", "Value and 95 % interval", *used.values(), "Excess and 95 % interval", "Word")
    last = len(head) - 1
    table = PageTable(
        "How often each attack is right, beside its references",
        head,
        tuple(_verdict_rows(rows, used, alone=alone)),
        frozenset(range(1, last)),
        short=frozenset({last}),
        cards=True,
    )
    single = sum(not row.together for row in rows)
    many = f"{single} attack{'s' * (single != 1)}" if single else "All together"
    blocks.append(Details(f"{many}, with all numbers", (table,)))
    if (every := len(_in_order(rows, alone=alone))) > table.length:
        blocks.append(
            Paragraph(f"The first {table.length} of {every:,} rows; all are in the JSON.", "note")
        )
    return Section("risk-verdict", "What it gives away, attack by attack", tuple(blocks))


def _verdict_lead(rows: Sequence[RiskVerdictRow], crossed: RiskVerdictRow | None) -> str:
    """Return the words of all attacks together and how many found what; those of the cross-fit alone where there is no holdout."""
    if crossed is not None:
        tests = _tests_words(rows)
        return f"There is no holdout, so models of half the people speak. {shown(crossed.measure)}: {shown(crossed.words or crossed.word, 120)}.{tests} {crossed.sentence}".strip()
    single = [row for row in rows if not row.together and not _is_test(row)]
    tally: dict[str, int] = {}
    for row in single:
        tally[row.word] = tally.get(row.word, 0) + 1
    counts = ", ".join(f"{count} × {shown(word, 40)}" for word, count in tally.items())
    out = (
        f"Attribute disclosure by {count_noun(len(single), 'attack')}: {counts}." if single else ""
    )
    out += _tests_words(rows)
    for row in rows:
        if row.together:
            out += f" {shown(row.measure)}: {shown(row.words or row.word, 120)}. {row.sentence}"
    return out.strip()


def _is_test(row: RiskVerdictRow) -> bool:
    return row.id in ATTACKERS and not ATTACKERS[row.id].on_column


def _tests_words(rows: Sequence[RiskVerdictRow]) -> str:
    tests = sum(_is_test(row) for row in rows)
    return f" Memorisation tests with an excess: {tests}." if tests else ""


def _in_order(rows: Sequence[RiskVerdictRow], *, alone: bool) -> list[RiskVerdictRow]:
    """Return the rows of the table, those of all attacks together first; without a holdout the family has nothing to say."""
    together = [row for row in rows if row.together and not (alone and row.id == "family")]
    return [*together, *(row for row in rows if not row.together)]


def _verdict_rows(
    rows: Sequence[RiskVerdictRow], used: dict[str, str], *, alone: bool
) -> Iterator[Row]:
    group = None
    for row in _in_order(rows, alone=alone)[:MOST_ROWS]:
        of_row = (
            TOGETHER
            if row.together
            else "Memorisation tests"
            if _is_test(row)
            else "Risk"
            if row.sensitive is None
            else f"Sensitive column: {shown(row.sensitive)}"
        )
        if of_row != group:
            group = of_row
            yield Heading(of_row)
        word = (
            "see the halves"
            if alone and not row.together and row.excess is None and row.value is not None
            else row.word
        )
        tail = "" if word != row.word else row.words.removeprefix(row.word).lstrip(": ")
        yield (
            Cell(
                row.measure,
                row.question
                if row.together
                else f"Knowing {keys_words(row.keys)}"
                if row.keys
                else "",
            ),
            with_interval(fixed(row.value), row.interval),
            *(fixed(getattr(row, side)) for side in used),
            _chance(row)
            if row.together
            else with_interval(signed(row.excess), row.excess_interval),
            Cell("", tail, word=word) if word == row.word else Cell(word),
        )


def _chance(row: RiskVerdictRow) -> Cell:
    if row.p_family is None:
        return Cell(NONE)
    return Cell(
        f"p = {number(row.p_family)}",
        f"lower bound {signed(row.lower_bound)}" if row.lower_bound is not None else "",
    )
