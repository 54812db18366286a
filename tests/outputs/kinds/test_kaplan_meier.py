"""Kaplan-Meier tables against statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

from chaffinch._base.errors import InputError
from chaffinch.outputs.check.assess import compare_published
from chaffinch.outputs.document import recipes_of
from chaffinch.outputs.rules import Policy, check_entries
from chaffinch.outputs.rules.cell_counts import tallies_of

COLUMNS = {"kind": "kaplan-meier", "time": "wife_age", "event": "media_exposure", "level": "poor"}


def survival_of(frame: Any) -> dict[str, list[float]]:
    """The table that statsmodels prints: times with events, survival, numbers at risk and events."""
    summary = sm.SurvfuncRight(
        frame["wife_age"], (frame["media_exposure"] == "poor").astype(int)
    ).summary()
    return {
        "times": [float(t) for t in summary.index],
        "at_risk": summary["num at risk"].astype(int).tolist(),
        "events": summary["num events"].astype(int).tolist(),
        "survival": [f"{s:.4f}" for s in summary["Surv prob"]],
    }


@pytest.mark.parametrize(
    "where", [None, "num_children >= 2", "num_children >= 5 or wife_education == 'none'"]
)
def test_kaplan_meier(cmc: Any, check: Any, slopes_hold: Any, where: str | None) -> None:
    kept = cmc.frame.query(where) if where else cmc.frame
    filtered = {} if where is None else {"where": where, "n": len(kept)}
    made = survival_of(kept)
    for keys in (["at_risk"], ["events"], ["survival"], ["at_risk", "events", "survival"]):
        spec = cmc.spec(
            {**COLUMNS, **filtered, "times": made["times"], **{key: made[key] for key in keys}}
        )
        assert check(spec, cmc.codes()) == []
        other = cmc.shuffled("media_exposure" if keys != ["at_risk"] or where else "wife_age")
        if keys == ["at_risk"]:
            older = cmc.frame.copy()
            older["wife_age"] = np.minimum(older["wife_age"] + 1, 49)
            other = cmc.codes(older)
        assert check(spec, other) != []
    system = next(o for o in spec.problem().outputs if o.name.endswith("survival"))
    slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0) + 1e-3)


def test_survival_at_a_few_times_and_rounded_numbers_at_risk(cmc: Any, check: Any) -> None:
    full = sm.SurvfuncRight(
        cmc.frame["wife_age"], (cmc.frame["media_exposure"] == "poor").astype(int)
    )
    times = [20, 30, 40]
    survival = [float(full.surv_prob[full.surv_times <= t][-1]) for t in times]
    at_risk = [int(np.round((cmc.frame["wife_age"] >= t).sum() / 5) * 5) for t in times]
    spec = cmc.spec(
        {**COLUMNS, "times": times, "survival": survival, "at_risk": at_risk, "base": 5}
    )
    assert check(spec, cmc.codes()) == []
    assert len(spec.problem().outputs) == 4
    assert check(spec, cmc.shuffled("media_exposure")) == ["o0: survival"]


def test_groups(cmc: Any, check: Any) -> None:
    every = [survival_of(part) for _, part in cmc.frame.groupby("wife_now_working", observed=False)]
    times = sorted({t for one in every for t in one["times"]})
    rows = [
        [
            [int((part["wife_age"] >= t).sum()) for t in times],
            [
                int(((part["wife_age"] == t) & (part["media_exposure"] == "poor")).sum())
                for t in times
            ],
        ]
        for _, part in cmc.frame.groupby("wife_now_working", observed=False)
    ]
    output = {
        **COLUMNS,
        "times": times,
        "by": ["wife_now_working"],
        "at_risk": [r[0] for r in rows],
        "events": [r[1] for r in rows],
    }
    spec = cmc.spec(output)
    assert check(spec, cmc.codes()) == []
    assert check(spec, cmc.shuffled("wife_now_working")) != []


def test_events_at_other_times(cmc: Any, check: Any) -> None:
    made = survival_of(cmc.frame)
    some = {"times": made["times"][::2], "events": made["events"][::2]}
    assert check(cmc.spec({**COLUMNS, **some}), cmc.codes()) == ["o0: events"]
    assert check(cmc.spec({**COLUMNS, **some, "complete": False}), cmc.codes()) == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"times": [20, 30]}, "must have at_risk, events or survival"),
        ({"times": [30, 20], "events": [1, 2]}, "times must rise"),
        ({"times": [20, 30], "events": [1]}, "events must have 2 numbers"),
        ({"times": [20, 30], "at_risk": [5, 6]}, "must not rise"),
        ({"times": [20, 60], "events": [5, 6]}, "beyond the values"),
        ({"times": [20], "survival": [1.5]}, "between 0 and 1"),
        ({"times": [20], "survival": [0.5], "level": "bad"}, "Unknown level"),
        (
            {"times": [20], "survival": [0.5], "event": "wife_education", "level": None},
            "must say which level",
        ),
    ],
)
def test_bad_tables(cmc: Any, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cmc.spec({**COLUMNS, **keys}).problem()


# R 4.2.2, survival: summary(survfit(Surv(wife_age, media_exposure) ~ contraceptive_method, d), times = c(20, 30, 40))
def test_a_risk_table_by_groups_is_that_of_r(cmc: Any, agrees: Any) -> None:
    entry = {
        "kind": "kaplan-meier",
        "time": "wife_age",
        "event": "media_exposure",
        "level": "poor",
        "times": [20, 30, 40],
        "by": ["contraceptive_method"],
        "complete": False,
    }
    survival = [
        0.998363338789,
        0.972184695436,
        0.871990050657,
        1.0,
        0.985972204327,
        0.964184474829,
        0.995967741935,
        0.973180463520,
        0.883938017967,
    ]
    agrees(
        cmc, entry, {"at_risk": [611, 375, 193, 330, 237, 92, 496, 255, 55], "survival": survival}
    )


def test_numbers_at_risk_are_counts_that_can_be_subtracted(cmc: Any) -> None:
    entry = {
        "name": "all",
        "kind": "kaplan-meier",
        "time": "wife_age",
        "event": "media_exposure",
        "level": "poor",
        "times": [25, 35],
        "at_risk": True,
    }
    # Three women of 49 with poor media, if so many, are left out: the tables differ by them.
    fewer = {**entry, "name": "fewer", "where": "wife_age < 49 or media_exposure == 'good'"}
    few = int(((cmc.frame["wife_age"] == 49) & (cmc.frame["media_exposure"] == "poor")).sum())
    assert 0 < few < 10
    report = check_entries([entry, fewer], cmc.spec().fields, cmc.codes(), Policy())
    assert [one.status for one in report if one.rule == "differencing" and one.other] == ["fail"]
    assert {
        one.rule: one.status
        for one in check_entries([entry], cmc.spec().fields, cmc.codes(), Policy())
    }["survival steps"] == "pass"
    late = {**entry, "times": [25, 48, 49]}
    assert {
        one.rule: one.status
        for one in check_entries(
            [late], cmc.spec().fields, cmc.codes(), Policy(survival_threshold=30)
        )
    }["survival steps"] == "fail"


# summary(survfit(Surv(wife_age, media_exposure == "poor") ~ 1), times = c(20, 30, 40)) of R has n.event since the time before, the first from the start.
COARSE = [20.0, 30.0, 40.0]


def since(frame: Any, low: float, high: float) -> int:
    return int(
        (
            (frame["media_exposure"] == "poor")
            & (frame["wife_age"] > low)
            & (frame["wife_age"] <= high)
        ).sum()
    )


def test_events_since_the_time_before_as_r_prints_them(cmc: Any, check: Any) -> None:
    poor = cmc.frame["media_exposure"] == "poor"
    events = [since(cmc.frame, low, high) for low, high in ((-np.inf, 20), (20, 30), (30, 40))]
    at_risk = [int((cmc.frame["wife_age"] >= t).sum()) for t in COARSE]
    full = sm.SurvfuncRight(cmc.frame["wife_age"], poor.astype(int))
    survival = [f"{float(full.surv_prob[full.surv_times <= t][-1]):.4f}" for t in COARSE]
    entry = {
        **COLUMNS,
        "times": COARSE,
        "at_risk": at_risk,
        "events": events,
        "survival": survival,
        "events_counted": "since",
    }
    assert check(cmc.spec(entry), cmc.codes()) == []
    assert check(cmc.spec(entry), cmc.shuffled("media_exposure")) != []
    recipe, fields = (
        {**COLUMNS, "name": "k", "times": COARSE, "events": True, "events_counted": "since"},
        cmc.spec(entry).fields,
    )
    assert recipes_of([recipe], fields).computed(cmc.codes()).outputs[0].events == events
    for words in ({"events_counted": "since"}, {"events_counted": "at"}):
        found = compare_published(
            recipes_of([{**entry, "name": "k", **words}], fields), cmc.codes()
        )
        said = 'Its events are those since the time before, as R prints them. Say so: events_counted = "since".'
        assert (found.differing, found.unseen) == (
            (),
            {} if words["events_counted"] == "since" else {"k": said},
        )
    cells = next(
        one
        for one in tallies_of(recipes_of([recipe], fields).outputs[0], fields, cmc.codes())
        if one.part_name == "events"
    )
    assert cells.counts.tolist() == events
    assert cells.called([1]) == ["up to 30"]
