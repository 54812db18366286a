"""All rules on all outputs: what lies behind each, and between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..._base.errors import InputError
from ..columns import Codes
from ..fields import Fields
from .behind import Entry, tallies_of
from .counts import class_disclosure, edges, survival, threshold, zeros
from .differencing import differencing
from .findings import Finding, RuleReport
from .magnitudes import moments, quantiles
from .policy import Policy
from .regressions import correlation, regression
from .suppression import suppression
from .tallies import COUNT, Tally

if TYPE_CHECKING:
    from ..recipes import Recipes

__all__ = ["check_entries", "check_rules"]

MOMENTS = ("mean", "sum", "sd", "variance")
QUANTILES = ("median", "quantiles")
TABLES = ("table", "histogram", "tree")


def check_rules(recipes: Recipes, codes: Codes, policy: Policy, *, released: Recipes | None = None) -> RuleReport:
    """Return what the rules of a policy say of outputs, computed on the records behind them.

    Parameters
    ----------
    recipes
        The outputs. Where the numbers were published, they say which cells were withheld; all counts are those of the records.
    codes
        The records, as codes of the recipes' columns.
    policy
        The policy.
    released
        Outputs that are out already: compared with the new ones, not judged themselves.
    """
    before = [] if released is None else [_entry(recipe) for recipe in released.every]
    return check_entries([_entry(r) for r in recipes.every], recipes.fields, codes, policy, released=before)


def _entry(recipe: Any) -> dict[str, Any]:
    return {**recipe.entry, **(recipe.published or {})}


def check_entries(
    entries: Sequence[Entry], fields: Fields, codes: Codes, policy: Policy, *, released: Sequence[Entry] = ()
) -> RuleReport:
    """Return what the rules of a policy say of outputs as the file of outputs has them, with or without their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from chaffinch.outputs.fields import Field
    >>> fields = Fields((Field("sex", ("f", "m")),))
    >>> codes = np.array([[0]] * 12 + [[1]] * 3, dtype=np.int32)
    >>> report = check_entries([{"name": "t", "kind": "table", "by": ["sex"]}], fields, codes, Policy())
    >>> [(one.rule, one.status, one.cells, one.of) for one in report][:2]
    [('threshold', 'fail', 1, 2), ('zeros', 'pass', 0, 2)]
    >>> report.to_dict()["findings"][0]["words"]
    'Fewer than 10 people are behind 1 of 2 cells (totals and n counted too).'
    """
    codes = fields.columns.check(codes)
    names = [str(entry["name"]) for entry in entries]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"Outputs must have different names. Two are called '{twice}'.")
    tallies = {str(entry["name"]): tallies_of(entry, fields, codes) for entry in entries}
    before: dict[str, Sequence[Tally]] = {}
    for entry in released:
        before[str(entry["name"])] = tallies_of(entry, fields, codes)
    made: list[Finding] = []
    for entry in entries:
        mine = tallies[str(entry["name"])]
        made += _alone(entry, mine, fields, codes, policy.of(str(entry["kind"])))
        others = [one for name, some in tallies.items() if name != entry["name"] for one in some]
        others += [one for some in before.values() for one in some]
        made += _withheld(mine, others, policy.of(str(entry["kind"])))
    made += _withheld_before(before, tallies, policy)
    made += differencing(dict(tallies), before, policy)
    return RuleReport(tuple(made), policy.name, policy.hash)


def _alone(entry: Entry, mine: list[Tally], fields: Fields, codes: Codes, policy: Policy) -> list[Finding]:
    """What lies behind one output."""
    kind = str(entry["kind"])
    if kind in TABLES:
        made = [*threshold(mine, policy), *zeros(mine, policy), *class_disclosure(mine, policy)]
        return made + (edges(entry, fields, codes, policy) if kind == "histogram" else [])
    if kind in MOMENTS:
        empty = zeros(mine[:1], policy) if kind == "sum" else []
        return [*threshold(mine, policy), *empty, *moments(mine[0], entry, fields, codes, policy)]
    if kind in QUANTILES:
        return [*threshold(mine, policy), *quantiles(mine[0], entry, fields, codes, policy)]
    totals = [one for one in mine if one.part == "n"]
    made = threshold(totals, policy) if totals else []
    if kind == "kaplan-meier":
        return made + survival(mine, entry, fields, codes, policy)
    if kind == "correlation":
        return made + correlation(entry, fields, codes, policy)
    return made + regression(entry, fields, codes, policy)


def _withheld(mine: Sequence[Tally], others: Sequence[Tally], policy: Policy) -> list[Finding]:
    """Whether withheld counts of an output follow from the rest."""
    made: list[Finding] = []
    for one in mine:
        if COUNT in one.quantities and one.withheld.any() and one.kind in TABLES:
            made += suppression(one, [own for own in mine if own is not one], others, policy)
    return made


def _withheld_before(
    before: Mapping[str, Sequence[Tally]], tallies: Mapping[str, Sequence[Tally]], policy: Policy
) -> list[Finding]:
    """Whether the new outputs undo what was withheld in those that are out."""
    made: list[Finding] = []
    for name, mine in before.items():
        out = [one for other, some in before.items() if other != name for one in some]
        new = [one for some in tallies.values() for one in some]
        for one in mine:
            if COUNT in one.quantities and one.withheld.any() and one.kind in TABLES:
                own = [*(part for part in mine if part is not one), *out]
                made += suppression(one, own, new, policy.of(one.kind), judged=False)
    return made
