"""A page on outputs that want to leave: the verdict in words, what datasets evolved from them give away, and what the rules say."""

from __future__ import annotations

from .._base.words import NONE, fixed, is_number, number, percent, shown
from ..outputs.check import CheckResult
from ..outputs.rules import RuleReport
from ..outputs.rules.findings import Finding
from .check_figures import counted, cumulative, error_lines, estimate, marginal, sides, sizes, without
from .page import page
from .sections import Block, Cell, Details, Listing, PageTable, Paragraph, Row, Section
from .sentences import CHECK_GLOSSARY, CHECK_LIMITS

__all__ = ["check_page", "rules_sentence"]

ORDER = ("fail", "not assessed", "review", "pass")
MOST_KEYS = 60
MOST_BAD = 10
"""Rules that failed which the verdict lists."""


def rules_sentence(rules: RuleReport) -> str:
    """Return what the rules said, in a sentence.

    Examples
    --------
    >>> from chaffinch.outputs.rules.findings import finding
    >>> bad = finding("t", "table", "threshold", ["a"], of=4, good="", bad="1 cell is small.")
    >>> rules_sentence(RuleReport((bad,), "default", "0" * 64))
    "Of 1 check by the rules of policy 'default', 1 failed and none is for review."
    """
    statuses = [one.status for one in rules]
    failed, review = (statuses.count(status) or "none" for status in ("fail", "review"))
    checks = "1 check" if len(statuses) == 1 else f"{len(statuses)} checks"
    are = "is" if review in (1, "none") else "are"
    unfinished = statuses.count("not assessed")
    rest = (
        f"; {unfinished} {'was' if unfinished == 1 else 'were'} not assessed to the end: that is no pass"
        if unfinished
        else ""
    )
    policy = shown(rules.policy)
    return f"Of {checks} by the rules of policy '{policy}', {failed} failed and {review} {are} for review{rest}."


def check_page(result: CheckResult, title: str = "May these outputs leave?") -> str:
    """Return one HTML file on a check: the verdict, each output, attribution with intervals, what each output adds, agreement, rules.

    No record, no value of the data and no small count is in it.
    """
    about, settings, whole = result.about, result.settings, result.all
    level = settings.level
    sections = [
        Section("verdict", "Verdict", _verdict(result)),
        Section("outputs", "The outputs", _outputs(result)),
        Section("attribution", "What they give away", _attribution(result, level)),
    ]
    steps: list[Block] = [figure for figure in [cumulative(result.cumulative, level)] if figure is not None]
    if steps or result.without:
        sections.append(Section("each", "Which output does it", (*steps, *without(result.without, whole))))
    sections.append(Section("agreement", "People on whom the datasets agree", _agreement(result)))
    sections.append(Section("rules", "Rules of thumb", _rules(result.rules)))
    if result.whole:
        sections.append(Section("whole", "All the data", _whole(result)))
    if result.sizes:
        sections.append(Section("sizes", "Marginal risk by size", sizes(result.sizes)))
    if result.error_lines:
        sections.append(Section("errors", "Attribution by error", (error_lines(result.error_lines),)))
    sections.append(Section("words", "What the words mean", (Listing(CHECK_GLOSSARY),)))
    sections.append(Section("limits", "What this does not say", (Listing(CHECK_LIMITS),)))
    low, high = settings.key_sizes
    facts = [
        ("Outputs", shown(about.outputs)),
        ("Data", shown(about.data)),
        ("Records", f"about {number(result.records)}" if is_number(result.records) else shown(result.records)),
        ("Keys", ", ".join(shown(key, 40) for key in settings.keys)),
        (
            "Key sets",
            f"{settings.key_sets:,}, of {low} to {high} keys"
            if low != high
            else f"{settings.key_sets:,}, of {low} keys",
        ),
        ("Sensitive", ", ".join(shown(one, 40) for one in settings.sensitive)),
        ("Datasets", f"{settings.syntheses} for each fold"),
        ("Held out", percent(settings.holdout_share)),
        ("Engine", shown(settings.engine)),
        ("Seed", shown(settings.seed)),
    ]
    facts += [("Released already", shown(about.released))] if about.released else []
    facts += [("Seconds", number(result.seconds))]
    facts += [("Date", shown(result.run.date))] if result.run.date else []
    return page(title, sections, facts=facts, alarm=_alarm(result))


def _alarm(result: CheckResult) -> str:
    word, worst = result.verdict.word, result.rules.worst
    sentences = [] if word == "no excess found" else [f"{word[:1].upper()}{word[1:]}."]
    sentences += ["A rule failed."] if worst == "fail" else []
    unfinished = any(one.status == "not assessed" for one in result.rules.findings)
    sentences += ["Not everything was looked at: a rule is not assessed to the end."] if unfinished else []
    return " ".join(sentences)


def _verdict(result: CheckResult) -> tuple[Block, ...]:
    verdict, settings = result.verdict, result.settings
    text = verdict.text
    blocks: list[Block] = [
        Paragraph(f"{text[:1].upper()}{text[1:]}.", "lead"),
        Paragraph(rules_sentence(result.rules), "lead"),
        Listing(tuple(verdict.sentences)),
    ]
    if skipped := result.about.skipped:
        count = "1 result was" if len(skipped) == 1 else f"{len(skipped)} results were"
        blocks.append(Paragraph(f"{count} not checked, and nothing is said of them: see the outputs.", "strong"))
    if replaced := result.about.by_recipe:
        count = "1 result was" if len(replaced) == 1 else f"{len(replaced)} results were"
        blocks.append(Paragraph(f"{count} judged by a recipe, not by the files: see the outputs.", "strong"))
    for status, title in (("fail", "Rules that failed"), ("not assessed", "Rules that were not assessed to the end")):
        bad = [one for one in result.rules.findings if one.status == status]
        if bad:
            blocks.append(Paragraph(title, "strong"))
            blocks.append(Listing(tuple(f"{_names(one)}: {one.words}" for one in bad[:MOST_BAD])))
            if len(bad) > MOST_BAD:
                blocks.append(Paragraph(f"{len(bad) - MOST_BAD} more are below.", "note"))
    how = (
        f"How it was measured: the people were divided at random into two folds{' ' + str(settings.repeat_splits) + ' times' if settings.repeat_splits > 1 else ''}. "
        f"For each fold the outputs were computed from its people alone, and {settings.syntheses} datasets were evolved from these numbers, without a look at any record. "
        "The datasets then were used to guess the sensitive attributes of the fold's people and of people held out."
    )
    blocks.append(Paragraph(how))
    if result.left_out > 0:
        blocks.append(
            Paragraph(f"Records with missing values were left out: about {percent(result.left_out)} of them.", "note")
        )
    return tuple(blocks)


def _names(one: Finding) -> str:
    return " and ".join(shown(name) for name in one.names)


def _outputs(result: CheckResult) -> tuple[Block, ...]:
    head = (
        "Output",
        "Kind",
        "Statbarn",
        "Numbers",
        "Datasets that have them all",
        "Mean error",
        "Largest error",
        "Published numbers",
        "Rules",
    )
    worst = {name: min((ORDER.index(one.status) for one in result.rules.findings if name in one.names), default=len(ORDER) - 1) for name in (out.name for out in result.outputs)}  # fmt: skip
    rows: list[Row] = []
    for one in result.outputs:
        fit = one.fit
        same = {
            None: "none given: computed from the data",
            True: "are those of the data",
            False: "are not those of the data",
        }[one.consistent]
        rows.append(
            (
                Cell(shown(one.name), "released already" if one.released else ""), shown(one.kind), shown(one.statbarn),
                *((f"{fit.numbers:,}", percent(fit.reached), number(fit.mean), number(fit.worst)) if fit else (NONE,) * 4), same,
                NONE if one.released and ORDER[worst[one.name]] == "pass" else Cell("", word=ORDER[worst[one.name]]),
            )
        )  # fmt: skip
    blocks: list[Block] = [
        PageTable("Each output, and how well datasets reproduce it", head, tuple(rows), numbers=frozenset({3, 4, 5, 6})),
        Paragraph(
            "Errors are absolute, in the output's own unit, over its numbers and all datasets; regressions are refitted by statsmodels, the rest is counted anew. "
            "A dataset has a number if it is within the precision it was printed with.", "note",
        ),
    ]  # fmt: skip
    if skipped := result.about.skipped:
        blocks.append(Paragraph("Not checked", "strong"))
        blocks.append(Listing(tuple(f"{shown(one.name)}: {shown(one.reason, 300)}" for one in skipped)))
    if replaced := result.about.by_recipe:
        blocks.append(
            Paragraph("Judged by a recipe that was given for the result, not by the result's own files", "strong")
        )
        blocks.append(
            Listing(
                tuple(
                    f"{shown(one.name)}: {'can be read, and was replaced' if one.readable else 'cannot be read'}"
                    for one in replaced
                )
            )
        )
    return tuple(blocks)


def _attribution(result: CheckResult, level: float) -> tuple[Block, ...]:
    measures = result.all.measures
    return sides(measures, level), marginal(measures, level)


def _agreement(result: CheckResult) -> tuple[Block, ...]:
    head = (
        "Sensitive attribute",
        "Agree, in the data",
        "Agree, held out",
        "Agree and right, in the data",
        "Agree and right, held out",
        "Difference",
    )
    rows: tuple[Row, ...] = tuple(
        (
            shown(one.sensitive, 40), *(percent(getattr(one, name)) for name in ("pinned", "pinned_holdout", "right", "right_holdout")),
            estimate(one.excess, plus=True),
        )
        for one in result.agreement
    )  # fmt: skip
    words = (
        "A dataset may be right by chance; where all that say anything of a person say the same, and at least half of them speak, it is a statement. "
        "These are shares of people, averaged over key sets and folds. The difference is of those agreed on rightly, with its interval. "
        "What would tell of too few people is not shown."
    )
    count = result.exposed_classes
    classes = f"fewer than {count[1:]} classes" if isinstance(count, str) else f"about {count:,} classes" if count else "no class"
    blocks: list[Block] = [
        Paragraph(words),
        PageTable("How often all datasets agree on a person's value", head, rows, numbers=frozenset(range(1, 6))),
        Paragraph(
            f"By keys, {classes} of people are given away so; which ones, and what to suppress, is written by --confidential, and must stay inside.",
            "note",
        ),
    ]
    for one in result.agreement:
        by_keys = sorted((each for each in one.by_keys if each.right is not None), key=lambda each: -(each.right or 0.0))
        if by_keys:
            listed = tuple(
                (", ".join(shown(key, 40) for key in each.keys), percent(each.right))
                for each in by_keys[:MOST_KEYS]
            )
            caption = f"{shown(one.sensitive, 40)}: people in the data on whom all agree rightly, by keys"
            table = PageTable(caption, ("Keys", "Share of people"), listed, numbers=frozenset({1}))
            blocks.append(Details(f"By set of keys: {shown(one.sensitive, 40)}", (table,)))
    return tuple(blocks)


def _rules(rules: RuleReport) -> tuple[Block, ...]:
    findings = sorted(rules.findings, key=lambda one: ORDER.index(one.status))
    rows = tuple(
        (_names(one), shown(one.statbarn), shown(one.rule), Cell("", word=one.status), one.words)
        for one in findings
    )
    head = ("Output", "Statbarn", "Rule", "Status", "Why")
    blocks: list[Block] = [Paragraph(rules_sentence(rules))]
    if rows:
        blocks.append(PageTable("What each rule says of each output", head, rows, wide=frozenset({4}), cards=True))
    blocks.append(Paragraph(f"Policy '{shown(rules.policy)}', SHA-256 {shown(rules.policy_hash, 64)}.", "note"))
    return tuple(blocks)


def _whole(result: CheckResult) -> tuple[Block, ...]:
    head = ("Sensitive attribute", "Counted", "All key sets: mean", "sd", "Largest key set: mean", "sd", "Mean error")
    rows = tuple(
        (
            shown(one.sensitive, 40), counted(one), fixed(one.mean), fixed(one.sd),
            fixed(one.full_mean), fixed(one.full_sd), number(one.error),
        )
        for one in result.whole
    )  # fmt: skip
    runs = result.whole[0].runs
    words = (
        f"Outputs of all the data, {runs} datasets evolved from them, TCAP against everybody. There is no holdout here, so nothing of it says "
        "what comes from being in the data."
    )
    caption = f"TCAP over {runs} datasets"
    return Paragraph(words), PageTable(caption, head, rows, numbers=frozenset(range(2, 7)))
