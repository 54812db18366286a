"""Several releases of the same people on a page: what somebody finds who holds all of them."""

from __future__ import annotations

from collections.abc import Iterator

from .._base.text import between, count_noun, fixed, number, shown, signed
from ..risk.attribution.result import RiskResult
from ..risk.attribution.together import JointFinding, Together
from ..risk.attribution.verdict import keys_words
from .sections import Block, Cell, Details, Listing, PageTable, Paragraph, Row
from .sentences import JOINT_LIMITS

MOST = 40
MOST_OPEN = 24
MOST_ALONE = 6

HEAD = (
    "Attack or test",
    "Together",
    "Holdout",
    "Excess, together",
    "Excess, each alone",
    "Added to one",
    "95 % interval",
    "p, all together",
)


def joint_blocks(result: RiskResult) -> Iterator[Block]:
    """Yield what releases tell together, of the cross-fit where that has it: nothing where there is one release."""
    joint = result.together
    if result.cross_fit is not None and result.cross_fit.together is not None:
        joint = result.cross_fit.together
    if joint is None:
        return
    yield Paragraph(joint.sentence, "lead")
    yield Paragraph(_how(joint))
    table = PageTable(
        "What all releases tell together, and what that adds to one of them",
        HEAD,
        tuple(_row(one) for one in joint.ranked[:MOST]),
        frozenset(range(1, 8)),
        frozenset({0}),
    )
    yield (
        table
        if len(table.rows) <= MOST_OPEN
        else Details(f"{table.caption} ({count_noun(len(table.rows), 'row')})", (table,))
    )
    yield Listing(JOINT_LIMITS)


def _how(joint: Together) -> str:
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


def _row(one: JointFinding) -> Row:
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
