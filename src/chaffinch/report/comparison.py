"""Two reports side by side: what `compare` returns, as plain data, as text and as a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._base.results import Leaving, to_plain
from .._base.text import between, count_noun, fixed, number, shown, signed, text_table
from ..risk.attribution.verdict import FOUND, NO_VALUE, NONE_FOUND, UNKNOWN
from .leaving import FROM_JSON
from .naming import ReportDifference
from .promise import PromiseLine
from .sections import (
    Block,
    Cell,
    Figure,
    Grid,
    Listing,
    PageAnswer,
    PageTable,
    Paragraph,
    Row,
    Section,
)
from .several import differing_blocks, excess_words, most_telling

MOST_SAID, MOST_SHOWN = 5, 40
HEAD = (
    "measure",
    "A",
    "95 % interval A",
    "B",
    "95 % interval B",
    "B less A",
    "nearer to the original",
)


@dataclass(frozen=True, kw_only=True)
class MeasureRow:
    """A measure of both tables: values, intervals, the difference B less A, and which is better; `why` says why none is."""

    id: str
    measure: str
    direction: str
    a: float | None
    b: float | None
    interval_a: tuple[float, float] | None = None
    interval_b: tuple[float, float] | None = None
    difference: float | None = None
    better: str | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class AttackRow:
    """An attack on both tables, or a memorisation test of both: values, excesses, the difference B less A, and which is safer; `why` says why none is.

    A test has no keys and no sensitive column; its intervals are of the excess, by which it is compared, and so is the difference. `word_a` and `word_b` say whether
    an excess was found, over all attacks and tests of the report together.
    """

    measure: str
    name: str
    keys: tuple[str, ...]
    sensitive: str
    a: float | None
    b: float | None
    interval_a: tuple[float, float] | None
    interval_b: tuple[float, float] | None
    difference: float | None
    excess_a: float | None
    excess_b: float | None
    safer: str | None
    why: str
    word_a: str = ""
    word_b: str = ""

    @property
    def found(self) -> bool:
        """Whether an excess was found in one of the two."""
        return FOUND in (self.word_a, self.word_b)


@dataclass(frozen=True)
class ColumnChange:
    """How far a column is from the original in A and in B."""

    column: str
    a: float
    b: float
    change: float


@dataclass(frozen=True)
class PairChange:
    """How far the relation of a pair of columns is off in A and in B."""

    columns: tuple[str, str]
    a: float
    b: float
    change: float


@dataclass(frozen=True)
class SettingRow:
    """A setting of a measure that differs, and whether that keeps its numbers from being compared."""

    id: str
    measure: str
    setting: str
    a: Any
    b: Any
    matters: bool


@dataclass(frozen=True)
class Comparison:
    """Two reports side by side.

    Parameters
    ----------
    names
        What A and B are.
    measures
        For each measure both values, both intervals, the difference B less A, and which is better: `A`, `B`, `equal`,
        `cannot be told apart`, or None where the numbers cannot be compared; `why` then says why not.
    columns, pairs
        The columns and pairs that changed most: distance from the original in A, in B, and the change.
    settings
        Settings that differ, and whether that keeps numbers from being compared.
    notes
        What to know before reading on.
    attacks
        For each attack that both reports have both values, intervals and excesses, whether an excess was found in each, the difference B less A, and which
        is `safer`, in the words of `measures`.
    tests
        The same for each memorisation test that both reports have.
    promises
        What is promised in A and in B, row by row in words; none where neither table came with an account of privacy.
    promise_notes
        Where these are different promises, or none at all: what to know before any number is compared.
    differing
        What differs in how the tables were made: names are made of it.
    picture, answers, leaving
        What a page shows first: risk beside worth, what one decides by, and whether it may leave.
    """

    names: tuple[str, str]
    measures: tuple[MeasureRow, ...]
    columns: tuple[ColumnChange, ...]
    pairs: tuple[PairChange, ...]
    settings: tuple[SettingRow, ...]
    notes: tuple[str, ...]
    attacks: tuple[AttackRow, ...] = ()
    tests: tuple[AttackRow, ...] = ()
    promises: tuple[PromiseLine, ...] = ()
    promise_notes: tuple[str, ...] = ()
    differing: tuple[ReportDifference, ...] = ()
    picture: Figure | None = field(default=None, compare=False)
    answers: tuple[PageAnswer, ...] = field(default=(), compare=False)
    leaving: Leaving = field(default=FROM_JSON, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data: `chaffinch-comparison`, version 1."""
        return {
            "format": "chaffinch-comparison",
            "version": 1,
            "A": self.names[0],
            "B": self.names[1],
            **{
                key: [_plain(row) for row in getattr(self, key)]
                for key in (
                    "measures",
                    "columns",
                    "pairs",
                    "settings",
                    "attacks",
                    "tests",
                    "promises",
                )
            },
            "differing": to_plain(self.differing),
            "notes": list(self.notes),
            "promise_notes": list(self.promise_notes),
        }

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of measures as text, one row for each; `HEAD` names its columns."""
        return [
            (
                row.measure,
                number(row.a),
                between(row.interval_a),
                number(row.b),
                between(row.interval_b),
                number(row.difference),
                _verdict(row),
            )
            for row in self.measures
        ]

    def to_text(self) -> str:
        """Return the comparison as plain text for a terminal."""
        parts = [f"A: {self.names[0]}\nB: {self.names[1]}"]
        if self.promises:
            told = [(r.what, r.a, r.b) for r in self.promises]
            parts.append(
                "\n".join(
                    (
                        text_table(("promised", "A", "B"), told),
                        *(f"- {note}" for note in self.promise_notes),
                    )
                )
            )
        parts.append(text_table(HEAD, self.rows()))
        if self.columns:
            rows = [
                (shown(r.column), fixed(r.a), fixed(r.b), signed(r.change))
                for r in self.columns[:5]
            ]
            parts.append(
                text_table(
                    ("columns that changed most (Jensen-Shannon distance)", "A", "B", "B less A"),
                    rows,
                )
            )
        if self.pairs:
            rows = [(_pair(r), fixed(r.a), fixed(r.b), signed(r.change)) for r in self.pairs[:5]]
            parts.append(
                text_table(("pairs that changed most (phi_k off by)", "A", "B", "B less A"), rows)
            )
        parts += [
            "\n".join((f"{part.question} {part.sentence}", *(f"- {note}" for note in part.notes)))
            for part in self.answers[:1]
        ]
        if self.findings:
            found = [_attack(row) for row in most_telling(self.findings, MOST_SAID)]
            head = (
                "attacks and tests",
                "on",
                "A",
                "excess A",
                "B",
                "excess B",
                "B less A",
                "safer",
            )
            parts.append(text_table(head, found))
            if len(found) < len(self.findings):
                parts.append(
                    f"{len(found)} of {len(self.findings):,} attacks and tests: all with an excess found, then those that differ most. All: --html PAGE or --json FILE."
                )
        said = [*self.notes, *map(setting_words, self.settings)]
        return "\n\n".join(parts + (["\n".join(f"- {line}" for line in said)] if said else []))

    @property
    def findings(self) -> tuple[AttackRow, ...]:
        """All attacks and tests of both: those with an excess found in one of the two first, then those that differ most."""
        return tuple(
            sorted(
                (*self.attacks, *self.tests),
                key=lambda row: (not row.found, -abs(row.difference or 0.0)),
            )
        )

    def to_html(self) -> str:
        """Return the comparison as one HTML file."""
        from .page import page

        facts = (("A", self.names[0]), ("B", self.names[1]))
        promises = [row for row in self.promises if row.what == "promise"]
        seeded = [
            side for side in "AB" for row in promises if "TEST ONLY" in getattr(row, side.lower())
        ]
        alarm = (
            f"TEST ONLY: {' and '.join(seeded)}. Seeded noise carries no promise of privacy."
            if seeded
            else ""
        )
        return page(
            "Two reports compared",
            tuple(self.sections()),
            facts=facts,
            alarm=alarm,
            answers=self.answers,
            leaving=self.leaving,
        )

    def _repr_html_(self) -> str:
        from .._base.results import html_table

        return html_table(HEAD, self.rows())

    def sections(self) -> Iterator[Section]:
        """Yield the comparison as sections of a page."""
        yield Section(
            "differing",
            "What differs between them",
            tuple(differing_blocks(self.names, self.differing)),
        )
        if self.picture is not None:
            yield Section("tradeoff", "Risk beside worth", (self.picture,))
        if self.promises:
            told = tuple((r.what, r.a, r.b) for r in self.promises)
            table = PageTable(
                "The promises side by side", ("What", "A", "B"), told, wide=frozenset({1, 2})
            )
            notes = tuple(Paragraph(note, "lead") for note in self.promise_notes)
            yield Section("promises", "What is promised", (*notes, table))
        numbers = frozenset({1, 2, 3, 4, 5})
        head = tuple(name[0].upper() + name[1:] for name in HEAD)
        rows: tuple[Row, ...] = tuple(
            (Cell(cells[0], row.direction), *cells[1:])
            for cells, row in zip(self.rows(), self.measures, strict=True)
        )
        caption = "Each measure of both tables"
        blocks: list[Block] = (
            [Paragraph(_tally(self.measures), "lead")] if self.measures or not self.findings else []
        )
        blocks += [Listing(self.notes)] if self.notes else []
        if rows or not self.findings:
            blocks.append(PageTable(caption, head, rows, numbers, frozenset({0, 6}), cards=True))
        if blocks:
            yield Section("compared", "Measure by measure", tuple(blocks))
        changed: list[PageTable] = []
        if self.columns:
            cells = tuple(
                (shown(r.column), fixed(r.a), fixed(r.b), signed(r.change)) for r in self.columns
            )
            head = ("Column", "A", "B", "B less A")
            changed.append(
                PageTable(
                    "Jensen-Shannon distance of columns that changed most",
                    head,
                    cells,
                    frozenset({1, 2, 3}),
                )
            )
        if self.pairs:
            cells = tuple((_pair(r), fixed(r.a), fixed(r.b), signed(r.change)) for r in self.pairs)
            head = ("Pair of columns", "A", "B", "B less A")
            changed.append(
                PageTable(
                    "How far phi_k is off, pairs that changed most",
                    head,
                    cells,
                    frozenset({1, 2, 3}),
                )
            )
        if changed:
            yield Section("changed", "Where they differ most", (Grid(tuple(changed)),))
        if self.findings:
            yield Section("attacks", "What they give away", tuple(_attack_blocks(self.findings)))
        if self.settings:
            yield Section(
                "settings",
                "Settings that differ",
                (Listing(tuple(map(setting_words, self.settings))),),
            )


def _plain(row: Any) -> dict[str, Any]:
    """A row as plain data, its sides called A and B."""
    return {
        re.sub(r"(^|_)([ab])$", lambda side: side[0].upper(), key): value
        for key, value in to_plain(row).items()
    }


def _verdict(row: MeasureRow) -> str:
    if row.better is None:
        return f"not comparable: {row.why}" if row.a is not None and row.b is not None else row.why
    bare = row.better in "AB" and not row.interval_a and not row.interval_b
    return row.better + (" (no interval)" if bare else "")


def _tally(rows: Sequence[MeasureRow]) -> str:
    words = {
        "A": "{} nearer in A",
        "B": "{} nearer in B",
        "equal": "{} equal",
        "cannot be told apart": "{} cannot be told apart",
        None: "{} not comparable",
    }
    counts = {word: sum(row.better == word for row in rows) for word in words}
    told = ", ".join(words[word].format(count) for word, count in counts.items() if count)
    return f"Of {count_noun(len(rows), 'measure')}: {told or 'none'}."


def _attack(row: AttackRow) -> tuple[str, ...]:
    keys = ", ".join(shown(name, 32) for name in row.keys[:8])
    on = f"{shown(row.sensitive, 40)}, knowing {keys}" if row.keys else "whole records"
    sides = [
        (number(value), excess_words(word, excess))
        for value, word, excess in (
            (row.a, row.word_a, row.excess_a),
            (row.b, row.word_b, row.excess_b),
        )
    ]
    safer = (
        f"not comparable: {row.why}"
        if row.safer is None
        else row.safer.replace("cannot be told apart", "intervals overlap")
    )
    return row.name, on, *sides[0], *sides[1], signed(row.difference), safer


def _attack_blocks(rows: Sequence[AttackRow]) -> Iterator[Block]:
    for side in "AB":
        words = [getattr(row, f"word_{side.lower()}") for row in rows]
        counts = {
            word: words.count(word)
            for word in (FOUND, NONE_FOUND, UNKNOWN, NO_VALUE)
            if word in words
        }
        told = ", ".join(f"{word} by {count:,}" for word, count in counts.items())
        yield Paragraph(
            f"{side}: of {count_noun(len(rows), 'attack or test', 'attacks and tests')} in both, {told}.",
            "lead",
        )
    some = most_telling(rows, MOST_SHOWN)
    cells: tuple[Row, ...] = tuple((Cell(*found[:2]), *found[2:]) for found in map(_attack, some))
    head = ("Attack or test", "A", "Excess A", "B", "Excess B", "B less A", "Safer")
    of = (
        f", {len(some)} of {len(rows):,}: all with an excess found, then those that differ most"
        if len(some) < len(rows)
        else ""
    )
    yield PageTable(
        f"Each attack and test of both tables{of}",
        head,
        cells,
        frozenset({1, 2, 3, 4, 5}),
        frozenset({0, 6}),
        cards=True,
    )
    yield Paragraph(
        "Lower is safer. Tests are compared by their excess, attacks by how often they are right.",
        "note",
    )


def setting_words(row: SettingRow) -> str:
    """Return a setting that differs, in a sentence."""
    end = "; its numbers are not comparable" if row.matters else ""
    return f"{row.measure}, {shown(row.setting)}: {shown(row.a, 80)} in A, {shown(row.b, 80)} in B{end}."


def _pair(row: PairChange) -> str:
    return " × ".join(shown(name, 40) for name in row.columns)
