"""How a table was made, and why it is as it is: settings, the network, what was cut on purpose, and for each bad measure the setting that would mend it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

from .._base.svg import bars
from .._base.text import capital, count_noun, display_name, format_fixed, is_number, number, percent
from ..synth.account import ModelAccount, SynthesisAccount
from ..synth.bayesnet.drawing import network_drawing
from ..synth.bayesnet.network import Network
from ..utility.association import Association
from ..utility.impossible import ImpossiblePairs
from ..utility.result import UtilityResult, VerdictRow
from ..utility.tvd import MarginalDistance
from .result import ReportResult
from .sections import Block, Col, Figure, Listing, Num, Paragraph, Row, Section, Wide, page_table
from .utility import columns_by_distance

SEED, EQUAL_ROWS = "Seed", "Rows equal to an original one"
"""Names of facts that are not on every page."""

MOST_DRAWN, MOST_LISTED = 15, 500
MOST_CUTS, MOST_PAIRS = 8, 3
MAX_TEXT = 400
BAD = ("weak", "lost")
_BOUND = re.compile(r"<[0-9](\.[0-9]{1,12})?(e-[0-9]{1,3})?")
"""A share that is told by a bound, as `masked_share` writes it; reports from strangers may hold anything."""


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
        rows = [(name, value) for name, value in _facts(account) if value and name not in inside]
        if rows:
            blocks.append(page_table("The synthesis", rows, Col("What"), Wide("How")))
        given = [
            (display_name(name), display_name(text, MAX_TEXT))
            for name, text in account.given.items()
        ]
        if given:
            table = page_table("Options that were given", given, Col("Option"), Wide("Value"))
            blocks.append(table)
    blocks += network_figures(account, picture)
    return Section("synthesis", "How the table was made", tuple(blocks)) if blocks else None


def _facts(account: SynthesisAccount) -> Iterator[tuple[str, str]]:
    model, equal = account.model, account.rows_equal_to_an_original
    yield "Method", display_name(model.method)
    yield "Search", ", ".join(display_name(word) for word in (model.search, model.score) if word)
    yield "Most parents of a column", "" if model.parents is None else number(model.parents)
    yield "Columns, edges", f"{len(model.nodes)}, {len(model.edges)}" if model.nodes else ""
    yield "Sensitive columns", ", ".join(display_name(name) for name in model.sensitive)
    yield "Columns kept as they are", ", ".join(display_name(name) for name in model.kept_columns)
    yield SEED, "" if account.seed is None else str(account.seed)
    if isinstance(equal, float) or (isinstance(equal, str) and _BOUND.fullmatch(equal)):
        share = (
            percent(equal)
            if isinstance(equal, float)
            else f"fewer than {100 * float(equal.removeprefix('<')):.3g}\xa0%"
        )
        yield EQUAL_ROWS, f"{share}, codes compared. By itself this is no measure of risk."


def network_picture(
    account: SynthesisAccount | None, link_of: Callable[[str], str] | None = None
) -> Markup | None:
    """Return the picture of the network that made a table, that of its steps where there are two; None where no network did.

    With `link_of` its columns lead to the addresses that it returns.
    """
    model = ModelAccount() if account is None else account.model
    model = model.steps or model.first or model
    if not model.order:
        return None
    strengths = {
        edge: strength
        for edge, strength in zip(model.edges, model.strengths or (), strict=False)
        if strength is not None and is_number(strength)
    }
    drawing = network_drawing(
        Network.from_edges(model.order, model.edges),
        strengths,
        label=model.label,
        sensitive=model.sensitive,
        link_of=link_of,
    )
    return Markup(drawing.svg.strip())  # noqa: S704  all text in it went through escape


def network_figures(account: SynthesisAccount | None, picture: Markup | None) -> list[Block]:
    """Return the picture where there is one, and the strongest links; nothing where no network is known."""
    model = ModelAccount() if account is None else account.model
    out: list[Block] = []
    if picture is None and not model.edges:
        return out
    choices = Choices(account)
    strengths = model.strengths or (None,) * len(model.edges)
    ranked = sorted(zip(model.edges, strengths, strict=False), key=lambda edge: -(edge[1] or 0.0))
    measured = (
        "Mutual information (nats, from released tables)"
        if model.privacy
        else "Mutual information (nats)"
    )
    rows = tuple(
        (
            display_name(a, 40),
            display_name(b, 40),
            number(strength),
            choices.why((a, b)).removeprefix("chosen: this link was "),
        )
        for (a, b), strength in ranked[:MOST_LISTED]
    )
    table = page_table(
        "Edges of the network", rows, Col("From"), Col("To"), Num(measured), Col("Chosen")
    )
    if picture is not None:
        out.append(
            Figure(
                "fig-network",
                "The network that was learnt: wider edges tell more",
                (picture,),
                table,
            )
        )
    known = {
        f"{display_name(a, 40)} → {display_name(b, 40)}": float(strength)
        for (a, b), strength in ranked
        if strength is not None
    }
    if known:
        shortlist = dict(list(known.items())[:MOST_DRAWN])
        scope = (
            f", the {len(shortlist)} strongest of {len(known)} links"
            if len(shortlist) < len(known)
            else ""
        )
        caption = f"What the ends of each link tell of each other{scope}"
        desc = "; ".join(f"{name}: {number(value)}" for name, value in shortlist.items())
        plot = bars("fig-links-plot", caption, desc, shortlist)
        listed = tuple((name, number(value)) for name, value in shortlist.items())
        out.append(
            Figure(
                "fig-links",
                caption,
                (plot,),
                page_table(caption, listed, Col("Link"), Num(measured)),
            )
        )
    return out


def why_section(report: ReportResult) -> Section | None:
    """Return what was chosen and what would mend what is bad; None where there is neither."""
    choices = Choices(report.synthesis)
    blocks: list[Block] = [*_choice_blocks(choices), *_mending(report, choices)]
    return Section("why", "Why it is so, and what would mend it", tuple(blocks)) if blocks else None


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
            return f"chosen: {' and '.join(display_name(name, 32) for name in hidden)} {'is' if len(hidden) == 1 else 'are'} protected"
        if frozenset(names) in self.forbidden:
            return "chosen: this link was forbidden"
        if frozenset(names) in self.required:
            return "chosen: this link was required"
        return ""

    def linked(self, names: Sequence[str]) -> bool:
        """Return whether the network has an edge between two columns."""
        return frozenset(names) in self.edges


def _choice_blocks(choices: Choices) -> Iterator[Block]:
    model = choices.model
    sentences = []
    if model.sensitive:
        names = ", ".join(display_name(name, 40) for name in model.sensitive)
        exception = f" but {display_name(model.label, 40)}" if model.label else ""
        each = " and each other" if choices.together and len(model.sensitive) > 1 else ""
        sentences.append(
            f"Protected on purpose: {names}. Relations with all columns{exception}{each} were cut, so that these columns are hard to guess; they count as lost below."
        )
    for word, edges in (("Required", model.require), ("Forbidden", model.forbid)):
        if edges:
            sentences.append(
                f"{word} on purpose: {', '.join(f'{display_name(a, 32)} to {display_name(b, 32)}' for a, b in edges[:MOST_CUTS])}."
            )
    if model.kept_columns:
        sentences.append(
            f"Kept as they are in the original: {', '.join(display_name(name, 40) for name in model.kept_columns)}."
        )
    if sentences:
        yield Paragraph("What was chosen", "strong")
        yield Listing(tuple(sentences))
    known = [cut for cut in choices.cuts if is_number(cut.get("information"))]
    if known:
        worst = sorted(known, key=lambda cut: -cut["information"])[:MOST_CUTS]
        scope = f", the {len(worst)} largest of {len(known)}" if len(worst) < len(known) else ""
        yield page_table(
            f"Relations that protection cut{scope}",
            worst,
            Col(
                "Pair",
                lambda cut: (
                    f"{display_name(cut.get('sensitive'), 40)} × {display_name(cut.get('other'), 40)}"
                ),
            ),
            Num("Told by the data (nats)", lambda cut: format_fixed(cut["information"])),
            Num(
                "Still passes through the label (nats)",
                lambda cut: format_fixed(cut.get("through_label")),
            ),
        )


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
        yield page_table(
            "What is bad, where, and the setting that would mend it",
            rows,
            Col("Measure"),
            Wide("Where"),
            Wide("What would mend it"),
            cards=True,
        )


def _mend(row: VerdictRow, result: UtilityResult, choices: Choices) -> tuple[str, str]:
    """Return the columns at which a measure is worst, and the setting to change."""
    if row.id in ("jensen_shannon", "tvd_1"):
        names = [display_name(name, 40) for name, _ in columns_by_distance(result)[:MOST_PAIRS]]
        return ", ".join(names) or "no single column stands out", _single(names, choices)
    if row.id == "impossible":
        pairs = result.results.get("impossible")
        shortlist = (
            [pair.columns for pair in pairs.worst] if isinstance(pairs, ImpossiblePairs) else []
        )
        return _where(shortlist, choices), _pairs_mended(shortlist, choices, rules=True)
    shortlist = _pairs(row, result)
    return _where(shortlist, choices) or "over the whole table", _pairs_mended(shortlist, choices)


def _single(names: Sequence[str], choices: Choices) -> str:
    column = names[0] if names else "the column"
    if choices.model.privacy:
        return f"A larger epsilon, fewer columns, or fewer bins for {column} in the schema."
    return f'More bins for {column} in the schema (bins = 40), or rare = "keep" where its rare levels were pooled.'


def _pairs(row: VerdictRow, result: UtilityResult) -> list[tuple[str, ...]]:
    name = {"tvd_2": "tvd.2", "tvd_3": "tvd.3"}.get(row.id, row.id)
    measured = result.results.get(name)
    if isinstance(measured, MarginalDistance):
        return [tuple(pair.columns) for pair in measured.largest]
    relations = measured if isinstance(measured, Association) else result.results.get("phi_k")
    if isinstance(relations, Association) and row.id in (
        "phi_k",
        "pearson",
        "mu",
        "G",
        "pmse_ratio",
    ):
        return [tuple(pair.columns) for pair in relations.worst]
    return []


def _where(shortlist: Sequence[Sequence[str]], choices: Choices) -> str:
    summary = []
    for names in list(shortlist)[:MOST_PAIRS]:
        why = choices.why(names)
        summary.append(
            " × ".join(display_name(name, 32) for name in names) + (f" ({why})" if why else "")
        )
    return "; ".join(summary)


def _pairs_mended(
    shortlist: Sequence[Sequence[str]], choices: Choices, *, rules: bool = False
) -> str:
    model = choices.model
    worst = list(shortlist)[:MOST_PAIRS]
    free = [names for names in worst if not choices.why(names)]
    if worst and not free:
        hidden = [
            name
            for name in dict.fromkeys(name for names in worst for name in names)
            if name in model.sensitive
        ]
        if hidden:
            return f"Chosen, not damage. To have it back, take {', '.join(display_name(name, 32) for name in hidden)} out of --sensitive."
        return "Chosen, not damage: it was required or forbidden."
    if not model.method:
        return "How the table was made is not known here: measure another synthesis, with more parents or fewer columns, and compare the two."
    parts = []
    apart = next((names for names in free if len(names) == 2 and not choices.linked(names)), None)
    if rules:
        parts.append("state what cannot be in the schema (rules = [...])")
    if apart is not None and model.edges:
        parts.append(f"--require {display_name(apart[0], 32)}:{display_name(apart[1], 32)}")
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
        parts.append(f"leave {display_name(widest, 32)} out if it is not needed")
    remedies = ", or ".join(parts)
    return (
        f"{capital(remedies)}."
        if remedies
        else f"Another method, or fewer columns. The model has {count_noun(len(model.nodes), 'column')}."
    )
