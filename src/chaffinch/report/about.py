"""What was compared, how, and what it does not show: the frame around a page's figures."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from ..utility.result import UtilityResult
from ..utility.verdict import metrics_of
from .promise import promise_of
from .sections import Block, Details, Figure, Listing, Paragraph, Section, Table
from .words import is_number, number, percent, shown

__all__ = ["closing_sections", "header", "synthesis_section"]

Data = Mapping[str, Any]
MOST_NOTES = 40
MOST_SETTING = 300
MOST_LISTED = 500


def header(report: Data) -> tuple[tuple[str, str], ...]:
    """Return what a reader must know first: what is promised, the tables, the label, the seed, versions and date."""
    about, run = report.get("about") or {}, report.get("run") or {}
    seed = about.get("seed")
    promise = promise_of(report.get("synthesis"))
    facts = [
        *([("Promise", promise.line)] if promise is not None else []),
        ("Original", _table(about.get("original") or {})),
        ("Synthetic", _table(about.get("synthetic") or {})),
        (
            "Holdout",
            _table(about["holdout"])
            if about.get("holdout")
            else "none given: identical tables are the best that can be had"
            if "utility" in report
            else "none given: no excess can be stated",
        ),
        ("Label", shown(about["label"]) if about.get("label") is not None else "none given"),
        ("Seed", "none given: a second run differs a little" if seed is None else str(seed)),
    ]
    versions = run.get("versions") or {}
    if versions:
        facts.append(
            ("Versions", ", ".join(f"{shown(name, 30)} {shown(version, 30)}" for name, version in versions.items()))
        )
    if run.get("date"):
        facts.append(("Date", shown(run["date"])))
    return tuple(facts)


def _table(data: Data) -> str:
    parts = [shown(data["name"])] if data.get("name") else []
    if data.get("rows") is not None:
        rows = data["rows"]
        parts.append(f"about {rows:,} rows" if isinstance(rows, int) and rows else f"{rows} rows")
    if data.get("columns") is not None:
        parts.append(f"{number(data['columns'])} columns")
    return ", ".join(parts) or "not named"


def synthesis_section(account: Data | None, picture: Markup | None) -> Section | None:
    """Return how the table was made, with the picture of its network; None where nothing is known."""
    blocks: list[Block] = []
    network = (account or {}).get("network") or {}
    if account:
        rows = [(name, words) for name, words in _made(account, network) if words]
        if rows:
            blocks.append(Table("The synthesis", ("What", "How"), tuple(rows), wide=frozenset({1})))
    edges = network.get("edges") or ()
    if picture is not None:
        strengths = network.get("strengths") or [None] * len(edges)
        listed = list(zip(edges, strengths, strict=False))[:MOST_LISTED]
        found = tuple((shown(a, 40), shown(b, 40), number(s)) for (a, b), s in listed)
        told = (
            "Mutual information (nats, from released tables)" if network.get("privacy") else "Mutual information (nats)"
        )
        table = Table("Edges of the network", ("From", "To", told), found, frozenset({2}))
        blocks.append(Figure("fig-network", "The network that was learnt", (picture,), table))
    return Section("synthesis", "How the table was made", tuple(blocks)) if blocks else None


def _made(account: Data, network: Data) -> Iterator[tuple[str, str]]:
    equal = account.get("rows_equal_to_an_original")
    yield "Method", shown(network.get("method") or "")
    yield "Search", ", ".join(shown(network[key]) for key in ("search", "score") if network.get(key))
    yield "Most parents of a column", number(network["parents"]) if is_number(network.get("parents")) else ""
    yield (
        "Columns, edges",
        f"{len(network.get('nodes') or ())}, {len(network.get('edges') or ())}" if network.get("nodes") else "",
    )
    yield "Sensitive columns", ", ".join(shown(name) for name in network.get("sensitive") or ())
    yield "Columns kept as they are", ", ".join(shown(name) for name in network.get("kept") or ())
    yield "Seed", "" if account.get("seed") is None else str(account["seed"])
    if is_number(equal):
        yield (
            "Rows equal to an original one",
            f"{percent(equal)}, codes compared. By itself this is no measure of risk.",
        )


# After the figures.


def closing_sections(report: Data, result: UtilityResult | None) -> Iterator[Section]:
    """Yield what stands behind the numbers: columns and notes, settings, definitions, limits, how to run it again."""
    about = report.get("about") or {}
    if "utility" in report or "risk" not in report:
        yield Section("limits", "What this does not show", (Listing(tuple(_limits(report))),))
        yield Section("data", "Columns and notes", tuple(_columns(about)) or (Paragraph("No columns were listed."),))
    if result is not None and result.results:
        yield Section("measures", "How each measure is defined", (_definitions(result), _settings(result)))
    again = _command(report)
    if again:
        yield Section("again", "Run it again", (Paragraph(again, "code"),))


def _limits(report: Data) -> Iterator[str]:
    yield (
        "This page is about utility. It says nothing of what the synthetic table gives away about people: a table close to the original in "
        "every measure may be a copy of it. Disclosure has to be measured apart, with attacks, before a table is released."
        if "risk" not in report
        else "Closeness says nothing of disclosure: a table close to the original in every measure may be a copy of it. Read the risk sections."
    )
    yield "A value better than the holdout's is no extra worth: a table nearer than fresh records of the same population may repeat its records."
    yield (
        "Synthetic rows describe no person. Results found in them are conjectures about the original; confirm what matters on the original, "
        "inside the place where it is kept."
    )
    yield (
        "Averages hide small groups: a measure over all rows can be close while a rare group is badly kept. Look at the worst columns and pairs, "
        "and measure the groups that matter to you."
    )
    yield (
        "Measures look at single columns, pairs, triples, and the models named here. Anything they do not look at, such as order in time, links "
        "between records, or exact numbers within a bin, may be kept or lost."
    )
    yield "Intervals cover what each measure's settings say, in general the chance of drawing records; not that of another synthesis."


def _columns(about: Data) -> Iterator[Block]:
    listed = list(about.get("columns") or ())
    if listed:
        rows = tuple(
            (shown(c.get("name"), 40), shown(c.get("kind", "")), number(c.get("levels")), shown(c.get("role", "")))
            for c in listed[:MOST_LISTED]
        )
        more = f"; the first {MOST_LISTED}, all are in the JSON" if len(listed) > MOST_LISTED else ""
        table = Table(f"Columns as compared{more}", ("Column", "Kind", "Levels", "Role"), rows, frozenset({2}))
        yield Details(f"{len(listed)} columns", (table,))
    left_out = about.get("not_measured") or ()
    notes = [str(note) for note in about.get("notes") or ()]
    if left_out:
        notes.insert(0, f"Not measured: {', '.join(shown(name, 40) for name in left_out[:MOST_NOTES])}.")
    if notes:
        rest = [f"And {len(notes) - MOST_NOTES} more, in the JSON."] if len(notes) > MOST_NOTES else []
        yield Listing((*(shown(note, 240) for note in notes[:MOST_NOTES]), *rest))


def _definitions(result: UtilityResult) -> Table:
    rows = tuple((metric.title, metric.definition, metric.source) for metric in metrics_of(result.results))
    return Table(
        "Definitions and where they come from", ("Measure", "Definition", "Reference"), rows, wide=frozenset({1, 2})
    )


def _settings(result: UtilityResult) -> Details:
    rows = []
    for metric in metrics_of(result.results):
        one = result[metric.name]
        decisive = () if one.value is None else (key for key in one.decisive if key not in ("label", "task"))
        for key, value in {**{key: getattr(one, key) for key in decisive}, **one.settings}.items():
            rows.append((metric.title, shown(key), _plain(value)))
    if not rows:
        return Details("Settings of every measure", (Paragraph("None were recorded."),))
    table = Table("Settings of every measure", ("Measure", "Setting", "Value"), tuple(rows), wide=frozenset({2}))
    return Details("Settings of every measure", (table,))


def _plain(value: Any) -> str:
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shown(words, MOST_SETTING)


def _command(report: Data) -> str:
    found = (report.get("run") or {}).get("command") or (report.get("about") or {}).get("command")
    if isinstance(found, list | tuple):
        return shlex.join(str(word) for word in found)
    return str(found) if found else ""
