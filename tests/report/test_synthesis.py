"""Why a table is as it is: protection is chosen, and what is bad has columns and a setting."""

from __future__ import annotations

from markupsafe import Markup

from chaffinch.report.result import report_of
from chaffinch.report.sections import PageTable
from chaffinch.report.synthesis import Choices, network_figures, why_section
from chaffinch.synth.account import SynthesisAccount


def made(**network) -> dict:
    return {
        "network": {
            "method": "bayesnet",
            "parents": 3,
            "nodes": ["age", "workclass"],
            "edges": [["age", "workclass"]],
            **network,
        }
    }


def choices(**network) -> Choices:
    return Choices(SynthesisAccount.from_dict(made(**network)))


def test_pairs_that_were_cut_or_tied_on_purpose_say_so():
    protected = choices(sensitive=["relationship"], label="income")
    assert protected.why(("relationship", "sex")) == "chosen: relationship is protected"
    assert protected.why(("relationship", "income")) == ""
    assert protected.why(("age", "sex")) == ""
    both = {"sensitive": ["a", "b"], "protection": {"protect": "together"}}
    assert choices(**both).why(("a", "b")) == ""
    assert choices(sensitive=["a", "b"]).why(("a", "b")) == "chosen: a and b are protected"
    assert choices(forbid=[["a", "b"]]).why(("b", "a")) == "chosen: this link was forbidden"
    assert choices(require=[["a", "b"]]).why(("a", "b")) == "chosen: this link was required"


def table_of(section, start: str) -> PageTable:
    return next(
        block
        for block in section.blocks
        if isinstance(block, PageTable) and block.caption.startswith(start)
    )


def test_bad_measures_name_their_columns_and_a_setting(study_of):
    study = study_of(6, noise=6.0)
    section = why_section(report_of(study, title="t", synthesis=made()))
    rows = {str(row[0]).partition(":")[0]: row for row in table_of(section, "What is bad").rows}
    pairs = rows["Distance of 2-way tables (TVD)"]
    assert pairs[1].startswith("age × workclass; ")
    assert "--parents 4" in pairs[2]
    assert "--require age:fnlwgt" in pairs[2]  # age and workclass are linked already
    assert all(row[2] for row in rows.values())


def test_what_protection_cost_is_not_called_damage(study_of):
    study = study_of(6, noise=6.0)
    cuts = [
        {"sensitive": "age", "other": name, "information": 0.1 * i, "through_label": 0.01}
        for i, name in enumerate(("workclass", "fnlwgt"))
    ]
    given = made(sensitive=["age", "workclass"], protection={"protect": "separate", "cuts": cuts})
    section = why_section(report_of(study, title="t", synthesis=given))
    bad = {str(row[0]).partition(":")[0]: row for row in table_of(section, "What is bad").rows}
    assert (
        bad["Distance of 2-way tables (TVD)"][2]
        == "Chosen, not damage. To have it back, take age, workclass out of --sensitive."
    )
    assert table_of(section, "Relations that protection cut").rows[0][:2] == (
        "age × fnlwgt",
        "0.100",
    )


def test_nothing_chosen_and_nothing_bad_needs_no_section(study_of, risk_of):
    assert why_section(report_of(study_of(6, noise=0.1), title="t")) is None
    assert why_section(report_of(title="t", risk=risk_of())) is None
    unknown = why_section(report_of(study_of(6, noise=6.0), title="t"))
    assert "How the table was made is not known here" in str(unknown)


def account(**network) -> SynthesisAccount:
    return SynthesisAccount.from_dict(
        {"network": {"method": "bayesnet", "nodes": ["a", "b", "c"], **network}}
    )


def test_links_stand_by_strength():
    of = account(edges=[["a", "b"], ["a", "c"]], strengths=[0.1, 0.4], require=[["a", "c"]])
    picture, links = network_figures(of, Markup("<svg></svg>"))
    assert picture.table.rows == (("a", "c", "0.4", "required"), ("a", "b", "0.1", ""))
    assert [row[0] for row in links.table.rows] == ["a → c", "a → b"]
    edges = [["a", f"b{i}"] for i in range(20)]
    many = account(nodes=["a", *(b for _, b in edges)], edges=edges, strengths=[0.1] * 20)
    assert ", the 15 strongest of 20 links" in network_figures(many, None)[-1].caption


def test_without_edges_or_strengths_nothing_is_made_up():
    assert network_figures(None, None) == []
    assert network_figures(account(), None) == []
    assert network_figures(account(edges=[["a", "b"]]), None) == []
