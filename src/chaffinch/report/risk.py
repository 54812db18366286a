"""Attacks as sections of a page: what each tells beside its references, which keys tell most, and what was not asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .risk_figures import MOST, attacks_table, funnel, ladder, records
from .risk_map import subset_map
from .risk_verdict import risk_verdict, risk_verdict_section
from .risk_words import CONVENTIONS, LIMITS, MEMORISATION, attack_words, family_sentence, keys_of, several, worse
from .sections import Block, Cell, Details, Listing, Paragraph, Row, Section, Table
from .words import fixed, is_number, number, percent, shown, signed

__all__ = ["risk_about", "risk_facts", "risk_sections", "risk_verdict", "risk_verdict_section"]

Data = Mapping[str, Any]
MOST_SENSITIVE = 8
MOST_SETTING = 300
MOST_OPEN = 24


def risk_sections(risk: Data) -> Iterator[Section]:
    """Yield what the plain data of a study of risk have to show, after the verdict: only sections that have something."""
    attacks = _mappings(risk.get("attacks"))
    parts: tuple[tuple[str, str, list[Block]], ...] = (
        ("risk-attacks", "What attacks tell, and beside what", list(_attacks(risk, attacks))),
        ("risk-keys", "Which keys tell most", list(_keys(risk, attacks))),
        ("risk-attackers", "Over all attackers", list(_attackers(risk))),
        ("risk-funnel", "From a match to disclosure", list(_funnels(risk))),
        ("risk-records", "How the risk is spread over records", list(_records(risk))),
        ("risk-cross-fit", "Cross-fit: without a holdout file", list(_cross_fit(risk))),
        ("memorisation", "Memorisation, a diagnostic", list(_memorisation(risk))),
        ("risk-limits", "What the attacks do not show", [Listing(LIMITS)] if attacks else []),
        ("risk-measures", "How each attack is defined", list(_definitions(risk, attacks))),
    )
    for key, title, blocks in parts:
        if blocks:
            yield Section(key, title, tuple(blocks))


def risk_about(risk: Data) -> dict[str, Any]:
    """Return what a study of risk was about, its synthetic tables told as one: what the head of a page shows."""
    about = dict(risk.get("about") or {})
    tables = about.get("synthetic")
    if isinstance(tables, list | tuple):
        first = dict(tables[0] or {}) if tables else {}
        if len(tables) > 1:
            first["name"] = f"{len(tables)} syntheses, the first {shown(first.get('name') or 'unnamed')}"
        about["synthetic"] = first
    return about


def risk_facts(risk: Data) -> tuple[tuple[str, str], ...]:
    """Return what stands below the title of a report with attacks: keys and sensitive columns."""
    about = risk.get("about") or {}
    return tuple(
        (name, keys_of({"keys": about[key]}, most=20))
        for name, key in (("Keys", "keys"), ("Sensitive", "sensitive"))
        if about.get(key)
    )


def _mappings(rows: Any) -> list[Data]:
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list | tuple) else []


def _one_or_more(data: Any) -> list[Data]:
    return [data] if isinstance(data, Mapping) else _mappings(data)


def _by_sensitive(rows: Sequence[Data]) -> dict[str, list[Data]]:
    out: dict[str, list[Data]] = {}
    for row in rows:
        out.setdefault(str(row.get("sensitive") or "unnamed"), []).append(row)
    return out


def _some(found: Mapping[str, list[Data]]) -> Iterator[tuple[int, str, list[Data]]]:
    for i, (sensitive, rows) in enumerate(list(found.items())[:MOST_SENSITIVE]):
        yield i, sensitive, rows


def _left_out(found: Mapping[str, Any]) -> Iterator[Block]:
    if len(found) > MOST_SENSITIVE:
        yield Paragraph(f"The first {MOST_SENSITIVE} of {len(found)} sensitive columns; all are in the JSON.", "note")


# Attacks and keys.


def _attacks(risk: Data, attacks: Sequence[Data]) -> Iterator[Block]:
    if not attacks:
        return
    about = risk.get("about") or {}
    if about.get("scenario"):
        yield Paragraph(shown(about["scenario"], 600), "lead")
    sets = several(attacks)
    found = _by_sensitive(attacks)
    for i, sensitive, rows in _some(found):
        figure = ladder(f"fig-risk-{i}", sensitive, rows, several=sets)
        if figure is not None:
            yield figure
    yield from _left_out(found)
    missing = [attack for attack in attacks if not is_number(attack.get("value"))]
    if missing:
        said = [
            f"{attack_words(a.get('measure')).name} on {shown(a.get('sensitive'), 40)} knowing {keys_of(a)}: not applicable, "
            f"{shown(a.get('reason') or 'no value was given', 300)}"
            for a in missing[:MOST]
        ]
        rest = [f"And {len(missing) - MOST:,} more, in the JSON."] if len(missing) > MOST else []
        yield Listing((*said, *rest))
    reasons = list(dict.fromkeys(str(a["reason"]) for a in attacks if a.get("reason") and is_number(a.get("value"))))
    notes = [*reasons[:5], *(str(note) for note in about.get("notes") or ())]
    if notes:
        yield Listing(tuple(shown(note, 400) for note in notes[:MOST]))


def _keys(risk: Data, attacks: Sequence[Data]) -> Iterator[Block]:
    if not several(attacks):
        return
    found = _by_sensitive(attacks)
    p = (risk.get("family") or {}).get("p_value")
    for i, sensitive, rows in _some(found):
        figure = subset_map(f"fig-risk-keys-{i}", sensitive, rows, p)
        if figure is not None:
            yield figure
    yield from _left_out(found)
    rows = _mappings(risk.get("by_measure"))
    if rows:
        cells = tuple(
            (
                Cell(attack_words(row.get("measure")).name, f"on {shown(row.get('sensitive'), 40)}"), number(row.get("key_sets")),
                fixed(row.get("mean")), fixed(row.get("maximum")), keys_of({"keys": row.get("maximum_keys")}, most=12), signed(row.get("mean_excess")),
                signed(row.get("maximum_excess")),
            )
            for row in rows[: 2 * MOST]
        )  # fmt: skip
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
            Table("Mean and largest value over sets of keys", head, cells, frozenset({1, 2, 3, 5, 6}), frozenset({4}))
        )


def _attackers(risk: Data) -> Iterator[Block]:
    rows = _mappings(risk.get("by_attacker"))
    if not rows:
        return
    some = sorted(rows, key=worse, reverse=True)[:MOST] if len(rows) > MOST else rows
    of = f", the {len(some)} worst of {len(rows):,}" if len(some) < len(rows) else ""
    names = dict.fromkeys(str(a) for row in some for a in row.get("attackers") or ())
    head = (
        "Sensitive", "Keys", "Mean", "Largest", "Guess", "Marginals only", "Label only", "Holdout", "Original",
    )  # fmt: skip
    cells: tuple[Row, ...] = tuple(
        (
            shown(row.get("sensitive"), 40), keys_of(row), fixed(row.get("value")),
            Cell(fixed(row.get("maximum")), attack_words(row["maximum_attacker"]).name if row.get("maximum_attacker") else ""),
            *(fixed(row.get(side)) for side in ("guess", "marginals_only", "label_only", "holdout", "original")),
        )
        for row in some
    )  # fmt: skip
    said = ", ".join(attack_words(name).name for name in list(names)[:20])
    yield Paragraph(f"Mean and largest share of right answers over attackers that say a value: {said or 'none named'}.")
    table = Table(
        f"Attackers together; references are means over the same attackers{of}", head, cells,
        frozenset(range(2, 9)), frozenset({0, 1}),
    )  # fmt: skip
    yield _folded(table)


def _folded(table: Table) -> Block:
    """Return a table, a long one behind a line that opens it."""
    return table if len(table.rows) <= MOST_OPEN else Details(f"{table.caption} ({len(table.rows)} rows)", (table,))


# The funnel, records, cross-fit, memorisation.


def _funnels(risk: Data) -> Iterator[Block]:
    rows = _mappings(risk.get("funnel"))
    found = _by_sensitive(rows)

    def correct(row: Data) -> float:
        return float(row["DiSCO"]) if is_number(row.get("DiSCO")) else -1.0

    for i, _, some in _some(found):
        figure = funnel(f"fig-risk-funnel-{i}", max(some, key=correct), len(some))
        if figure is not None:
            yield figure
    yield from _left_out(found)
    kept = sorted((row for row in rows if row.get("tcap")), key=lambda row: -correct(row))[:MOST]
    if not kept:
        return
    names = list(dict.fromkeys([*CONVENTIONS, *(str(name) for row in kept for name in row["tcap"])]))[:12]
    used = [name for name in names if any(is_number(row["tcap"].get(name)) for row in kept)]
    chosen = ((risk.get("about") or {}).get("settings") or {}).get("convention")
    head = ("Sensitive", "Keys", *(f"{shown(name, 20)}{' (used here)' * (name == chosen)}" for name in used))
    cells = tuple(
        (shown(row.get("sensitive"), 40), keys_of(row), *(fixed(row["tcap"].get(name)) for name in used))
        for row in kept
    )
    of = f", the {len(kept)} worst of {len(rows):,} sets of keys" if len(kept) < len(rows) else ""
    yield Table(f"TCAP by convention{of}", head, cells, frozenset(range(2, len(head))), frozenset({0, 1}))
    yield Listing(tuple(f"{name}: {CONVENTIONS[name]}." for name in used if name in CONVENTIONS))


def _records(risk: Data) -> Iterator[Block]:
    for i, one in enumerate(_one_or_more(risk.get("records"))[:MOST_SENSITIVE]):
        figure = records(f"fig-risk-records-{i}", one)
        if figure is not None:
            yield figure
    said = [words for one in _one_or_more(risk.get("classes")) if (words := _exposed(one))]
    if said:
        yield Listing(tuple(said[:MOST]))
        yield Paragraph("Which people and which combinations of keys they are is for the inside only.", "note")


def _exposed(data: Data) -> str:
    """Return how many combinations of keys, or people with such keys, are answered for, and rightly."""
    what = next((key for key in ("people", "exposed") if data.get(key) is not None), None)
    if what is None:
        return ""
    count = data[what]
    many = f"about {number(count)}" if is_number(count) and count else shown(count, 20)
    share = f" ({percent(data['share'])} of all)" if is_number(data.get("share")) else ""
    who = {"people": "People", "exposed": "Combinations of keys"}[what]
    of = f", {shown(data['sensitive'], 40)}" if data.get("sensitive") is not None else ""
    return f"{who} for whom the synthetic table is certain, and right{of}: {many}{share}."


def _cross_fit(risk: Data) -> Iterator[Block]:
    data = risk.get("cross_fit") or {}
    attacks = _mappings(data.get("attacks"))
    if not data:
        return
    yield Paragraph(
        "The original was split into halves; a model was fitted to one half and its table used to attack people of both, then the reverse. "
        "People of the other half are a true holdout for that model."
    )
    yield Paragraph(
        shown(data.get("note") or "The figures are for models of half the size, not for the table that was made.", 600),
        "lead",
    )
    yield Paragraph(family_sentence(data.get("family") or {}, attacks))
    if attacks:
        sets = several(attacks)
        some = sorted(attacks, key=worse, reverse=True)[:MOST]
        of = f", the {len(some)} worst of {len(attacks):,}" if len(some) < len(attacks) else ""
        yield attacks_table(f"Attacks from models of half the size{of}", some, keys=sets, sensitive=True)


def _memorisation(risk: Data) -> Iterator[Block]:
    data = risk.get("memorisation") or {}
    if not is_number(data.get("rows_equal")):
        return
    other = data.get("holdout_rows_equal")
    held = (
        f" Of the holdout's rows, {percent(other)} equal one."
        if is_number(other)
        else " No holdout says how many would by chance."
    )
    yield Paragraph(f"{percent(data['rows_equal'])} of the synthetic rows equal a row of the original.{held}")
    yield Paragraph(MEMORISATION)


# Definitions and settings.


def _definitions(risk: Data, attacks: Sequence[Data]) -> Iterator[Block]:
    names = dict.fromkeys(str(attack.get("measure") or "unnamed") for attack in attacks)
    if not names:
        return
    rows = tuple((words.name, words.definition, words.reference) for words in map(attack_words, names))
    yield Table(
        "Definitions and where they come from", ("Attack", "Definition", "Reference"), rows, wide=frozenset({1, 2})
    )
    settings = (risk.get("about") or {}).get("settings") or {}
    if settings:
        cells = tuple((shown(key), _plain(value)) for key, value in list(settings.items())[: 2 * MOST])
        table = Table("Settings of the attacks", ("Setting", "Value"), cells, wide=frozenset({1}))
        yield Details("Settings of the attacks", (table,))


def _plain(value: Any) -> str:
    return shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), MOST_SETTING)
