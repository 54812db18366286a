"""A page on outputs that want to leave: the verdict in words, what datasets evolved from them give away, what the rules say, and what would mend them."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from .._base.errors import join_names
from .._base.text import (
    NONE,
    capital,
    count_noun,
    display_name,
    format_fixed,
    format_signed,
    is_number,
    number,
    percent,
)
from ..outputs.check import CheckResult
from ..outputs.check.mitigation import Loss, MitigationPlan
from ..outputs.check.result import outputs_to_withhold
from ..outputs.rules import RuleReport
from ..outputs.rules.findings import RuleFinding
from .check_figures import (
    attribution_figure,
    cumulative,
    estimate,
    marginal,
    without,
)
from .heads import (
    GIVES_AWAY,
    MENDING,
    NOT_TESTED,
    TestedLine,
    looks_answer,
    untested_sentence,
)
from .page import PageContent
from .sections import (
    Block,
    Cell,
    Col,
    Details,
    Listing,
    Num,
    PageAnswer,
    Paragraph,
    Row,
    Short,
    Wide,
    filled_sections,
    page_table,
)
from .text import CHECK_GLOSSARY, CHECK_LIMITS

ORDER = ("fail", "not assessed", "review", "pass")
OPEN = frozenset(("summary", "mitigation", "verdict", "attribution"))
"""Sections that stand open; the others are behind a line that opens them."""

MOST_KEYS = 60
MOST_WHY = 200
"""Characters of a reason in the table of verdicts."""

MOST_QUESTION = 900
"""Characters of what was understood of an output, or is asked about it: the line to write must be whole."""

LIMITS = (
    "The search takes the best next step each time; it does not prove that no smaller change would do. Of the cells of a small table that is tried.",
    "Loss is the share of an output's numbers that is withheld, gone or printed more coarsely, by what is published alone. Which loss matters least to a reader is for the analyst to say.",
    "Mitigated outputs were checked anew, all together and beside what is out already, by the same rules. What the rules do not see, they do not see here either.",
)


def check_page(result: CheckResult, title: str = "May these outputs leave?") -> PageContent:
    """Return the page on a check: the verdict, each output, attribution with intervals, what each output adds, agreement, rules.

    No record, no value of the data and no small count is in it.
    """
    about, settings, level = result.about, result.settings, result.settings.level
    attacked, steps = result.all, cumulative(result.cumulative, level)
    sections = filled_sections(
        (
            ("summary", "Each output", _summary(result)),
            ("read", "What was read", _read(result) if about.read else ()),
            (
                "mitigation",
                "What would mend them",
                () if result.mitigation is None else mitigation_blocks(result.mitigation),
            ),
            ("verdict", "All together", _verdict(result)),
            ("rules", "Rules of thumb", _rules(result.rules)),
            (
                "outputs",
                "How well datasets reproduce them",
                () if attacked is None else _outputs(result),
            ),
            (
                "attribution",
                "What they give away",
                ()
                if attacked is None
                else (
                    attribution_figure(attacked.measures, level),
                    marginal(attacked.measures, level),
                ),
            ),
            (
                "each",
                "Which output does it",
                ()
                if attacked is None
                else (*([steps] if steps else []), *without(result.without, attacked)),
            ),
            (
                "agreement",
                "People on whom the datasets agree",
                () if attacked is None else _agreement(result),
            ),
            ("words", "What the words mean", (Listing(CHECK_GLOSSARY),)),
            ("limits", "What this does not say", (Listing(CHECK_LIMITS),)),
        )
    )
    facts = (
        ("Outputs", display_name(about.outputs)),
        ("Data", display_name(about.data)),
        (
            "Records",
            f"about {number(result.records)}"
            if is_number(result.records)
            else display_name(result.records),
        ),
        *(() if settings.rules_only else _attack_facts(result)),
        *([("Released already", display_name(about.released))] if about.released else []),
        ("Seconds", number(result.seconds)),
        *([("Date", display_name(result.run.date))] if result.run.date else []),
    )
    answers = check_answers(result, rules_sentence(result.rules), hold_back_sentence(result))
    folded = [replace(section, folded=section.id not in OPEN) for section in sections]
    return PageContent(title, folded, facts=facts, alarm=_alarm(result), answers=answers)


def check_answers(
    result: CheckResult, rules: str, outputs_to_withhold: str
) -> tuple[PageAnswer, ...]:
    """Return what outputs give away, what to hold back, and what was not looked at; `rules` and `hold_back` are sentences of the page."""
    verdicts = [row.verdict for row in result.summary]
    states = {"fail": "no", "not assessed": "part", "review": "part", "pass": "yes"}
    lines = [
        TestedLine(word, state, _count(verdicts.count(word)))
        for word, state in states.items()
        if word in verdicts
    ]
    ignored = len(result.about.ignored)
    lines += [TestedLine("ignored", "no", _count(ignored))] if ignored else []
    refusals = ["not assessed"] if ignored and not result.about.ignored_accepted else []
    worst = next((word for word in states if word in (*verdicts, *refusals)), "not assessed")
    summary = capital(result.text).rstrip(".")
    mending = outputs_to_withhold or (
        "No rule asks for an output to be held back." if result.rules.worst != "fail" else rules
    )
    attacked = result.all is not None
    missing = verdicts.count("not assessed") + ignored
    looked = (
        TestedLine("Rules of thumb", "yes", count_noun(len(tuple(result.rules)), "check")),
        TestedLine(
            "Datasets evolved from them",
            "yes" if attacked else "no",
            "attacked" if attacked else "not measured",
        ),
        TestedLine(
            "Together with earlier releases",
            "yes" if result.about.released else "no",
            "as named" if result.about.released else "none was named",
        ),
        TestedLine(
            "Every output assessed",
            "no" if missing else "yes",
            f"{missing} not assessed" if missing else "all of them",
        ),
        TestedLine("Promise of privacy", "no", "none"),
    )
    return (
        looks_answer(1, GIVES_AWAY, f"{summary}.", lines, worst),
        PageAnswer(MENDING, mending, notes=(rules,) if mending != rules else ()),
        looks_answer(3, NOT_TESTED, untested_sentence("No formal promise", looked), looked),
    )


def rules_sentence(rules: RuleReport) -> str:
    """Return what the rules said, in a sentence.

    Examples
    --------
    >>> from chaffinch.outputs.rules.findings import finding
    >>> bad = finding("t", "table", "threshold", ["a"], total=4, sentence="1 cell is small.")
    >>> rules_sentence(RuleReport((bad,), "default", "0" * 64))
    "Of 1 check by the rules of policy 'default', 1 failed and none is for review."
    """
    statuses = [finding.status for finding in rules]
    failed, review = (statuses.count(status) or "none" for status in ("fail", "review"))
    checks = "1 check" if len(statuses) == 1 else f"{len(statuses)} checks"
    are = "is" if review in (1, "none") else "are"
    unfinished = statuses.count("not assessed")
    rest = (
        f"; {unfinished} {'was' if unfinished == 1 else 'were'} not assessed to the end: that is no pass"
        if unfinished
        else ""
    )
    policy = display_name(rules.policy)
    return f"Of {checks} by the rules of policy '{policy}', {failed} failed and {review} {are} for review{rest}."


def _attack_facts(result: CheckResult) -> list[tuple[str, str]]:
    """Who attacks, and how it was measured."""
    settings, key_sets = result.settings, result.resolved.key_sets
    low, high = settings.key_sizes or (0, 0)
    return [
        ("Keys", ", ".join(display_name(key, 40) for key in settings.keys)),
        (
            "Key sets",
            f"{key_sets:,}, of {low} to {high} keys"
            if low != high
            else f"{key_sets:,}, of {count_noun(low, 'key')}",
        ),
        ("Sensitive", ", ".join(display_name(name, 40) for name in settings.sensitive)),
        ("Datasets", f"{settings.syntheses} for each fold"),
        ("Held out", percent(settings.holdout_share)),
        ("Engine", display_name(settings.search.search_engine)),
        (
            "Start",
            {
                "margins": "univariate margins",
                "fold": "univariate margins of each fold",
                "published": "published margins",
                "uniform": "uniform over levels",
            }.get(settings.start, display_name(settings.start)),
        ),
        ("Seed", display_name(result.resolved.seed)),
    ]


def _alarm(result: CheckResult) -> str:
    word, worst = result.verdict.word, result.rules.worst
    sentences = [] if word in ("no excess found", "rules only") else [f"{capital(word)}."]
    sentences += ["A rule failed."] if worst == "fail" else []
    unfinished = any(finding.status == "not assessed" for finding in result.rules.findings)
    sentences += (
        ["Not everything was looked at: a rule is not assessed to the end."] if unfinished else []
    )
    missing = sum(row.verdict == "not assessed" for row in result.summary)
    sentences += (
        [
            f"{missing} of {count_noun(len(result.summary), 'output')} {'is' if missing == 1 else 'are'} not assessed."
        ]
        if missing
        else []
    )
    ignored = len(result.about.ignored)
    sentences += (
        [f"{ignored} output{'s are' if ignored > 1 else ' is'} ignored, and not assessed."]
        if ignored
        else []
    )
    return " ".join(sentences)


def hold_back_sentence(result: CheckResult) -> str:
    """Return which outputs to mend or hold back so that no rule fails; nothing where none does."""
    released = {output.name for output in result.outputs if output.released}
    alone, more = outputs_to_withhold(result.rules, released=released)
    alone = tuple(
        dict.fromkeys(
            (*alone, *(output.name for output in result.about.skipped if output.verdict == "fail"))
        )
    )
    sentences = []
    if alone:
        sentences.append(
            f"{_quote_names(alone)} {'fails' if len(alone) == 1 else 'fail'} by {'itself' if len(alone) == 1 else 'themselves'}"
        )
    if more:
        sentences.append(
            f"without {_quote_names(more)} no {'others' if alone else 'outputs'} fail together"
        )
    text = "; ".join(sentences)
    return f"To mend or hold back: {text}." if text else ""


def ignored_sentence(result: CheckResult) -> str:
    """Return which outputs were ignored, and what that means for the verdict; nothing where none was."""
    if not (ignored := result.about.ignored):
        return ""
    accepted = (
        "They may leave by --accept-ignored."
        if result.about.ignored_accepted
        else "They do not pass. --accept-ignored lets them leave as they are."
    )
    return f"Ignored by outputs.toml, and not assessed: {_quote_names(ignored)}. {accepted}"


def _quote_names(names: tuple[str, ...]) -> str:
    return join_names(f"'{display_name(name)}'" for name in names)


def _summary(result: CheckResult) -> tuple[Block, ...]:
    """The verdict on each output, the worst first."""
    measured = result.all is not None
    rows: list[Row] = []
    for row in result.summary:
        risk: tuple[Cell, ...] = ()
        if measured:
            shared = f"with {row.together - 1} more" if row.together > 1 else ""
            value = (
                NONE
                if row.marginal is None or not is_number(row.marginal.value)
                else format_signed(row.marginal.value)
            )
            risk = (Cell(value, shared if value != NONE else ""),)
        rules = NONE if row.rules is None else Cell("", word=row.rules)
        why = "; ".join(display_name(reason, MOST_WHY) for reason in row.why) or NONE
        rows.append(
            (
                Cell(display_name(row.output)),
                display_name(row.kind) or NONE,
                rules,
                *risk,
                Cell("", word=row.verdict),
                why,
            )
        )
    blocks: list[Block] = [
        Paragraph(capital(result.text), "lead"),
        page_table(
            "The verdict on each output",
            rows,
            Col("Output"),
            Short("Kind"),
            Short("Rules"),
            *([Num("Marginal risk")] if measured else []),
            Short("Verdict"),
            Wide("Why"),
            cards=True,
        ),
    ]
    if sentence := hold_back_sentence(result):
        blocks.append(Paragraph(sentence, "strong"))
    if sentence := ignored_sentence(result):
        blocks.append(Paragraph(sentence, "strong"))
    if result.about.not_asked:
        blocks.append(
            Paragraph(
                f"Not asked for, and nothing is said of it: {_quote_names(result.about.not_asked)}.",
                "strong",
            )
        )
    if measured:
        note = "Marginal risk is what an output adds to that of those before it, at most, over attributes and ways of counting; of the first, its own."
        blocks.append(Paragraph(note, "note"))
    if replaced := result.about.by_recipe:
        count = "1 result was" if len(replaced) == 1 else f"{len(replaced)} results were"
        blocks.append(Paragraph(f"{count} judged by a recipe, not by the files:", "strong"))
        blocks.append(
            Listing(
                tuple(
                    f"{display_name(output.name)}: {'can be read, and was replaced' if output.readable else 'cannot be read'}"
                    for output in replaced
                )
            )
        )
    return tuple(blocks)


def _read(result: CheckResult) -> tuple[Block, ...]:
    """Where each output of a file stands, and what was understood; of those that were not, what to write."""
    rows: list[Row] = [
        (
            Cell(display_name(output.name)),
            display_name(output.location),
            display_name(output.understood, MOST_QUESTION),
        )
        for output in result.about.read
    ]
    table = page_table(
        "Where each output stands, and what was understood",
        rows,
        Col("Output"),
        Col("Where"),
        Wide("Understood"),
        cards=True,
    )
    if not (asked := result.about.skipped):
        return (table,)
    return (
        table,
        Paragraph("Not understood, or not over the columns of the data:", "strong"),
        Listing(tuple(display_name(output.reason, MOST_QUESTION) for output in asked)),
    )


def _verdict(result: CheckResult) -> tuple[Block, ...]:
    verdict, settings = result.verdict, result.settings
    blocks: list[Block] = [
        Paragraph(f"{capital(verdict.text)}. {rules_sentence(result.rules)}", "lead"),
        Listing(tuple(verdict.sentences)),
    ]
    if result.all is not None:
        how = (
            f"How it was measured: the people were divided at random into two folds{' ' + str(settings.repeat_splits) + ' times' if settings.repeat_splits > 1 else ''}. "
            f"For each fold the outputs were computed from its people alone, and {count_noun(settings.syntheses, 'dataset was', 'datasets were')} evolved from these numbers, without a look at any record. "
            "The datasets then were used to guess the sensitive attributes of the fold's people and of people held out."
        )
        blocks.append(Paragraph(how))
    if result.left_out > 0:
        sentence = f"The attack is on records with a value in every column of the outputs and keys: about {percent(result.left_out)} of all have none in some."
        blocks.append(Paragraph(sentence, "note"))
    return tuple(blocks)


def _names(finding: RuleFinding) -> str:
    return " and ".join(display_name(name) for name in finding.names)


def _outputs(result: CheckResult) -> tuple[Block, ...]:
    worst = {
        name: min(
            (
                ORDER.index(finding.status)
                for finding in result.rules.findings
                if name in finding.names
            ),
            default=len(ORDER) - 1,
        )
        for name in (out.name for out in result.outputs)
    }
    rows: list[Row] = []
    for output in result.outputs:
        fit = output.fit
        same = {
            None: "none given: computed from the data",
            True: "are those of the data",
            False: "are not those of the data",
        }[output.consistent]
        rows.append(
            (
                Cell(display_name(output.name), "released already" if output.released else ""),
                display_name(output.kind),
                display_name(output.statbarn),
                *(
                    (f"{fit.numbers:,}", percent(fit.reached), number(fit.mean), number(fit.worst))
                    if fit
                    else (NONE,) * 4
                ),
                same,
                NONE
                if output.released and ORDER[worst[output.name]] == "pass"
                else Cell("", word=ORDER[worst[output.name]]),
            )
        )
    blocks: list[Block] = [
        page_table(
            "Each output, and how well datasets reproduce it",
            rows,
            Col("Output"),
            Col("Kind"),
            Col("Statbarn"),
            Num("Numbers"),
            Num("Datasets that have them all"),
            Num("Mean error"),
            Num("Largest error"),
            Col("Published numbers"),
            Col("Rules"),
        ),
        Paragraph(
            "Errors are absolute, in the output's own unit, over its numbers and all datasets; regressions are refitted by statsmodels, the rest is counted anew. "
            "A dataset has a number if it is within the precision it was printed with.",
            "note",
        ),
    ]
    return tuple(blocks)


def _agreement(result: CheckResult) -> tuple[Block, ...]:
    rows: tuple[Row, ...] = tuple(
        (
            display_name(agreement.sensitive, 40),
            *(
                percent(getattr(agreement, name))
                for name in ("pinned", "pinned_holdout", "right", "right_holdout")
            ),
            estimate(agreement.excess, plus=True),
        )
        for agreement in result.agreement
    )
    sentence = (
        "A dataset may be right by chance; where all that say anything of a person say the same, and at least half of them speak, it is a statement. "
        "These are shares of people, averaged over key sets and folds. The difference is of those agreed on rightly, with its interval. "
        "What would tell of too few people is not shown."
    )
    count = result.exposed_classes
    classes = (
        f"fewer than {count[1:]} classes"
        if isinstance(count, str)
        else f"about {count:,} classes"
        if count
        else "no class"
    )
    blocks: list[Block] = [
        Paragraph(sentence),
        page_table(
            "How often all datasets agree on a person's value",
            rows,
            Col("Sensitive attribute"),
            Num("Agree, in the data"),
            Num("Agree, held out"),
            Num("Agree and right, in the data"),
            Num("Agree and right, held out"),
            Num("Difference"),
        ),
        Paragraph(
            f"By keys, {classes} of people are given away so; which ones, and what to suppress, is written by --confidential, and must stay inside.",
            "note",
        ),
    ]
    for agreement in result.agreement:
        by_keys = sorted(
            (each for each in agreement.by_keys if each.right is not None),
            key=lambda each: -(each.right or 0.0),
        )
        if by_keys:
            caption = f"{display_name(agreement.sensitive, 40)}: people in the data on whom all agree rightly, by keys"
            table = page_table(
                caption,
                by_keys[:MOST_KEYS],
                Col("Keys", lambda each: ", ".join(display_name(key, 40) for key in each.keys)),
                Num("Share of people", lambda each: percent(each.right)),
            )
            blocks.append(
                Details(f"By set of keys: {display_name(agreement.sensitive, 40)}", (table,))
            )
    return tuple(blocks)


def _rules(rules: RuleReport) -> tuple[Block, ...]:
    findings = sorted(rules.findings, key=lambda finding: ORDER.index(finding.status))
    rows = tuple(
        (
            _names(finding),
            display_name(finding.statbarn),
            display_name(finding.rule),
            Cell("", word=finding.status),
            finding.sentence,
        )
        for finding in findings
    )
    blocks: list[Block] = [Paragraph(rules_sentence(rules))]
    if rows:
        blocks.append(
            page_table(
                "What each rule says of each output",
                rows,
                Col("Output"),
                Col("Statbarn"),
                Col("Rule"),
                Short("Status"),
                Wide("Why"),
                cards=True,
            )
        )
    blocks.append(
        Paragraph(
            f"Policy '{display_name(rules.policy)}', SHA-256 {display_name(rules.policy_hash, 64)}.",
            "note",
        )
    )
    return tuple(blocks)


def mitigation_blocks(plan: MitigationPlan) -> tuple[Block, ...]:
    """Return what a page says of mitigations."""
    blocks: list[Block] = [Paragraph(plan.sentence)]
    if plan.steps:
        blocks.append(
            page_table(
                "What is done, least loss first",
                plan.steps,
                Col("Output", lambda step: display_name(step.output)),
                Wide("Change", lambda step: "; then ".join(step.actions)),
                Col("Rules before", lambda step: Cell("", word=step.before)),
                Col(
                    "Rules after",
                    lambda step: (
                        "not published"
                        if step.dropped or step.after is None
                        else Cell("", word=step.after)
                    ),
                ),
                Num("Lost", lambda step: _share(step.loss)),
                Wide("What is lost", lambda step: step.loss.description),
                cards=True,
            )
        )
    if plan.assessed:
        blocks.append(
            page_table(
                "Marginal risk before and after",
                plan.assessed,
                Wide("Outputs", lambda option: option.description),
                Num("Largest marginal risk", lambda option: format_fixed(option.risk)),
                Col(
                    "Interval",
                    lambda option: (
                        f"{format_fixed(option.low)} to {format_fixed(option.high)}"
                        if isfinite(option.low)
                        else ""
                    ),
                ),
                Col("Verdict", lambda option: option.verdict),
            )
        )
    if plan.options:
        blocks.append(
            page_table(
                "Each way that was tried and breaks no rule, least loss first",
                plan.options,
                Col("Output", lambda option: display_name(option.output)),
                Wide("Change", lambda option: option.description),
                Col("Rules after", lambda option: Cell("", word=option.status)),
                Col("", lambda option: "taken" if option.taken else ""),
                Num("Lost", lambda option: _share(option.loss)),
                Wide("What is lost", lambda option: option.loss.description),
                cards=True,
            )
        )
    if plan.not_mended:
        blocks.append(
            Listing(
                tuple(
                    f"Not mended: '{display_name(name)}': {why}."
                    for name, why in plan.not_mended.items()
                )
            )
        )
    blocks.append(Paragraph(" ".join(LIMITS), "note"))
    return tuple(blocks)


def _share(loss: Loss) -> str:
    return f"{loss.share:.1%}"


def _count(many: int) -> str:
    return f"{many} output{'s' * (many != 1)}"
