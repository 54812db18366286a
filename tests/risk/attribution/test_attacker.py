"""An attacker is one place: a toy one, registered, stands in results, plain data, the page, a comparison and `--help`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import chaffinch
from chaffinch.cli.app import app
from chaffinch.errors import InputError, UnknownNameError
from chaffinch.report.compare import compare
from chaffinch.report.release import render
from chaffinch.report.result import report_of
from chaffinch.risk import ATTACKERS, Attacker, RiskResult
from chaffinch.risk.attribution.attacker import attacker_of, attacker_words, outcome_of_answers

KEYS, SENSITIVE = ["wife_age", "num_children"], ["husband_education"]


def lowest(attempt):
    """The answer is always the lowest code."""
    return [outcome_of_answers(values == 0, values) for values in attempt.values]


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
    result = run(halves, attackers=["gcap", "lowest"])
    one = next(attack for attack in result.attacks if attack.measure == "lowest")
    assert one.value == pytest.approx((halves[0].code(SENSITIVE[0]) == 0).mean())
    assert one.excess == pytest.approx(one.value - one.holdout)
    assert "lowest" in result.by_attacker[0].attackers
    row = next(row for row in result.verdict if row.id == "lowest")
    assert (
        "someone who always says the lowest value gets husband_education right for" in row.sentence
    )

    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["attacks"][-1]["measure"] == "lowest"
    assert RiskResult.from_dict(plain) == result

    page = render(report_of(title="t", risk=plain))
    for words in ("The lowest value", "Nobody 2020", "Share of people who have the lowest value."):
        assert words in page
    html = result.to_html()
    assert "always says the lowest value" in html
    assert (html.count("<table>"), html.count("<svg")) == (
        2,
        1,
    )  # attacks with a picture, and memorisation tests
    assert "The lowest value" in {row.name for row in compare(plain, plain).attacks}

    said = CliRunner().invoke(app, ["risk", "--help"], terminal_width=200).output
    assert "gcap, nb, svm, knn, rf, lr, gaussian_nb, lowest, as A,B" in " ".join(
        said.replace("│", " ").split()
    )
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
        "lowest",
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
        attack["measure"] for attack in json.loads((tmp_path / "r.json").read_text())["attacks"]
    ]
    assert measures == ["cap", "dcap", "disco", "tcap", "lowest"]


def test_without_it_nothing_else_moves_and_its_plain_data_say_its_name(halves):
    without = run(halves, attackers=["gcap"])
    ATTACKERS.register(TOY)
    try:
        with_it = run(halves, attackers=["gcap", "lowest"])
        assert attacker_words()[-1] == "lowest"
    finally:
        ATTACKERS.remove("lowest")
    # What is adjusted for all attacks together knows of one more; the rest is the same to the bit.
    for one, other in zip(without.attacks, with_it.attacks, strict=False):
        for name in (
            "measure",
            "value",
            "interval",
            "guess",
            "excess",
            "excess_interval",
            "p_value",
            "detectable",
        ):
            assert getattr(one, name) == getattr(other, name), (one.measure, name)
    stranger = RiskResult.from_dict(with_it.to_dict()).attacks[-1]
    assert stranger.attacker.definition == "Not described here."
    assert "lowest" in render(report_of(title="t", risk=with_it.to_dict()))
    with pytest.raises(UnknownNameError, match="Unknown attacker 'lowest'"):
        run(halves, attackers=["lowest"])


def test_a_name_is_registered_once(toy):
    with pytest.raises(InputError, match="attacker 'lowest' already"):
        ATTACKERS.register(TOY)
    assert attacker_of("cap").title == "CAP"


@pytest.mark.parametrize(("former", "present"), [("p1", "matched_rows"), ("p1_zero", "all_rows")])
def test_a_former_name_of_a_convention_is_refused_with_the_present_one(halves, former, present):
    with pytest.raises(UnknownNameError, match=f"'{former}' is called '{present}' now"):
        run(halves, convention=former)


def test_another_threshold_masks_by_it(halves):
    """CAP of a table of 30 rows is about some 25 to 200 people: shown from ten on, hidden under a threshold of 300."""
    few = halves[0].take(np.arange(30))
    options = {
        "keys": KEYS,
        "sensitive": SENSITIVE,
        "attackers": ["gcap"],
        "resamples": 2,
        "seed": 1,
    }
    shown, hidden = (chaffinch.risk(halves[0], few, threshold=at, **options) for at in (10, 300))
    cap = {at: result.attacks[0] for at, result in ((10, shown), (300, hidden))}
    assert cap[10].value is not None
    assert cap[300].value is None
    assert cap[300].n_matched == "<300"
    assert "fewer than 300 people" in cap[300].reason
    assert hidden.about.original.rows == 600
    assert '"<10"' not in json.dumps(hidden.to_dict())
    for spread in hidden.records:
        assert all(share is None or share == 0 or share * 737 >= 299 for share in spread.shares)
    assert "cap" not in {row.measure for row in hidden.by_measure}
