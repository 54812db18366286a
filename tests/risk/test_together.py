"""What several releases tell together, in words and as plain data."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import chaffinch
from chaffinch._base.errors import InputError
from chaffinch.risk.crossfit import cross_fit
from chaffinch.risk.finding import RELEASES_HEAD, Finding, ReleasesGain
from chaffinch.risk.result import RiskResult
from chaffinch.risk.settings import RiskSettings
from chaffinch.risk.together import MultiReleaseResult
from chaffinch.table.read import read

ADDS = Finding(
    attacker="exact_row",
    value=0.08,
    holdout=0.0,
    excess=0.08,
    releases=ReleasesGain(
        alone=(0.02, None), added=0.06, interval=(0.04, 0.08), p_value=0.001, p_family=0.002
    ),
)
NOTHING = Finding(
    attacker="dcap",
    keys=("age", "sex"),
    sensitive="ill",
    excess=0.01,
    releases=ReleasesGain(alone=(0.01, 0.01), added=0.0, p_family=0.7),
)


def test_the_sentence_is_about_what_adds_most() -> None:
    sentence = MultiReleaseResult(tables=2, findings=(NOTHING, ADDS)).sentence
    assert sentence.startswith(
        "Whoever holds 2 tables finds more than from one of them: by Exact row the excess is +0.080"
    )
    assert "+0.060 (95 % interval 0.04 to 0.08)" in sentence


def test_nothing_added_is_said_with_its_chance() -> None:
    sentence = MultiReleaseResult(tables=1, model_rows=500, findings=(NOTHING,)).sentence
    assert "the table and the model was not seen to find more" in sentence
    assert "is 0.7." in sentence


def test_what_is_about_few_people_has_no_number() -> None:
    few = Finding(attacker="exact_row", releases=ReleasesGain(alone=(None, None), p_family=0.01))
    assert (
        "about too few people to be said" in MultiReleaseResult(tables=2, findings=(few,)).sentence
    )


def test_without_a_holdout_the_reason_is_given() -> None:
    assert (
        MultiReleaseResult(
            tables=2, findings=(Finding(attacker="dcap"),), reason="No holdout."
        ).sentence
        == "Attacked together: No holdout."
    )


def test_rows_stand_in_order_of_what_is_added() -> None:
    rows = MultiReleaseResult(tables=2, findings=(NOTHING, ADDS)).rows()
    assert [row[0] for row in rows] == ["Exact row", "DCAP"]
    assert rows[0][6] == "+0.020, masked"
    assert all(len(row) == len(RELEASES_HEAD) for row in rows)


def test_plain_data_are_read_back() -> None:
    joint = MultiReleaseResult(tables=2, names=("2024", "2025"), findings=(NOTHING, ADDS))
    assert MultiReleaseResult.from_dict(joint.to_dict()) == joint


ASKED = {
    "keys": ["age", "town"],
    "sensitive": ["ill"],
    "attackers": ["dcap", "tcap", "memorisation"],
    "resamples": 200,
}


def unrelated_people(n: int, rng: np.random.Generator) -> pa.Table:
    """Return people who are hardly ever alike; nothing goes with anything."""
    return pa.table(
        {
            "age": rng.integers(0, 90, n),
            "town": np.array(list("abcdefgh"))[rng.integers(0, 8, n)],
            "income": np.round(rng.normal(0, 1, n), 3),
            "ill": np.array(["no", "yes", "much"])[rng.integers(0, 3, n)],
        }
    )


def copy(members: pa.Table, share: float, rng: np.random.Generator) -> pa.Table:
    """Return a fresh table into which some of the members are copied."""
    copied = round(share * members.num_rows)
    rows = rng.choice(members.num_rows, copied, replace=False)
    return pa.concat_tables([members.take(rows), unrelated_people(members.num_rows - copied, rng)])


def of(joint: MultiReleaseResult | None, measure: str) -> Finding:
    assert joint is not None
    return next(one for one in joint.findings if one.attacker == measure)


def attack(share: float, seed: int) -> RiskResult:
    rng = np.random.default_rng(seed)
    members, others = unrelated_people(500, rng), unrelated_people(500, rng)
    return chaffinch.risk(
        members, [copy(members, share, rng) for _ in range(4)], others, **ASKED, seed=seed
    )


def test_copies_that_each_reveal_some_people_reveal_more_together() -> None:
    # 15 of 500 members in each of 4 tables: 56.4 in any are expected, 1 - 0.97^4.
    result = attack(0.03, 1)
    exact = of(result.together, "exact_row")
    assert exact.releases.alone == pytest.approx((0.03,) * 4)
    assert exact.excess == pytest.approx(1 - 0.97**4, abs=0.02)
    assert exact.releases.added is not None
    assert exact.releases.added == pytest.approx((exact.excess or 0.0) - 0.03)
    assert exact.releases.adds
    assert exact.releases.interval is not None
    assert exact.releases.interval[0] > 0.05
    assert result.together is not None
    assert "finds more than from one of them" in result.together.sentence
    assert RiskResult.from_dict(result.to_dict()) == result


def test_fresh_tables_add_nothing() -> None:
    # Each seed says that something is added with a chance of 5 % at most; two of three with 0.7 %.
    said = [attack(0.0, seed).together for seed in (1, 2, 3)]
    assert sum("finds more" in joint.sentence for joint in said if joint is not None) <= 1


def test_the_pool_is_the_rows_of_all_tables() -> None:
    """DCAP from the pool by hand: the share of all rows with a person's keys that have the person's value."""
    rng = np.random.default_rng(4)
    members, others, first, second = (
        unrelated_people(80, rng).set_column(0, "age", pa.array(rng.integers(0, 3, 80)))
        for _ in range(4)
    )
    result = chaffinch.risk(
        members,
        [first, second],
        others,
        keys=["age"],
        sensitive=["ill"],
        attackers=["dcap", "memorisation"],
        numeric="values",
        resamples=20,
        seed=1,
    )
    rows = [(row["age"], row["ill"]) for table in (first, second) for row in table.to_pylist()]

    def dcap(table: pa.Table) -> float:
        scores = []
        for row in table.to_pylist():
            values = [ill for age, ill in rows if age == row["age"]]
            scores.append(values.count(row["ill"]) / len(values) if values else 0.0)
        return float(np.mean(scores))

    joint = of(result.together, "dcap")
    assert joint.value == pytest.approx(dcap(members))
    assert joint.holdout == pytest.approx(dcap(others))


def test_names_of_releases_stand_in_the_result() -> None:
    rng = np.random.default_rng(6)
    members, others = unrelated_people(100, rng), unrelated_people(100, rng)
    result = chaffinch.risk(
        members,
        {"2024": unrelated_people(100, rng), "2025": unrelated_people(90, rng)},
        others,
        **ASKED,
        seed=1,
    )
    assert [table.name for table in result.about.synthetic] == ["2024", "2025"]
    assert result.together is not None
    assert result.together.names == ("2024", "2025")


class Remembers:
    """A model that gives away the people it has, and nobody else."""

    def __init__(self, members: pa.Table) -> None:
        self.members = members

    def sample(self, n_rows: int, *, seed: object = None) -> object:
        return read(
            self.members.take(np.random.default_rng(0).integers(0, self.members.num_rows, n_rows))
        )


def test_a_model_is_a_further_release() -> None:
    rng = np.random.default_rng(7)
    members, others, table = (unrelated_people(200, rng) for _ in range(3))
    result = chaffinch.risk(members, table, others, **ASKED, model=Remembers(members), seed=1)
    exact = of(result.together, "exact_row")
    assert result.together is not None
    assert (result.together.tables, result.together.model_rows) == (1, 2000)
    assert exact.releases.alone == pytest.approx((0.0, 1.0), abs=0.02)
    assert exact.releases.added == pytest.approx(1.0, abs=0.02)
    assert (
        result.findings[0].value
        == chaffinch.risk(members, table, others, **ASKED, seed=1).findings[0].value
    )


def test_a_model_drawn_from_a_file_and_what_is_no_model(tmp_path) -> None:
    rng = np.random.default_rng(8)
    members, others = unrelated_people(150, rng), unrelated_people(150, rng)
    model = chaffinch.BayesNet(parents=1).fit(read(members), seed=1)
    model.save(tmp_path / "m.chaffinch")
    result = chaffinch.risk(
        members, model.sample(150, seed=2), others, **ASKED, model=tmp_path / "m.chaffinch", seed=1
    )
    assert result.together is not None
    assert result.together.model_rows == 1500
    with pytest.raises(
        InputError, match=r"model must be a fitted model, or the path of its file\. Got int"
    ):
        chaffinch.risk(members, members, others, **ASKED, model=3, seed=1)


def test_one_table_is_not_attacked_together() -> None:
    rng = np.random.default_rng(9)
    result = chaffinch.risk(
        unrelated_people(60, rng),
        unrelated_people(60, rng),
        unrelated_people(60, rng),
        **ASKED,
        seed=1,
    )
    assert result.together is None


def test_without_a_holdout_there_is_a_value_and_a_reason() -> None:
    rng = np.random.default_rng(10)
    members = unrelated_people(100, rng)
    result = chaffinch.risk(members, [members, members], **ASKED, seed=1)
    assert result.together is not None
    assert of(result.together, "exact_row").value == 1.0
    assert "No holdout was given" in result.together.sentence


def test_few_people_are_not_told() -> None:
    rng = np.random.default_rng(11)
    members, others = unrelated_people(300, rng), unrelated_people(300, rng)
    result = chaffinch.risk(
        members, [copy(members, 0.01, rng) for _ in range(2)], others, **ASKED, seed=1
    )
    exact = of(result.together, "exact_row")  # 3 copied people in each table
    assert exact.releases.alone == (None, None)
    assert (exact.value, exact.excess, exact.releases.added) == (None, None, None)
    assert exact.releases.p_value is not None
    assert "fewer than 10 people" in (exact.reason or "")


def test_a_cross_fit_attacks_copies_together() -> None:
    rng = np.random.default_rng(12)
    members = unrelated_people(400, rng)

    def some(table: chaffinch.Table, seed: int) -> pa.Table:
        drawn = np.random.default_rng(seed)
        return copy(table.data.select(members.column_names), 0.1, drawn)

    result = cross_fit(read(members), some, RiskSettings(**ASKED), copies=3, seed=1)
    exact = of(result.together, "exact_row")
    assert exact.releases.alone == pytest.approx((0.1,) * 3)
    assert exact.excess == pytest.approx(1 - 0.9**3, abs=0.03)
    assert exact.releases.adds
