"""Reports are named by what differs."""

from __future__ import annotations

from chaffinch import BayesNet, Evolution
from chaffinch.report.result import report_of
from chaffinch.report.several import ReportDifference, differences, letter, names_of_reports


def made(study, title="", **network):
    return report_of(
        study,
        title=title,
        synthesis={"seed": 1, "network": {"method": "bayesnet", "parents": 3, **network}},
    )


def test_settings_come_before_files_and_dates(study_of):
    study = study_of(3)
    reports = [made(study), made(study, parents=5), made(study, sensitive=["age"])]
    assert [one.what for one in differences(reports)] == ["parents", "protected"]
    assert names_of_reports(reports) == (
        "parents 3, protected none",
        "parents 5, protected none",
        "parents 3, protected age",
    )


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
    assert names_of_reports([made(one), made(other)]) == (
        "2025-11-15 09:00 UTC",
        "2025-11-16 09:00 UTC",
    )
    assert [fact.what for fact in differences([made(one), made(other, parents=5)])] == ["parents"]


def test_letters_do_not_end():
    assert [letter(i) for i in (0, 1, 25, 26, 27, 52)] == ["A", "B", "Z", "AA", "AB", "BA"]


CHANGED = {
    "parents": 2,
    "search": "greedy",
    "score": "pairwise",
    "protect": "together",
    "keep": ("age",),
    "require": (("age", "sex"),),
    "forbid": (("age", "sex"),),
    "order": ("age", "sex"),
    "root": "age",
    "conditionals": "tables",
    "leaf": 30,
    "smoothing": 50.0,
    "penalty": 2.0,
    "evolution": Evolution(generations=7),
    "draw": "systematic",
    "rows_per_person": 2,
    "neighbours": "replace-one",
}
ELSEWHERE = {"label", "sensitive", "network", "epsilon", "delta"}


def test_every_setting_of_a_network_is_among_what_may_differ(study_of):
    """Each setting changed alone is a difference, by its name; others are told by what was learnt and promised."""
    assert set(CHANGED) | ELSEWHERE == set(BayesNet.setting_names())
    study = study_of(3)
    usual = report_of(
        study,
        title="",
        synthesis={"network": {"method": "bayesnet"}, "settings": BayesNet().plain_params()},
    )
    for name, value in CHANGED.items():
        changed = BayesNet().set_params(**{name: value})
        other = report_of(
            study,
            title="",
            synthesis={"network": {"method": "bayesnet"}, "settings": changed.plain_params()},
        )
        assert [one.what.split(".")[0] for one in differences([usual, other])][:1] == [name], name


def test_a_setting_that_was_left_alone_is_the_default(study_of):
    made_with = [BayesNet().plain_params(), BayesNet(root="age").plain_params()]
    reports = [
        report_of(study_of(3), title="", synthesis={"network": {}, "settings": settings})
        for settings in made_with
    ]
    assert differences(reports) == (ReportDifference("root", ("default", "age")),)
    assert [made_with[0]["smoothing"], BayesNet(smoothing=50).plain_params()["smoothing"]] == [
        3.0,
        50.0,
    ]


def test_runs_and_titles_come_first(study_of):
    study = study_of(3)
    reports = [made(study, title="First"), made(study, title="Second", parents=5)]
    assert names_of_reports(reports) == ("First: parents 3", "Second: parents 5")
    assert names_of_reports(reports, ["run 2", "run 7"]) == ("run 2: parents 3", "run 7: parents 5")
    assert names_of_reports([made(study), made(study)], ["run 2", "run 7"]) == ("run 2", "run 7")
