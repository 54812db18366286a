"""A page on a membership attack: how well it is told who was in the data. No record and no target is on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .curves import Curve, Point, curves, frame
from .figures import Axis
from .page import page
from .sections import Block, Figure, Listing, Paragraph, Row, Section, Table
from .words import NONE, between, fixed, number, percent, shown

__all__ = ["attack_facts", "attack_settings", "membership_page"]

SIZE = (560.0, 400.0)


def membership_page(study: Mapping[str, Any], title: str = "Was this person in the data?") -> str:
    """Return one HTML file on a membership attack: the finding, rates beside the closest row, curves, and every target's AUC.

    Parameters
    ----------
    study
        Plain data as `MembershipStudy.to_dict` returns, or `chaffinch attack membership --json` writes.
    """
    sections = [
        Section("finding", "What was found", _finding(study)),
        Section("curve", "True positives against false ones", (_roc(study),)),
        Section("targets", "Each target", (_targets(study),)),
        Section("how", "How it was done", attack_settings(study)),
        Section("limits", "What this does not say", (Listing(_limits(study)),)),
    ]
    alarm = "Membership can be told from what is released." if study["above_baseline"] else ""
    return page(title, sections, facts=attack_facts(study), alarm=alarm)


def attack_facts(study: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return what was attacked, in names and words for the top of a page."""
    about = study.get("about") or {}
    facts = [("Data", shown(about["data"]))] if about.get("data") else []
    facts += [("Population", shown(about["population"]))] if about.get("population") else []
    facts += [
        ("Synthesiser", shown(_short(str(study["settings"]["synthesiser"])), 160)),
        ("Targets", f"{study['targets']:,}"),
        ("Subsets", f"{study['rows']:,} of {study['population']:,} records"),
    ]
    if date := (study.get("run") or {}).get("date"):
        facts.append(("Date", shown(date)))
    return tuple(facts)


def _short(words: str) -> str:
    """The name and the settings that a reader asks for first; the whole is in the table of settings."""
    name, bracket, rest = words.partition("(")
    wanted = ("parents=", "search=", "variant=", "epsilon=", "delta=")
    kept = [
        part for part in rest.rstrip(")").split(", ") if part.startswith(wanted) and not part.endswith(("None", "''"))
    ]
    return f"{name}({', '.join(kept)})" if bracket else name


def attack_settings(study: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return how attackers learnt, as a sentence and a table of settings."""
    told = study["settings"]
    design = {
        "shared": "All targets learn from the same fits; each is in some of them and not in the others.",
        "neighbours": "Each target has pairs of fits of its own that differ in one record: the target, or somebody in its place.",
    }[told["design"]]
    box = {
        "blackbox": "The attacker sees synthetic tables.",
        "whitebox": "The attacker sees the fitted model itself.",
    }[told["box"]]
    rows: list[Row] = [(shown(name), shown(value, 400)) for name, value in told.items()]
    left_out = study.get("duplicates_left_out")
    rows.append(("records left out, as others have the same values", shown(left_out)))
    words = (
        f"The attacker knows the population of {study['population']:,} records, the synthesiser and its settings, and all values of each "
        f"target, and wants to know whether the target is among the {study['rows']:,} records that a release was made from. {design} {box} Every fit has "
        "noise of its own. Rates are from fits that nobody learnt from, at thresholds chosen before."
    )
    return Paragraph(words), Table("Settings", ("Setting", "Value"), tuple(rows), wide=frozenset({1}))


def _finding(study: Mapping[str, Any]) -> tuple[Block, ...]:
    low, high = study["interval"]
    said = (
        "What is released tells who is in the data."
        if study["above_baseline"]
        else "No more was found than guessing gives."
    )
    lead = f"Members and others are told apart with AUC {fixed(study['auc'])} (95 % interval {fixed(low)} to {fixed(high)}); a guess has 0.5. {said}"
    sides = (
        ("Attackers, all targets", study["pooled"]),
        ("Closest row alone", study["closest_distance"]),
        ("Worst target", study["worst_target"]),
    )
    levels = [f"True positives at {100 * at['level']:g} % false" for at in study["pooled"]["at"]]
    rows: list[Row] = [
        (
            name, fixed(one["auc"]), _ends(one["auc_interval"]), fixed(one["advantage"]), _ends(one["advantage_interval"]),
            *(_rate(at) for at in one["at"]),
        )
        for name, one in sides
    ]  # fmt: skip
    head = ("", "AUC", "95 % interval", "Advantage", "95 % interval", *levels)
    table = Table("How well membership is told", head, tuple(rows), numbers=frozenset(range(1, len(head))))
    why = sorted({at["why_not"] for _, one in sides for at in one["at"] if at.get("why_not")})
    notes = [Paragraph(f"{NONE} means too few trials: {' '.join(shown(w, 200) for w in why)}", "note")] if why else []
    worst = (
        f"The worst target is the highest of {study['targets']:,}, and by chance alone the highest lies above the mean."
    )
    return Paragraph(lead, "lead"), table, *notes, Paragraph(worst, "note")


def _ends(ends: Sequence[float] | None) -> str:
    return NONE if ends is None else f"{fixed(ends[0])} to {fixed(ends[1])}"


def _rate(at: Mapping[str, Any]) -> str:
    if at["tpr"] is None:
        return NONE
    return f"{fixed(at['tpr'])} ({_ends(at['tpr_interval'])})"


def _roc(study: Mapping[str, Any]) -> Figure:
    (left, right), (bottom, top) = frame(SIZE)
    others = study["pooled"]["trials"]["others"]
    low = 10.0 ** -min(4, max(1, math.floor(math.log10(max(others, 1)))))
    across, up = Axis(low, 1.0, left, right, log=True), Axis(low, 1.0, bottom, top, log=True)
    sides = (("Attackers, all targets", study["pooled"]), ("Closest row alone", study["closest_distance"]))
    lines = [Curve(name, _stairs(one["roc"]["fpr"], one["roc"]["tpr"], low), marks=False) for name, one in sides]
    desc = f"Both axes are logarithmic, from {number(low)} to 1. AUC {fixed(study['auc'])}, by the closest row {fixed(study['closest_distance']['auc'])}."
    drawn = curves(
        "roc", "True against false positives", desc, lines, across=across, up=up, labels=("false positives", "true positives"),
        diagonal="A guess", size=SIZE,
    )  # fmt: skip
    rows = tuple(
        (number(at), *(fixed(_height(one["roc"], at)) for _, one in sides))
        for at in (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
        if at >= low
    )
    table = Table(
        "True positives where false ones are at most",
        ("False positives", *(name for name, _ in sides)),
        rows,
        numbers=frozenset({0, 1, 2}),
    )
    note = (
        "Left is what counts: an attacker who is rarely wrong about others. Curves are read off the test fits themselves, so they are a little kinder to "
        "attackers than the table above, whose thresholds were chosen before."
    )
    return Figure(
        "roc-figure", "True positives against false positives, both axes logarithmic", (drawn,), table, note=note
    )


def _stairs(fpr: Sequence[float], tpr: Sequence[float], low: float) -> tuple[Point, ...]:
    """A curve as stairs, never above itself, from `low` on: what lies left of it is one point, the highest there."""
    out = [(low, max(_height({"fpr": fpr, "tpr": tpr}, low), low))]
    for x, y in zip(fpr, tpr, strict=True):
        if x > low:
            out += [(x, out[-1][1]), (x, max(y, low))]
    return tuple(Point(x, y) for x, y in dict.fromkeys(out))


def _height(roc: Mapping[str, Sequence[float]], at: float) -> float:
    return max((y for x, y in zip(roc["fpr"], roc["tpr"], strict=True) if x <= at), default=0.0)


def _targets(study: Mapping[str, Any]) -> Figure:
    aucs = sorted(study["auc_of_targets"], reverse=True)
    size = (560.0, 330.0)
    (left, right), (bottom, top) = frame(size)
    across = Axis(0, max(len(aucs), 2), left, right)
    across.ticks = [tick for tick in across.ticks if tick == int(tick)]
    up = Axis(min(0.4, *aucs), 1.0, bottom, top)
    points = tuple(Point(i + 1, auc) for i, auc in enumerate(aucs))
    desc = f"{len(aucs)} targets, AUC from {fixed(aucs[-1])} to {fixed(aucs[0])}."
    drawn = curves(
        "aucs", "AUC of each target", desc, [Curve("One target", points, joined=False)], across=across, up=up,
        labels=("targets, the one told best first", "AUC"), level=("A guess: 0.5", 0.5), size=size,
    )  # fmt: skip
    shares = [
        (f"at least {edge:g}", percent(sum(a >= edge for a in aucs) / len(aucs)))
        for edge in (0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
    ]
    table = Table("Share of targets by AUC", ("AUC", "Share of targets"), tuple(shares), numbers=frozenset({1}))
    return Figure(
        "aucs-figure",
        "AUC of each target",
        (drawn,),
        table,
        note="A dot is a target. Who they are is in --inside alone.",
    )


def _limits(study: Mapping[str, Any]) -> tuple[str, ...]:
    low, high = study["interval"]
    return (
        f"Targets are the {study['targets']:,} most vulnerable records by their distance to others: people whom nobody resembles. Others are expected to be told less well.",
        "An attacker with less knowledge of the population does worse; one with another method may do better. An attack that fails proves nothing.",
        f"The interval, {between((low, high))}, is over fits. With other targets, or another population, it would be another number.",
        "Only a promise of differential privacy bounds every attacker.",
    )
