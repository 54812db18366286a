"""What each step of a fit spends is what was planned."""

from __future__ import annotations

import pytest

from chaffinch.privacy.samplers import laplace_std
from chaffinch.synth.fieldgroups import FieldGroups
from chaffinch.synth.fieldgroups.groups import usable_pairs


@pytest.mark.parametrize(
    "options",
    [
        {"groups": [["c0", "c2"]]},
        {"groups": [["c0", "c2"]], "neighbours": "replace-one"},
        {},
        {"neighbours": "replace-one"},
        {"learning": 0.6},
        {"epsilon": 1e-4},
    ],
)
def test_charges_add_up_to_the_budget_and_are_those_of_the_plan(
    options, declared, private, random_codes
):
    sizes = (3, 2, 4)
    settings = FieldGroups(**{"epsilon": 2.0, **options})
    account = settings.fit(private(random_codes(3, sizes, 400), sizes), seed=1).fitted.privacy
    plan = settings.plan(declared(sizes, 400))
    assert account.spent == pytest.approx(settings.epsilon, rel=1e-9)
    assert account.spent <= settings.epsilon
    assert plan.total == pytest.approx(settings.epsilon, rel=1e-9)
    for why in ("groups", "tables"):
        spent = sum(c.epsilon for c in account.charges if c.why == why)
        assert spent == pytest.approx(
            sum(s.charge.epsilon * s.times for s in plan.steps if s.charge.why == why)
        )
    assert account.unit.neighbours == options.get("neighbours", "add-remove")


@pytest.mark.parametrize(
    ("neighbours", "persons", "scale"),
    [("add-remove", 1, 3), ("replace-one", 1, 6), ("add-remove", 4, 12)],
)
def test_the_noise_of_a_cell_has_the_scale_of_the_relation(
    neighbours, persons, scale, private, random_codes
):
    settings = FieldGroups(1.0, (), neighbours=neighbours, rows_per_person=persons)
    charges = settings.fit(
        private(random_codes(4, (2, 2, 2), 50), (2, 2, 2)), seed=1
    ).fitted.privacy.charges
    assert [c.noise for c in charges] == [f"standard deviation {laplace_std(scale):.4g}"] * 3


def test_nothing_is_spent_on_learning_that_noise_would_drown(private, random_codes):
    charges = (
        FieldGroups(0.01)
        .fit(private(random_codes(1, (3, 3, 3), 200), (3, 3, 3)), seed=1)
        .fitted.privacy.charges
    )
    assert [c.what for c in charges] == ["table of c0", "table of c1", "table of c2"]
    # Twenty columns of two levels, 400 rows, epsilon 1: each pair would be worth a table, but 190 distances for 0.15 have
    # noise of scale 190 / 2 / 0.15 = 633 records.
    sizes = (2,) * 20
    assert len(usable_pairs(sizes, 400, 0.7, 1)) == 190
    charges = (
        FieldGroups(1.0)
        .fit(private(random_codes(1, sizes, 400), sizes), seed=1)
        .fitted.privacy.charges
    )
    assert {c.why for c in charges} == {"tables"}
