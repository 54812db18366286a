"""Kaplan-Meier tables of R 4.2 (survival), and in the documented forms of Stata 17 and lifelines; second opinion: a product over the bundled records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import chaffinch
from chaffinch.outputs.readers.files.grids import csv_grid
from chaffinch.outputs.readers.files.numbers import position_of
from chaffinch.outputs.readers.files.programs.r_survival import read_r_survival
from chaffinch.outputs.readers.files.programs.stata import read_stata_logs
from chaffinch.outputs.readers.files.protocol import Annotation, LineError, OpenQuestionError
from chaffinch.outputs.readers.files.read import read_files
from chaffinch.outputs.readers.files.sheet_tables import grid_matches
from chaffinch.outputs.readers.files.survival_grid import ParsedSurvival
from chaffinch.outputs.rules import Policy

EXAMPLES = Path(__file__).parents[4] / "examples"
FOLDER, DATA = EXAMPLES / "outputs" / "brought_survival", EXAMPLES / "data" / "cmc.csv"
# summary(survfit(Surv(wife_age, contraceptive_method == 1) ~ wife_now_working, data = cmc), times = c(20, 30, 40))
BY_WORK = """Call: survfit(formula = Surv(wife_age, contraceptive_method == 1) ~
    wife_now_working, data = cmc)

                wife_now_working=0
 time n.risk n.event survival std.err lower 95% CI upper 95% CI
   20    366       4    0.989 0.00541        0.979        1.000
   30    239      72    0.772 0.02317        0.728        0.819
   40     78      55    0.517 0.03322        0.456        0.586

                wife_now_working=1
 time n.risk n.event survival std.err lower 95% CI upper 95% CI
   20   1071      31    0.972 0.00502        0.962        0.982
   30    628     170    0.791 0.01331        0.765        0.817
   40    262     122    0.572 0.01993        0.534        0.612
"""
# print(survfit(Surv(wife_age, contraceptive_method == 1) ~ 1, data = cmc))
MEDIANS = """Call: survfit(formula = Surv(wife_age, contraceptive_method == 1) ~
    1, data = cmc)

        n events median 0.95LCL 0.95UCL
[1,] 1473    629     42      42      43
"""


def parse(text: str, **keys: Any) -> ParsedSurvival:
    (match,) = read_r_survival(text.splitlines())
    parsed = match.parse(Annotation(**keys))
    assert isinstance(parsed, ParsedSurvival)
    return parsed


def product(records: pd.DataFrame, time: float) -> tuple[int, int, float]:
    """At risk, events at the time, and survival after it, by hand."""
    age, event = records.wife_age, records.contraceptive_method == 1
    survival = 1.0
    for other in sorted(set(age[event & (age <= time)])):
        survival *= 1.0 - ((age == other) & event).sum() / (age >= other).sum()
    return int((age >= time).sum()), int(((age == time) & event).sum()), survival


@pytest.mark.parametrize("name", ["r_survfit.txt", "stata_sts_list.log", "lifelines_survival.csv"])
def test_each_program_s_table_has_the_numbers_of_the_records(name: str) -> None:
    (output,) = (one for one in read_files([FOLDER]).outputs if one.name == name)
    survival, records = output.parsed, pd.read_csv(DATA)
    assert isinstance(survival, ParsedSurvival)
    assert (survival.variable, survival.event, survival.level) == (
        "wife_age",
        "contraceptive_method",
        1,
    )
    assert len(survival.groups) == 34
    for cell in survival.groups:
        at_risk, events, share = product(records, float(cell[-1]))
        numbers = {key: texts[cell] for key, texts in survival.numbers.items()}
        assert float(numbers["survival"]) == pytest.approx(share, abs=6e-4)
        assert "at_risk" not in numbers or int(numbers["at_risk"].replace(",", "")) == at_risk
        assert "events" not in numbers or int(numbers["events"]) == events
        assert all(position_of(text) is not None for text in numbers.values())


def test_with_records_the_numbers_are_compared_and_small_steps_fail() -> None:
    result = chaffinch.check(FOLDER, DATA, rules_only=True)
    assert {row.output: (row.verdict, row.why[0]) for row in result.summary} == dict.fromkeys(
        ("r_survfit.txt", "stata_sts_list.log", "lifelines_survival.csv"),
        ("fail", "survival steps"),
    )
    assert all(output.consistent for output in result.outputs)


def test_without_records_small_steps_fail_and_a_curve_alone_is_not_assessed() -> None:
    result = chaffinch.check(FOLDER, rules_only=True)
    verdicts = {row.output: row.verdict for row in result.summary}
    assert verdicts == {
        "r_survfit.txt": "fail",
        "stata_sts_list.log": "fail",
        "lifelines_survival.csv": "not assessed",
    }


def test_strata_are_outputs_of_their_own_and_events_at_times_asked_for_are_those_since(
    tmp_path: Path,
) -> None:
    survival = parse(BY_WORK)
    assert survival.by == ("wife_now_working",)
    assert survival.numbers["at_risk"]["1", "30"] == "628"
    (tmp_path / "km.txt").write_text(BY_WORK)
    result = chaffinch.check(tmp_path, DATA, rules_only=True)
    assert [output.name for output in result.outputs] == [
        "km.txt: wife_now_working=0",
        "km.txt: wife_now_working=1",
    ]
    assert all(output.consistent for output in result.outputs)
    (tmp_path / "km.txt").write_text(BY_WORK.replace(" 628 ", " 627 "))
    first, second = chaffinch.check(tmp_path, DATA, rules_only=True).outputs
    assert (first.consistent, second.consistent) == (True, False)


def test_large_steps_pass_and_those_since_the_time_before_need_the_records() -> None:
    head = "Call: survfit(formula = Surv(t, d) ~ 1, data = x)\n\n time n.risk n.event survival\n"
    large = parse(head + "    1    100      20    0.800\n    2     60      30    0.400\n")
    statuses = {finding.status for finding in large.findings("km", Policy())}
    assert statuses == {"pass"}
    small = parse(head + "    1    100       4    0.960\n    2     75      30    0.576\n")
    assert any(
        (finding.rule, finding.status) == ("survival steps", "fail")
        for finding in small.findings("km", Policy())
    )
    since = parse(head + "    1    100      20    0.700\n    2     60      30    0.400\n")
    assert "not assessed" in {finding.status for finding in since.findings("km", Policy())}


def test_what_is_not_said_is_asked() -> None:
    with pytest.raises(OpenQuestionError, match=r"Medians of survival are no kind of output"):
        parse(MEDIANS)
    with pytest.raises(LineError, match="no rows"):
        parse(BY_WORK[: BY_WORK.index("   20")])
    weighted = parse(BY_WORK.replace("data = cmc)", "data = cmc, weights = w)"))
    assert weighted.unresolved_reason == "it is weighted"
    other = parse(BY_WORK.replace("Surv(wife_age,", "Surv(start, wife_age,"))
    assert "Surv(TIME, EVENT == 1)" in other.unresolved_reason
    (match,) = grid_matches(csv_grid("timeline,KM_estimate\n0.0,1.0\n16.0,0.99\n"))
    curve = match.parse(Annotation())
    assert isinstance(curve, ParsedSurvival)
    assert curve.groups == (("16.0",),)
    assert "whose columns are not named" in curve.understood


def test_a_log_of_stata_by_groups_and_of_another_form() -> None:
    text = (FOLDER / "stata_sts_list.log").read_text(encoding="utf-8")
    lines = text.replace(". sts list", ". sts list, by(work)").splitlines()
    rule = next(k for k, line in enumerate(lines) if line.startswith("---"))
    by_groups = [*lines[: rule + 1], "work=1", *lines[rule + 1 : rule + 4], lines[-1]]
    (match,) = read_stata_logs(by_groups)
    parsed = match.parse(Annotation())
    assert isinstance(parsed, ParsedSurvival)
    assert (parsed.by, parsed.groups[0]) == (("work",), ("1", "16"))
    (match,) = read_stata_logs(text.replace("sts list", "sts list, failure").splitlines())
    with pytest.raises(OpenQuestionError, match="Give sts list alone"):
        match.parse(Annotation())
    (match,) = read_stata_logs(lines[: rule + 1])
    with pytest.raises(LineError, match="no rows"):
        match.parse(Annotation())
