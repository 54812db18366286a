"""`chaffinch check`: may these outputs leave? What datasets evolved from them give away, and what the rules of thumb say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._base.errors import listed
from .._base.text import percent, signed
from .options import HtmlOut, JsonOut, Quiet, SchemaIn, Threads, expanded, file_options, show_table

if TYPE_CHECKING:
    from ..outputs.check import CheckResult
    from ..outputs.check.mitigation import MitigationPlan
    from ..outputs.check.result import OutputSummary
    from ..outputs.rules.findings import RuleFinding
    from ..table import FileOptions


WIDTH = 80
"""How wide the table of verdicts may be, whatever the terminal."""
MOST_OPTIONS = 4
"""How many ways to mend an output are shown beside the one that was taken."""
MOST_KIND = 14
"""How wide its column of kinds may be."""


@expanded(file=file_options)
def check(
    *,
    spec: Annotated[
        list[Path],
        typer.Argument(
            help="The outputs, with or without numbers (TOML, or JSON with the same keys); a folder that ACRO made; or output files of R, Stata, SPSS and spreadsheets, or a folder of them. Kinds: {kinds}.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="The records behind the outputs: {formats}. Of output files the rules can be asked without."
        ),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(
            help="Columns that an outsider knows of a person, as A,B; not needed with --rules-only."
        ),
    ] = None,
    sensitive: Annotated[
        str | None,
        typer.Option(
            help="Columns that are not to be found out, as A,B; not needed with --rules-only."
        ),
    ] = None,
    rules_only: Annotated[
        bool,
        typer.Option(
            "--rules-only",
            help="Ask the rules alone, which takes a second or two: measure nothing.",
        ),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Check this output alone (a result, in an ACRO folder); may be given several times, or as A,B."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--except",
            help="Check all outputs but this one; may be given several times, or as A,B.",
        ),
    ] = None,
    accept_ignored: Annotated[
        bool,
        typer.Option(
            "--accept-ignored",
            help="Let outputs that outputs.toml ignores leave without an assessment.",
        ),
    ] = False,
    schema: SchemaIn = None,
    key_sizes: Annotated[
        str | None,
        typer.Option(help="Sizes of key subsets to try, as 3-6 or 4; 3 to all unless given."),
    ] = None,
    released: Annotated[
        Path | None, typer.Option(help="File of outputs that this project has released already.")
    ] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Add the outputs to the file of --released, if they pass; it is made if need be.",
        ),
    ] = False,
    policy: Annotated[
        Path | None,
        typer.Option(
            help="Rules to check by (TOML); those of the ACRO folder, or the usual ones, unless given."
        ),
    ] = None,
    threshold: Annotated[
        int | None,
        typer.Option(
            help="Counts below it are not shown, anywhere; the threshold of the rules unless given."
        ),
    ] = None,
    recipes: Annotated[
        Path | None,
        typer.Option(
            help="With an ACRO folder: a file of outputs, named as the results that cannot be read are."
        ),
    ] = None,
    replace_readable: Annotated[
        bool,
        typer.Option(
            "--replace-readable",
            help="Judge recipes also in the place of results that can be read, which then are not judged.",
        ),
    ] = False,
    syntheses: Annotated[int, typer.Option(help="Datasets to evolve for each fold.")] = 50,
    holdout_share: Annotated[
        float, typer.Option(help="Share of people who are held out of a fold, up to 0.5.")
    ] = 0.5,
    repeat_splits: Annotated[
        int,
        typer.Option(help="Random splits into folds; more take longer and give tighter figures."),
    ] = 1,
    engine: Annotated[
        str, typer.Option(help="As in evolve: incremental, maxent or ea.")
    ] = "incremental",
    start: Annotated[
        str,
        typer.Option(
            help="What an attacker knows beside the outputs: the univariate margins of all columns (of each fold: fold), published ones alone, or nothing (uniform)."
        ),
    ] = "margins",
    seconds: Annotated[
        float | None,
        typer.Option(
            help="About when to give up, for each dataset: stands for a number of proposals, whatever the machine does; 20 unless given."
        ),
    ] = None,
    proposals: Annotated[
        int | None,
        typer.Option(
            help="When to give up, in proposals: instead of --seconds. The same on every machine."
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="How close numbers without a printed precision must come, in standard errors; 0.001 unless given."
        ),
    ] = None,
    tau: Annotated[
        float,
        typer.Option(
            help="Share of a key's rows that must have one value before the attacker takes it."
        ),
    ] = 1.0,
    leave_one_out: Annotated[
        str,
        typer.Option(
            help="Assess the outputs without each of them: if there is an excess, always or never."
        ),
    ] = "excess",
    no_cumulative: Annotated[
        bool,
        typer.Option(
            "--no-cumulative",
            help="Assess all outputs at once, and not one after the other as well.",
        ),
    ] = False,
    confidential: Annotated[
        Path | None,
        typer.Option(
            help="Write the exposed classes and the cells behind each rule here: confidential, readable by you alone."
        ),
    ] = None,
    acro_write_back: Annotated[
        Path | None,
        typer.Option(
            help="Copy the ACRO folder here, with the result as one more output and comments."
        ),
    ] = None,
    mitigate: Annotated[
        bool,
        typer.Option(
            "--mitigate",
            help="Look for the least change after which outputs that do not pass do, and check them anew.",
        ),
    ] = False,
    write: Annotated[
        Path | None,
        typer.Option(
            help="With --mitigate: a new folder for the mitigated outputs, if they pass, as a document and CSV tables."
        ),
    ] = None,
    file: FileOptions,
    json: JsonOut = None,
    html: HtmlOut = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same seed gives the same figures.")
    ] = None,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Check outputs before they leave: do datasets evolved from them tell more about people in the data than about others?

    Every output gets a verdict of its own, and none stops another. Exit code 1 if one fails or is not assessed: an excess, a rule that fails
    or is not assessed to the end, numbers that are not those of the data or were not reached, a result that cannot be read. Also with --mitigate: it is
    about the outputs as they came.
    """
    from .._base.results import RunFacts
    from .._base.runtime import progress_bar
    from ..outputs.check import CheckSettings
    from ..table.personal.detect import without_personal_warnings
    from ..workflows.check import CheckDelivery, DataSource, check_request
    from ..workflows.check_request import CheckRequest
    from .options import key_sizes_of, names_of, run_facts, start_arrow

    settings = CheckSettings(
        keys=names_of(keys),
        sensitive=names_of(sensitive),
        rules_only=rules_only,
        key_sizes=key_sizes_of(key_sizes),
        syntheses=syntheses,
        holdout_share=holdout_share,
        repeat_splits=repeat_splits,
        engine=engine,  # type: ignore[arg-type]
        start=start,  # type: ignore[arg-type]
        seconds=seconds,
        proposals=proposals,
        tolerance=tolerance,
        tau=tau,
        cumulative=not no_cumulative,
        leave_one_out=leave_one_out,  # type: ignore[arg-type]
        threshold=threshold,
    )
    delivery = CheckDelivery(
        json=json,
        html=html,
        confidential=confidential,
        record=record,
        acro_write_back=acro_write_back,
        mitigate=mitigate,
        write=write,
    )
    for one in spec:
        delivery.check(one, released, data, policy, recipes)
    start_arrow(threads)
    with progress_bar(quiet=quiet, plain=True) as progress, without_personal_warnings():
        request = CheckRequest.read(
            spec,
            released=released,
            policy=policy,
            recipes=recipes,
            replace_readable=replace_readable,
            only=only or (),
            exclude=exclude or (),
            accept_ignored=accept_ignored,
            new=record,
        )
        source = DataSource(data, schema, file)
        result, lines = check_request(
            request,
            source,
            settings,
            delivery=delivery,
            run=RunFacts(**run_facts()),
            seed=seed,
            workers=threads,
            progress=progress,
        )
    if not quiet:
        _show(result)
        most = result.settings.proposals
        searches = (
            [f"Each search had up to {most:,} proposals. --proposals {most} repeats this."]
            if most
            else []
        )
        for line in (*lines, *searches):
            typer.echo(line, err=True)
    if not result.passed:
        raise typer.Exit(1)


def _show(result: CheckResult) -> None:
    from ..outputs.check.result import counted_words
    from ..report.check import hold_back_sentence, ignored_sentence, rules_sentence

    for line in (
        result.verdict.text,
        counted_words(result.summary, ignored=len(result.about.ignored)),
        *summary_lines(result.summary),
    ):
        typer.echo(line)
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
    for one in () if result.all is None else result.all.measures:
        sides = [
            _fixed(side.value) for side in (one.original, one.holdout, one.prior, one.marginal)
        ]
        low, high = _fixed(one.marginal.low), _fixed(one.marginal.high)
        between = f"{low} to {high}" if low and high else ""
        rows.append((one.sensitive, one.convention, *sides, between, _fixed(one.detectable)))
    if rows:
        typer.echo()
        show_table(head, rows)
    for sentence in result.verdict.sentences:
        typer.echo(f"- {sentence}")
    for output in () if result.settings.rules_only else result.outputs:
        if output.rules_only:
            typer.echo(f"- Rules only: '{output.name}': {output.rules_only}.")
    for read in result.about.read:
        typer.echo(f"- Read: '{read.name}' ({read.place}). {read.understood}")
    for skipped in result.about.skipped:
        typer.echo(f"- Not assessed: '{skipped.name}': {skipped.reason}")
    for replaced in result.about.by_recipe:
        though = ", though it can be read" if replaced.readable else ""
        typer.echo(
            f"- Not checked itself{though}: {replaced.name}: a recipe was judged in its place."
        )
    if sentence := ignored_sentence(result):
        typer.echo(f"- {sentence}")
    if result.about.not_asked:
        names = listed(f"'{name}'" for name in result.about.not_asked)
        typer.echo(f"- Not asked for, and nothing is said of it: {names}.")
    typer.echo(rules_sentence(result.rules))
    for line in _bad(result.rules):
        typer.echo(line)
    if sentence := hold_back_sentence(result):
        typer.echo(sentence)
    if result.mitigation is not None:
        for line in mitigation_lines(result.mitigation):
            typer.echo(line)


def mitigation_lines(plan: MitigationPlan) -> list[str]:
    """Return what a search for mitigations came to: what is done, what else would do, and what could not be mended."""
    lines = ["", f"Mitigation: {plan.sentence}"]
    for step in plan.steps:
        now = "not published" if step.dropped else f"rules {step.before}, then {step.after}"
        lines.append(
            f"- '{step.output}': {', then '.join(step.words)} ({now}; lost: {percent(step.loss.share)}, {step.loss.words})"
        )
    for one in plan.assessed:
        interval = (
            f"{_fixed(one.low)} to {_fixed(one.high)}"
            if isfinite(one.low) and isfinite(one.high)
            else "no interval"
        )
        risk = f"{signed(one.risk)} ({interval})" if isfinite(one.risk) else "not measured"
        lines.append(f"- Marginal risk {risk}, {one.verdict}: {one.words}.")
    others = [one for one in plan.options if not one.taken]
    if others:
        lines.append("What else was tried and breaks no rule, least loss first:")
        for name in dict.fromkeys(one.output for one in others):
            mine = [one for one in others if one.output == name]
            lines += [
                f"- '{name}': {one.words} (rules {one.status}; lost: {percent(one.loss.share)}, {one.loss.words})"
                for one in mine[:MOST_OPTIONS]
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


def _bad(findings: Iterable[RuleFinding]) -> list[str]:
    """A line for each rule that failed, was not assessed to the end or wants a look, failed ones first; the same of several pairs in one."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for one in findings:
        apart = one.others  # several outputs together are one finding, not pairs
        beside = alike.setdefault(
            (one.status, one.rule, one.output, one.words, *apart), list(apart)
        )
        beside += [one.other] if one.other else []
    return [
        f"- {status}: {rule}, {output!r}{' and ' + listed(map(repr, others)) if others else ''}: {words}"
        for wanted in ("fail", "not assessed", "review")
        for (status, rule, output, words, *_), others in alike.items()
        if status == wanted
    ]


def _fixed(value: float) -> str:
    return f"{value:.3f}" if isfinite(value) else ""
