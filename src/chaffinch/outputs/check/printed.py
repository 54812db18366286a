"""A check of output files without the records behind them: what the rules say of the printed numbers alone, and what they cannot say."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from ..._base.errors import InputError
from ..readers.files.protocol import ReadOutput
from ..rules import Policy, RuleReport
from ..rules.findings import RuleFinding, finding, not_assessed, statbarn_of
from .result import CheckedOutput, CheckResult, verdict_of
from .settings import CheckSettings

TOGETHER = "all outputs together"
"""What a finding names as its output where it is about the set."""
NO_RECORDS = "not given"


def printed_rules(outputs: Sequence[ReadOutput], policy: Policy) -> RuleReport:
    """Return what the rules say of outputs by their printed numbers alone.

    Each output is judged by itself; two that are of nearly the same number of people are for a person to look at. What several outputs give away
    together needs the records and is not assessed.
    """
    findings: list[RuleFinding] = []
    for output in outputs:
        try:
            findings += output.parsed.findings(output.name, policy.for_kind(output.parsed.kind))
        except InputError as error:
            reason = f"{output.location}: {error}"
            findings.append(not_assessed(output.name, output.parsed.kind, "all rules", reason))
    if policy.differencing and len(outputs) > 1:
        for output, other in combinations(
            [output for output in outputs if output.parsed.people is not None], 2
        ):
            apart = abs((output.parsed.people or 0) - (other.parsed.people or 0))
            if 0 < apart < policy.threshold:
                reason = "They are of nearly the same number of people: one may be subtracted from the other."
                findings.append(
                    finding(
                        output.name,
                        output.parsed.kind,
                        "differencing",
                        ["n"],
                        total=1,
                        sentence=reason,
                        status="review",
                        other=other.name,
                    )
                )
        reason = "What outputs give away together can be looked at with the records alone. Name them: --data."
        findings.append(not_assessed(TOGETHER, "table", "differencing", reason))
    return RuleReport(tuple(findings), policy.name, policy.hash)


def check_printed(
    outputs: Sequence[ReadOutput],
    settings: CheckSettings,
    *,
    findings: Sequence[RuleFinding] = (),
    policy: Policy | None = None,
    released: bool = False,
    with_records: bool = False,
) -> CheckResult:
    """Return what the rules say of outputs that were read from files, without any record; no output stops another.

    `findings` are what the rules say of outputs that were understood and could not be put over the columns of records. `released`: whether there are outputs that are out already, which these cannot be compared with; `with_records`: whether records were given, and no
    output could be put over their columns.
    """
    began, policy = time.perf_counter(), policy or Policy()
    rules = printed_rules(outputs, policy)
    rules = replace(rules, findings=(*rules.findings, *findings))
    why = (
        "no output could be put over the columns of the records"
        if with_records
        else "that needs the records: --data FILE"
    )
    if released:
        reason = (
            f"The outputs that are out already (--released) were not compared with these: {why}."
        )
        rules = replace(
            rules,
            findings=(
                *rules.findings,
                finding(
                    TOGETHER,
                    "table",
                    "differencing",
                    ["released"],
                    total=1,
                    sentence=reason,
                    status="not assessed",
                ),
            ),
        )
    missing = (
        "No output could be put over the columns of the records"
        if with_records
        else "No records were given"
    )
    verdict = verdict_of(
        (),
        reached=1.0,
        measured=None,
        not_assessed=[
            (rule_finding.rule, rule_finding.output)
            for rule_finding in rules
            if rule_finding.status == "not assessed"
        ],
        notes=[
            f"{missing}: numbers were not compared with any, and rules that need records are not assessed."
        ],
    )
    return CheckResult(
        verdict=verdict,
        settings=settings,
        records=NO_RECORDS,
        left_out=0.0,
        outputs=tuple(
            CheckedOutput(
                output.name,
                output.parsed.kind,
                statbarn_of(output.parsed.kind),
                False,
                None,
                tuple(output.parsed.variables),
                None,
            )
            for output in outputs
        ),
        all=None,
        cumulative=(),
        without=(),
        agreement=(),
        rules=rules,
        exposed_classes=0,
        seconds=round(time.perf_counter() - began, 1),
    )
