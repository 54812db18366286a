"""One-way analyses of variance: R's table, pandas' groups; derivatives; contradictions of groups; the rules behind it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chaffinch._base.errors import InputError
from chaffinch.outputs.contradictions import contradictions
from chaffinch.outputs.document import Outputs, recipes_of
from chaffinch.outputs.domain import Field, Fields
from chaffinch.outputs.rules import Policy, check_entries

ENTRY = {"kind": "anova", "of": "num_children", "by": ["wife_education"]}
# R 4.2.2: summary(aov(num_children ~ factor(wife_education), d))
R = {
    "dof_between": 3,
    "dof_within": 1469,
    "ss_between": 331.631152279,
    "ss_within": 7856.74087759,
    "ms_between": 110.543717426,
    "ms_within": 5.34836002559,
    "statistic": 20.6687128199,
    "p_value": 4.05683146047e-13,
}


def test_numbers_are_those_of_r(cmc: Any, agrees: Any, check: Any, slopes_hold: Any) -> None:
    groups = cmc.frame.groupby("wife_education", observed=True)["num_children"]
    more = {
        "counts": groups.size().tolist(),
        "means": groups.mean().tolist(),
        "sds": groups.std().tolist(),
    }
    share = R["ss_between"] / (R["ss_between"] + R["ss_within"])
    computed = agrees(cmc, ENTRY, {**R, **more, "eta_squared": share})
    assert check(computed, cmc.shuffled("num_children")) != []
    for system in computed.problem().outputs:
        if callable(getattr(system, "reported", None)):
            slopes_hold(system.reported, system.contributions(cmc.codes()).sum(axis=0))


def test_degrees_of_freedom_are_a_number_of_records(cmc: Any, agrees: Any) -> None:
    where = "wife_age >= 30"
    computed = agrees(
        cmc,
        {**ENTRY, "where": where},
        {"dof_between": 3, "dof_within": len(cmc.frame.query(where)) - 4},
    )
    (table,) = computed.problem().outputs
    assert table.name == "o0: degrees of freedom"
    assert table.lo.tolist() == [len(cmc.frame.query(where))]


def test_groups_that_no_records_have_are_named(cmc: Any) -> None:
    spec = cmc.spec({**ENTRY, "statistic": 20.67, "means": [3.1, 3.2, 30.0, 2.9]})
    assert "of its means, a mean lies outside" in str(contradictions(spec)[0])


def test_rules_and_what_cannot_be_computed() -> None:
    fields = Fields((Field("g", ("a", "b", "c")), Field("x", tuple(range(5)))))
    codes = np.array(
        [[0, k % 5] for k in range(30)] + [[1, k % 5] for k in range(30)] + [[2, 4]] * 3,
        dtype=np.int32,
    )
    entry = {"name": "a", "kind": "anova", "of": "x", "by": ["g"]}
    found = {
        one.rule: (one.status, one.where) for one in check_entries([entry], fields, codes, Policy())
    }
    assert found["threshold"] == ("fail", ("c",))
    assert check_entries([entry], fields, codes[:60], Policy()).worst == "pass"
    # Counts that withhold the small group beside an n that gives it back.
    counts = {**entry, "counts": True, "threshold": 10, "dof_within": True}
    rules = {one.rule: one.status for one in check_entries([counts], fields, codes, Policy())}
    assert rules["suppression undone"] == "fail"
    with pytest.raises(InputError, match="are in one group, or do not differ within"):
        recipes_of([entry], fields).computed(codes[:30])


def test_some_number_is_needed() -> None:
    columns = [{"name": "g", "levels": ["a", "b"]}, {"name": "x", "from": 0, "to": 3}]
    head = {"format": "chaffinch-outputs", "version": 1, "rows": 9, "columns": columns}
    with pytest.raises(InputError, match=r"has no numbers\. It may have statistic"):
        Outputs.from_dict(
            {**head, "outputs": [{"name": "a", "kind": "anova", "of": "x", "by": ["g"]}]}
        ).problem()
