"""Why a table is as it is: what was cut on purpose, shown as chosen, and for each bad measure its columns and the setting that would mend it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._base.text import count_noun, fixed, is_number, shown
from ..synth.account import ModelAccount, SynthesisAccount
from ..utility.association import Association
from ..utility.impossible import ImpossiblePairs
from ..utility.jensen_shannon import JensenShannon
from ..utility.result import UtilityResult
from ..utility.tvd import MarginalDistance
from ..utility.verdict import VerdictRow
from .result import ReportResult
from .sections import Block, Listing, PageTable, Paragraph, Row, Section

BAD = ("weak", "lost")
MOST_CUTS, MOST_PAIRS = 8, 3


class Choices:
    """What was asked for when a table was made, and which pairs of columns that cuts."""

    def __init__(self, account: SynthesisAccount | None) -> None:
        self.model = ModelAccount() if account is None else account.model
        protection = self.model.protection if isinstance(self.model.protection, dict) else {}
        self.together = protection.get("protect") == "together"
        self.cuts = [cut for cut in protection.get("cuts", ()) if isinstance(cut, dict)]
        self.edges = {frozenset(edge) for edge in self.model.edges}
        self.forbidden = {frozenset(edge) for edge in self.model.forbid}
        self.required = {frozenset(edge) for edge in self.model.require}

    def why(self, names: Sequence[str]) -> str:
        """Return why a pair of columns was kept apart, or tied, where that was asked for; "" where it was not."""
        if len(names) != 2:
            return ""
        hidden = [name for name in names if name in self.model.sensitive]
        other = next((name for name in names if name not in hidden), None)
        if (
            hidden
            and (other is None or other != self.model.label)
            and not (len(hidden) == 2 and self.together)
        ):
            return f"chosen: {' and '.join(shown(name, 32) for name in hidden)} {'is' if len(hidden) == 1 else 'are'} protected"
        if frozenset(names) in self.forbidden:
            return "chosen: this link was forbidden"
        if frozenset(names) in self.required:
            return "chosen: this link was required"
        return ""

    def linked(self, names: Sequence[str]) -> bool:
        """Return whether the network has an edge between two columns."""
        return frozenset(names) in self.edges


def why_section(report: ReportResult) -> Section | None:
    """Return what was chosen and what would mend what is bad; None where there is neither."""
    choices = Choices(report.synthesis)
    blocks: list[Block] = [*_chosen(choices), *_mending(report, choices)]
    return Section("why", "Why it is so, and what would mend it", tuple(blocks)) if blocks else None


def _chosen(choices: Choices) -> Iterator[Block]:
    model = choices.model
    sentences = []
    if model.sensitive:
        names = ", ".join(shown(name, 40) for name in model.sensitive)
        kept = f" but {shown(model.label, 40)}" if model.label else ""
        each = " and each other" if choices.together and len(model.sensitive) > 1 else ""
        sentences.append(
            f"Protected on purpose: {names}. Relations with all columns{kept}{each} were cut, so that these columns are hard to guess; they count as lost below."
        )
    for word, edges in (("Required", model.require), ("Forbidden", model.forbid)):
        if edges:
            sentences.append(
                f"{word} on purpose: {', '.join(f'{shown(a, 32)} to {shown(b, 32)}' for a, b in edges[:MOST_CUTS])}."
            )
    if model.kept:
        sentences.append(
            f"Kept as they are in the original: {', '.join(shown(name, 40) for name in model.kept)}."
        )
    if sentences:
        yield Paragraph("What was chosen", "strong")
        yield Listing(tuple(sentences))
    known = [cut for cut in choices.cuts if is_number(cut.get("information"))]
    if known:
        worst = sorted(known, key=lambda cut: -cut["information"])[:MOST_CUTS]
        rows: tuple[Row, ...] = tuple(
            (
                f"{shown(cut.get('sensitive'), 40)} × {shown(cut.get('other'), 40)}",
                fixed(cut["information"]),
                fixed(cut.get("through_label")),
            )
            for cut in worst
        )
        of = f", the {len(worst)} largest of {len(known)}" if len(worst) < len(known) else ""
        head = ("Pair", "Told by the data (nats)", "Still passes through the label (nats)")
        yield PageTable(f"Relations that protection cut{of}", head, rows, frozenset({1, 2}))


# What would mend it.


def _mending(report: ReportResult, choices: Choices) -> Iterator[Block]:
    result = report.utility
    if result is None:
        return
    rows: list[Row] = []
    for row in report.rows:
        if row.word in BAD:
            where, how = _mend(row, result, choices)
            rows.append((f"{row.measure}: {row.word}", where, how))
    if rows:
        yield PageTable(
            "What is bad, where, and the setting that would mend it",
            ("Measure", "Where", "What would mend it"),
            tuple(rows),
            wide=frozenset({1, 2}),
            cards=True,
        )


def _mend(row: VerdictRow, result: UtilityResult, choices: Choices) -> tuple[str, str]:
    """Return the columns at which a measure is worst, and the setting to change."""
    if row.id in ("jensen_shannon", "tvd_1"):
        names = _worst_columns(result)
        return ", ".join(names) or "no single column stands out", _single(names, choices)
    if row.id == "impossible":
        pairs = result.results.get("impossible")
        some = [pair.columns for pair in pairs.worst] if isinstance(pairs, ImpossiblePairs) else []
        return _where(some, choices), _pairs_mended(some, choices, rules=True)
    some = _pairs(row, result)
    return _where(some, choices) or "over the whole table", _pairs_mended(some, choices)


def _worst_columns(result: UtilityResult) -> list[str]:
    distances = result.results.get("jensen_shannon")
    known = distances.per_column if isinstance(distances, JensenShannon) else {}
    return [
        shown(name, 40) for name, _ in sorted(known.items(), key=lambda item: -item[1])[:MOST_PAIRS]
    ]


def _single(names: Sequence[str], choices: Choices) -> str:
    column = names[0] if names else "the column"
    if choices.model.privacy:
        return f"A larger epsilon, fewer columns, or fewer bins for {column} in the schema."
    return f'More bins for {column} in the schema (bins = 40), or rare = "keep" where its rare levels were pooled.'


def _pairs(row: VerdictRow, result: UtilityResult) -> list[tuple[str, ...]]:
    name = {"tvd_2": "tvd.2", "tvd_3": "tvd.3"}.get(row.id, row.id)
    own = result.results.get(name)
    if isinstance(own, MarginalDistance):
        return [tuple(one.columns) for one in own.largest]
    relations = own if isinstance(own, Association) else result.results.get("phi_k")
    if isinstance(relations, Association) and row.id in (
        "phi_k",
        "pearson",
        "mu",
        "G",
        "pmse_ratio",
    ):
        return [tuple(pair.columns) for pair in relations.worst]
    return []


def _where(some: Sequence[Sequence[str]], choices: Choices) -> str:
    told = []
    for names in list(some)[:MOST_PAIRS]:
        why = choices.why(names)
        told.append(" × ".join(shown(name, 32) for name in names) + (f" ({why})" if why else ""))
    return "; ".join(told)


def _pairs_mended(some: Sequence[Sequence[str]], choices: Choices, *, rules: bool = False) -> str:
    model = choices.model
    worst = list(some)[:MOST_PAIRS]
    free = [names for names in worst if not choices.why(names)]
    if worst and not free:
        hidden = [
            name
            for name in dict.fromkeys(name for names in worst for name in names)
            if name in model.sensitive
        ]
        if hidden:
            return f"Chosen, not damage. To have it back, take {', '.join(shown(name, 32) for name in hidden)} out of --sensitive."
        return "Chosen, not damage: it was required or forbidden."
    if not model.method:
        return "How the table was made is not known here: measure another synthesis, with more parents or fewer columns, and compare the two."
    parts = []
    apart = next((names for names in free if len(names) == 2 and not choices.linked(names)), None)
    if rules:
        parts.append("state what cannot be in the schema (rules = [...])")
    if apart is not None and model.edges:
        parts.append(f"--require {shown(apart[0], 32)}:{shown(apart[1], 32)}")
    if model.privacy:
        parts.append("a larger epsilon or fewer columns")
    elif model.parents is not None:
        parts.append(f"--parents {model.parents + 1}")
    widest = max(
        (name for names in free for name in names),
        key=lambda name: sum(name in names for names in free),
        default=None,
    )
    if widest is not None:
        parts.append(f"leave {shown(widest, 32)} out if it is not needed")
    words = ", or ".join(parts)
    return (
        f"{words[:1].upper()}{words[1:]}."
        if words
        else f"Another method, or fewer columns. The model has {count_noun(len(model.nodes), 'column')}."
    )
