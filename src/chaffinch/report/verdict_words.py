"""Every word of a verdict in one place, with its rule beside it."""

from __future__ import annotations

from .._base.text import percent
from ..risk.attribution.verdict import ALPHA
from ..utility.verdict import SHARES, rules
from .sections import Block, Cell, Details, Heading, Listing, PageTable, Row, Section
from .sentences import RISK_RULES

FOUND = f"the p-value of “people in the data and others are alike”, adjusted for all attacks together, is at most {percent(ALPHA)}, or the lower bound of the excess, which holds for all attacks at once, is above 0"
UTILITY = {
    "close": f"goes {percent(SHARES[0])} or more of the way from independent columns to the best that can be had",
    "fair": f"goes {percent(SHARES[1])} or more of it",
    "weak": f"goes {percent(SHARES[2])} or more of it",
    "lost": "goes less of it, or is no better than independent columns",
    "not applicable": "has no value here; its sentence says why",
}
RISK = {
    "excess found": FOUND,
    "no excess found": "that p-value is larger; an excess smaller than the detectable one may still be there",
    "not known": "there are no people to compare with who are not in the data",
    "not assessed": "nobody looked; that is no pass",
    "not applicable": "has no value here; its reason says why",
}


def words_section(*, utility: bool, risk: bool) -> Section:
    """Return the words that a report uses, each with its rule, and below them the rules in full."""
    rows: list[Row] = []
    more: list[Block] = []
    if utility:
        rows.append(Heading("On what it is worth"))
        rows += [(Cell("", word=word), rule) for word, rule in UTILITY.items()]
        more.append(Details("How words on worth are chosen, in full", (Listing(rules()),)))
    if risk:
        rows.append(Heading("On what it gives away"))
        rows += [(Cell("", word=word), rule) for word, rule in RISK.items()]
        more.append(Details("How words on risk are chosen, in full", (Listing(RISK_RULES),)))
    table = PageTable(
        "The words of the verdicts, and their rules",
        ("Word", "Said when a number"),
        tuple(rows),
        wide=frozenset({1}),
        short=frozenset({0}),
    )
    return Section("words", "What the words mean, by rule", (table, *more))
