"""How often datasets agree on people: counted by hand, as shares that may leave, and the classes behind them."""

import numpy as np
import pytest

from chaffinch._base.results import shown_parts
from chaffinch.outputs.check.agreement import agreement_of
from chaffinch.outputs.check.attribution import EnsembleClaims, EnsembleTcap, KeyAttack

JOINT = {"name": "joint", "kind": "table", "by": ["a", "b", "c", "y"]}


@pytest.mark.parametrize(("threshold", "shown"), [(2, True), (7, False)])
def test_pinned_and_right_by_hand(threshold, shown):
    """Ten people on either side, four datasets, one key set. Of the first ten six are spoken of by two datasets or more which all agree, and
    four of these rightly; of the others five and two."""
    spoken = np.array(
        [[4, 4, 2, 2, 4, 3, 1, 4, 0, 0, 4, 4, 4, 4, 4, 1, 1, 0, 0, 0]], dtype=np.int32
    )
    agreed = np.ones((1, 20), dtype=bool)
    agreed[0, 7] = False
    correct = np.array(
        [[4, 4, 2, 2, 0, 1, 1, 2, 0, 0, 4, 4, 0, 0, 0, 1, 0, 0, 0, 0]], dtype=np.int32
    )
    nothing = np.zeros((4, 2, 2, 1))
    claims = EnsembleClaims(np.zeros_like(spoken), spoken, agreed, correct, 4)
    tcap = EnsembleTcap(
        nothing, np.zeros((2, 20)), nothing[..., 0], np.repeat([0, 1], 10).astype(np.int8), claims
    )
    attack = KeyAttack("y", (("a",),), 4, *(np.zeros(1, dtype=np.int64),) * 3)
    result = agreement_of(attack, [tcap], threshold=threshold)
    assert (result.pinned, result.pinned_holdout) == ((0.6, 0.5) if shown else (None, None))
    assert (result.right, result.right_holdout) == ((0.4, 0.2) if shown else (None, None))
    assert result.excess.value == pytest.approx(0.2) if shown else np.isnan(result.excess.value)
    assert [(one.keys, one.right) for one in result.by_keys] == [(("a",), 0.4 if shown else None)]


def test_agreement_says_whom(checked, fields, people_whose_y_follows):
    found = checked(JOINT)
    (agreement,) = found.agreement
    assert agreement.right > agreement.right_holdout
    assert agreement.excess.low > 0.0
    assert found.exposed
    codes = people_whose_y_follows(240, 1)
    for one in found.exposed[:50]:
        alike = np.ones(len(codes), dtype=bool)
        for name, level in one.keys:
            alike &= codes[:, fields.position(name)] == fields[name].labels.index(level)
        value = fields["y"].labels.index(one.value)
        assert (alike.sum(), (codes[alike, 4] == value).sum()) == (one.people, one.with_value)


def test_shares_of_few_people_do_not_leave(checked):
    """The same with a threshold that more people than there are must pass."""
    (shown,), (hidden,) = checked(JOINT).agreement, checked(JOINT, threshold=500).agreement
    assert shown_parts(shown)["excess"]["value"] == shown.excess.value
    assert None not in (shown.pinned, shown.right)
    assert (hidden.pinned, hidden.right, shown_parts(hidden)["excess"]["value"]) == (
        None,
        None,
        None,
    )
    assert all(one.right is None for one in hidden.by_keys)
