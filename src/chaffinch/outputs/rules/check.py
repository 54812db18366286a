"""All rules on all outputs: what lies behind each, and between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._base.errors import InputError
from ..._base.runtime import one_blas_thread
from ..cells import Frame, column_numbers
from ..domain import Codes, Fields, Floats
from .cell_counts import COUNT, CellCounter, CellCounts, MissingLevels, tallies_of
from .counts import households, weighted_counts
from .differencing import differencing
from .feasible_tables import FeasibleTables
from .findings import RuleFinding, RuleReport, not_assessed
from .linear import LinearSystem
from .magnitudes import derived_dominance
from .policy import Policy
from .ranges import WorkBudget
from .suppression import AllOutputs, suppression

if TYPE_CHECKING:
    from ..document import Outputs
    from ..kinds.base import OutputSpec


EVERY_RULE = "all rules"
"""What a finding names as its rule where an output could not be looked at by any."""


def check_rules(
    outputs: Outputs, codes: Codes, policy: Policy, *, released: Outputs | None = None
) -> RuleReport:
    """Return what the rules of a policy say of outputs, computed on the records behind them.

    Where the numbers were published they say which cells were withheld; all counts are those of the records. Outputs that are out already
    (`released`) are compared with the new ones, not judged themselves.
    """
    frame = Frame(outputs.fields, len(codes))
    before = [] if released is None else [_judged(one, frame) for one in released.outputs]
    with (
        one_blas_thread()
    ):  # matrices of a few hundred cells, on which threads wait more than they work
        return _report(
            [_judged(one, frame) for one in outputs.outputs], before, outputs.fields, codes, policy
        )


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
    >>> from chaffinch.outputs.domain import Field
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
    outputs: Sequence[OutputSpec],
    released: Sequence[OutputSpec],
    fields: Fields,
    codes: Codes,
    policy: Policy,
) -> RuleReport:
    codes = fields.columns.check(codes, may_miss=True)
    missing = MissingLevels(fields.columns.sizes, codes)
    names = [output.name for output in outputs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"Outputs must have different names. Two are called '{twice}'.")
    tallies: dict[str, Sequence[CellCounts]] = {}
    own: dict[str, list[RuleFinding]] = {}
    for output in outputs:
        rules = policy.of(output.kind)
        try:
            counter = CellCounter(output, fields, codes)
            mine = list(output.tallies(counter))
            own[output.name] = output.findings(mine, counter, rules)
            own[output.name] += households(output, mine, counter.frame, codes, rules)
            tallies[output.name] = mine
        except InputError as error:  # of this output alone: the others are judged
            own[output.name] = [not_assessed_by_any(output, str(error))]
        own[output.name] += weighted_counts(output, Frame(fields, len(codes)), rules)
    findings: list[RuleFinding] = []
    before: dict[str, Sequence[CellCounts]] = {}
    for output in released:
        try:
            before[output.name] = tallies_of(output, fields, codes)
        except InputError as error:
            findings.append(not_assessed_by_any(output, str(error)))
    every = [one for some in (*tallies.values(), *before.values()) for one in some]
    # Of outputs none of which withholds a count nothing is asked that they say together.
    some_withheld = any(_withheld(some) for some in (*tallies.values(), *before.values()))
    together = (
        AllOutputs(LinearSystem(every), FeasibleTables(every, missing.coded(codes)), WorkBudget())
        if some_withheld
        else None
    )
    for output in outputs:
        findings += own[output.name]
        counted, rules = tallies.get(output.name, ()), policy.of(output.kind)
        others = [one for name, some in tallies.items() if name != output.name for one in some]
        others += [one for some in before.values() for one in some]
        for one in _withheld(counted):
            findings += suppression(
                one, [part for part in counted if part is not one], others, rules, together=together
            )
    findings += _withheld_before(before, tallies, policy, together)
    if policy.differencing:
        findings += derived_dominance(
            tallies, before, lambda column: _numbers_or_zero(column, fields, codes), policy
        )
    findings += differencing(tallies, before, policy, missing.sizes)
    return RuleReport(tuple(findings), policy.name, policy.hash)


def _numbers_or_zero(column: str, fields: Fields, codes: Codes) -> Floats:
    """The numbers of a column, record by record; 0 for those with none, who are in no cell of its sums."""
    return np.where(
        codes[:, fields.position(column)] < 0,
        0.0,
        column_numbers(column, fields, np.maximum(codes, 0)),
    )


def not_assessed_by_any(output: OutputSpec, why: str) -> RuleFinding:
    """Return that what is behind an output could not be counted, so that no rule vouches for it."""
    return not_assessed(output.name, output.kind, EVERY_RULE, why)


def _withheld(tallies: Sequence[CellCounts]) -> list[CellCounts]:
    """The tables of counts with withheld cells."""
    from ..kinds import KINDS

    return [
        one
        for one in tallies
        if COUNT in one.quantities
        and one.withheld.any()
        and (one.protected or KINDS[one.kind].statbarn == "Frequencies")
    ]


def _withheld_before(
    before: Mapping[str, Sequence[CellCounts]],
    tallies: Mapping[str, Sequence[CellCounts]],
    policy: Policy,
    together: AllOutputs | None,
) -> list[RuleFinding]:
    """Whether the new outputs undo what was withheld in those that are out."""
    findings: list[RuleFinding] = []
    new = [one for some in tallies.values() for one in some]
    for name, mine in before.items():
        out = [one for other, some in before.items() if other != name for one in some]
        for one in _withheld(mine):
            own = [*(part for part in mine if part is not one), *out]
            findings += suppression(
                one, own, new, policy.of(one.kind), judged=False, together=together
            )
    return findings
