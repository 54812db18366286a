"""What was compared, how, and what it does not show: the frame around a page's figures."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from .._base.text import count_noun, number, percent, shown
from ..synth.account import SynthesisAccount
from ..utility.result import TableSummary, UtilityAbout, UtilityResult
from ..utility.verdict import metrics_of
from .network import network_figures
from .promise import promise_of
from .result import ReportResult
from .sections import Block, Details, Listing, PageTable, Paragraph, Section
from .sentences import UTILITY_ALONE, UTILITY_BESIDE, UTILITY_LIMITS

MOST_NOTES = 40
MOST_SETTING = 300
MOST_LISTED = 500

SEED, EQUAL_ROWS = "Seed", "Rows equal to an original one"
"""Names of facts that are not on every page."""


def header(report: ReportResult) -> tuple[tuple[str, str], ...]:
    """Return what a reader must know first: what is promised, the tables, the label, the seed, versions and date."""
    about, run = report.about, report.run
    promise = promise_of(report.synthesis)
    no_holdout = (
        "none given: no excess can be stated"
        if report.utility is None
        else "none given: identical tables are the best that can be had"
    )
    facts = [
        *([("Promise", promise.line)] if promise is not None else []),
        ("Original", _table(about.original)),
        ("Synthetic", _table(about.synthetic)),
        (
            "Holdout",
            no_holdout if about.holdout in (None, TableSummary()) else _table(about.holdout),
        ),
        ("Label", "none given" if about.label is None else shown(about.label)),
        (
            SEED,
            "none given: a second run differs a little" if about.seed is None else str(about.seed),
        ),
    ]
    if run.versions:
        words = (
            f"{shown(name, 30)} {shown(version, 30)}" for name, version in run.versions.items()
        )
        facts.append(("Versions", ", ".join(words)))
    if run.date:
        facts.append(("Date", shown(run.date)))
    return tuple(facts)


def _table(table: TableSummary | None) -> str:
    if table is None:
        return "not named"
    parts = [shown(table.name)] if table.name else []
    if table.rows is not None:
        parts.append(
            f"{'about ' * bool(isinstance(table.rows, int) and table.rows)}{count_noun(table.rows, 'row')}"
        )
    if table.columns is not None:
        parts.append(count_noun(table.columns, "column"))
    return ", ".join(parts) or "not named"


def synthesis_section(
    account: SynthesisAccount | None, picture: Markup | None, *, public: bool = False
) -> Section | None:
    """Return how the table was made, with the picture of its network; None where nothing is known.

    A `public` page has no seed: whoever knows it can make the table again from a guess at the data, and see whether it is the same. Nor has it, beside a
    promise, a figure that was taken from the original.
    """
    blocks: list[Block] = []
    if account is not None:
        inside = (
            () if not public else (SEED,) if account.model.privacy is None else (SEED, EQUAL_ROWS)
        )
        rows = [(name, words) for name, words in _facts(account) if words and name not in inside]
        if rows:
            blocks.append(
                PageTable("The synthesis", ("What", "How"), tuple(rows), wide=frozenset({1}))
            )
    blocks += network_figures(account, picture)
    return Section("synthesis", "How the table was made", tuple(blocks)) if blocks else None


def _facts(account: SynthesisAccount) -> Iterator[tuple[str, str]]:
    model, equal = account.model, account.rows_equal_to_an_original
    yield "Method", shown(model.method)
    yield "Search", ", ".join(shown(word) for word in (model.search, model.score) if word)
    yield "Most parents of a column", "" if model.parents is None else number(model.parents)
    yield "Columns, edges", f"{len(model.nodes)}, {len(model.edges)}" if model.nodes else ""
    yield "Sensitive columns", ", ".join(shown(name) for name in model.sensitive)
    yield "Columns kept as they are", ", ".join(shown(name) for name in model.kept)
    yield SEED, "" if account.seed is None else str(account.seed)
    if isinstance(equal, float) or (isinstance(equal, str) and _BOUND.fullmatch(equal)):
        share = (
            percent(equal)
            if isinstance(equal, float)
            else f"fewer than {100 * float(equal.removeprefix('<')):.3g}\xa0%"
        )
        yield EQUAL_ROWS, f"{share}, codes compared. By itself this is no measure of risk."


_BOUND = re.compile(r"<[0-9](\.[0-9]{1,12})?(e-[0-9]{1,3})?")
"""A share that is told by a bound, as `masked_share` writes it; reports from strangers may hold anything."""


# After the figures.


def closing_sections(report: ReportResult) -> Iterator[Section]:
    """Yield what stands behind the numbers: columns and notes, settings, definitions, limits, how to run it again."""
    result = report.utility
    if result is not None or report.risk is None:
        yield Section(
            "limits",
            "What this does not show",
            (Listing((UTILITY_ALONE if report.risk is None else UTILITY_BESIDE, *UTILITY_LIMITS)),),
        )
        columns = tuple(_columns(report.about)) or (Paragraph("No columns were listed."),)
        yield Section("data", "Columns and notes", columns)
    if result is not None and result.results:
        yield Section(
            "measures", "How each measure is defined", (_definitions(result), _settings(result))
        )
    command = report.run.command
    if command:
        words = command if isinstance(command, str) else shlex.join(command)
        yield Section("again", "Run it again", (Paragraph(words, "code"),))


def _columns(about: UtilityAbout) -> Iterator[Block]:
    if about.columns:
        rows = tuple(
            (shown(c.name, 40), shown(c.kind), number(c.levels), shown(c.role))
            for c in about.columns[:MOST_LISTED]
        )
        more = (
            f"; the first {MOST_LISTED}, all are in the JSON"
            if len(about.columns) > MOST_LISTED
            else ""
        )
        table = PageTable(
            f"Columns as compared{more}", ("Column", "Kind", "Levels", "Role"), rows, frozenset({2})
        )
        yield Details(f"{len(about.columns)} columns", (table,))
    left_out, notes = about.not_measured, list(about.notes)
    if left_out:
        notes.insert(
            0, f"Not measured: {', '.join(shown(name, 40) for name in left_out[:MOST_NOTES])}."
        )
    if notes:
        rest = (
            [f"And {len(notes) - MOST_NOTES} more, in the JSON."] if len(notes) > MOST_NOTES else []
        )
        yield Listing((*(shown(note, 400) for note in notes[:MOST_NOTES]), *rest))


def _definitions(result: UtilityResult) -> PageTable:
    rows = tuple(
        (metric.title, metric.definition, metric.source) for metric in metrics_of(result.results)
    )
    return PageTable(
        "Definitions and where they come from",
        ("Measure", "Definition", "Reference"),
        rows,
        wide=frozenset({1, 2}),
    )


def _settings(result: UtilityResult) -> Details:
    rows = []
    for metric in metrics_of(result.results):
        one = result[metric.name]
        decisive = (
            ()
            if one.value is None
            else (key for key in one.decisive if key not in ("label", "task"))
        )
        for key, value in {**{key: getattr(one, key) for key in decisive}, **one.settings}.items():
            rows.append((metric.title, shown(key), _plain(value)))
    if not rows:
        return Details("Settings of every measure", (Paragraph("None were recorded."),))
    table = PageTable(
        "Settings of every measure",
        ("Measure", "Setting", "Value"),
        tuple(rows),
        wide=frozenset({2}),
    )
    return Details("Settings of every measure", (table,))


def _plain(value: Any) -> str:
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shown(words, MOST_SETTING)
