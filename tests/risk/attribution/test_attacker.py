"""An attacker is one place: a toy one, registered, stands in results, plain data, the page, a comparison and `--help`."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import chaffinch
from chaffinch._base.errors import InputError, UnknownNameError
from chaffinch.cli.app import app
from chaffinch.report.compare import compare
from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.risk import ATTACKERS, Attacker, RiskResult, RiskSettings, cross_fit, measure_risk
from chaffinch.risk.attacker import attacker_of, attacker_words, attackers_of_kind
from chaffinch.risk.attribution.attack_data import AttackData, AttackSide
from chaffinch.risk.attribution.attempt import (
    AttackContext,
    AttackSpec,
    Guess,
    answer_scores,
    guess,
    pool_guesses,
    run_attackers,
)
from chaffinch.risk.attribution.learners import FEWEST
from chaffinch.risk.attribution.tcap import CONVENTIONS
from chaffinch.risk.finding import column_findings, over_attackers, over_key_sets
from chaffinch.stats.rates import Ratio
from chaffinch.table.compare.values import CodeGrid

NAMES = tuple(one.name for one in attackers_of_kind("matching", "learning"))
KEYS, SENSITIVE = ["wife_age", "num_children"], ["husband_education"]


def lowest(attempt):
    """The answer is always the lowest code."""
    return [answer_scores(values == 0, values) for values in attempt.values]


TOY = Attacker(
    name="lowest",
    attack=lowest,
    title="The lowest value",
    says="someone who always says the lowest value gets {sensitive}",
    definition="Share of people who have the lowest value.",
    reference="Nobody 2020",
    answers=True,
)


@pytest.fixture
def toy():
    ATTACKERS.register(TOY)
    yield
    ATTACKERS.remove("lowest")


def run(halves, **options):
    first, second = halves
    return chaffinch.risk(
        first, second, second, keys=KEYS, sensitive=SENSITIVE, resamples=40, seed=1, **options
    )


def test_a_toy_attacker_is_found_everywhere(toy, halves, data, tmp_path):
    result = run(halves, attackers=["matching", "lowest", "memorisation"])
    one = next(attack for attack in column_findings(result.findings) if attack.attacker == "lowest")
    assert one.value == pytest.approx((halves[0].code(SENSITIVE[0]) == 0).mean())
    assert one.excess == pytest.approx(one.value - one.holdout)
    assert "lowest" in over_attackers(result.findings)[0].attackers
    assert (
        "someone who always says the lowest value gets husband_education right for" in one.sentence
    )

    plain = json.loads(json.dumps(result.to_dict()))
    assert "lowest" in {finding["attacker"] for finding in plain["findings"]}
    assert RiskResult.from_dict(plain) == result

    page = render(report_of(title="t", risk=plain))
    for words in ("The lowest value", "Nobody 2020", "Share of people who have the lowest value."):
        assert words in page
    html = result.to_html()
    assert "always says the lowest value" in html
    assert (html.count("<table>"), html.count("<svg")) == (1, 1)
    assert "The lowest value" in {row.name for row in compare(plain, plain).findings}

    said = CliRunner().invoke(app, ["risk", "--help-all"], terminal_width=200).output
    assert ", lowest." in " ".join(said.replace("│", " ").split())
    halves[1].write(tmp_path / "s.csv")
    asked = [
        "risk",
        str(data / "cmc.csv"),
        str(tmp_path / "s.csv"),
        "--keys",
        ",".join(KEYS),
        "--sensitive",
        *SENSITIVE,
    ]
    asked += [
        "--attackers",
        "cap,dcap,disco,tcap,lowest,memorisation",
        "--seed",
        "1",
        "--verbose",
        "--json",
        str(tmp_path / "r.json"),
    ]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "lowest" in done.output
    measures = [
        finding["attacker"] for finding in json.loads((tmp_path / "r.json").read_text())["findings"]
    ]
    assert measures[:6] == ["cap", "dcap", "disco", "tcap", "lowest", "exact_row"]


def test_without_it_nothing_else_moves_and_its_plain_data_say_its_name(halves):
    without = run(halves, attackers=["matching", "memorisation"])
    ATTACKERS.register(TOY)
    try:
        with_it = run(halves, attackers=["matching", "lowest", "memorisation"])
        assert attacker_words("matching")[-1] == "lowest"
    finally:
        ATTACKERS.remove("lowest")
    # What is adjusted for all attacks together knows of one more; the rest is the same to the bit.
    for one, other in zip(
        column_findings(without.findings), column_findings(with_it.findings), strict=False
    ):
        for name in (
            "attacker",
            "value",
            "interval",
            "guess",
            "excess",
            "excess_interval",
            "p_value",
            "detectable",
        ):
            assert getattr(one, name) == getattr(other, name), (one.attacker, name)
    stranger = next(
        finding
        for finding in RiskResult.from_dict(with_it.to_dict()).findings
        if finding.attacker == "lowest"
    )
    assert stranger.about.definition == "Not described here."
    assert "lowest" in render(report_of(title="t", risk=with_it.to_dict()))
    with pytest.raises(UnknownNameError, match="Unknown attacker 'lowest'"):
        run(halves, attackers=["cap", "dcap", "disco", "tcap", "lowest", "memorisation"])


def test_a_name_is_registered_once(toy):
    with pytest.raises(InputError, match="attacker 'lowest' already"):
        ATTACKERS.register(TOY)
    assert attacker_of("cap").title == "CAP"


@pytest.mark.parametrize(("former", "present"), [("p1", "matched_rows"), ("p1_zero", "all_rows")])
def test_a_former_name_of_a_convention_is_refused_with_the_present_one(halves, former, present):
    with pytest.raises(UnknownNameError, match=f"'{former}' is called '{present}' now"):
        run(halves, tcap_convention=former)


def test_another_threshold_masks_by_it(halves):
    """CAP of a table of 30 rows is about some 25 to 200 people: shown from ten on, hidden under a threshold of 300."""
    few = halves[0].take(np.arange(30))
    options = {
        "keys": KEYS,
        "sensitive": SENSITIVE,
        "attackers": ["matching", "memorisation"],
        "resamples": 2,
        "seed": 1,
    }
    shown, hidden = (chaffinch.risk(halves[0], few, threshold=at, **options) for at in (10, 300))
    cap = {at: column_findings(result.findings)[0] for at, result in ((10, shown), (300, hidden))}
    assert cap[10].value is not None
    assert cap[300].value is None
    assert cap[300].n_matched == "<300"
    assert "fewer than 300 people" in cap[300].reason
    assert hidden.about.original.rows == 600
    assert '"<10"' not in json.dumps(hidden.to_dict())
    for spread in hidden.records:
        assert all(share is None or share == 0 or share * 737 >= 299 for share in spread.shares)
    assert "cap" not in {row.attacker for row in over_key_sets(hidden.findings)}


def attempt(attackers=("dcap", "cap")):
    table = chaffinch.read(
        pa.table({"a": ["x", "x", "y", "y"], "s": ["u", "v", "u", "u"]}), rare="keep"
    )
    other = chaffinch.read(pa.table({"a": ["x", "y"], "s": ["u", "v"]}), rare="keep")
    data = AttackData.from_tables(table, [table], other, columns=["a", "s"])
    return AttackContext(
        data, "synthetic", ["original", "holdout"], AttackSpec(("a",), "s", attackers)
    )


def test_outcomes_stand_in_the_order_of_registration_and_of_sides():
    answers = run_attackers(attempt())
    assert (
        list(answers)
        == ["cap", "dcap"]
        == [one.name for one in ATTACKERS if one.name in ("dcap", "cap")]
    )
    # Original: x is u in half of its rows, y always u. Holdout: x/u is right in half of the rows, y/v never.
    assert [one.value for one in answers["dcap"]] == [0.75, 0.25]


def test_what_is_shared_is_worked_out_once():
    one, calls = attempt(), []
    assert [one.once("it", lambda: calls.append(1) or 7) for _ in range(3)] == [7, 7, 7]
    assert calls == [1]


def test_sides_are_joined_and_end_where_they_end():
    one = attempt()
    keys, values = one.rows(["original", "holdout"])
    assert [len(keys[0]), len(values)] == [6, 6]
    assert one.ends.tolist() == [4]
    assert [len(part) for part in np.split(values, one.ends)] == [4, 2]


N_KEYS, N_LEVELS, N_VALUES = 2, 2, 3
GAP = N_LEVELS
"""The code of a missing key."""

CODED_KEYS = tuple(f"k{j}" for j in range(N_KEYS))

Row = tuple[tuple[int, ...], int]
"""A row: its keys and its sensitive value."""


def rows(least):
    keys = st.tuples(*(st.integers(0, GAP) for _ in CODED_KEYS))
    return st.lists(st.tuples(keys, st.integers(0, N_VALUES - 1)), min_size=least, max_size=9)


def data_of(people: list[Row], source: list[Row]) -> AttackData:
    def side(table):
        codes = {
            name: np.array([keys[j] for keys, _ in table], dtype=np.int64)
            for j, name in enumerate(CODED_KEYS)
        }
        return AttackSide(
            {**codes, "value": np.array([value for _, value in table], dtype=np.int64)}, len(table)
        )

    grids = {name: CodeGrid(GAP + 1, N_LEVELS, np.arange(GAP + 1.0)) for name in CODED_KEYS}
    grids["value"] = CodeGrid(N_VALUES, N_VALUES, np.arange(float(N_VALUES)))
    return AttackData({"original": side(people), "synthetic": side(source)}, grids)


def brute_force(
    name: str, people: list[Row], source: list[Row], convention: str, tau: Fraction
) -> Fraction | None:
    """Return the guess by the definitions: loops over people, rows and all answers."""

    def with_keys(table, keys):
        return [value for others, value in table if keys == others]

    def share(values, value):
        return Fraction(values.count(value), len(values)) if values else Fraction(0)

    def largest(values):
        return max((share(values, v) for v in values), default=Fraction(0))

    matched = [(keys, value) for keys, value in people if with_keys(source, keys)]
    if name in (
        "cap",
        "dcap",
        "gcap_score",
    ):  # the answer is drawn from those who count, whatever the keys
        who = [value for _, value in (matched if name == "cap" else people)]
        return sum((share(who, value) for value in who), Fraction(0)) / len(who) if who else None
    answers = range(N_VALUES)
    if name != "tcap":
        return max(share([value for _, value in people], answer) for answer in answers)
    if convention in ("matched_rows", "all_rows"):
        selected = [keys for keys, value in source if share(with_keys(source, keys), value) >= tau]
        met = [keys for keys in selected if with_keys(people, keys)]
        count = len(selected if convention == "all_rows" and people else met)
        scores = [
            sum((share(with_keys(people, keys), answer) for keys in met), Fraction(0))
            for answer in answers
        ]
        return max(scores) / count if count else None
    counted = matched
    if convention == "conditional":
        counted = [
            (keys, value) for keys, value in people if largest(with_keys(source, keys)) >= tau
        ]

    def right(keys, value, answer):
        sure = convention != "certain" or share(with_keys(people, keys), value) >= tau
        return value == answer and sure

    scores = [sum(right(keys, value, answer) for keys, value in counted) for answer in answers]
    return Fraction(max(scores), len(counted)) if counted else None


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(
    people=rows(1),
    source=rows(1),
    tau=st.sampled_from([Fraction(1), Fraction(1, 2)]),
)
@hypothesis_settings(max_examples=60, deadline=None)
def test_no_answer_without_keys_scores_more(convention, people, source, tau):
    question = AttackSpec(CODED_KEYS, "value", NAMES, convention, float(tau))
    found = run_attackers(
        AttackContext(data_of(people, source), "synthetic", ["original"], question)
    )
    assert tuple(found) == NAMES
    for name, (scores,) in found.items():
        expected = brute_force(name, people, source, convention, tau)
        beside = scores.guess.by(ATTACKERS[name].guess_by)
        if expected is None:
            assert beside is None
            assert scores.value is None
        else:
            assert beside == pytest.approx(float(expected))
        assert ATTACKERS[name].guess_by == (
            "draw" if name in ("cap", "dcap", "gcap_score") else "value"
        )


@given(people=rows(1))
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_attacks_themselves_are_the_guess_where_all_have_the_same_keys(people):
    """A table whose keys say nothing, and whose rows are the people's own: then the attack has no more than the guess."""
    same = [((0, 0), value) for _, value in people]
    question = AttackSpec(CODED_KEYS, "value", ("cap", "dcap", "gcap_score", "gcap_vote"))
    for name, (scores,) in run_attackers(
        AttackContext(data_of(same, same), "synthetic", ["original"], question)
    ).items():
        assert scores.value == pytest.approx(scores.guess.by(ATTACKERS[name].guess_by)), name


def test_a_guess_by_hand():
    """Keys A A A B B C with values 1 1 2 2 2 1; the source has A (1), B (2, 2), D (1): it is certain of A and B, and nobody has D.

    All people: three 1s, three 2s. With a match (A, B): 1 1 2 2 2. TCAP over rows: of A a third has 2, of B all; weights 1 and 2.
    """
    people = [((k, 0), v) for k, v in zip("AAABBC", (1, 1, 2, 2, 2, 1), strict=True)]
    source = [((k, 0), v) for k, v in zip("ABBD", (1, 2, 2, 1), strict=True)]
    codes = {"A": 0, "B": 1, "C": 2, "D": 3}
    people, source = ([((codes[k], z), v) for (k, z), v in table] for table in (people, source))
    data = data_of(people, source)
    question = AttackSpec(CODED_KEYS, "value", ("cap", "dcap", "tcap", "gcap_vote"))
    guesses = {
        name: one[0].guess.by(ATTACKERS[name].guess_by)
        for name, one in run_attackers(
            AttackContext(data, "synthetic", ["original"], question)
        ).items()
    }
    assert guesses == pytest.approx(
        {"cap": (4 + 9) / 25, "dcap": 0.5, "tcap": (1 / 3 + 2) / 3, "gcap_vote": 0.5}
    )


def test_groups_are_pooled_by_how_many_count():
    few, many, none = Guess(0.5, 0.3, 10.0), Guess(0.2, 0.1, 30.0), Guess(None, None, 0.0)
    assert pool_guesses([few, many]).value == pytest.approx((5 + 6) / 40)
    assert pool_guesses([few, many]).draw == pytest.approx((3 + 3) / 40)
    assert pool_guesses([few, none]) == few
    assert pool_guesses([none, none]) == none
    assert guess(np.array([], dtype=np.int64)).value is None


def test_several_syntheses_and_a_cross_fit_have_the_mean(cmc):
    """Whom CAP is about depends on the source: the guess is averaged as the value is."""
    settings = RiskSettings(
        keys=["wife_age", "wife_education", "num_children"],
        sensitive=["husband_education"],
        attackers=["matching", "memorisation"],
        resamples=2,
    )
    tables = [cmc.take(np.arange(at, at + 60)) for at in (0, 700)]
    alone = [measure_risk(cmc, one, None, settings, seed=1).findings for one in tables]
    both = measure_risk(cmc, tables, None, settings, seed=1).findings
    for first, second, mean in zip(*map(column_findings, (*alone, both)), strict=True):
        assert mean.guess == pytest.approx((first.guess + second.guess) / 2)
    assert alone[0][0].attacker == "cap"
    assert alone[0][0].guess != alone[1][0].guess
    crossed = {
        a.attacker: a for a in cross_fit(cmc, lambda half, seed: half, settings, seed=1).findings
    }
    shares = np.bincount(cmc.code("husband_education")) / cmc.n_rows
    # Each half is guessed at by itself: nearly the whole's shares, and never less than with one answer for both.
    assert crossed["gcap_vote"].guess == pytest.approx(shares.max(), abs=0.02)
    assert crossed["gcap_vote"].guess >= shares.max() - 1e-12
    assert crossed["dcap"].guess == pytest.approx((shares**2).sum(), abs=0.02)


def test_a_guess_about_few_people_does_not_leave(cmc):
    """CAP and TCAP of fewer than ten people: their distribution is as secret as their number; of all people it is not."""
    few = cmc.take(np.arange(3))
    result = chaffinch.risk(
        cmc,
        few,
        keys=["wife_age", "wife_education", "num_children", "wife_religion"],
        sensitive=["husband_education"],
        attackers=["matching", "memorisation"],
        resamples=2,
        seed=1,
    )
    attacks = {attack.attacker: attack for attack in column_findings(result.findings)}
    assert attacks["cap"].n_matched == "<10"
    assert attacks["cap"].guess is None
    assert attacks["cap"].value is None
    assert attacks["gcap_vote"].guess is not None


def shuffled_rows(least: int, most: int):
    """Rows, and the same in another order."""
    keys = st.tuples(*(st.integers(0, GAP) for _ in CODED_KEYS))
    table = st.lists(st.tuples(keys, st.integers(0, N_VALUES - 1)), min_size=least, max_size=most)
    return table.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(range(len(rows)))))


@given(people=shuffled_rows(1, 12), source=shuffled_rows(FEWEST, 30))
@hypothesis_settings(max_examples=25, deadline=None)
def test_no_attack_depends_on_the_order_of_rows(people, source):
    """Few keys, so that many rows are equally near: each person's score stays whatever the order of people and of released rows."""
    (members, order), (released, turned) = people, source
    names = tuple(
        attacker.name
        for attacker in attackers_of_kind("matching", "learning")
        if not attacker.thorough and not attacker.named_only
    )
    assert {"gcap_vote", "knn", "nb"} <= set(names)
    question = AttackSpec(CODED_KEYS, "value", names)
    first, second = (
        run_attackers(AttackContext(data_of(*tables), "synthetic", ["original"], question, seed=3))
        for tables in (
            (members, released),
            ([members[i] for i in order], [released[i] for i in turned]),
        )
    )
    for name, (one,) in first.items():
        (other,) = second[name]
        assert one.value == pytest.approx(other.value), name
        if isinstance(one.statistic, Ratio):
            assert one.group[0][list(order)].tolist() == other.group[0].tolist(), name


def test_no_model_depends_on_the_order_of_rows():
    rng = np.random.default_rng(8)
    released, members = (
        [((int(a), int(b)), int(v)) for a, b, v in rng.integers(0, 3, (n, 3))] for n in (200, 60)
    )
    question = AttackSpec(CODED_KEYS, "value", ("svm", "rf", "lr"), svm_rows=50)
    values = [
        {
            name: one.value
            for name, (one,) in run_attackers(
                AttackContext(data_of(members, rows), "synthetic", ["original"], question)
            ).items()
        }
        for rows in (released, [released[i] for i in rng.permutation(200)])
    ]
    assert values[0] == values[1]
