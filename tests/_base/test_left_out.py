"""What was left out, in one sentence."""

from __future__ import annotations

from chaffinch._base.results import LeftOut, not_measured


def test_each_option_is_named_once_in_order_of_first_use():
    parts = [
        LeftOut("delta"),
        LeftOut("a regression", "--formula"),
        LeftOut("the attacker rf"),
        LeftOut("delta"),
    ]
    assert (
        not_measured(parts)
        == "Not measured: delta, the attacker rf (--thorough); a regression (--formula)."
    )


def test_nothing_is_said_where_nothing_was_left_out():
    assert not_measured([]) == ""
