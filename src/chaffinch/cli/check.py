"""`chaffinch check`: may these outputs leave? What datasets evolved from them give away, and what the rules of thumb say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .._base.errors import join_names
from .._base.options import FILES, Option
from .._base.text import format_signed, percent
from ..outputs.check.settings import CheckJob
from .command import Exit, echo
from .options import Cores, Html, Json, RunSeed, Silent, show_table

if TYPE_CHECKING:
    from ..outputs.check import CheckResult
    from ..outputs.check.mitigation import MitigationPlan
    from ..outputs.check.result import OutputSummary
    from ..outputs.rules.findings import RuleFinding


WIDTH = 80
"""How wide the table of verdicts may be, whatever the terminal."""
MOST_OPTIONS = 4
"""How many ways to mend an output are shown beside the one that was taken."""
MOST_KIND = 14
"""How wide its column of kinds may be."""


def check(
    *,
    spec: Annotated[
        tuple[Path, ...],
        Option(
            "Outputs (TOML or JSON), an ACRO folder, or output files of R, Stata, SPSS, spreadsheets. Kinds: {kinds}.",
            argument=True,
            metavar="SPEC...",
            read=Path,
        ),
    ],
    data: Annotated[
        Path | None,
        Option(
            "Records behind the outputs: {formats}. Rules can be asked of output files without.",
            basic=True,
            panel=FILES,
        ),
    ] = None,
    job: CheckJob,
    json: Json = None,
    html: Html = None,
    seed: RunSeed = None,
    quiet: Silent = False,
    threads: Cores = None,
) -> None:
    """Check outputs before they leave: do datasets evolved from them tell more about people in the data than about others?

    Every output gets a verdict of its own, and none stops another. Exit code 1 if one fails or is not assessed: an excess, a rule that fails
    or is not assessed to the end, numbers that are not those of the data or were not reached, a result that cannot be read. Also with --mitigate: it is
    about the outputs as they came.
    """
    from ..table.personal.detect import without_personal_warnings
    from ..workflows.check import run_check
    from ..workflows.run import Destinations
    from .observer import console_run

    with (
        console_run(seed=seed, threads=threads, quiet=quiet, plain=True) as run,
        without_personal_warnings(),
    ):
        result, lines = run_check(spec, data, job, run, Destinations(json=json, html=html))
    if not quiet:
        _show(result)
        max_proposals = result.settings.search.proposals if result.all is not None else None
        searches = (
            [
                f"Each search had up to {max_proposals:,} proposals. --proposals {max_proposals} repeats this."
            ]
            if max_proposals
            else []
        )
        for line in (*lines, *searches):
            echo(line, err=True)
    if not result.passed:
        raise Exit(1)


def _show(result: CheckResult) -> None:
    from ..outputs.check.result import counted_words
    from ..report.check import hold_back_sentence, ignored_sentence, rules_sentence

    for line in (
        result.verdict.text,
        counted_words(result.summary, ignored=len(result.about.ignored)),
        *summary_lines(result.summary),
    ):
        echo(line)
    head = (
        "sensitive",
        "convention",
        "original",
        "holdout",
        "prior",
        "marginal risk",
        "interval",
        "detectable",
    )
    rows = []
    for measure in () if result.all is None else result.all.measures:
        estimates = [
            _three_decimals(side.value)
            for side in (measure.original, measure.holdout, measure.prior, measure.marginal)
        ]
        low, high = _three_decimals(measure.marginal.low), _three_decimals(measure.marginal.high)
        between = f"{low} to {high}" if low and high else ""
        rows.append(
            (
                measure.sensitive,
                measure.convention,
                *estimates,
                between,
                _three_decimals(measure.detectable),
            )
        )
    if rows:
        echo()
        show_table(head, rows)
    for sentence in result.verdict.sentences:
        echo(f"- {sentence}")
    for output in () if result.settings.rules_only else result.outputs:
        if output.rules_only:
            echo(f"- Rules only: '{output.name}': {output.rules_only}.")
    for read in result.about.read:
        echo(f"- Read: '{read.name}' ({read.location}). {read.understood}")
    for skipped in result.about.skipped:
        echo(f"- Not assessed: '{skipped.name}': {skipped.reason}")
    for replaced in result.about.by_recipe:
        though = ", though it can be read" if replaced.readable else ""
        echo(f"- Not checked itself{though}: {replaced.name}: a recipe was judged in its place.")
    if sentence := ignored_sentence(result):
        echo(f"- {sentence}")
    if result.about.not_asked:
        names = join_names(f"'{name}'" for name in result.about.not_asked)
        echo(f"- Not asked for, and nothing is said of it: {names}.")
    echo(rules_sentence(result.rules))
    for line in _finding_lines(result.rules):
        echo(line)
    if sentence := hold_back_sentence(result):
        echo(sentence)
    if result.mitigation is not None:
        for line in mitigation_lines(result.mitigation):
            echo(line)


def mitigation_lines(plan: MitigationPlan) -> list[str]:
    """Return what a search for mitigations came to: what is done, what else would do, and what could not be mended."""
    lines = ["", f"Mitigation: {plan.sentence}"]
    for step in plan.steps:
        now = "not published" if step.dropped else f"rules {step.before}, then {step.after}"
        lines.append(
            f"- '{step.output}': {', then '.join(step.actions)} ({now}; lost: {percent(step.loss.share)}, {step.loss.description})"
        )
    for assessed in plan.assessed:
        interval = (
            f"{_three_decimals(assessed.low)} to {_three_decimals(assessed.high)}"
            if isfinite(assessed.low) and isfinite(assessed.high)
            else "no interval"
        )
        risk = (
            f"{format_signed(assessed.risk)} ({interval})"
            if isfinite(assessed.risk)
            else "not measured"
        )
        lines.append(f"- Marginal risk {risk}, {assessed.verdict}: {assessed.description}.")
    others = [option for option in plan.options if not option.taken]
    if others:
        lines.append("What else was tried and breaks no rule, least loss first:")
        for name in dict.fromkeys(option.output for option in others):
            mine = [option for option in others if option.output == name]
            lines += [
                f"- '{name}': {option.description} (rules {option.status}; lost: {percent(option.loss.share)}, {option.loss.description})"
                for option in mine[:MOST_OPTIONS]
            ]
            if len(mine) > MOST_OPTIONS:
                lines.append(
                    f"- '{name}': {len(mine) - MOST_OPTIONS} more, on the page (--html) and in the JSON."
                )
    lines += [f"- Not mended: '{name}': {why}." for name, why in plan.not_mended.items()]
    return lines


def summary_lines(rows: Sequence[OutputSummary]) -> list[str]:
    """Return the verdict on each output as the lines of a table, at most 80 characters wide.

    Examples
    --------
    >>> from chaffinch.outputs.check.result import OutputSummary
    >>> print(*summary_lines([OutputSummary("by sex", "table", "fail", None, 0, "fail", ("threshold",))]), sep="\\n")
    output  kind   rules  marginal risk  verdict
    by sex  table  fail   -              fail
    """
    head = ("output", "kind", "rules", "marginal risk", "verdict")
    cells = [head] + [
        (row.output, row.kind, row.rules or "-", _risk(row), row.verdict) for row in rows
    ]
    widest = [max(len(row[k]) for row in cells) for k in range(len(head))]
    widest[1] = min(widest[1], MOST_KIND)
    widest[0] = min(widest[0], WIDTH - sum(widest[1:]) - 2 * (len(head) - 1))
    return [
        "  ".join(
            _cut(word, width).ljust(width) for word, width in zip(row, widest, strict=True)
        ).rstrip()
        for row in cells
    ]


def _risk(row: OutputSummary) -> str:
    """What an output adds to the marginal risk; a star where it is what several add together."""
    if row.marginal is None or not isfinite(row.marginal.value):
        return "-"
    return f"{row.marginal.value:+.3f}{'*' if row.together > 1 else ''}"


def _cut(word: str, width: int) -> str:
    return word if len(word) <= width else f"{word[: width - 1]}…"


def _finding_lines(findings: Iterable[RuleFinding]) -> list[str]:
    """A line for each rule that failed, was not assessed to the end or wants a look, failed ones first; the same of several pairs in one."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for finding in findings:
        apart = finding.others  # several outputs together are one finding, not pairs
        names = alike.setdefault(
            (finding.status, finding.rule, finding.output, finding.sentence, *apart), list(apart)
        )
        names += [finding.other] if finding.other else []
    return [
        f"- {status}: {rule}, {output!r}{' and ' + join_names(map(repr, others)) if others else ''}: {reason}"
        for wanted in ("fail", "not assessed", "review")
        for (status, rule, output, reason, *_), others in alike.items()
        if status == wanted
    ]


def _three_decimals(value: float) -> str:
    return f"{value:.3f}" if isfinite(value) else ""
