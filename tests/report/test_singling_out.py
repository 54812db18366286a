"""The page on singling out."""

from __future__ import annotations

import pytest

from chaffinch._base.errors import InputError
from chaffinch.report.attacks import singling_out_page
from chaffinch.risk.singling_out import SinglingOutResult
from chaffinch.risk.singling_out.chances import nobody_in

PLAN = {
    "shadows": 1000,
    "tests": 500,
    "tables": 4,
    "design": "shared",
    "share": "half",
    "box": "blackbox",
    "features": "queries",
    "learner": "linear",
    "combine": "argmax",
    "synthesiser": "BayesNet(parents=3, search='ordering', score=None, epsilon=1.0, delta=None)",
}


def singling_out(**more):
    def one(attributes, success):
        return {
            "attributes": attributes,
            "success": success,
            "interval": [success - 0.05, success + 0.05],
            "weight": 0.001,
            "blind_attacker": 0.16,
            "without_release": 0.2,
        }

    return SinglingOutResult.from_dict(
        {
            "format": "chaffinch-singling-out",
            "version": 1,
            "success": 0.6,
            "interval": [0.55, 0.65],
            "direction": "lower is safer",
            "baseline": 0.2,
            "above_baseline": True,
            "nobody_of_targets_in_data": 0.1,
            "releases": 1000,
            "targets": 12,
            "rows": 200,
            "population": 1000,
            "duplicates_left_out": 0,
            "closest_distance": one(3, 0.4),
            "by_attributes": [one(1, 0.1), one(2, 0.5), one(3, 0.6)],
            "attributes_that_suffice": 2.5,
            "auc_of_attackers": {"mean": 0.7, "least": 0.5, "most": 0.9},
            "settings": PLAN,
            "run": {},
            **more,
        }
    )


def test_a_page_is_whole_and_calls_nobody(whole_drawing):
    whole_drawing(singling_out_page(singling_out()))


def test_singling_out_stands_beside_guessing_and_draws_figure_5():
    html = singling_out_page(singling_out())
    text = html.replace("\xa0", " ")
    assert (
        "Somebody was singled out from 60 % of 1,000 releases (95 % interval 55 % to 65 %)" in text
    )
    assert "right in 20 %" in text
    assert "People can be singled out" in text
    assert f"with 12 it is {nobody_in(200, 1000, 12):.3g}" in text
    with pytest.raises(InputError, match="by_attributes"):
        singling_out(by_attributes=[])
