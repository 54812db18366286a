"""Survival tables of ACRO as Kaplan-Meier outputs."""

import pytest


def test_survival_is_counts(read, entries):
    entry = entries(read, "survival")[""]
    assert (entry["kind"], entry["time"], entry["event"], entry["level"]) == (
        "kaplan-meier",
        "wife_age",
        "uses",
        1,
    )
    assert entry["at_risk"][0] == 1473


TIMES = (
    ("Time", "Surv prob", "Surv prob SE", "num at risk", "num events"),
    ("1", "0.9", "0.1", "30", "3.0"),
)
SURVIVAL = {
    "method": "surv func",
    "independent": ("num at risk",),
    "summary": "KaplanMeier : \n",
    "rows": TIMES,
}


def test_a_survival_table_is_read(tmp_path, one):
    (output,) = one(
        tmp_path, **SURVIVAL, command="s.surv_func(df.c[df.a == 'x'], df.b, output='table')"
    ).outputs
    assert output.entry == {
        "name": "t",
        "kind": "kaplan-meier",
        "time": "c",
        "event": "b",
        "level": 1,
        "times": [1.0],
        "at_risk": [30],
        "events": [3],
        "where": "a == 'x'",
    }
    assert output.statbarn == "HazardSurvivalTables"


def test_an_event_that_is_a_comparison_is_a_level(tmp_path, one):
    (output,) = one(
        tmp_path, **SURVIVAL, command="s.surv_func(df.c, (df.a == 'x').astype(int), output='table')"
    ).outputs
    assert (output.entry["event"], output.entry["level"]) == ("a", "x")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"command": "s.surv_func("}, "cut off"),
        (
            {"command": "s.surv_func(time, status, output='table')"},
            "which columns are time and event",
        ),
        (
            {"command": "s.surv_func(df.c, df.q, output='table')"},
            "which columns are time and event",
        ),
        ({"command": "s.surv_func(df.c, df.b, 'table', entry=df.e)"}, "entry times"),
        ({"command": "s.surv_func(df.c, df.b, 'table', freq_weights=df.e)"}, "weights"),
        ({"command": "s.surv_func(df.c, df.a, 'table')"}, "no level 1"),
        (
            {"command": "s.surv_func(df.c, df.b, 'table')", "rows": (("Time", "n"), ("1", "2"))},
            "times, numbers at risk",
        ),
    ],
)
def test_survival_that_cannot_be_told_is_skipped_with_the_reason(tmp_path, what, words, one):
    found = one(tmp_path, **{**SURVIVAL, **what})
    assert found.outputs == ()
    assert words in found.skipped[0].reason
