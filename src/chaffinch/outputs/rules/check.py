"""All rules on all outputs: what lies behind each, and between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..._base.errors import InputError
from ..columns import Codes
from ..crossing import Frame
from ..fields import Fields
from .differencing import differencing
from .findings import Finding, RuleReport
from .policy import Policy
from .suppression import suppression
from .tallies import COUNT, OutputTally
from .tallying import Tallier, tallies_of

if TYPE_CHECKING:
    from ..document import Outputs
    from ..kinds.base import OutputSpec

__all__ = ["check_entries", "check_rules"]


def check_rules(outputs: Outputs, codes: Codes, policy: Policy, *, released: Outputs | None = None) -> RuleReport:
    """Return what the rules of a policy say of outputs, computed on the records behind them.

    Where the numbers were published they say which cells were withheld; all counts are those of the records. Outputs that are out already
    (`released`) are compared with the new ones, not judged themselves.
    """
    frame = Frame(outputs.fields, len(codes))
    before = [] if released is None else [_judged(one, frame) for one in released.outputs]
    return _report([_judged(one, frame) for one in outputs.outputs], before, outputs.fields, codes, policy)


def _judged(output: OutputSpec, frame: Frame) -> OutputSpec:
    """The output with what its numbers say of how they are printed; without any where they are not all there."""
    return output.with_printing(frame) if output.has_numbers else output.without_numbers(frame)


def check_entries(
    entries: Sequence[Mapping[str, Any]],
    fields: Fields,
    codes: Codes,
    policy: Policy,
    *,
    released: Sequence[Mapping[str, Any]] = (),
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
    from ..document import output_of

    every, before = ([output_of(entry) for entry in some] for some in (entries, released))
    return _report(every, before, fields, codes, policy)


def _report(
    outputs: Sequence[OutputSpec], released: Sequence[OutputSpec], fields: Fields, codes: Codes, policy: Policy
) -> RuleReport:
    codes = fields.columns.check(codes)
    names = [output.name for output in outputs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"Outputs must have different names. Two are called '{twice}'.")
    talliers = {output.name: Tallier(output, fields, codes) for output in outputs}
    tallies: dict[str, Sequence[OutputTally]] = {
        name: tallier.output.tallies(tallier) for name, tallier in talliers.items()
    }
    before: dict[str, Sequence[OutputTally]] = {output.name: tallies_of(output, fields, codes) for output in released}
    findings: list[Finding] = []
    for output in outputs:
        mine, rules = tallies[output.name], policy.of(output.kind)
        findings += output.findings(list(mine), talliers[output.name], rules)
        others = [one for name, some in tallies.items() if name != output.name for one in some]
        others += [one for some in before.values() for one in some]
        for one in _withheld(mine):
            findings += suppression(one, [own for own in mine if own is not one], others, rules)
    findings += _withheld_before(before, tallies, policy)
    findings += differencing(tallies, before, policy)
    return RuleReport(tuple(findings), policy.name, policy.hash)


def _withheld(tallies: Sequence[OutputTally]) -> list[OutputTally]:
    """The tables of counts with withheld cells."""
    from ..kinds import KINDS

    return [
        one
        for one in tallies
        if COUNT in one.quantities and one.withheld.any() and KINDS[one.kind].statbarn == "Frequencies"
    ]


def _withheld_before(
    before: Mapping[str, Sequence[OutputTally]], tallies: Mapping[str, Sequence[OutputTally]], policy: Policy
) -> list[Finding]:
    """Whether the new outputs undo what was withheld in those that are out."""
    findings: list[Finding] = []
    new = [one for some in tallies.values() for one in some]
    for name, mine in before.items():
        out = [one for other, some in before.items() if other != name for one in some]
        for one in _withheld(mine):
            own = [*(part for part in mine if part is not one), *out]
            findings += suppression(one, own, new, policy.of(one.kind), judged=False)
    return findings
