"""Opening data for a private fit: rows, persons, discovery, and budgets that are none."""

from __future__ import annotations

import io
import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import chaffinch
from chaffinch import Column, Schema
from chaffinch._base.errors import BudgetError, InputError, PrivacyError
from chaffinch.counts import MemoryCounter
from chaffinch.errors import ParsedDataWarning
from chaffinch.privacy.discover import gaussian_tail, noise_law, threshold
from chaffinch.privacy.ledger import Budget
from chaffinch.privacy.prepare import prepare
from chaffinch.privacy.project import create_project
from chaffinch.privacy.relation import PrivacyUnit
from chaffinch.privacy.session import (
    DELTA_SHARE,
    DISCOVERY_SHARE,
    ROWS_SHARE,
    DataWithoutDomain,
    changed_by_parsing,
    discovery_price,
    open_lazy_source,
    plan_budget,
    promised_schema,
    public_rows,
    reads_as_another,
    start_private_session,
)
from chaffinch.synth import BayesNet, FieldGroups, Network, PrivBayes
from chaffinch.synth.privbayes import VARIANTS

ADD, REPLACE = PrivacyUnit("add-remove"), PrivacyUnit("replace-one")
COLUMNS = (
    Column("a", "categorical", levels=("x", "y")),
    Column("b", "integer", bounds=(0, 9), bins=5),
)


def schema(rows=None, columns=COLUMNS):
    return Schema(columns, public=True, rows=rows)


def data(n=60, **more):
    rng = np.random.default_rng(0)
    return pa.table({"a": rng.choice(["x", "y"], n).tolist(), "b": rng.integers(0, 10, n), **more})


# The number of rows


def test_declared_rows_cost_nothing():
    """Under add-remove whether a declaration is right may not show: the number of rows is private."""
    for unit, rows in ((ADD, 60), (ADD, 7), (REPLACE, 60), (PrivacyUnit("replace-one", 2), 60)):
        counter = start_private_session(
            chaffinch.prepare(data(), schema(rows)), Budget(1.0), unit, seed=1
        )
        assert public_rows(counter) == (rows, "declared")
        assert counter.ledger.charges == ()


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-6)], ids=["pure", "zcdp"])
def test_rows_are_measured_for_a_small_share(budget):
    for unit in (ADD, PrivacyUnit("replace-one", 2)):
        counter = start_private_session(chaffinch.prepare(data(), schema()), budget, unit, seed=1)
        rows, how = public_rows(counter)
        assert how == "measured"
        assert rows >= 0
        assert counter.ledger.spent == pytest.approx(ROWS_SHARE * budget.total)


def test_under_replace_one_rows_are_declared_and_right():
    with pytest.raises(
        PrivacyError,
        match=r"must be declared: write rows = N .* or choose neighbours = 'add-remove'",
    ):
        start_private_session(chaffinch.prepare(data(), schema()), Budget(1.0), REPLACE, seed=1)
    for fitting in (PrivBayes(epsilon=1.0), BayesNet(epsilon=1.0, neighbours="replace-one")):
        with pytest.raises(
            PrivacyError, match="declares rows = 59, but the table has another number"
        ) as caught:
            fitting.fit(chaffinch.prepare(data(), schema(59)), seed=1)
        assert "60" not in str(caught.value)


# Persons


def test_more_rows_of_a_person_than_the_promise_speaks_of():
    who = pa.array(np.arange(60) // 3)
    columns = (*COLUMNS, Column("who", "identifier"))
    table = chaffinch.prepare(data(who=who), schema(60, columns), person="who", rows_per_person=3)
    assert isinstance(table, chaffinch.Table)
    with pytest.raises(PrivacyError, match="up to 3 rows of a person, but the settings protect 1"):
        BayesNet(epsilon=1.0).fit(table, seed=1)
    with pytest.raises(PrivacyError, match="rows_per_person = 3 to both"):
        start_private_session(MemoryCounter(table), Budget(1.0), PrivacyUnit("add-remove", 2))
    account = BayesNet(epsilon=1.0, rows_per_person=3).fit(table, seed=1).fitted.privacy
    assert account.unit == PrivacyUnit("add-remove", 3, by_person=True)
    one = chaffinch.prepare(data(who=who), schema(60, columns), person="who", rows_per_person=1)
    with pytest.raises(PrivacyError, match="use neighbours = 'add-remove' where one row is kept"):
        PrivBayes(epsilon=1.0).fit(one, seed=1)


def test_a_person_in_data_to_be_discovered_counts_too():
    columns = (
        replace(COLUMNS[0], levels=None, discover=True),
        COLUMNS[1],
        Column("who", "identifier"),
    )
    waiting = chaffinch.prepare(
        data(who=pa.array(np.arange(60) // 3)), schema(60, columns), person="who", rows_per_person=3
    )
    with pytest.raises(PrivacyError, match="up to 3 rows of a person"):
        start_private_session(waiting, Budget(1.0, 1e-6), ADD, seed=1)


# Discovery


def waiting(n=4000):
    columns = (
        replace(COLUMNS[0], levels=None, discover=True),
        Column("b", "integer", discover=True, bins=5),
    )
    return chaffinch.prepare(data(n), schema(n, columns))


def test_what_is_to_be_discovered_is_named_and_holds_no_value():
    found = waiting()
    assert isinstance(found, DataWithoutDomain)
    assert repr(found) == "DataWithoutDomain(a, b)"


def test_discovery_under_pure_epsilon():
    budget = Budget(4.0, 1e-6, "pure")
    counter = start_private_session(waiting(), budget, ADD, seed=1)
    charges = counter.ledger.charges
    assert math.fsum(c.epsilon for c in charges) <= DISCOVERY_SHARE * 4.0 * (1 + 1e-9)
    assert math.fsum(c.epsilon for c in charges) == pytest.approx(DISCOVERY_SHARE * 4.0)
    assert 0 < math.fsum(c.delta for c in charges) <= 1e-6 * (1 + 1e-9)
    assert counter.schema.sealed
    assert {"x", "y"} <= set(counter.schema["a"].levels)


@pytest.mark.parametrize("kind", ["gaussian", "zcdp"])
def test_discovery_in_rho(kind):
    budget = Budget(4.0, 1e-6, kind)
    counter = start_private_session(waiting(), budget, ADD, seed=1)
    ledger = counter.ledger
    assert ledger.budget.reserved_delta == pytest.approx(DELTA_SHARE * 1e-6)
    assert ledger.total < budget.total  # a part of delta is kept for words, so rho is a little less
    assert ledger.total == pytest.approx(
        Budget(4.0, (1 - DELTA_SHARE) * 1e-6, kind).total, rel=1e-6
    )
    assert all(
        charge.epsilon is None and "discrete Gaussian" in charge.mechanism
        for charge in ledger.charges
    )
    assert ledger.spent == pytest.approx(math.fsum(c.rho for c in ledger.charges))
    assert ledger.spent == pytest.approx(DISCOVERY_SHARE * ledger.total)
    assert math.fsum(c.delta for c in ledger.charges) == pytest.approx(DELTA_SHARE * 1e-6)


@pytest.mark.parametrize(
    "settings",
    [PrivBayes(epsilon=4.0, delta=1e-6), BayesNet(epsilon=4.0, delta=1e-6)],
    ids=["privbayes", "bayesnet"],
)
def test_a_fit_that_discovers_stays_within_its_budget(settings):
    model = settings.fit(waiting(), seed=2)
    account = model.fitted.privacy
    assert account.spent <= account.budget.total * (1 + 1e-9)
    assert account.spent == pytest.approx(account.budget.total, rel=1e-6)
    epsilon, delta = account.spent_guarantee
    assert epsilon <= 4.0 * (1 + 1e-6)
    assert delta <= 1e-6 * (1 + 1e-6)
    assert model.sample(10, seed=1).n_rows == 10
    assert waiting().under(model.schema).schema.names == ("a", "b")


@pytest.mark.parametrize(
    "settings", [PrivBayes(epsilon=4.0), BayesNet(epsilon=4.0)], ids=["privbayes", "bayesnet"]
)
def test_words_are_not_discovered_without_a_delta(settings):
    with pytest.raises(PrivacyError, match="delta"):
        settings.fit(waiting(), seed=1)


def test_numbers_are_discovered_without_a_delta():
    columns = (COLUMNS[0], Column("b", "integer", discover=True, bins=5))
    model = BayesNet(epsilon=4.0).fit(chaffinch.prepare(data(4000), schema(4000, columns)), seed=1)
    assert model.fitted.privacy.budget.delta is None
    assert all(charge.delta == 0 for charge in model.fitted.privacy.charges)


# What is decided beforehand is what is spent

METHODS = {
    "network, zCDP": BayesNet(epsilon=2.0, delta=1e-6),
    "network, pure": BayesNet(epsilon=2.0),
    "network, genetic, zCDP": BayesNet(epsilon=2.0, delta=1e-6, search="genetic"),
    "network, genetic, pure": BayesNet(epsilon=2.0, search="genetic"),
    **{
        f"privbayes {variant}": PrivBayes(epsilon=2.0, delta=1e-6, variant=variant)
        for variant in VARIANTS
    },
    "privbayes without a delta": PrivBayes(epsilon=2.0),
    "fieldgroups": FieldGroups(epsilon=2.0, delta=1e-6),
    "fieldgroups, given": FieldGroups(epsilon=2.0, groups=[["a", "b"]]),
}
WORDS = replace(COLUMNS[0], levels=None, discover=True)
DOMAINS = {
    "declared": COLUMNS,
    "words": (WORDS, COLUMNS[1]),
    "two columns of words": (WORDS, COLUMNS[1], replace(WORDS, name="c")),
    "numbers": (COLUMNS[0], Column("b", "integer", discover=True, bins=5)),
    "numbers with bounds": (COLUMNS[0], replace(COLUMNS[1], discover=True)),
    "words and numbers": (WORDS, Column("b", "float", discover=True, binning="width", bins=3)),
}
UNITS = [ADD, REPLACE, PrivacyUnit("add-remove", 3), PrivacyUnit("replace-one", 3)]


def booked(release):
    """Return what a project ledger holds of a release: its budget and its relation."""
    entry = release.to_dict()
    return {name: entry[name] for name in entry if name not in ("label", "when", "test_only")}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.description)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("method", METHODS)
def test_the_project_ledger_books_what_the_account_says(method, domain, unit, tmp_path):
    """The preview, the entry in the project ledger and the account of the model are one: budget, relation, delta, charges."""
    settings = replace(
        METHODS[method], neighbours=unit.neighbours, rows_per_person=unit.rows_per_person
    )
    columns, several = DOMAINS[domain], unit.rows_per_person > 1
    frame = data(
        90,
        **{c.name: ["x", "y", "x"] * 30 for c in columns[2:]},
        **({"who": list(range(45)) * 2} if several else {}),
    )
    person = {"person": "who", "rows_per_person": unit.rows_per_person} if several else {}
    for rows in (90, None):
        declared = schema(rows, (*columns, *([Column("who", "identifier")] if several else [])))
        declared = promised_schema(declared, **person) if several else declared
        if (settings.delta is None and "words" in domain) or (rows is None and unit == REPLACE):
            with pytest.raises(PrivacyError):
                settings.plan(declared)
            continue
        plan = settings.plan(declared)
        project = create_project(tmp_path / f"{rows}.json", data="d").spend(plan, "r")
        account = settings.fit(chaffinch.prepare(frame, declared, **person), seed=3).fitted.privacy
        told = account.to_dict()
        entry = booked(project.releases[0])
        assert entry == {name: told[name] for name in entry}
        assert (project.releases[0].budget, project.releases[0].unit) == (
            account.budget,
            account.unit,
        )
        opening = plan_budget(declared, settings.budget, settings.unit)
        assert (
            account.charges[: len(opening.charges)] == opening.charges
        )  # discovery, then the number of rows
        assert [step.charge for step in plan.steps[: len(opening.charges)]] == list(opening.charges)
        assert plan.total == pytest.approx(account.budget.total, rel=1e-9)
        assert math.fsum(charge.delta for charge in account.charges) == pytest.approx(
            account.budget.delta_total if "words" in domain else 0.0, rel=1e-9
        )


@pytest.mark.parametrize(
    "settings", [PrivBayes(epsilon=1.0, delta=1e-6), FieldGroups(epsilon=1.0, delta=1e-6)], ids=str
)
def test_a_delta_that_nothing_needs_is_not_booked(settings, tmp_path):
    """Under pure epsilon a delta serves for words that are to be discovered, and for nothing else."""
    settings = replace(settings, neighbours="add-remove")
    project = create_project(
        tmp_path / "p.json", epsilon=10.0, data="d"
    )  # a limit without a delta: none may be spent
    for name in ("declared", "numbers", "numbers with bounds"):
        declared = schema(90, DOMAINS[name])
        project = project.spend(settings.plan(declared), name)
        account = settings.fit(chaffinch.prepare(data(90), declared), seed=1).fitted.privacy
        assert (account.delta, account.spent_guarantee[1]) == (None, 0.0)
        assert "delta" not in account.sentence
    assert (project.totals.epsilon, project.totals.delta) == (3.0, 0.0)
    with pytest.raises(BudgetError, match="deltas would add up to 1e-06"):
        project.spend(settings.plan(schema(90, DOMAINS["words"])), "words")


def test_a_limit_on_delta_holds_for_words_too(tmp_path):
    """Each fit keeps a tenth of its delta for words, and the ledger adds these up: the tenth leaves nothing to turn rho into epsilon.

    Where the ledger forgot them, any number of fits was admitted, and a word of one person came out with a chance above the limit.
    """
    settings = BayesNet(epsilon=1.0, delta=1e-6)
    declared = schema(4000, DOMAINS["words"])
    project = create_project(tmp_path / "p.json", epsilon=10.0, delta=1e-6, data="d")
    plan = settings.plan(declared)
    for i in range(9):
        project.spend(plan, f"release {i}")
    with pytest.raises(
        BudgetError,
        match=r"deltas would add up to 1e-05, and the limit of 'd' has a delta of 1e-06",
    ):
        project.spend(plan, "tenth")
    (paid,) = (c for c in plan.charges() if c.delta)
    law = noise_law(plan.budget, ADD, paid)
    alone = gaussian_tail(threshold(ADD, law, delta=paid.delta) - 1, law.scale)
    assert 0.5e-7 < alone <= 1e-7 == pytest.approx(paid.delta)
    assert 1 - (1 - alone) ** 9 < 1e-6


def test_what_cannot_be_fitted_is_refused_before_it_is_booked():
    waiting = schema(60, DOMAINS["words"])
    with pytest.raises(InputError, match="Unknown column 'incme'"):
        BayesNet(epsilon=1.0, delta=1e-6, root="incme").plan(waiting)
    with pytest.raises(InputError, match="must have the columns of the table"):
        BayesNet(epsilon=1.0, network=Network(("a",), ((),))).plan(schema(60))
    with pytest.raises(InputError, match="Unknown column 'incme'"):
        FieldGroups(epsilon=1.0, delta=1e-6, groups=[["incme"]]).plan(waiting)
    narrow = (WORDS, Column("b", "integer", bounds=(0.2, 0.8)))
    with pytest.raises(PrivacyError, match="'b': its bounds hold fewer than two whole numbers"):
        BayesNet(epsilon=1.0, delta=1e-6).plan(schema(60, narrow))
    dates = (replace(WORDS, type="date32"), COLUMNS[1])
    with pytest.raises(PrivacyError, match="declare kind date or datetime"):
        BayesNet(epsilon=1.0, delta=1e-6).plan(schema(60, dates))
    person = promised_schema(
        schema(60, (*COLUMNS, Column("who", "identifier"))), person="who", rows_per_person=1
    )
    with pytest.raises(
        PrivacyError, match="With a person's identifier the number of rows is private"
    ):
        PrivBayes(epsilon=1.0).plan(person)


# Sealing, and budgets that are none


def test_a_table_that_declares_its_domain_is_coded_by_the_declaration():
    table = chaffinch.read(data(), schema(60))
    assert not table.schema.sealed
    counter = start_private_session(table, Budget(1.0), ADD, seed=1)
    assert counter.schema.sealed
    with pytest.raises(PrivacyError, match="public"):
        start_private_session(chaffinch.read(data()), Budget(1.0), ADD, seed=1)


@pytest.mark.parametrize("epsilon", [0, 0.0, -1.0, math.nan, math.inf, -math.inf, "1", True, []])
@pytest.mark.parametrize("settings", [PrivBayes, BayesNet])
def test_an_epsilon_that_is_none(settings, epsilon):
    with pytest.raises(InputError, match="epsilon"):
        settings(epsilon=epsilon)


@pytest.mark.parametrize("delta", [0, 0.0, -1e-9, 1.0, math.nan, math.inf, "1e-6", True])
@pytest.mark.parametrize("settings", [PrivBayes, BayesNet])
def test_a_delta_that_is_none(settings, delta):
    with pytest.raises(InputError, match="delta"):
        settings(epsilon=1.0, delta=delta)


def test_no_epsilon_is_never_a_private_fit():
    with pytest.raises(
        InputError, match=r"PrivBayes needs epsilon. For no privacy use BayesNet\(search='greedy'\)"
    ):
        PrivBayes(epsilon=None)
    assert BayesNet().fit(chaffinch.read(data()), seed=1).fitted.privacy is None
    with pytest.raises(InputError, match="delta is part of a privacy guarantee: give epsilon too"):
        BayesNet(delta=1e-6)
    with pytest.raises(InputError, match="There is no budget without epsilon"):
        _ = BayesNet().budget
    with pytest.raises(InputError, match="Discovery is part of a private fit: give epsilon"):
        BayesNet().fit(waiting())


def test_a_budget_too_small_for_what_is_asked_is_refused_by_the_ledger():
    counter = start_private_session(chaffinch.prepare(data(), schema(60)), Budget(0.1), ADD, seed=1)
    with pytest.raises(BudgetError, match=r"0\.2 asked, 0\.1 left of 0\.1"):
        counter.rows(0.2, why="test")


UNIT = PrivacyUnit("add-remove")
DECLARED = Column("sex", "categorical", levels=("f", "m"))


def price_of(*columns: Column, epsilon: float = 1.0, delta: float = 1e-6):
    schema = Schema((DECLARED, *columns), public=True, rows=1000).discovering()
    return discovery_price(plan_budget(schema, Budget(epsilon, delta), UNIT))


def test_what_is_declared_costs_nothing():
    assert (
        discovery_price(
            plan_budget(Schema((DECLARED,), public=True, rows=9), Budget(1.0, 1e-6), UNIT)
        )
        is None
    )


def test_shares_add_up_to_what_is_charged():
    price = price_of(
        Column("job", "categorical"), Column("age", "integer"), Column("what", "unknown")
    )
    assert [column.column for column in price.columns] == ["job", "age", "what"]
    assert [column.what for column in price.columns] == [
        ("levels",),
        ("bounds", "quantiles"),
        ("kind", "levels"),
    ]
    assert sum(column.share for column in price.columns) == pytest.approx(price.share)
    assert 0 < price.share < 2 * DISCOVERY_SHARE
    assert price.columns[1].records is None
    assert 0 < price.delta < 1e-6


def test_the_records_that_a_level_needs_are_those_at_which_it_is_found():
    """A level with twice as many records is found, one with half as many is not; each errs once in 10,000 at most."""
    schema = Schema((Column("job", "categorical", discover=True),), public=True, rows=1000)
    budget = Budget(1.0, 1e-6)
    price = discovery_price(plan_budget(schema, budget, UNIT))
    records = price.columns[0].records
    assert records is not None
    words = pa.table({"job": ["often"] * (2 * records) + ["seldom"] * (records // 2)})
    with start_private_session(chaffinch.prepare(words, schema), budget, UNIT, seed=1) as counter:
        assert counter.schema["job"].levels == ("often",)


def test_more_columns_and_less_epsilon_cost_more_records():
    few, many = (
        price_of(Column("a", "categorical")),
        price_of(*(Column(name, "categorical") for name in "abcdef")),
    )
    tight = price_of(Column("a", "categorical"), epsilon=0.5)
    assert few.columns[0].records < many.columns[0].records
    assert few.columns[0].records < tight.columns[0].records
    said = few.sentences
    assert f"found if about {few.columns[0].records:,} records or more have it" in said[1]
    assert said[0].startswith(
        f"Discovery takes {few.share:.1%} of the budget and a delta of {few.delta:g}, for 1 column: a."
    )
    assert few.to_dict()["columns"][0]["records"] == few.columns[0].records


CODES = Column("code", "categorical", levels=("01", "02"), other=True)
COLOURS = Column("colour", "categorical", levels=("red", "10"), other=True)
SCHEMA = Schema((CODES, COLOURS), public=True)
TEXT = "code,colour\n01,red\n02,10\n"


def read(text, kind):
    return pd.read_csv(io.StringIO(text)) if kind == "pandas" else pl.read_csv(io.StringIO(text))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_one_record_changes_the_others_before_they_come_here(kind, tmp_path):
    """The fault that the warning is of, and what it advises: a path has it not."""
    for through, alike in (("frame", False), ("path", True)):
        codes = []
        for text in (TEXT, TEXT + "foo,red\n"):
            (tmp_path / "in.csv").write_text(text)
            source = read(text, kind) if through == "frame" else tmp_path / "in.csv"
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                codes.append(chaffinch.prepare(source, SCHEMA).code("code").tolist()[:2])
            assert [w.category for w in caught] == ([] if alike else [ParsedDataWarning])
        assert (codes[0] == codes[1]) == alike


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_the_warning_names_columns_and_the_next_step_whatever_the_data(kind):
    said = set()
    for text in (TEXT, TEXT + "foo,red\n", "code,colour\n"):
        for call in (chaffinch.prepare, open_lazy_source):
            with pytest.warns(ParsedDataWarning) as caught:
                call(read(text, kind), SCHEMA)
            (one,) = caught
            assert one.filename == __file__
            said.add(str(one.message))
    assert len(said) == 1
    assert f"how {kind} reads the others from a text file" in said.copy().pop()
    assert ": code. Pass the path of the file" in said.pop()


def test_nobody_is_warned_without_reason(tmp_path):
    (tmp_path / "in.csv").write_text(TEXT)
    plain = Schema((COLOURS, Column("n", "integer", bounds=(0, 9))), public=True)
    table = {"code": ["01"], "colour": ["red"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chaffinch.prepare(tmp_path / "in.csv", SCHEMA)
        chaffinch.prepare(pa.table(table), SCHEMA)
        chaffinch.prepare(chaffinch.prepare(pa.table(table), SCHEMA))
        chaffinch.prepare(pd.DataFrame({"colour": ["red"], "n": [1]}), plain)


@pytest.mark.parametrize(
    ("column", "person", "named"),
    [
        (CODES, None, True),
        (COLOURS, None, False),
        (Column("c", "categorical", discover=True), None, True),
        (Column("c", "categorical", type="int64", discover=True), None, False),
        (Column("c", "categorical", levels=(1, 2)), None, False),
        (Column("c", "categorical", levels=("yes", "NA")), None, True),
        (Column("c", "integer", bounds=(0, 9)), None, False),
        (Column("c", "identifier"), None, False),
        (Column("c", "identifier"), "c", True),  # 007 and 7 are two persons, or one
    ],
)
def test_columns_are_told_by_their_declarations(column, person, named):
    assert changed_by_parsing(Schema((column,), public=True), person) == (
        [column.name] if named else []
    )


@pytest.mark.parametrize(
    "word",
    [
        "red",
        "10",
        "-3",
        "01",
        "1.5",
        "1.50",
        "1e3",
        "+1",
        "inf",
        "nan",
        "NA",
        "null",
        "true",
        "1_0",
        " 7",
    ],
)
def test_words_that_read_as_another_are_those_that_pandas_changes(word):
    """A second opinion: what pandas makes of a column of that word alone, spelled again. A blank before a word is cut off anyhow."""
    frame = pd.read_csv(io.StringIO(f"a,b\n{word},x\n"))
    columns = (
        Column("a", "categorical", levels=(word,), other=True),
        Column("b", "categorical", levels=("x",)),
    )
    changed = prepare(frame, Schema(columns, public=True)).code("a").tolist() != [0]
    assert reads_as_another(word) == changed or word == " 7"
