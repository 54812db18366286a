from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chaffinch
from chaffinch._base.errors import ChaffinchError
from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.risk import ATTACKERS, Attacker, RiskResult, RiskSettings
from chaffinch.risk.attacker import attacker_of, attackers_of_kind
from chaffinch.risk.finding import (
    HEAD,
    Finding,
    column_findings,
    finding_rows,
    record_findings,
)
from chaffinch.risk.memorisation.battery import case_scores, memorisation_scores
from chaffinch.risk.memorisation.protocol import (
    ColumnValues,
    NotApplicableError,
    ReleaseCase,
)
from chaffinch.stats.excess import excess
from chaffinch.stats.familywise import family
from chaffinch.stats.rates import Scores
from chaffinch.table.compare.values import CodedTables
from tests.risk.memorisation.conftest import case_of

from .conftest import coded_tables, distinct_people, with_copies


def tables_of(rng: np.random.Generator, share: float, n: int = 400):
    members, others, fresh = (distinct_people(n, rng) for _ in range(3))
    return coded_tables(members, with_copies(fresh, members, share), others)


def exact_rows(coded: CodedTables):
    return memorisation_scores(coded, ["synthetic"], ["exact_row"], seed=np.random.SeedSequence(5))[
        "exact_row"
    ]


@pytest.fixture
def number_of_age():
    """A test whose score is a number of the person's own, and for which higher is safer."""

    def score(case):
        (age,) = case.named(["age"])
        return Scores(age.numbers[age.people] / 100.0, np.ones(case.n_people))

    yield ATTACKERS.register(
        Attacker(
            name="number_of_age",
            score=score,
            title="Age",
            definition="Age.",
            sentence="{value}, {holdout}",
            blindness="All.",
            direction="higher is safer",
            share=False,
        )
    )
    ATTACKERS.remove("number_of_age")


def test_scores_come_back_in_the_order_of_people(
    rng: np.random.Generator, number_of_age: Attacker
) -> None:
    coded = tables_of(rng, 0.1)
    (sides,) = memorisation_scores(
        coded, ["synthetic"], ["number_of_age"], seed=np.random.SeedSequence(5)
    ).values()
    for outcome, side in zip(sides, ("original", "holdout"), strict=True):
        ages = coded.tables[side].data["age"].to_numpy() / 100.0
        assert np.allclose(1.0 - outcome.group[0], ages)  # towards risk: lower ages
        assert outcome.value == pytest.approx(np.mean(ages))


def test_copies_are_found_and_fresh_rows_are_not(rng: np.random.Generator) -> None:
    for share, significant in ((0.1, True), (0.0, False)):
        members, others = exact_rows(tables_of(rng, share))
        together = family([members.group], [others.group], resamples=200, seed=7)
        assert (members.value == 0.1) == significant
        assert ((together.adjusted[0] or 1.0) <= 0.05) == significant


def test_without_others_there_is_a_value_and_no_excess(rng: np.random.Generator) -> None:
    members, _, fresh = (distinct_people(400, rng) for _ in range(3))
    (finding,) = chaffinch.risk(
        members, with_copies(fresh, members, 0.1), attackers=["exact_row"], resamples=50, seed=6
    ).findings
    assert (finding.value, finding.n_people) == (0.1, 400)
    assert finding.excess is None
    assert "No holdout" in (finding.reason or "")


def test_outcomes_on_two_halves_become_one_of_all_people(
    rng: np.random.Generator, number_of_age: Attacker
) -> None:
    tables = tables_of(rng, 0.1).tables
    turned = {**tables, "original": tables["holdout"], "holdout": tables["original"]}
    pairs = zip(exact_rows(CodedTables(tables)), exact_rows(CodedTables(turned)), strict=True)
    both = [first.stacked(second) for first, second in pairs]
    assert [len(side.group[0]) for side in both] == [800, 800]
    assert [side.value for side in both] == [0.05, 0.05]
    # Where higher is safer the value is still the mean of the values, not of the scores towards risk.
    first, second = (
        memorisation_scores(
            CodedTables(each), ["synthetic"], ["number_of_age"], seed=np.random.SeedSequence(5)
        )["number_of_age"][0]
        for each in (tables, turned)
    )
    assert first.stacked(second).value == pytest.approx((first.value + second.value) / 2)


# In a study of risk: in its family, its JSON, its words, with keys and without.


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(8)
    return tuple(distinct_people(600, rng) for _ in range(3))


def test_without_keys_the_tests_are_run_alone(tables, capsys) -> None:
    members, others, fresh = tables
    result = chaffinch.risk(
        members, with_copies(fresh, members, 0.05), others, resamples=200, seed=1
    )
    assert column_findings(result.findings) == ()
    assert [test.attacker for test in record_findings(result.findings)] == [
        test.name for test in attackers_of_kind("memorisation") if not test.needs
    ]
    exact = record_findings(result.findings)[0]
    assert (exact.value, exact.holdout, exact.n_people) == (0.05, 0.0, 1200)
    assert result.family.p_value == exact.p_family == pytest.approx(1 / 201)
    assert 0 < result.lower_bound < 0.05
    assert exact.word == "excess found"
    assert f"Over {len(record_findings(result.findings))} memorisation tests" in result.sentence
    assert "Strongest: Copied row." in result.sentence
    result.show()
    assert "Exact row" in capsys.readouterr().out
    assert "whole record of a person" in result.to_html()
    page = render(report_of(title="t", risk=result))
    assert "Whole records: memorisation" in page
    assert "Sensitive column: " not in page
    assert page.count("Distance to the closest record (DCR)") >= 2


def test_a_test_that_needs_keys_says_so(tables) -> None:
    members, others, fresh = tables
    with pytest.raises(ChaffinchError, match="'k_map' needs columns that an outsider knows"):
        chaffinch.risk(members, fresh, others, attackers=["k_map"], resamples=50, seed=1)
    result = chaffinch.risk(members, fresh, others, resamples=50, seed=1)
    assert "k_map" not in {finding.attacker for finding in result.findings}
    (why,) = [part for part in result.about.left_out if "k_map" in part.what]
    assert (why.reason, why.flag) == ("needs columns that an outsider knows", "--keys")


def test_attacks_and_tests_are_one_family(tables) -> None:
    members, others, fresh = tables
    options = {
        "keys": ["age", "c0"],
        "sensitive": ["c1"],
        "attackers": ["dcap", "memorisation"],
        "resamples": 100,
        "seed": 1,
    }
    result = chaffinch.risk(members, fresh, others, **options)
    assert tuple(finding.p_family for finding in result.findings) == result.family.adjusted
    assert {finding.on_column for finding in result.findings} == {True, False}
    assert result.family.p_value > 0.01  # once in a hundred; seeded
    again = RiskResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again == result
    without = chaffinch.risk(members, fresh, others, **{**options, "attackers": ["dcap"]})
    assert record_findings(without.findings) == ()
    # The attacks by themselves do not move: tests draw from streams of their own.
    assert [a.p_value for a in column_findings(without.findings)] == [
        a.p_value for a in column_findings(result.findings)
    ]


def test_several_syntheses_are_means(tables) -> None:
    members, others, fresh = tables
    result = chaffinch.risk(
        members,
        [with_copies(fresh, members, 0.05), with_copies(fresh, members, 0.1)],
        others,
        attackers=["exact_row"],
        resamples=100,
        seed=1,
    )
    (exact,) = record_findings(result.findings)
    assert exact.value == pytest.approx(0.075)
    assert exact.excess_interval[1] - exact.excess_interval[0] > 0.05  # the tables differ


def test_without_a_holdout_crossfitting_gives_it(tables) -> None:
    table = chaffinch.read(tables[0])

    def copier(half, seed):
        return half

    def stranger(half, seed):
        return chaffinch.read(tables[2]).take(np.arange(half.n_rows))

    options = {
        "keys": ["age", "c0"],
        "sensitive": ["c1"],
        "attackers": ["dcap", "exact_row", "dcr"],
    }
    copied = chaffinch.risk.cross_fit(table, copier, resamples=100, seed=1, **options)
    assert [test.value for test in record_findings(copied.findings)] == [1.0, 0.0]
    assert all(test.p_family < 0.05 for test in record_findings(copied.findings))
    assert [test.n_people for test in record_findings(copied.findings)] == [
        1200,
        1200,
    ]  # each person once as member, once not
    other = chaffinch.risk.cross_fit(table, stranger, resamples=100, seed=1, **options)
    assert other.family.p_value > 0.05


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keys": ["a"]}, "Name at least one sensitive column"),
        ({"sensitive": ["a"]}, "Name at least one key"),
        ({"attackers": []}, "No attacker is left"),
        (
            {"attackers": ["exact_rows"]},
            r"Unknown attacker 'exact_rows'\. Did you mean 'exact_row'",
        ),
    ],
)
def test_a_wrong_setting_is_named(settings, message) -> None:
    with pytest.raises(ChaffinchError, match=message):
        RiskSettings(**settings)


def test_a_column_permuting_generator_is_found_by_its_rare_numbers(tables) -> None:
    members, others, _ = tables
    rng = np.random.default_rng(3)
    shuffled = {name: members[name].take(rng.permutation(600)) for name in members.column_names}
    result = chaffinch.risk(
        members, type(members).from_pydict(shuffled), others, resamples=200, seed=1
    )
    rare = next(test for test in record_findings(result.findings) if test.attacker == "rare_number")
    assert rare.value == 1.0
    assert rare.p_family < 0.01


# Calibration.


def null_draw(seed: int, n: int = 100):
    """Members, others and released rows of one population, all strangers to each other, scored by all tests."""
    rng = np.random.default_rng([41, seed])
    kind = rng.integers(0, 4, 3 * n)
    codes = {
        "age": rng.integers(0, 50, 3 * n),
        "town": np.minimum(rng.zipf(1.4, 3 * n), 80) - 1,
        "a": (kind + rng.integers(0, 3, 3 * n)) % 5,
        "b": kind,
    }
    columns = tuple(
        ColumnValues(name, code[:n], code[n:], 80, 80, np.arange(80.0) if name == "age" else None)
        for name, code in codes.items()
    )
    case = ReleaseCase(columns, n, 2 * n, ("age", "a"), np.random.SeedSequence(seed), 1)
    order = rng.permutation(2 * n)
    shuffled, position = case.take(order), np.argsort(order)
    outcomes = [
        case_scores(test, shuffled, position, np.array([n]))
        for test in attackers_of_kind("memorisation")
    ]
    result = [
        excess(
            members.group,
            others.group,
            resamples=99,
            seed=np.random.SeedSequence([seed, number]),
            threads=1,
        )
        for number, (members, others) in enumerate(outcomes)
    ]
    return result, family(
        [members.group for members, _ in outcomes],
        [others.group for _, others in outcomes],
        resamples=99,
        seed=seed,
        threads=1,
    )


@pytest.mark.slow
def test_strangers_are_found_as_often_as_the_level_says() -> None:
    # 120 draws: more than 15 at a level of 5 % comes once in 2,000 runs of other seeds, none at all once in 470. The study of 2,000 draws is
    # experiments/attack_what_leaves/calibration_memorisation.py.
    results = [null_draw(seed) for seed in range(120)]
    assert 0 < sum(together.p_value <= 0.05 for _, together in results) <= 15
    intervals = [
        found.interval for every, _ in results for found in every if found.interval is not None
    ]
    assert len(intervals) > 900
    assert 0.92 < np.mean([low <= 0 <= high for low, high in intervals]) < 0.985


FOUND = Finding(
    attacker="exact_row",
    value=0.03,
    holdout=0.01,
    excess=0.02,
    excess_interval=(0.01, 0.03),
    p_value=0.001,
    p_family=0.002,
    lower_bound=0.01,
    n_people=4000,
)


def plain(finding: Finding) -> str:
    return finding.sentence.replace("\u00a0", " ")


def test_a_sentence_says_members_others_and_what_it_is_worth() -> None:
    assert plain(FOUND) == (
        "The whole row is in the released table for 3 % of the people in the data, and for 1 % of people who are not: more than chance gives."
    )


def test_without_a_holdout_only_members_are_in_the_sentence() -> None:
    alone = Finding(attacker="exact_row", value=0.03)
    assert (
        plain(alone) == "The whole row is in the released table for 3 % of the people in the data."
    )


def test_a_share_of_few_people_does_not_leave() -> None:
    shown = FOUND.masked(10, members=6.0, others=0.0)
    assert (shown.value, shown.holdout, shown.excess, shown.excess_interval, shown.detectable) == (
        None,
    ) * 5
    assert (shown.p_value, shown.p_family) == (None, 0.002)
    assert shown.sentence.startswith("Exact row: It is about fewer than 10 people")
    assert shown.sentence.endswith("more than chance gives.")
    few_others = FOUND.masked(10, members=60.0, others=3.0)
    assert (few_others.value, few_others.holdout, few_others.excess) == (0.03, None, None)
    assert (
        plain(few_others)
        == "The whole row is in the released table for 3 % of the people in the data: more than chance gives."
    )
    assert FOUND.masked(10, members=60.0, others=20.0).holdout == 0.01


def test_rows_have_a_cell_for_each_heading() -> None:
    (row,) = finding_rows([FOUND])
    assert len(row) == len(HEAD)
    assert row[0] == "Exact row"


def test_classes_are_rows_that_are_equal(rng: np.random.Generator) -> None:
    members, others, released = (distinct_people(50, rng, 4) for _ in range(3))
    ours, theirs, size = case_of(released, members, others).classes(["c0", "c1"])
    rows = [
        tuple(row[n] for n in ("c0", "c1"))
        for t in (released, members, others)
        for row in t.to_pylist()
    ]
    codes = [*ours, *theirs]
    assert size == len(set(rows))
    assert len(set(zip(rows, codes, strict=True))) == size


def test_a_column_that_is_not_there_is_named(rng: np.random.Generator) -> None:
    case = case_of(*(distinct_people(50, rng, 4) for _ in range(3)))
    with pytest.raises(ChaffinchError, match=r"Unknown column 'agee'\. Did you mean 'age'"):
        case.named(["agee"])


def test_no_value_is_in_a_repr(rng: np.random.Generator) -> None:
    case = case_of(*(distinct_people(50, rng, 3) for _ in range(3)))
    assert repr(case) == "ReleaseCase(3 columns, released: 50, people: 100)"


def test_every_test_says_what_it_is_and_what_it_does_not_see() -> None:
    for test in attackers_of_kind("memorisation"):
        assert test.title
        assert test.definition.endswith(".")
        assert test.blindness.endswith(".")
        assert "{value}" in test.sentence
        assert test.sentence.index("{holdout}") > test.sentence.index("{value}")


def test_a_test_of_another_version_still_has_a_name() -> None:
    test = attacker_of("unheard_of")
    assert test.title == "unheard_of"
    assert (test.attack, test.score) == (None, None)


TINY_PEOPLE = st.lists(
    st.tuples(
        st.sampled_from([1.0, 2.0, 2.5, None]), st.sampled_from("ab"), st.sampled_from("xyz")
    ),
    min_size=12,
    max_size=20,
)


@given(rows=st.tuples(TINY_PEOPLE, TINY_PEOPLE, TINY_PEOPLE), random=st.randoms())
@settings(max_examples=25, deadline=None)
def test_no_score_depends_on_the_order_of_rows(rows, random) -> None:
    """Few values, so that most rows have others equally near; few rows, so that all predicates are drawn."""

    def scored(tables):
        start = [(1.0, "a", "x"), (2.0, "b", "y")] * 10  # what makes every table readable
        members, released, others = (
            pa.table(dict(zip("nkv", map(list, zip(*start, *table, strict=True)), strict=True)))
            for table in tables
        )
        case = case_of(released, members, others, keys=["n", "k"])
        tests = [
            test
            for test in attackers_of_kind("memorisation")
            if "releases" not in (test.needs or ())
        ]
        for test in tests:
            with suppress(NotApplicableError):
                yield test.name, test.score(case)

    orders = [random.sample(range(len(table)), len(table)) for table in rows]
    turned = [[table[i] for i in order] for table, order in zip(rows, orders, strict=True)]
    people = np.concatenate(
        [
            np.arange(20),
            20 + np.array(orders[0]),
            20 + len(rows[0]) + np.arange(20),
            40 + len(rows[0]) + np.array(orders[2]),
        ]
    )
    for (name, one), (same, other) in zip(scored(rows), scored(turned), strict=True):
        assert name == same
        assert one.numerator[people] == pytest.approx(other.numerator, abs=1e-9), name
        assert one.weight[people] == pytest.approx(other.weight), name
