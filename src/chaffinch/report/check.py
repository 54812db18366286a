"""A page on outputs that want to leave: the verdict in words, what datasets evolved from them give away, and what the rules say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .check_figures import counted, cumulative, error_lines, estimate, marginal, sides, sizes, without
from .page import page
from .sections import Block, Cell, Details, Listing, Paragraph, Row, Section, Table
from .words import NONE, fixed, is_number, number, percent, shown

__all__ = ["check_page", "rules_sentence"]

Data = Mapping[str, Any]
ORDER = ("fail", "not assessed", "review", "pass")
MOST_KEYS = 60
GLOSSARY = (
    "TCAP (targeted correct attribution probability): an attacker looks up what they know of a person (a set of keys) in a synthetic dataset. Where all rows "
    "with these keys have one value of the sensitive attribute, the attacker takes it. TCAP is how often that is right.",
    "Matched rows (p1): synthetic rows whose keys no person has are left out. All rows (p1_zero): they count as wrong. P1 uses now the one, now the other; both stand "
    "here.",
    "People in the data stand behind the outputs; people held out do not. What datasets tell of both alike is knowledge about the population, and what a publication is for.",
    "Marginal risk: TCAP against people in the data less TCAP against people held out: what somebody risks by being in the data.",
)
LIMITS = (
    "No excess found does not mean safe: it means that a marginal risk as large as the detectable one would probably have been found.",
    "Outputs were computed anew on each fold, which has fewer people than the data. What a cell of two people gives away is seen where the folds have such cells, and by the rules.",
    "One attacker was tried: one who evolves datasets and looks people up in them. Another may do better, and may know more than the keys named here.",
    "Rules of thumb know nothing about other releases than those that were named as released.",
)


def rules_sentence(rules: Data) -> str:
    """Return what the rules said, in a sentence.

    Examples
    --------
    >>> rules_sentence({"findings": [{"status": "fail"}, {"status": "pass"}], "policy": "default"})
    "Of 2 checks by the rules of policy 'default', 1 failed and none is for review."
    >>> rules_sentence({"findings": [{"status": "not assessed"}, {"status": "pass"}], "policy": "default"})
    "Of 2 checks by the rules of policy 'default', none failed and none is for review; 1 was not assessed to the end: that is no pass."
    """
    found = [one["status"] for one in rules["findings"]]
    failed, review = (found.count(status) or "none" for status in ("fail", "review"))
    checks = "1 check" if len(found) == 1 else f"{len(found)} checks"
    are = "is" if review in (1, "none") else "are"
    unfinished = found.count("not assessed")
    rest = (
        f"; {unfinished} {'was' if unfinished == 1 else 'were'} not assessed to the end: that is no pass"
        if unfinished
        else ""
    )
    policy = shown(rules["policy"])
    return f"Of {checks} by the rules of policy '{policy}', {failed} failed and {review} {are} for review{rest}."


def check_page(told: Data, title: str = "May these outputs leave?") -> str:
    """Return one HTML file on a check: the verdict, each output, attribution with intervals, what each output adds, agreement, rules.

    Parameters
    ----------
    told
        Plain data as `chaffinch check --json` writes them. No record, no value of the data and no small count is in them.
    """
    about, settings, whole = told["about"], told["settings"], told["all"]
    level = settings["level"]
    sections = [
        Section("verdict", "Verdict", _verdict(told)),
        Section("outputs", "The outputs", _outputs(told)),
        Section("attribution", "What they give away", _attribution(told, level)),
    ]
    steps: list[Block] = [figure for figure in [cumulative(told["cumulative"], level)] if figure is not None]
    if steps or told["without"]:
        sections.append(Section("each", "Which output does it", (*steps, *without(told["without"], whole))))
    sections.append(Section("agreement", "People on whom the datasets agree", _agreement(told)))
    sections.append(Section("rules", "Rules of thumb", _rules(told["rules"])))
    if told["whole"]:
        sections.append(Section("whole", "All the data (P1's experiment 1)", _whole(told)))
    if told["sizes"]:
        sections.append(Section("sizes", "Marginal risk by size", sizes(told["sizes"])))
    if told["error_lines"]:
        sections.append(Section("errors", "Attribution by error", (error_lines(told["error_lines"]),)))
    sections.append(Section("words", "What the words mean", (Listing(GLOSSARY),)))
    sections.append(Section("limits", "What this does not say", (Listing(LIMITS),)))
    low, high = settings["key_sizes"]
    facts = [
        ("Outputs", shown(about.get("outputs"))),
        ("Data", shown(about.get("data"))),
        ("Records", f"about {number(told['records'])}" if is_number(told["records"]) else shown(told["records"])),
        ("Keys", ", ".join(shown(key, 40) for key in settings["keys"])),
        (
            "Key sets",
            f"{settings['key_sets']:,}, of {low} to {high} keys"
            if low != high
            else f"{settings['key_sets']:,}, of {low} keys",
        ),
        ("Sensitive", ", ".join(shown(one, 40) for one in settings["sensitive"])),
        ("Datasets", f"{settings['syntheses']} for each fold"),
        ("Held out", percent(settings["holdout_share"])),
        ("Engine", shown(settings["engine"])),
        ("Seed", shown(settings["seed"])),
    ]
    facts += [("Released already", shown(about["released"]))] if about.get("released") else []
    run = told.get("run") or {}
    facts += [("Seconds", number(run["seconds"]))] if is_number(run.get("seconds")) else []
    facts += [("Date", shown(run["date"]))] if run.get("date") else []
    return page(title, sections, facts=facts, alarm=_alarm(told))


def _alarm(told: Data) -> str:
    word, worst = told["verdict"]["word"], told["rules"]["worst"]
    said = [] if word == "no excess found" else [f"{word[:1].upper()}{word[1:]}."]
    said += ["A rule failed."] if worst == "fail" else []
    unfinished = any(one["status"] == "not assessed" for one in told["rules"]["findings"])
    said += ["Not everything was looked at: a rule is not assessed to the end."] if unfinished else []
    return " ".join(said)


def _verdict(told: Data) -> tuple[Block, ...]:
    verdict, settings = told["verdict"], told["settings"]
    text = verdict["text"]
    blocks: list[Block] = [
        Paragraph(f"{text[:1].upper()}{text[1:]}.", "lead"),
        Paragraph(rules_sentence(told["rules"]), "lead"),
        Listing(tuple(verdict["sentences"])),
    ]
    if skipped := told["about"].get("skipped"):
        count = "1 result was" if len(skipped) == 1 else f"{len(skipped)} results were"
        blocks.append(Paragraph(f"{count} not checked, and nothing is said of them: see the outputs.", "strong"))
    if replaced := told["about"].get("by_recipe"):
        count = "1 result was" if len(replaced) == 1 else f"{len(replaced)} results were"
        blocks.append(Paragraph(f"{count} judged by a recipe, not by the files: see the outputs.", "strong"))
    for status, title in (("fail", "Rules that failed"), ("not assessed", "Rules that were not assessed to the end")):
        bad = [one for one in told["rules"]["findings"] if one["status"] == status]
        if bad:
            blocks.append(Paragraph(title, "strong"))
            blocks.append(Listing(tuple(f"{_names(one)}: {one['words']}" for one in bad[:10])))
            if len(bad) > 10:
                blocks.append(Paragraph(f"{len(bad) - 10} more are below.", "note"))
    how = (
        f"How it was measured: the people were divided at random into two folds{' ' + str(settings['repeat_splits']) + ' times' if settings['repeat_splits'] > 1 else ''}. "
        f"For each fold the outputs were computed from its people alone, and {settings['syntheses']} datasets were evolved from these numbers, without a look at any record. "
        "The datasets then were used to guess the sensitive attributes of the fold's people and of people held out."
    )
    blocks.append(Paragraph(how))
    if is_number(told["left_out"]) and told["left_out"] > 0:
        blocks.append(
            Paragraph(f"Records with missing values were left out: about {percent(told['left_out'])} of them.", "note")
        )
    return tuple(blocks)


def _names(one: Data) -> str:
    return shown(one["output"]) + (f" and {shown(one['other'])}" if one.get("other") else "")


def _outputs(told: Data) -> tuple[Block, ...]:
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
    worst = {name: min((ORDER.index(one["status"]) for one in told["rules"]["findings"] if name in (one["output"], one.get("other"))), default=len(ORDER) - 1) for name in (out["name"] for out in told["outputs"])}  # fmt: skip
    rows: list[Row] = []
    for one in told["outputs"]:
        fit = one["fit"] or {}
        same = {
            None: "none given: computed from the data",
            True: "are those of the data",
            False: "are not those of the data",
        }[one["consistent"]]
        rows.append(
            (
                Cell(shown(one["name"]), "released already" if one["released"] else ""), shown(one["kind"]), shown(one["statbarn"]),
                f"{fit['numbers']:,}" if fit else NONE, percent(fit.get("reached")), number(fit.get("mean")), number(fit.get("worst")), same,
                NONE if one["released"] and ORDER[worst[one["name"]]] == "pass" else Cell("", word=ORDER[worst[one["name"]]]),
            )
        )  # fmt: skip
    blocks: list[Block] = [
        Table("Each output, and how well datasets reproduce it", head, tuple(rows), numbers=frozenset({3, 4, 5, 6})),
        Paragraph(
            "Errors are absolute, in the output's own unit, over its numbers and all datasets; regressions are refitted by statsmodels, the rest is counted anew. "
            "A dataset has a number if it is within the precision it was printed with.", "note",
        ),
    ]  # fmt: skip
    if skipped := told["about"].get("skipped"):
        blocks.append(Paragraph("Not checked", "strong"))
        blocks.append(Listing(tuple(f"{shown(one['name'])}: {shown(one['reason'], 300)}" for one in skipped)))
    if replaced := told["about"].get("by_recipe"):
        blocks.append(
            Paragraph("Judged by a recipe that was given for the result, not by the result's own files", "strong")
        )
        blocks.append(
            Listing(
                tuple(
                    f"{shown(one['name'])}: {'can be read, and was replaced' if one['readable'] else 'cannot be read'}"
                    for one in replaced
                )
            )
        )
    return tuple(blocks)


def _attribution(told: Data, level: Any) -> tuple[Block, ...]:
    measures = told["all"]["measures"]
    return sides(measures, level), marginal(measures, level)


def _agreement(told: Data) -> tuple[Block, ...]:
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
            shown(one["sensitive"], 40), *(percent(one[name]) for name in ("pinned", "pinned_holdout", "right", "right_holdout")),
            estimate(one["excess"], plus=True),
        )
        for one in told["agreement"]
    )  # fmt: skip
    words = (
        "A dataset may be right by chance; where all that say anything of a person say the same, and at least half of them speak, it is a statement. "
        "These are shares of people, averaged over key sets and folds. The difference is of those agreed on rightly, with its interval. "
        "What would tell of fewer than ten people is not shown."
    )
    count = told["exposed_classes"]
    classes = "no class" if count == 0 else f"about {count:,} classes" if is_number(count) else "fewer than 10 classes"
    blocks: list[Block] = [
        Paragraph(words),
        Table("How often all datasets agree on a person's value", head, rows, numbers=frozenset(range(1, 6))),
        Paragraph(
            f"By keys, {classes} of people are given away so; which ones, and what to suppress, is written by --inside, and must stay inside.",
            "note",
        ),
    ]
    for one in told["agreement"]:
        by_keys = sorted((each for each in one["by_keys"] if is_number(each["right"])), key=lambda each: -each["right"])
        if by_keys:
            listed = tuple(
                (", ".join(shown(key, 40) for key in each["keys"]), percent(each["right"]))
                for each in by_keys[:MOST_KEYS]
            )
            caption = f"{shown(one['sensitive'], 40)}: people in the data on whom all agree rightly, by keys"
            table = Table(caption, ("Keys", "Share of people"), listed, numbers=frozenset({1}))
            blocks.append(Details(f"By set of keys: {shown(one['sensitive'], 40)}", (table,)))
    return tuple(blocks)


def _rules(rules: Data) -> tuple[Block, ...]:
    found = sorted(rules["findings"], key=lambda one: ORDER.index(one["status"]))
    rows = tuple(
        (_names(one), shown(one["statbarn"]), shown(one["rule"]), Cell("", word=one["status"]), one["words"])
        for one in found
    )
    head = ("Output", "Statbarn", "Rule", "Status", "Why")
    blocks: list[Block] = [Paragraph(rules_sentence(rules))]
    if rows:
        blocks.append(Table("What each rule says of each output", head, rows, wide=frozenset({4}), cards=True))
    blocks.append(Paragraph(f"Policy '{shown(rules['policy'])}', SHA-256 {shown(rules['policy_hash'], 64)}.", "note"))
    return tuple(blocks)


def _whole(told: Data) -> tuple[Block, ...]:
    head = ("Sensitive attribute", "Counted", "All key sets: mean", "sd", "Largest key set: mean", "sd", "Mean error")
    rows = tuple(
        (
            shown(one["sensitive"], 40), counted(one), fixed(one["mean"]), fixed(one["sd"]),
            fixed(one["full_mean"]), fixed(one["full_sd"]), number(one["error"]),
        )
        for one in told["whole"]
    )  # fmt: skip
    runs = told["whole"][0]["runs"]
    words = (
        f"Outputs of all the data, {runs} datasets evolved from them, TCAP against everybody: P1's experiment 1. There is no holdout here, so nothing of it says "
        "what comes from being in the data."
    )
    caption = f"TCAP over {runs} datasets"
    return Paragraph(words), Table(caption, head, rows, numbers=frozenset(range(2, 7)))
