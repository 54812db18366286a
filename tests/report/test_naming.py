"""Reports are named by what differs."""

from __future__ import annotations

from chaffinch.report.naming import differences, letter, names_of_reports
from chaffinch.report.page import report_of


def made(study, title="", **network):
    return report_of(study, title=title, synthesis={"seed": 1, "network": {"method": "bayesnet", "parents": 3, **network}})


def test_settings_come_before_files_and_dates(study_of):
    study = study_of(3)
    reports = [made(study), made(study, parents=5), made(study, sensitive=["age"])]
    assert [one.what for one in differences(reports)] == ["parents", "protected"]
    assert names_of_reports(reports) == ("parents 3, protected none", "parents 5, protected none", "parents 3, protected age")


def test_files_where_settings_are_the_same(study_of):
    one, other = study_of(3), study_of(3)
    other["about"]["synthetic"]["name"] = "other.parquet"
    assert names_of_reports([made(one), made(other)]) == ("synthetic.parquet", "other.parquet")


def test_reports_that_are_the_same_are_not_made_to_differ(study_of):
    assert differences([made(study_of(3)), made(study_of(3))]) == ()
    assert names_of_reports([made(study_of(3))] * 2) == ("synthetic.parquet",) * 2


def test_a_date_alone_is_a_difference_and_never_beside_others(study_of):
    one, other = study_of(3), study_of(3)
    other["run"]["date"] = "2025-11-16 09:00 UTC"
    assert names_of_reports([made(one), made(other)]) == ("2025-11-15 09:00 UTC", "2025-11-16 09:00 UTC")
    assert [fact.what for fact in differences([made(one), made(other, parents=5)])] == ["parents"]


def test_letters_do_not_end():
    assert [letter(i) for i in (0, 1, 25, 26, 27, 52)] == ["A", "B", "Z", "AA", "AB", "BA"]
