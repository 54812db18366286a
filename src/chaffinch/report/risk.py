"""Attacks as sections of a page: the verdict, what each attack tells beside its references, which keys tell most, memorisation, several releases together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

from .._base.masking import THRESHOLD
from .._base.text import (
    NONE,
    between,
    count_noun,
    display_name,
    format_fixed,
    format_signed,
    number,
    percent,
)
from ..risk.attacker import attacker_of
from ..risk.attribution.exposure import ExposedPeople, Funnel
from ..risk.finding import (
    FOUND,
    NO_VALUE,
    NONE_FOUND,
    UNKNOWN,
    Finding,
    alone_words,
    column_findings,
    has_several_key_sets,
    keys_words,
    over_attackers,
    over_key_sets,
    record_findings,
    worst_of_key_sets,
)
from ..risk.result import RiskResult
from ..risk.together import MultiReleaseResult
from ..risk.verdict import family_sentence, family_words
from .risk_figures import (
    MOST,
    count_words,
    funnel,
    ladder,
    records,
    subset_map,
    used_sides,
    with_interval,
)
from .sections import (
    Block,
    Cell,
    Col,
    Details,
    Heading,
    Listing,
    Num,
    PageTable,
    Paragraph,
    Row,
    Section,
    Short,
    Wide,
    filled_sections,
    page_table,
)
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
MOST_NAMES = 6
TOGETHER = "All attacks together"


class _OnColumn(Protocol):
    @property
    def sensitive(self) -> str: ...


T = TypeVar("T", bound=_OnColumn)


def risk_sections(result: RiskResult, threshold: int = THRESHOLD) -> Iterator[Section]:
    """Return what a result has to show, after the verdict: only sections that have something."""
    return filled_sections(
        (
            ("risk-attacks", "What attacks tell, and beside what", _attacks(result)),
            ("risk-keys", "Which keys tell most", _keys(result)),
            ("risk-attackers", "Over all attackers", _attackers(result)),
            ("risk-funnel", "From a match to disclosure", _funnels(result)),
            ("risk-records", "How the risk is spread over records", _records(result, threshold)),
            ("risk-together", "Several releases together", joint_blocks(result)),
            ("risk-cross-fit", "Cross-fit: without a holdout file", _cross_fit(result)),
            ("memorisation", "Synthetic rows that equal original rows", _equal_rows(result)),
            ("risk-limits", "What the attacks do not show", _limits(result)),
            ("risk-measures", "How each attack is defined", _definitions(result)),
        )
    )


def risk_facts(result: RiskResult) -> tuple[tuple[str, str], ...]:
    """Return what stands below the title of a report with attacks: keys and sensitive columns."""
    columns = (("Keys", result.about.keys), ("Sensitive", result.about.sensitive))
    return tuple((name, keys_words(names, limit=20)) for name, names in columns if names)


def _by_sensitive(rows: Iterable[T]) -> dict[str, list[T]]:
    out: dict[str, list[T]] = {}
    for row in rows:
        out.setdefault(row.sensitive or "unnamed", []).append(row)
    return out


def _shown_groups(groups: Mapping[str, list[T]]) -> Iterator[tuple[int, str, list[T]]]:
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
    attacks = column_findings(result.findings)
    if not attacks:
        return
    if result.about.scenario:
        yield Paragraph(display_name(result.about.scenario, 600), "lead")
    sets = has_several_key_sets(attacks)
    groups = _by_sensitive(attacks)
    for i, sensitive, rows in _shown_groups(groups):
        figure = ladder(f"fig-risk-{i}", sensitive, rows, several=sets)
        if figure is not None:
            yield figure
    yield from _left_out(groups)
    missing = [attack for attack in attacks if attack.value is None]
    if missing:
        sentences = [
            f"{attack.about.title} on {attack.target}: {attack.word}, {display_name(attack.reason or 'no value was given', 300)}"
            for attack in missing[:MOST]
        ]
        rest = [f"And {len(missing) - MOST:,} more, in the JSON."] if len(missing) > MOST else []
        yield Listing((*sentences, *rest))
    reasons = dict.fromkeys(
        attack.reason for attack in attacks if attack.reason and attack.value is not None
    )
    notes = [*list(reasons)[:5], *result.about.notes]
    if notes:
        yield Listing(tuple(display_name(note, 400) for note in notes[:MOST]))


def _keys(result: RiskResult) -> Iterator[Block]:
    attacks = column_findings(result.findings)
    if not has_several_key_sets(attacks):
        return
    groups = _by_sensitive(attacks)
    for i, sensitive, rows in _shown_groups(groups):
        figure = subset_map(f"fig-risk-keys-{i}", sensitive, rows, result.family.p_value)
        if figure is not None:
            yield figure
    yield from _left_out(groups)
    cells = tuple(
        (
            Cell(attacker_of(row.attacker).title, f"on {display_name(row.sensitive, 40)}"),
            number(row.key_sets),
            format_fixed(row.mean),
            format_fixed(row.maximum),
            keys_words(row.maximum_keys, limit=12),
            format_signed(row.mean_excess),
            format_signed(row.maximum_excess),
        )
        for row in over_key_sets(attacks)[: 2 * MOST]
    )
    if cells:
        yield _fold(
            page_table(
                "Mean and largest value over sets of keys",
                cells,
                Col("Attack"),
                Num("Sets of keys"),
                Num("Mean"),
                Num("Largest"),
                Wide("Keys of the largest"),
                Num("Mean excess"),
                Num("Largest excess"),
            )
        )


def _attackers(result: RiskResult) -> Iterator[Block]:
    rows = over_attackers(result.findings)
    if not rows:
        return

    def above(row: Any) -> float:
        return -9.0 if row.value is None else float(row.value) - (row.guess or 0.0)

    shortlist = sorted(rows, key=above, reverse=True)[:MOST] if len(rows) > MOST else rows
    scope = f", the {len(shortlist)} worst of {len(rows):,}" if len(shortlist) < len(rows) else ""
    names = dict.fromkeys(name for row in shortlist for name in row.attackers)
    cells: tuple[Row, ...] = tuple(
        (
            display_name(row.sensitive, 40),
            keys_words(row.keys),
            format_fixed(row.value),
            Cell(format_fixed(row.maximum), attacker_of(row.maximum_attacker).title),
            *(
                format_fixed(side)
                for side in (
                    row.guess,
                    row.marginals_only,
                    row.label_only,
                    row.holdout,
                    row.original,
                )
            ),
        )
        for row in shortlist
    )
    titles = ", ".join(attacker_of(name).title for name in list(names)[:20])
    yield Paragraph(
        f"Mean and largest share of right answers over attackers that say a value: {titles}."
    )
    table = page_table(
        f"Attackers together; references are means over the same attackers{scope}",
        cells,
        Wide("Sensitive"),
        Wide("Keys"),
        Num("Mean"),
        Num("Largest"),
        Num("Guess"),
        Num("Marginals only"),
        Num("Label only"),
        Num("Holdout"),
        Num("Original"),
    )
    yield _fold(table)


def _fold(table: PageTable) -> Block:
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

    for i, _, shortlist in _shown_groups(groups):
        figure = funnel(f"fig-risk-funnel-{i}", max(shortlist, key=correct), len(shortlist))
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
    cells = tuple(
        (
            display_name(row.sensitive, 40),
            keys_words(row.keys),
            *(format_fixed(row.tcap.get(name)) for name in used),
        )
        for row in worst
    )
    scope = (
        f", the {len(worst)} worst of {len(rows):,} sets of keys" if len(worst) < len(rows) else ""
    )
    yield page_table(
        f"TCAP by convention{scope}",
        cells,
        Wide("Sensitive"),
        Wide("Keys"),
        *(Num(f"{display_name(name, 20)}{' (used here)' * (name == chosen)}") for name in used),
    )
    yield Listing(tuple(f"{name}: {conventions[name]}." for name in used if name in conventions))


def _records(result: RiskResult, threshold: int) -> Iterator[Block]:
    for i, spread in enumerate((result.records or ())[:MOST_SENSITIVE]):
        figure = records(f"fig-risk-records-{i}", spread, threshold)
        if figure is not None:
            yield figure
    sentences = [sentence for group in result.classes or () if (sentence := _exposed_words(group))]
    if sentences:
        yield Listing(tuple(sentences[:MOST]))
        yield Paragraph(
            "Which people and which combinations of keys they are is confidential.", "note"
        )


def _exposed_words(exposed: ExposedPeople) -> str:
    """Return how many people are answered for, and rightly."""
    count = exposed.people
    if count is None:
        return ""
    many = (
        display_name(count, 20) if isinstance(count, str) or not count else f"about {number(count)}"
    )
    share = "" if exposed.share is None else f" ({percent(exposed.share)} of all)"
    return f"People for whom the synthetic table is certain, and right, {display_name(exposed.sensitive, 40)}: {many}{share}."


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
    yield Paragraph(display_name(note, 600), "lead")
    yield Paragraph(family_sentence(crossed.findings, crossed.family))
    yield from findings_blocks(crossed.findings, "Each attack from models of half the people")


def _equal_rows(result: RiskResult) -> Iterator[Block]:
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


def _limits(result: RiskResult) -> Iterator[Block]:
    if not result.findings:
        return
    if record_findings(result.findings):
        yield Paragraph(MEMORISATION_TESTED)
    yield Listing(RISK_LIMITS)
    left_out = result.about.left_out
    if left_out:
        yield page_table(
            "Attacks that were not made",
            left_out,
            Wide("Attack", lambda attacker: display_name(attacker.what, 300)),
            Wide("Why", lambda attacker: attacker.reason),
            Col("What makes it", lambda attacker: attacker.flag),
        )


def _definitions(result: RiskResult) -> Iterator[Block]:
    findings = (*result.findings, *(result.cross_fit.findings if result.cross_fit else ()))
    attackers = [
        attacker_of(name) for name in dict.fromkeys(finding.attacker for finding in findings)
    ]
    if not attackers:
        return
    yield page_table(
        "Definitions, what each attack does not see, and where it comes from",
        attackers,
        Col("Attack", lambda attacker: attacker.title),
        Wide("Definition", lambda attacker: attacker.definition),
        Wide("Does not see", lambda attacker: attacker.blindness or NONE),
        Wide("Reference", lambda attacker: attacker.reference or NONE),
    )
    settings = result.about.settings
    if settings:
        cells = tuple(
            (display_name(key), setting_words(value))
            for key, value in list(settings.items())[: 2 * MOST]
        )
        table = page_table("Settings of the attacks", cells, Col("Setting"), Wide("Value"))
        yield Details("Settings of the attacks", (table,))


def setting_words(value: Any) -> str:
    """Return the value of a setting, as JSON where it is no text."""
    return display_name(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), MOST_SETTING
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
    caption = "What all releases tell together, and what that adds to one of them"
    yield _fold(
        page_table(
            caption,
            [finding for finding in joint.ranked[:MOST] if finding.releases is not None],
            Wide("Attack", lambda finding: Cell(finding.title, finding.target)),
            Num("Together", lambda finding: _value_words(finding, finding.value)),
            Num("Holdout", lambda finding: _value_words(finding, finding.holdout)),
            Num("Excess, together", lambda finding: format_signed(finding.excess)),
            Num("Excess, each alone", lambda finding: alone_words(finding.releases) or NONE),
            Num("Added to one", lambda finding: format_signed(finding.releases.added)),
            Num(
                "95 % interval",
                lambda finding: between(finding.releases.interval),
            ),
            Num("p, all together", lambda finding: number(finding.releases.p_family)),
        )
    )
    yield Listing(JOINT_LIMITS)


def _joint_words(joint: MultiReleaseResult) -> str:
    names = [display_name(name, 40) for name in joint.names[:MOST_NAMES]]
    which = (
        f" Releases, in this order: {', '.join(names)}{' and others' if len(joint.names) > MOST_NAMES else ''}."
        if names
        else ""
    )
    model = (
        ""
        if joint.model_rows is None
        else f" The last of those alone is the model, as {count_noun(joint.model_rows, 'row')} drawn from it."
    )
    return f"The rows of all releases were attacked as one table, by attacks that do not learn and by all memorisation tests.{which}{model}"


def findings_section(result: RiskResult) -> Section:
    """Return every finding of a study as a section: attacks and tests alike, what they say together first."""
    crossed = result.cross_fit
    blocks: list[Block] = [Paragraph(_lead(result), "lead")]
    leading = result.leading
    sentences = [EXCESS_LINE] if leading.family.p_value is not None else []
    sentences += (
        [DETECTABLE_LINE] if any(f.detectable is not None for f in leading.findings) else []
    )
    sentences += [CROSS_FIT_LINE] if crossed is not None else []
    sentences += [display_name(sentence, 800) for sentence in result.about.comparison]
    if sentences:
        blocks.append(Listing(tuple(sentences)))
    blocks += findings_blocks(result.findings, "Each attack beside its references", crossed=crossed)
    return Section("risk-findings", "What it gives away, attack by attack", tuple(blocks))


def _lead(result: RiskResult) -> str:
    """Return how many findings there are of which word, and what they say together; of the cross-fit where it leads."""
    side = result.leading
    verdicts = [finding.word for finding in worst_of_key_sets(side.findings)]
    counts = ", ".join(
        f"{count} × {word}"
        for word in (FOUND, NONE_FOUND, UNKNOWN, NO_VALUE)
        if (count := verdicts.count(word))
    )
    of_halves = side is not result
    start = "There is no holdout, so models of half the people speak. " if of_halves else ""
    together = f"{TOGETHER}, cross-fit" if of_halves else TOGETHER
    return (
        f"{start}{count_noun(len(verdicts), 'attack')}: {counts}. {together}: "
        f"{family_words(side.findings, side.family)}. {side.sentence}"
    )


def findings_blocks(
    findings: Sequence[Finding], caption: str, *, crossed: RiskResult | None = None
) -> Iterator[Block]:
    """Yield findings as one table, those on columns first, and what memorisation tests found in sentences; `crossed`: the study that says more of them."""
    worst = worst_of_key_sets(findings)
    if not worst:
        return
    used = used_sides(worst)
    compared = any(f.excess is not None or f.p_family is not None for f in worst)
    table = page_table(
        caption,
        _finding_rows(worst, used, compared=compared, crossed=crossed is not None),
        Col("Attack"),
        Num("Value and 95 % interval"),
        *map(Num, used.values()),
        *([Num("Excess and 95 % interval")] if compared else []),
        Short("Word"),
        cards=True,
    )
    yield Details(f"{count_noun(len(worst), 'attack')}, with all numbers", (table,))
    if len(worst) > MOST_ROWS:
        yield Paragraph(
            f"The first {MOST_ROWS} of {len(worst):,} rows; all are in the JSON.", "note"
        )
    if tests := record_findings(findings):
        yield Listing(tuple(display_name(test.sentence, 400) for test in tests))


def _finding_rows(
    findings: Sequence[Finding], used: dict[str, str], *, compared: bool, crossed: bool
) -> Iterator[Row]:
    group = None
    for finding in findings[:MOST_ROWS]:
        name = (
            f"Sensitive column: {display_name(finding.sensitive)}"
            if finding.on_column
            else "Whole records: memorisation"
        )
        if name != group:
            group = name
            yield Heading(name)
        word = finding.word
        summary = "see the halves" if crossed and word in (UNKNOWN, NO_VALUE) else word
        behind = finding.verdict.removeprefix(word).lstrip(": ")
        if finding.p_family is not None:
            behind = f"p = {number(finding.p_family)} {behind}".strip()
        known = f"Knowing {keys_words(finding.keys)}" if finding.on_column else finding.direction
        yield (
            Cell(finding.title, f"{known}; {_people_words(finding)}"),
            with_interval(_value_words(finding, finding.value), finding.interval),
            *(_value_words(finding, getattr(finding, side)) for side in used),
            *(
                [with_interval(format_signed(finding.excess), finding.excess_interval)]
                if compared
                else []
            ),
            Cell("", behind, word=word) if summary == word else Cell(summary),
        )


def _people_words(finding: Finding) -> str:
    people = count_noun(finding.n_people, "person", "people")
    matched = finding.n_matched
    return people if matched is None else f"{people}, {count_words(matched)} matched"


def _value_words(finding: Finding, value: float | None) -> str:
    return format_fixed(value) if finding.about.share else finding.value_words(value)
