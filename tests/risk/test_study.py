"""Whole studies: attacks between their references, both ends, and nothing that may not leave."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import chaffinch
from chaffinch import BayesNet, Independent
from chaffinch._base.errors import InputError, UnknownNameError
from chaffinch._base.runtime import silent
from chaffinch.risk import ATTACKERS, Attacker, RiskResult, RiskSettings, measure_risk
from chaffinch.risk.attribution.attack_data import AttackData
from chaffinch.risk.attribution.attempt import AttackSpec
from chaffinch.risk.finding import column_findings, record_findings
from chaffinch.risk.policy import RiskPolicy
from chaffinch.risk.run import RiskStudy
from chaffinch.stats.rates import Scores
from chaffinch.table import domain
from chaffinch.table.compare import values

from ..factories import levels, people

KEYS = ["wife_age", "wife_education", "num_children", "wife_religion", "wife_now_working"]
SENSITIVE = "husband_education"


def attacks_of(study):
    return {attack.attacker: attack for attack in column_findings(study.findings)}


def test_a_copy_of_the_original_is_flagged(halves):
    study = chaffinch.risk(
        halves[0], halves[0], halves[1], keys=KEYS, sensitive=[SENSITIVE], numeric="values", seed=1
    )
    found = attacks_of(study)
    assert found["gcap_vote"].value == found["gcap_vote"].original
    assert found["tcap"].value == 1.0
    assert study.family.p_value < 0.01
    assert study.lower_bound > 0.1
    assert all(found[name].p_family < 0.05 for name in ("cap", "dcap", "gcap_vote", "gcap_score"))


def test_independent_columns_are_not_flagged(halves):
    synthetic = Independent().fit(halves[0]).sample(737, seed=3)
    study = chaffinch.risk(
        halves[0], synthetic, halves[1], keys=KEYS, sensitive=[SENSITIVE], seed=1
    )
    # Members and others are alike but for one-way counts of half a table: p below 0.01 once in a hundred; seeded.
    assert study.family.p_value > 0.01
    for attack in column_findings(study.findings):
        assert attack.excess_interval[0] < 0.08


def test_five_per_cent_copied_records_are_flagged(data):
    table, fresh = (
        chaffinch.read(pq.read_table(data / f"adult_{part}.parquet").slice(0, 6000))
        for part in ("train", "test")
    )
    synthetic = Independent().fit(table).sample(table.n_rows, seed=3).to_arrow()
    copied = table.to_arrow().slice(0, table.n_rows // 20).select(synthetic.column_names)
    mixed = pa.concat_tables([synthetic.slice(copied.num_rows), copied.cast(synthetic.schema)])
    study = chaffinch.risk(
        table,
        mixed,
        fresh,
        keys=["age", "workclass", "education", "occupation", "hours_per_week", "race", "sex"],
        sensitive=["relationship"],
        attackers=["matching", "memorisation"],
        seed=1,
    )
    assert study.family.p_value < 0.01
    assert study.lower_bound > 0


def test_without_a_holdout_nothing_is_said_of_excess(halves):
    study = chaffinch.risk(
        halves[0],
        halves[0],
        keys=KEYS,
        sensitive=[SENSITIVE],
        attackers=["matching", "memorisation"],
        seed=1,
    )
    told = study.to_dict()
    for attack in told["findings"]:
        for name in (
            "holdout",
            "excess",
            "excess_interval",
            "p_value",
            "detectable",
            "p_family",
            "lower_bound",
        ):
            assert attack[name] is None
        if attack["value"] is not None:
            assert "No holdout was given" in attack["reason"]
        assert attack["value"] is not None or not attack["sensitive"]
    assert told["family"]["p_value"] is None
    assert "no excess found" not in json.dumps(told)


def test_references_stand_where_they_should(halves):
    synthetic = BayesNet(parents=3).fit(halves[0], seed=1).sample(737, seed=2)
    study = chaffinch.risk(
        halves[0],
        synthetic,
        halves[1],
        keys=KEYS,
        sensitive=[SENSITIVE],
        label="contraceptive_method",
        seed=1,
        attackers=["matching", "nb", "lr", "memorisation"],
    )
    shares = np.bincount(halves[0].code(SENSITIVE)) / 737
    for attack in column_findings(study.findings):
        if attack.attacker in ("dcap", "gcap_score"):
            assert (attack.guess, attack.guess_by) == (pytest.approx((shares**2).sum()), "draw")
        elif attack.attacker not in ("cap", "tcap"):  # these are about some people only: test_guess
            assert (attack.guess, attack.guess_by) == (pytest.approx(shares.max()), "value")
        assert attack.label_only is not None
        assert attack.interval is None or attack.interval[0] <= attack.value <= attack.interval[1]
    vote = attacks_of(study)["gcap_vote"]
    assert vote.marginals_only < vote.value < vote.original
    by = study.to_dict()["over_attackers"][0]
    assert by["attackers"] == ["gcap_vote", "nb", "lr"]
    assert by["maximum"] == max(attacks_of(study)[name].value for name in by["attackers"])


def test_protection_brings_attackers_down_to_the_label_alone(cmc):
    settings = RiskSettings(
        keys=KEYS,
        sensitive=[SENSITIVE],
        label="contraceptive_method",
        attackers=["matching", "nb", "lr", "memorisation"],
        resamples=2,
    )
    gaps = []
    for seed in range(3):
        maker = BayesNet(parents=3, label="contraceptive_method", sensitive=(SENSITIVE,))
        synthetic = maker.fit(cmc, seed=seed).sample(cmc.n_rows, seed=10 + seed)
        by = measure_risk(cmc, synthetic, None, settings, seed=seed).to_dict()["over_attackers"][0]
        gaps.append(by["value"] - by["label_only"])
    assert np.mean(gaps) < 0.02


def test_all_subsets_of_keys_with_mean_and_maximum(halves):
    study = chaffinch.risk(
        halves[0],
        halves[1],
        halves[1],
        keys=KEYS,
        sensitive=[SENSITIVE],
        key_sizes=(3, 4),
        attackers=["dcap", "memorisation"],
        seed=1,
        resamples=50,
    )
    told = study.to_dict()
    assert len(column_findings(study.findings)) == 15
    (row,) = told["over_key_sets"]
    values = [attack.value for attack in column_findings(study.findings)]
    assert row["mean"] == pytest.approx(np.mean(values))
    assert row["maximum"] == max(values)
    assert (
        tuple(row["maximum_keys"]) == column_findings(study.findings)[int(np.argmax(values))].keys
    )


def test_a_sensitive_column_may_be_a_key_of_another_and_never_of_itself(halves):
    study = chaffinch.risk(
        halves[0],
        halves[0],
        keys=[*KEYS, SENSITIVE],
        sensitive=[SENSITIVE, "num_children"],
        attackers=["dcap", "memorisation"],
        seed=1,
    )
    first, second = column_findings(study.findings)
    assert SENSITIVE not in first.keys
    assert SENSITIVE in second.keys
    assert "num_children" not in second.keys


def test_several_syntheses_add_their_variance(halves):
    model = BayesNet(parents=2, conditionals="tables").fit(halves[0], seed=1)
    tables = [model.sample(737, seed=seed) for seed in (2, 3, 4)]
    options = {
        "keys": KEYS,
        "sensitive": [SENSITIVE],
        "attackers": ["dcap", "memorisation"],
        "seed": 1,
    }
    one = chaffinch.risk(halves[0], tables[0], halves[1], **options)
    three = chaffinch.risk(halves[0], tables, halves[1], **options)
    width = [
        column_findings(study.findings)[0].excess_interval[1]
        - column_findings(study.findings)[0].excess_interval[0]
        for study in (one, three)
    ]
    assert width[1] > width[0]
    assert three.about.notes == ()
    assert "variance between syntheses is absent" in one.about.notes[0]


def test_the_same_seed_gives_the_same_bytes_whatever_the_threads(halves):
    def told(threads):
        study = chaffinch.risk(
            halves[0],
            halves[1],
            halves[1],
            keys=KEYS,
            sensitive=[SENSITIVE],
            seed=4,
            threads=threads,
            resamples=200,
        )
        data = study.to_dict()
        del data["run"]
        return json.dumps(data)

    assert told(1) == told(2)


def test_columns_that_do_not_exist_are_named(halves):
    with pytest.raises(
        UnknownNameError, match=r"Unknown key 'wife_agee'\. Did you mean 'wife_age'"
    ):
        chaffinch.risk(halves[0], halves[0], keys=["wife_agee"], sensitive=[SENSITIVE])
    with pytest.raises(UnknownNameError, match="Unknown sensitive column"):
        chaffinch.risk(halves[0], halves[0], keys=["wife_age"], sensitive=["nobody"])
    with pytest.raises(InputError, match="Nothing is left to attack with"):
        chaffinch.risk(halves[0], halves[0], keys=[SENSITIVE], sensitive=[SENSITIVE])
    with pytest.raises(InputError, match="lacks columns"):
        chaffinch.risk(
            halves[0],
            halves[0].to_arrow().drop_columns(["wife_age"]),
            keys=["wife_age"],
            sensitive=[SENSITIVE],
        )


@pytest.mark.parametrize("case", ["no match", "one class", "two rows", "missing keys"])
def test_degenerate_tables_get_an_answer_or_a_reason(case):
    rows = {"a": ["x", "y"] * 20, "b": ["p", "p", "q", "q"] * 10, "s": ["u", "v", "v", "u"] * 10}
    other = dict(rows)
    if case == "no match":
        rows["b"], other["b"] = ["p"] * 20 + ["q"] * 20, ["q"] * 20 + ["p"] * 20
        rows["a"], other["a"] = ["x"] * 20 + ["y"] * 20, ["x"] * 20 + ["y"] * 20
    elif case == "one class":
        rows["s"] = ["u"] * 40
        other = {
            name: values[::-1] for name, values in rows.items()
        }  # a copy in the same order is no holdout
    elif case == "two rows":
        rows, other = (
            {name: values[:2] for name, values in held.items()} for held in (rows, other)
        )
    else:
        rows["a"] = [None if i % 3 == 0 else v for i, v in enumerate(rows["a"])]
    table = chaffinch.read(pa.table(rows), rare="keep")
    study = chaffinch.risk(
        table,
        pa.table(other),
        pa.table(other),
        keys=["a", "b"],
        sensitive=["s"],
        seed=1,
        resamples=50,
    )
    for attack in study.to_dict()["findings"]:
        assert attack["value"] is not None or attack["reason"], attack["attacker"]
        assert attack["excess"] is not None or attack["reason"], attack["attacker"]


def test_people_are_told_apart_by_their_values_whatever_was_pooled(data):
    """Unique keys and equal rows, counted by hand from the file: ages are no bins and rare levels no (other)."""
    rows = csv.read_csv(data / "cmc.csv").to_pandas()
    rng = np.random.default_rng(4)
    rows["town"] = [f"t{min(int(i), 60)}" for i in rng.pareto(1.0, len(rows)) * 2]
    keys = ["wife_age", "num_children", "town", "husband_occupation"]
    counts = Counter(map(tuple, rows[keys].to_numpy().tolist()))
    unique = sum(counts[tuple(row)] == 1 for row in rows[keys].to_numpy().tolist()) / len(rows)
    table = chaffinch.read(pa.Table.from_pandas(rows, preserve_index=False))
    assert table.schema["town"].codec.other
    options = {
        "keys": keys,
        "sensitive": [SENSITIVE],
        "attackers": ["matching", "memorisation"],
        "resamples": 5,
        "seed": 1,
    }
    study = chaffinch.risk(table, table, **options)
    assert study.funnel[0].UiO == study.funnel[0].repU == pytest.approx(unique)
    assert study.about.comparison == ()
    assert all(attack.coarse == () for attack in column_findings(study.findings))
    coarse = chaffinch.risk(table, table, numeric="bins", rare="pool", **options)
    assert coarse.funnel[0].UiO < unique - 0.02


def test_what_is_compared_coarsely_says_so(halves):
    options = {
        "keys": KEYS[:3],
        "sensitive": [SENSITIVE],
        "attackers": ["matching", "memorisation"],
        "resamples": 5,
        "seed": 1,
    }
    study = chaffinch.risk(halves[0], halves[0], halves[1], numeric="bins", **options)
    words = "Not compared by their values: wife_age in bins"
    assert all(words in finding.sentence for finding in column_findings(study.findings))
    assert words in study.about.comparison[0]
    told = study.to_dict()
    assert all("wife_age in bins" in one["coarse"] for one in told["findings"] if one["keys"])
    assert (told["about"]["settings"]["numeric"], told["about"]["settings"]["rare"]) == (
        "bins",
        "keep",
    )
    assert RiskResult.from_dict(json.loads(json.dumps(told))).findings == study.findings
    wide = chaffinch.risk(halves[0], halves[0], halves[1], tolerance={"wife_age": 5}, **options)
    assert "wife_age to multiples of 5" in wide.findings[0].sentence
    assert not any(
        "Not compared" in finding.sentence
        for finding in chaffinch.risk(*halves, **options).findings
    )


def test_exact_comparison_of_numbers_that_are_never_released_is_pointed_out():
    rng = np.random.default_rng(5)
    original, drawn = (
        pa.table({"height": rng.normal(170, 9, 200), "ill": ["yes", "no"] * 100}) for _ in range(2)
    )
    study = chaffinch.risk(
        original,
        drawn,
        keys=["height"],
        sensitive=["ill"],
        attackers=["matching", "memorisation"],
        resamples=5,
        seed=1,
    )
    assert (
        "Numbers of height count as equal where they are equal to the last digit"
        in study.about.comparison[0]
    )
    assert "Attack with a tolerance" in study.about.comparison[0]


def test_a_label_of_many_numbers_gives_no_record_back():
    """Label only is a reference of what the label tells: grouped by exact numbers that nobody shares it would be a copy."""
    rng = np.random.default_rng(6)
    table = pa.table(
        {
            "pay": rng.normal(0, 1, 400),
            "group": [f"g{i % 40}" for i in range(400)],
            "secret": rng.choice(list("abcd"), 400),
        }
    )
    study = chaffinch.risk(
        table,
        table,
        keys=["group"],
        sensitive=["secret"],
        label="pay",
        attackers=["matching", "memorisation"],
        resamples=5,
        seed=1,
    )
    vote = attacks_of(study)["gcap_vote"]
    assert vote.label_only < vote.original - 0.05


def two_coins(seed, n_rows=40):
    return chaffinch.read(levels(n_rows, (2, 2), seed, names=("a", "s")), rare="keep")


def finished(syntheses, holdout):
    data = AttackData.from_tables(two_coins(1), syntheses, holdout, columns=["a", "s"])
    run = RiskStudy(data, np.random.SeedSequence(1), 50, 1, silent)
    run.attack(AttackSpec(("a",), "s", ("dcap",)), None)
    return run.finished(10)


def test_the_value_is_the_mean_over_syntheses():
    singles = [finished([two_coins(seed)], None)[0][0].value for seed in (2, 3)]
    (both,), _ = finished([two_coins(2), two_coins(3)], None)
    assert both.value == pytest.approx(np.mean(singles))
    assert both.interval is None  # one of several tables has one


def test_the_excess_is_members_less_others():
    (attack,), family = finished([two_coins(2)], two_coins(4))
    assert attack.excess == pytest.approx(attack.value - attack.holdout)
    assert attack.p_family == family.adjusted[0] == family.p_value
    assert attack.lower_bound == family.lower[0]


def test_bounds_of_several_releases_are_of_the_one_with_most():
    """The second release is the original itself: what is said of the first alone would miss it."""
    original, other, fresh = (people(300, seed, ("age", "town", "pay")) for seed in range(3))
    options = {"attackers": ["exact_row", "copied_row"], "resamples": 100, "seed": 1}
    safe, both = (
        chaffinch.risk(original, other, fresh, **options),
        chaffinch.risk(original, [other, original], fresh, **options),
    )
    assert safe.lower_bound is None or safe.lower_bound < 0.05
    assert both.lower_bound > 0.9
    assert both.family.p_value < 0.05
    assert both.headline.p_family == both.family.p_value
    assert RiskPolicy(0.5).classify(both, {}).limit.state == "exceeds"
    assert all(
        bound >= alone for bound, alone in zip(both.family.upper, safe.family.upper, strict=True)
    )
    assert (
        RiskPolicy(1.0).classify(both, {}).limit.state == "undecided"
    )  # all releases together have no bound


def test_without_a_holdout_there_is_a_reason():
    (attack,), family = finished([two_coins(2)], None)
    assert attack.excess is None
    assert "No holdout was given" in attack.reason
    assert family.p_value is None


def test_a_quick_run_has_the_figures_of_a_thorough_one():
    """Attack by attack: what is said of all attacks together is of those that were tried."""
    tables = (two_coins(1, 200), two_coins(2, 200), two_coins(4, 200))
    options = {"keys": ["a"], "sensitive": ["s"], "resamples": 40, "svm_rows": 50, "seed": 3}
    quick, thorough = (
        chaffinch.risk(*tables, **options, thorough=thorough) for thorough in (False, True)
    )
    every = {attack.attacker: attack for attack in column_findings(thorough.findings)}
    of_all = {"p_family": None, "lower_bound": None, "upper_bound": None}
    assert set(every) - {attack.attacker for attack in column_findings(quick.findings)} == {
        "svm",
        "rf",
        "lr",
    }
    for attack in column_findings(quick.findings):
        assert replace(attack, **of_all) == replace(every[attack.attacker], **of_all)
    together = [
        [replace(test, **of_all) for test in record_findings(run.findings)]
        for run in (quick, thorough)
    ]
    assert together[0] == together[1]
    assert ("attackers svm, rf, lr", "--thorough") in [
        (part.what, part.flag) for part in quick.about.left_out
    ]
    assert "--thorough" not in {part.flag for part in thorough.about.left_out}


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"keys": [], "sensitive": ["a"]}, InputError, "Name at least one key"),
        ({"keys": "ab", "sensitive": ["a"]}, InputError, "keys must be a list of names"),
        ({"keys": ["a", "a"], "sensitive": ["b"]}, InputError, "named once"),
        (
            {"keys": ["a"], "sensitive": ["b"], "tcap_convention": "best"},
            UnknownNameError,
            "Unknown convention 'best'",
        ),
        (
            {"keys": ["a"], "sensitive": ["b"], "attackers": ["gpt"]},
            UnknownNameError,
            "Unknown attacker 'gpt'",
        ),
        (
            {"keys": ["a"], "sensitive": ["b"], "attackers": ["dcr_"]},
            UnknownNameError,
            "Unknown attacker 'dcr_'",
        ),
        ({"keys": ["a"], "sensitive": ["b"], "key_sizes": (2, 3)}, InputError, "Key sizes"),
        ({"keys": ["a"], "sensitive": ["b"], "tau": 0.0}, InputError, "tau must be above 0"),
        ({"numeric": "exact"}, UnknownNameError, "Unknown numeric 'exact'"),
        ({"rare": "drop"}, UnknownNameError, "Unknown rare 'drop'"),
    ],
)
def test_plans_that_break_a_rule_are_refused(settings, error, words):
    with pytest.raises(error, match=words):
        RiskSettings(**settings)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((["age"],), "two lists of columns"),
        ((["age"], []), "two lists of columns"),
        (("age", ["sex"]), "parts must be lists of names"),
        ((["age", "sex"], ["sex"]), r"no column in common\. In both: sex"),
    ],
)
def test_parts_that_cannot_be_linked_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        RiskSettings(parts=parts)


def test_what_many_key_sets_leave_out_is_named_with_the_option_that_brings_it_back():
    import numpy as np

    settings = RiskSettings(
        keys=["a", "b", "c", "d"], sensitive=["s"], key_sizes=(2, 2), thorough=True
    )
    questions = settings.questions(np.random.SeedSequence(1))
    assert questions[0].attackers == ("cap", "dcap", "disco", "tcap", "gcap_score", "gcap_vote")
    left_out = settings.plan(n_key_sets=len(questions)).left_out
    assert ("attackers nb, svm, knn, rf, lr", "--attackers learning") in [
        (part.what, part.flag) for part in left_out
    ]
    named = RiskSettings(keys=["a"], sensitive=["s"], attackers=["nb"])
    assert [attacker.name for attacker in named.plan(n_key_sets=5).attackers] == ["nb"]
    without = {part.reason: part.what for part in RiskSettings().plan().left_out}
    assert (
        "attacks by matching keys"
        in without["needs columns that an outsider knows and a sensitive column"]
    )


def test_an_attacker_that_needs_others_waits_for_a_holdout():
    attacker = Attacker(
        name="beside_others",
        score=lambda case: Scores(np.ones(case.n_people), np.ones(case.n_people)),
        title="Beside others",
        sentence="{value}, {holdout}",
        definition="1.",
        needs=("holdout",),
    )
    table = pa.table({"a": list(range(40)), "b": ["x", "y"] * 20})
    ATTACKERS.register(attacker)
    try:
        (finding,) = chaffinch.risk(
            table,
            table,
            pa.table({"a": list(range(80, 120)), "b": ["y", "x", "x", "y"] * 10}),
            attackers=["beside_others"],
            resamples=2,
            seed=1,
        ).findings
        assert (finding.value, finding.holdout) == (1.0, 1.0)
        alone = chaffinch.risk(table, table, resamples=2, seed=1)
        assert "beside_others" not in {finding.attacker for finding in alone.findings}
        (why,) = [part for part in alone.about.left_out if "beside_others" in part.what]
        assert (why.reason, why.flag) == ("needs people who are not in the data", "--holdout")
    finally:
        ATTACKERS.remove("beside_others")


@pytest.mark.parametrize("releases", [(250,), (250, 220)])
def test_each_column_of_each_table_is_encoded_once(monkeypatch, releases):
    """Of tables that each have another number of rows: their schema codes, and the codes of their values."""
    encoded, coded = Counter(), Counter()
    encode_column, code = domain.encode_column, values.ColumnCoder.coded

    def counted_encode(column, cells, *more):
        if len(cells) >= 200:  # of each value one is encoded beside, to see which are new
            encoded[column.name, len(cells)] += 1
        return encode_column(column, cells, *more)

    def counted_code(coder, tables):
        coded.update((id(coder.grid), table.n_rows) for table in tables.values())
        return code(coder, tables)

    for module in list(sys.modules.values()):
        if getattr(module, "encode_column", None) is encode_column:
            monkeypatch.setattr(module, "encode_column", counted_encode)
    monkeypatch.setattr(values.ColumnCoder, "coded", counted_code)
    rng = np.random.default_rng(4)
    original, holdout, *synthetic = (
        pa.table(
            {
                "age": rng.integers(18, 80, n),
                "pay": rng.normal(50, 9, n),
                "town": rng.choice([f"t{i}" for i in range(40)], n),
                "ill": rng.choice(["yes", "no"], n),
            }
        )
        for n in (300, 200, *releases)
    )
    chaffinch.risk(original, synthetic, holdout, keys=["age", "town"], sensitive=["ill"], seed=1)
    assert len(encoded) == len(coded) == 4 * (2 + len(releases))
    assert set(encoded.values()) == set(coded.values()) == {1}
