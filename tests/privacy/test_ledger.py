"""Budgets, charges, ledgers, plans and accounts."""

from __future__ import annotations

import copy
import json
import math
import threading
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import chaffinch
from chaffinch._base.errors import BudgetError, ChaffinchError, ClosedError, InputError
from chaffinch.privacy import accounting as acc
from chaffinch.privacy.accounting import amount_to_epsilon, epsilon_to_amount
from chaffinch.privacy.ledger import (
    ROUNDING,
    SLACK,
    Account,
    Budget,
    Charge,
    Ledger,
    Plan,
    Step,
    account_from_dict,
)
from chaffinch.privacy.relation import PrivacyUnit

UNIT = PrivacyUnit("add-remove")


def charge(what="table of age, sex", **cost) -> Charge:
    return Charge(
        what,
        "measure",
        mechanism="discrete Laplace",
        noise="scale 2",
        **(cost or {"epsilon": 0.25}),
    )


def example(**changes) -> Account:
    ledger = Ledger(Budget(1.0, 1e-9), PrivacyUnit("replace-one", 2), reserved_delta=2e-10)
    ledger.charge(charge("levels of town", epsilon=0.05, delta=1e-10))
    for name in ("age", "sex", "age, sex"):
        ledger.charge(charge(f"table of {name}", rho=0.002))
    return ledger.account(**({"test_only": False, "rows": 1000, "rows_how": "declared"} | changes))


def test_a_budget_says_what_there_is():
    assert (Budget(1.0).kind, Budget(1.0).total, Budget(1.0).delta_total) == ("pure", 1.0, 0.0)
    assert (Budget(1, 1e-9).kind, Budget(1, 1e-9).delta_total) == ("gaussian", 0.0)
    pure = Budget(1.0, 1e-6, "pure")
    assert (pure.kind, pure.total, pure.delta_total) == ("pure", 1.0, 1e-6)
    kept = Budget(1.0, 1e-9, "zcdp", reserved_delta=4e-10)
    # The second opinion: the rho of what is left of delta, lowered by the slack that sums may take.
    assert kept.total * (1 + SLACK) <= acc.epsilon_to_rho(1.0, 1e-9 - 4e-10)
    assert kept.total == pytest.approx(acc.epsilon_to_rho(1.0, 6e-10), rel=1e-8)
    assert kept.total < Budget(1.0, 1e-9, "zcdp").total
    assert Budget(1.0, 1e-9) == Budget(1.0, 1e-9, "gaussian")
    exact = Budget(1.0, 1e-9, reserved_delta=4e-10)
    assert exact.total * (1 + SLACK) <= epsilon_to_amount(
        1.0 - ROUNDING, 6e-10 * math.exp(-ROUNDING / 2)
    )
    assert exact.total == pytest.approx(epsilon_to_amount(1.0, 6e-10), rel=3e-4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Budget(0), "epsilon must be"),
        (lambda: Budget(math.inf, 1e-9), "epsilon must be"),
        (lambda: Budget(1.0, 0), "delta must be"),
        (lambda: Budget(1.0, None, "zcdp"), "needs a delta"),
        (lambda: Budget(1.0, 1e-9, "zdcp"), "Unknown accounting 'zdcp'. Did you mean 'zcdp'"),
        (lambda: Budget(1.0, 1e-9, reserved_delta=1e-9), "reserved_delta must be below delta"),
        (lambda: Budget(1.0, 1e-9, "pure", 1e-10), "Pure accounting keeps all"),
        (lambda: Budget(1.0, 1e-9, reserved_delta=math.nan), "reserved_delta must be"),
        (lambda: charge(epsilon=0.0), "epsilon of a charge must be"),
        (lambda: charge(rho=-1.0), "rho of a charge must be"),
        (lambda: charge(rho=math.nan), "rho of a charge must be"),
        (lambda: charge(delta=1e-9), "no touch of the data is free"),
        (lambda: charge(epsilon=1.0, delta=-1e-9), "delta of a charge"),
        (lambda: charge(epsilon=1.0, delta=False), "delta of a charge"),
        (lambda: charge(3, epsilon=1.0), "'what' of a charge must be text"),
        (lambda: Step(charge(), 0), "times of a planned charge"),
        (lambda: Step(charge(), True), "times of a planned charge"),
        (
            lambda: Account(Budget(1), UNIT, (), test_only=1, rows=0, rows_how="declared"),
            "test_only",
        ),
        (
            lambda: Account(Budget(1), UNIT, (), test_only=False, rows=-1, rows_how="declared"),
            "rows of an account",
        ),
        (
            lambda: Account(Budget(1), UNIT, (), test_only=False, rows=1, rows_how="guessed"),
            "Unknown way to know",
        ),
        (lambda: Ledger(Budget(1.0), UNIT).charge(charge(rho=0.01)), "has no pure epsilon"),
        (lambda: Ledger(Budget(1.0), UNIT).shares([1, 0]), "a part must be"),
    ],
)
def test_what_breaks_a_rule(make, words):
    with pytest.raises(chaffinch.errors.InputError, match=words):
        make()


def test_costs_by_hand():
    assert charge(epsilon=0.5).cost("pure") == 0.5
    assert charge(epsilon=0.5).cost("zcdp") == 0.125  # 0.5^2 / 2
    selection = charge(epsilon=0.5, rho=0.5**2 / 8)
    assert (selection.cost("pure"), selection.cost("zcdp")) == (0.5, 0.03125)


def test_the_message_of_a_refusal_and_that_nothing_is_recorded():
    ledger = Ledger(Budget(1.0), UNIT)
    ledger.charge(charge(epsilon=0.9))
    with pytest.raises(
        BudgetError,
        match=r"Privacy budget exceeded: 0\.2 asked, 0\.1 left of 1\.0\. These are epsilons; nothing was touched",
    ):
        ledger.charge(charge(epsilon=0.2))
    assert len(ledger.charges) == 1
    ledger.charge(charge(epsilon=0.1))  # what is left can still be had
    assert ledger.remaining == pytest.approx(0, abs=1e-12)
    with pytest.raises(BudgetError, match=r"1e-10 asked, 0\.0 left of 0\.0\. These are deltas"):
        Ledger(Budget(1.0), UNIT).charge(charge(epsilon=0.1, delta=1e-10))


def test_deltas_have_their_own_limit():
    pure = Ledger(Budget(1.0, 1e-6, "pure"), UNIT)
    pure.charge(charge(epsilon=0.5, delta=6e-7))
    with pytest.raises(BudgetError, match="These are deltas"):
        pure.charge(charge(epsilon=0.1, delta=6e-7))
    kept = Ledger(Budget(1.0, 1e-6), UNIT, reserved_delta=1e-7)
    kept.charge(charge(epsilon=0.01, delta=1e-7))
    with pytest.raises(BudgetError, match="These are deltas"):
        kept.charge(charge(epsilon=0.01, delta=1e-9))


def test_a_closed_ledger_takes_nothing():
    ledger = Ledger(Budget(1.0), UNIT)
    ledger.close()
    with pytest.raises(ClosedError, match="closed"):
        ledger.charge(charge())
    other = Ledger(Budget(1.0), UNIT)
    other.account(test_only=False, rows=1, rows_how="measured")
    with pytest.raises(ClosedError):
        other.charge(charge())


amounts = st.floats(1e-6, 2.0) | st.sampled_from([1e-300, 1e-12, 0.1, 1 / 3, 0.25, 1.0])


@given(
    st.sampled_from(
        [
            Budget(1.0),
            Budget(1.0, 1e-6, "pure"),
            Budget(2.0, 1e-6, "zcdp"),
            Budget(0.5, 1e-6, reserved_delta=5e-7),
            Budget(2.0, 1e-6),
        ]
    ),
    st.lists(
        st.tuples(amounts, st.none() | amounts, st.sampled_from([0.0, 1e-8, 3e-7])), max_size=40
    ),
)
@settings(deadline=None)
def test_a_ledger_never_overspends(budget, asked):
    ledger = Ledger(budget, UNIT)
    taken, refused = [], 0
    for epsilon, rho, delta in asked:
        one = charge(epsilon=epsilon, rho=rho, delta=delta)
        before = ledger.charges
        try:
            ledger.charge(one)
            taken.append(one)
        except BudgetError:
            refused += 1
            assert ledger.charges == before  # a refusal leaves no trace
    assert ledger.charges == tuple(taken)
    assert len(taken) + refused == len(asked)
    # In exact fractions, not in the floats of the code.
    costs = [
        c.epsilon if budget.kind == "pure" else c.rho if c.rho is not None else c.epsilon**2 / 2
        for c in taken
    ]
    if budget.kind == "gaussian":  # an epsilon costs at least what randomised response does
        costs = [
            max(c.rho or 0.0, 2 * float(norm.ppf(1 / (1 + math.exp(-c.epsilon)))) ** 2)
            for c in taken
        ]
    whole, deltas = (
        sum(map(Fraction, costs), Fraction(0)),
        sum((Fraction(c.delta) for c in taken), Fraction(0)),
    )
    slack = 1 + Fraction(11, 10**10)
    assert whole <= Fraction(budget.total) * slack
    assert deltas <= Fraction(budget.delta_total) * slack
    epsilon, delta = ledger.account(test_only=False, rows=0, rows_how="measured").spent_guarantee
    assert epsilon <= budget.epsilon * (1 + (2e-9 if budget.kind == "pure" else 0))
    assert delta <= (budget.delta or 0.0) * (1 + 2e-9)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30), st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_shares_split_all_that_is_left_and_no_more(parts, epsilon):
    ledger = Ledger(Budget(epsilon), UNIT)
    shares = ledger.shares(parts)
    assert math.fsum(shares) <= epsilon
    assert math.fsum(shares) == pytest.approx(epsilon, rel=1e-12)
    for part, share in zip(parts, shares, strict=True):
        assert share == pytest.approx(epsilon * part / math.fsum(parts), rel=1e-9)
    for share in shares:
        ledger.charge(charge(epsilon=share))


def test_threads_together_do_not_overspend():
    ledger = Ledger(Budget(1.0), UNIT)
    refused = []

    def spend():
        for _ in range(20):
            try:
                ledger.charge(charge(epsilon=0.02))
            except BudgetError:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.charges) == 50
    assert len(refused) == 8 * 20 - 50


@given(st.lists(st.tuples(st.floats(1e-4, 0.01), st.integers(1, 12)), max_size=8))
@settings(deadline=None)
def test_a_plan_is_what_happens(steps):
    plan = Plan(Budget(1.0), UNIT, tuple(Step(charge(epsilon=e), n) for e, n in steps))
    assert plan.total == math.fsum(e for e, n in steps for _ in range(n))
    ledger = plan.ledger()
    for step in plan.steps:
        for i in range(step.times):
            ledger.charge(step.on(f"table of c{i}"))
    account = ledger.account(test_only=False, rows=5, rows_how="measured")
    assert account.spent == plan.total
    assert sum(step["total"] for step in plan.to_dict()["steps"]) == pytest.approx(plan.total)
    assert json.loads(json.dumps(plan.to_dict())) == plan.to_dict()


def test_a_plan_that_does_not_fit_is_refused_before_anything():
    with pytest.raises(BudgetError, match=r"1\.1 asked, 1\.0 left of 1\.0"):
        Plan(Budget(1.0), UNIT, (Step(charge(epsilon=0.1), 11),))
    plan = Plan(Budget(1.0), UNIT, (Step(charge(epsilon=0.1), 10),))
    assert plan.rows_table() == [
        (
            "table of age, sex",
            "10",
            "epsilon 0.1",
            "epsilon 1",
            "discrete Laplace, scale 2",
            "measure",
        )
    ]


def test_an_account_in_words():
    account = example()
    assert account.sentence == (
        "Differentially private (epsilon 1, delta 1e-09; replace one person (at most 2 rows each)): no outcome is more than "
        "2.72 times as likely with the one table as with the other, plus a chance of 1e-09."
    )
    assert account.rho == account.budget.total
    assert account.spent == pytest.approx(2 * norm.ppf(1 / (1 + math.exp(-0.05))) ** 2 + 0.006)
    assert account.spent + account.unspent == pytest.approx(account.rho)
    epsilon, delta = account.spent_guarantee
    assert epsilon == pytest.approx(amount_to_epsilon(account.spent, 1e-9 - 2e-10), rel=3e-4)
    assert amount_to_epsilon(account.spent, 1e-9 - 2e-10) < epsilon < 1.0
    assert delta == pytest.approx(8e-10 + 1e-10)
    assert [row[:4] for row in account.rows_table()] == [
        ("levels of town", "1", "rho 0.001963, delta 1e-10", "rho 0.001963, delta 1e-10"),
        ("3 tables: age, sex, age × sex", "3", "rho 0.002", "rho 0.006"),
    ]
    assert "<caption>Differentially private" in account._repr_html_()
    assert "A delta of 2e-10 is kept" in account.conversion
    assert "operating-system entropy" in account.noise_source
    seeded = example(test_only=True)
    assert "no promise" in seeded.sentence
    assert "no privacy" in seeded.noise_source
    huge = Ledger(Budget(1e6), UNIT).account(test_only=False, rows=1, rows_how="measured")
    assert "e^1e+06 times" in huge.sentence
    assert huge.spent_guarantee == (0.0, 0.0)


def many() -> Account:
    """An account as a private network leaves it: many charges, each a little different."""
    ledger = Ledger(Budget(1.0, 1e-6), UNIT)
    for i in range(15):
        noise = f"standard deviation {20 + i / 4:.4g}"
        ledger.charge(
            Charge(
                f"table of c{i}",
                "single columns",
                rho=0.0001 + i * 1e-5,
                mechanism="G",
                noise=noise,
            )
        )
    for n, rho in ((105, 0.001), (1455, 0.0005)):
        what = f"distances of {n:,} tables from the model"
        ledger.charge(
            Charge(
                what,
                "what is worth measuring",
                rho=rho,
                mechanism="G",
                noise=f"standard deviation {n}",
            )
        )
    for n in (9, 1200, 12):
        score = f"score R on counts, sensitivity {n / 10}"
        ledger.charge(
            Charge(
                f"choice of one of {n:,} families",
                "structure",
                rho=0.0002,
                mechanism="E",
                noise=score,
            )
        )
    for i in range(20):
        noise = f"standard deviation {9 + i}" if i else "as it came"
        ledger.charge(
            Charge(
                f"table of c{i}, c{i + 1}",
                "links",
                rho=0.0003 + i * 1e-6,
                mechanism="G",
                noise=noise,
            )
        )
    return ledger.account(test_only=False, rows=1000, rows_how="declared")


def test_many_charges_make_a_few_rows():
    account = many()
    assert account.rows_table() == [
        (
            "15 tables of single columns: c0, c1, c2, c3 and 11 more",
            "15",
            "rho 0.0001 to 0.00024",
            "rho 0.00255",
            "G, standard deviation 20 to 23.5",
            "single columns",
        ),
        (
            "distances of 105 and 1,455 tables from the model",
            "2",
            "rho 0.0005 to 0.001",
            "rho 0.0015",
            "G, standard deviation 105 to 1455",
            "what is worth measuring",
        ),
        (
            "choice of one of 9 to 1,200 families",
            "3",
            "rho 0.0002",
            "rho 0.0006",
            "E, score R on counts, sensitivity 0.9 to 120.0",
            "structure",
        ),
        (
            "20 tables: c0 × c1, c1 × c2, c2 × c3, c3 × c4 and 16 more",
            "20",
            "rho 0.0003 to 0.000319",
            "rho 0.00619",
            "G",
            "links",
        ),
    ]
    assert len(account.to_dict()["charges"]) == 40  # all of them stay in the plain data


def test_what_was_discovered_shares_rows_by_kind():
    ledger = Ledger(Budget(1.0, 1e-6, "pure"), UNIT)
    for name, delta in (("a", 1e-8), ("b", 2e-8)):
        ledger.charge(
            Charge(
                f"levels of '{name}'", "discover", epsilon=0.1, delta=delta, mechanism="L", noise=""
            )
        )
    ledger.charge(Charge("bounds of 'x'", "discover", epsilon=0.1, mechanism="L", noise=""))
    ledger.charge(Charge("number of rows", "rows", epsilon=0.1, mechanism="L", noise="scale 1"))
    account = ledger.account(test_only=False, rows=1, rows_how="measured")
    assert account.rows_table() == [
        (
            "levels of 'a', 'b'",
            "2",
            "epsilon 0.1, delta 1e-08 to 2e-08",
            "epsilon 0.2, delta 3e-08",
            "L",
            "discover",
        ),
        ("bounds of 'x'", "1", "epsilon 0.1", "epsilon 0.1", "L", "discover"),
        ("number of rows", "1", "epsilon 0.1", "epsilon 0.1", "L, scale 1", "rows"),
    ]


words = st.sampled_from(
    [
        "table of a",
        "table of a, b",
        "choice of one of 3 families",
        "choice of x",
        "y",
        "levels of 'z'",
    ]
)
noises = st.sampled_from(["", "scale 2", "scale 1e-300", "standard deviation 3.", "1,000", "x9"])


@given(
    st.lists(st.tuples(words, noises, st.floats(1e-6, 0.01), st.sampled_from("ab")), max_size=30)
)
@settings(deadline=None)
def test_rows_lose_no_charge_and_no_cost(asked):
    charges = tuple(
        Charge(what, why, epsilon=cost, mechanism="m", noise=n) for what, n, cost, why in asked
    )
    account = Account(Budget(1.0), UNIT, charges, test_only=False, rows=1, rows_how="measured")
    rows = account.rows_table()
    assert sum(int(row[1]) for row in rows) == len(charges)
    told = sum(float(row[3].removeprefix("epsilon ")) for row in rows)
    assert told == pytest.approx(sum(c.epsilon for c in charges), rel=1e-3)  # four digits are shown


def test_names_of_columns_cannot_write_to_a_terminal():
    assert charge("table of \x1b[31mred\n", epsilon=1.0).what == "table of \ufffd[31mred\ufffd"
    table = replace(example(), charges=(charge("<script>", rho=0.001),))
    assert "<script>" not in table._repr_html_()


@pytest.mark.parametrize("changes", [{}, {"test_only": True}, {"rows": 0, "rows_how": "measured"}])
def test_an_account_survives_json(changes):
    account = example(**changes)
    text = json.dumps(account.to_dict(), allow_nan=False)
    assert account_from_dict(json.loads(text)) == account
    pure = Ledger(Budget(0.5), UNIT)
    pure.charge(charge())
    kept = pure.account(test_only=False, rows=3, rows_how="measured")
    assert account_from_dict(json.loads(json.dumps(kept.to_dict()))) == kept


BAD = [None, True, -1, 0.37, math.nan, math.inf, "x", [], {}, 10**400, [[[[]]]]]


def test_every_damage_to_an_account_is_found():
    good = json.loads(json.dumps(example().to_dict()))
    words = {"relation", "conversion", "sentence", "noise_source"}  # worked out anew, never read
    tried = 0
    for damaged in (None, [], "x", 3, {}, {**good, "more": 1}):
        with pytest.raises(chaffinch.errors.InputError, match="account of privacy is damaged"):
            account_from_dict(damaged)
    for name in good:
        with pytest.raises(chaffinch.errors.InputError):
            account_from_dict({k: v for k, v in good.items() if k != name})
        for bad in BAD:
            if (name in words and bad == "x") or (
                name in ("test_only", "by_person") and bad is True
            ):
                continue
            if name == "rows_per_person" and bad == 10**400:  # a whole number like any other
                continue
            with pytest.raises(chaffinch.errors.InputError):
                account_from_dict({**good, name: bad})
            tried += 1
    for name in good["charges"][0]:
        without = copy.deepcopy(good)
        del without["charges"][0][name]
        with pytest.raises(chaffinch.errors.InputError):
            account_from_dict(without)
        for bad in BAD:
            damaged = copy.deepcopy(good)
            if damaged["charges"][0][name] == bad or (
                isinstance(bad, str) and isinstance(good["charges"][0][name], str)
            ):
                continue
            damaged["charges"][0][name] = bad
            with pytest.raises(chaffinch.errors.InputError):
                account_from_dict(damaged)
            tried += 1
    assert tried > 200
    # Charges that add up to more than the budget, with sums to match, are no account.
    over = copy.deepcopy(good)
    over["charges"] += over["charges"][1:] * 3
    with pytest.raises(chaffinch.errors.InputError, match="damaged"):
        account_from_dict(over)


def test_pure_epsilons_add_and_zcdp_adds_rhos():
    charges = [charge(epsilon=0.25), charge(epsilon=0.5, delta=1e-9)]
    assert Budget(1.0).amounts(charges) == (0.75, 1e-9)
    rho, delta = Budget(1.0, 1e-6, "zcdp").amounts(charges)
    assert rho == pytest.approx((0.25**2 + 0.5**2) / 2)  # epsilon^2 / 2 each: Bun and Steinke 2016
    assert delta == 1e-9
    rho, delta = Budget(1.0, 1e-6).amounts(charges)
    # mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)) each: Dong, Roth and Su 2022, the corner of randomised response.
    mus = [2 * norm.ppf(exp(epsilon) / (1 + exp(epsilon))) for epsilon in (0.25, 0.5)]
    assert rho == pytest.approx(sum(mu**2 for mu in mus) / 2)
    assert delta == 1e-9


def test_how_charges_add_up_is_settled_by_public_numbers():
    assert [Budget(e, d).kind for e, d in ((1, None), (1, 1e-6), (10, 1e-6), (30, 1e-6))] == [
        "pure",
        "gaussian",
        "gaussian",
        "zcdp",
    ]
    for epsilon, delta in ((0.1, 1e-6), (1.0, 1e-6), (1.0, 1e-9), (8.0, 1e-5)):
        exact, fallback = Budget(epsilon, delta), Budget(epsilon, delta, "zcdp")
        assert (
            1.05 < exact.total / fallback.total < 1.25
        )  # so much more rho, and 2 to 12 % less noise
        share = 0.01
        assert (
            exact.noise(share * exact.total, l1=1, l2=1.0)[1]
            < 0.99 * fallback.noise(share * fallback.total, l1=1, l2=1.0)[1]
        )


def test_what_a_choice_may_be_for_an_amount():
    amount = 0.01
    assert Budget(1.0).choice_epsilon(amount, "permute-and-flip") == amount
    assert Budget(1.0, 1e-6, "zcdp").choice_epsilon(amount) == pytest.approx((8 * amount) ** 0.5)
    assert Budget(1.0, 1e-6, "zcdp").choice_epsilon(amount, "permute-and-flip") == pytest.approx(
        (2 * amount) ** 0.5
    )
    exact = Budget(1.0, 1e-6)
    assert exact.choice_epsilon(amount) == pytest.approx(
        2 * log(norm.cdf(0.02**0.5 / 2) / norm.sf(0.02**0.5 / 2))
    )
    assert exact.choice_epsilon(amount, "permute-and-flip") == exact.choice_epsilon(amount) / 2


def test_the_total_in_rho_comes_back_within_epsilon():
    budget = Budget(1.0, 1e-6, reserved_delta=1e-7)
    epsilon, delta = budget.guarantee(budget.total, budget.delta_total)
    assert epsilon <= 1.0
    assert epsilon == pytest.approx(1.0, rel=1e-6)
    assert delta == pytest.approx(1e-6)
    # Not more than the closed bound of the same paper: rho + 2 sqrt(rho ln(1/delta)).
    assert epsilon <= budget.total + 2 * math.sqrt(budget.total * math.log(1 / 9e-7))


def test_what_does_not_fit_is_refused():
    budget = Budget(1.0)
    budget.admit((0.6, 0.0), spent=(0.4, 0.0))
    with pytest.raises(BudgetError, match=r"0\.7 asked, 0\.6 left of 1\.0.*nothing was touched"):
        budget.admit((0.7, 0.0), spent=(0.4, 0.0))
    with pytest.raises(BudgetError, match="deltas"):
        budget.admit((0.1, 1e-9))


@pytest.mark.parametrize(
    "options",
    [
        {"accounting": "zcdp"},
        {"accounting": "renyi"},
        {"delta": 1e-6, "reserved_delta": 1e-6},
        {"reserved_delta": 1e-9},
    ],
)
def test_budgets_that_promise_nothing_sound_are_refused(options):
    with pytest.raises(ChaffinchError):
        Budget(1.0, **options)


def test_no_touch_is_free_and_names_cannot_steer_a_terminal():
    with pytest.raises(InputError, match="no touch of the data is free"):
        Charge("table of a", "measure", mechanism="discrete Laplace", noise="scale 1")
    with pytest.raises(InputError, match="Gaussian noise has no pure epsilon"):
        charge(rho=0.1).cost("pure")
    assert Charge("a\x1b[2J", "w", epsilon=1.0, mechanism="m", noise="n").what == "a\ufffd[2J"


def account(budget=None, charges=(), **options):
    chosen = {"test_only": False, "rows": 100, "rows_how": "declared", **options}
    return Account(budget or Budget(1.0), PrivacyUnit("add-remove"), tuple(charges), **chosen)


@pytest.mark.parametrize(
    "budget", [Budget(1.0), Budget(1.0, 1e-6), Budget(2.0, 1e-6, reserved_delta=1e-8)]
)
def test_an_account_goes_through_json(budget):
    one = account(budget, [charge(epsilon=0.05), charge("levels of job", epsilon=0.1)])
    assert account_from_dict(json.loads(json.dumps(one.to_dict()))) == one
    epsilon, _ = one.spent_guarantee
    assert 0 < epsilon < budget.epsilon
    assert one.spent + one.unspent == pytest.approx(budget.total)


@pytest.mark.parametrize(
    "change",
    [{"spent": 0.01}, {"epsilon": 0.5}, {"rows": -1}, {"charges": []}],
)
def test_a_forged_account_is_refused(change):
    plain = account(charges=[charge(epsilon=0.6)]).to_dict()
    with pytest.raises(InputError, match="The account of privacy is damaged"):
        account_from_dict({**plain, **change})
    with pytest.raises(InputError, match="damaged"):
        account_from_dict([plain])


def test_more_than_was_promised_cannot_be_accounted_for():
    with pytest.raises(BudgetError):
        account(charges=[charge(epsilon=0.6)] * 2)


def test_the_sentence_says_the_promise_rounded_up_and_a_seed_protects_nobody():
    words = account().sentence
    times = float(words.split("more than ")[1].split(" times")[0])
    assert math.e <= times <= math.e * 1.01
    assert "add or remove one record" in words
    assert account(test_only=True).sentence.startswith("TEST ONLY")


def test_charges_of_one_kind_share_a_row():
    one = account(
        charges=[
            charge(epsilon=0.1),
            charge("table of job", epsilon=0.2),
            charge("levels of job", epsilon=0.1),
        ]
    )
    assert len(one.rows_table()) == 2
    assert "table" in one._repr_html_()


def test_words_of_a_forged_account_are_not_believed():
    plain = {
        **account(charges=[charge(epsilon=0.6)]).to_dict(),
        "sentence": "Nothing can happen.",
    }
    assert account_from_dict(plain).sentence == account().sentence


def test_a_choice_that_nothing_came_after_is_told_at_its_own_price():
    """It was cheap for what was left; what of that was not spent does not count, so what was spent amounts to more."""
    budget = Budget(1.0, 1e-6)
    noise = Charge(
        "table of a", "measure", rho=0.3 * budget.total, mechanism="discrete Gaussian", noise=""
    )
    choice = Charge(
        "choice of one", "structure", rho=0.2 * budget.total, mechanism="exponential", noise=""
    )
    for charges, spent in (
        ([noise], 0.3),
        ([noise, choice], 0.3 + 0.2 * math.pi / 2),
        ([choice] * 4, 1.0),
    ):
        assert account(budget, charges).spent_guarantee[0] == pytest.approx(
            budget.guarantee(spent * budget.total, 0.0)[0]
        )
    assert account(budget, [choice] * 5).spent_guarantee[0] <= 1.0
    assert account(Budget(1.0, 1e-6, "zcdp"), [noise, choice]).spent_guarantee[0] < 1.0


def counts(rows):
    return np.bincount(np.array(rows, dtype=np.int64), minlength=3)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_distances_are_the_largest_that_one_person_can_make(m):
    persons = [p for n in range(m + 1) for p in combinations_with_replacement(range(3), n)]
    added = [counts(p) for p in persons]
    replaced = [counts(p) - counts(q) for p in persons for q in persons]
    for neighbours, changes in (("add-remove", added), ("replace-one", replaced)):
        unit = PrivacyUnit(neighbours, m)
        assert unit.l1 == max(int(abs(change).sum()) for change in changes)
        assert unit.l2_squared == max(int((change**2).sum()) for change in changes)
        assert unit.l2_up**2 >= unit.l2_squared
        assert unit.l2_up == pytest.approx(unit.l2_squared**0.5, rel=1e-11)


@pytest.mark.parametrize(
    ("neighbours", "m"), [("swap", 1), ("add-remove", 0), ("add-remove", True), ("add-remove", 1.5)]
)
def test_other_units_are_refused(neighbours, m):
    with pytest.raises(ChaffinchError):
        PrivacyUnit(neighbours, m)
