"""All rules on all outputs: what lies behind each, and between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._base.arrays import Floats, Ints
from ..._base.errors import InputError
from ..._base.runtime import one_blas_thread
from ..cells import column_numbers
from ..domain import Codes, OutputDomain
from .cell_counts import COUNT, CellCounter, CellCounts, MissingLevels, tallies_of
from .evidence import RULES, PrintedOutput, RecordsBehind, Release, judge
from .findings import RuleFinding, RuleReport, not_assessed
from .policy import Policy
from .suppression import WithheldTable
from .system import CellSystem

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
    domain = outputs.fields.with_rows(len(codes))
    before = [] if released is None else released.outputs
    # Matrices of a few hundred cells, on which threads wait more than they work.
    with one_blas_thread():
        new, old = (
            [
                # Without any numbers where they are not all there.
                output.with_printing(domain)
                if output.has_numbers
                else output.without_numbers(domain)
                for output in specs
            ]
            for specs in (outputs.outputs, before)
        )
        return _report(new, old, outputs.fields, codes, policy)


def check_entries(
    entries: Sequence[Mapping[str, Any]],
    fields: OutputDomain,
    codes: Codes,
    policy: Policy,
    *,
    released: Sequence[Mapping[str, Any]] = (),
    weights: Ints | None = None,
) -> RuleReport:
    """Return what the rules of a policy say of outputs as the file of outputs has them, with or without their numbers.

    With `weights` each row of `codes` stands for so many people: a table of counts is then its own data.

    Examples
    --------
    >>> import numpy as np
    >>> from chaffinch.outputs.domain import OutputColumn
    >>> fields = OutputDomain((OutputColumn("sex", ("f", "m")),))
    >>> codes = np.array([[0]] * 12 + [[1]] * 3, dtype=np.int32)
    >>> report = check_entries([{"name": "t", "kind": "table", "by": ["sex"]}], fields, codes, Policy())
    >>> [(one.rule, one.status, one.cells, one.total) for one in report][:2]
    [('threshold', 'fail', 1, 2), ('zeros', 'pass', 0, 2)]
    >>> report.to_dict()["findings"][0]["words"]
    'Fewer than 10 people are behind 1 of 2 cells (totals and n counted too).'
    """
    from ..document import output_of

    new_outputs, before = (
        [output_of(entry) for entry in recipes] for recipes in (entries, released)
    )
    return _report(new_outputs, before, fields, codes, policy, weights)


def _report(
    outputs: Sequence[OutputSpec],
    released: Sequence[OutputSpec],
    fields: OutputDomain,
    codes: Codes,
    policy: Policy,
    weights: Ints | None = None,
) -> RuleReport:
    codes = fields.check(codes, may_miss=True)
    missing = MissingLevels(fields.sizes, codes)
    names = [output.name for output in outputs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"Outputs must have different names. Two are called '{twice}'.")
    domain = fields.with_rows(len(codes) if weights is None else int(weights.sum()))
    new: dict[str, Sequence[CellCounts]] = {}
    findings: dict[str, list[RuleFinding]] = {}
    for output in outputs:
        rules, printed = policy.for_kind(output.kind), PrintedOutput(output, domain)
        try:
            counter = CellCounter(output, fields, codes, weights=weights)
            cells = output.tallies(counter)
            behind = RecordsBehind(output, cells, counter.domain, codes)
            findings[output.name] = output.findings(cells, counter, rules)
            findings[output.name] += judge(output.name, output.kind, [behind], rules)
            new[output.name] = cells
        except InputError as error:  # of this output alone: the others are judged
            findings[output.name] = [not_assessed_by_any(output, str(error))]
        findings[output.name] += judge(output.name, output.kind, [printed], rules)
    report: list[RuleFinding] = []
    before: dict[str, Sequence[CellCounts]] = {}
    for output in released:
        try:
            before[output.name] = tallies_of(output, fields, codes, weights)
        except InputError as error:
            report.append(not_assessed_by_any(output, str(error)))

    def numbers(column: str) -> Floats:
        """The numbers of a column; 0 for records with none, which are in no cell of its sums."""
        values = column_numbers(column, fields, np.maximum(codes, 0))
        return np.where(codes[:, fields.position(column)] < 0, 0.0, values)

    release = Release(new, before, missing, numbers)
    pieces = list(_withheld_tables(release, missing.coded(codes)))
    for output in outputs:
        report += findings[output.name]
        report += _judged_tables(pieces, policy, output.name)
    report += _judged_tables(pieces, policy)
    report += [finding for rule in RULES for finding in rule.look(release, policy)]
    return RuleReport(tuple(report), policy.name, policy.hash)


def not_assessed_by_any(output: OutputSpec, why: str) -> RuleFinding:
    """Return that what is behind an output could not be counted, so that no rule vouches for it."""
    return not_assessed(output.name, output.kind, EVERY_RULE, why)


def _withheld(table: CellCounts) -> bool:
    """Whether it is a table of counts with withheld cells."""
    from ..kinds import KINDS

    is_table = table.protected or KINDS[table.kind].statbarn == "Frequencies"
    return is_table and COUNT in table.quantities and bool(table.withheld.any())


def _withheld_tables(release: Release, codes: Codes) -> Iterator[WithheldTable]:
    """The tables with withheld cells, each beside all that is shown; then those that are out already, which new outputs may undo."""
    tallies = release.tallies
    # Of outputs none of which withholds a count nothing is asked that they say together.
    if not any(map(_withheld, tallies)):
        return
    system = CellSystem(tallies, codes)
    new, before = ([*chain(*cells.values())] for cells in (release.new, release.before))
    for table in filter(_withheld, new):
        rest = [tally for tally in release.new[table.output] if tally is not table]
        others = [tally for tally in new if tally.output != table.output]
        yield WithheldTable(table, rest, [*others, *before], system)
    for table in filter(_withheld, before):
        rest = [tally for tally in release.before[table.output] if tally is not table]
        others = [tally for tally in before if tally.output != table.output]
        yield WithheldTable(table, [*rest, *others], new, system, is_new=False)


def _judged_tables(
    pieces: Iterable[WithheldTable], policy: Policy, new: str | None = None
) -> list[RuleFinding]:
    """What the rules say of the tables of a new output, or of all that are out already."""
    findings: list[RuleFinding] = []
    for piece in pieces:
        table = piece.table
        if piece.is_new == (new is not None) and new in (None, table.output):
            findings += judge(table.output, table.kind, [piece], policy.for_kind(table.kind))
    return findings
