"""Whether links paid, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from chaffinch.synth.bayesnet.private.links import Gaps
from chaffinch.synth.bayesnet.private.paying import paying_note

MARGINS = [np.array([500.0, 500.0])] * 2


def gaps(value):
    return Gaps([(0, 1)], np.array([value]), 1.0, [], np.array([value]), 0.0)


def test_noise_beside_what_leaving_links_out_costs():
    # Noise of 50 in a cell of 500 moves each of four cells of 250 by sqrt(2) 25: 0.4 x 4 x 35.36 / 1000 = 0.057.
    lost = paying_note(MARGINS, [50.0, 50.0], 1000.0, gaps(20.0), edges=0, every_pair=True)
    assert "No link was worth its noise" in lost
    assert "by about 0.057 on average" in lost
    assert "by about 0.02:" in lost
    assert paying_note(
        MARGINS, [50.0, 50.0], 1000.0, gaps(20.0), edges=1, every_pair=True
    ).startswith("Noise moves")


@pytest.mark.parametrize(
    ("edges", "every_pair", "note"), [(1, True, ""), (1, False, ""), (0, False, "No link was")]
)
def test_nothing_is_said_where_links_paid(edges, every_pair, note):
    told = paying_note(MARGINS, [1.0, 1.0], 1000.0, gaps(200.0), edges=edges, every_pair=every_pair)
    assert told.startswith(note)
    assert bool(told) == bool(note)
    assert paying_note(MARGINS[:1], [1.0], 1000.0, None, edges=0, every_pair=False) == ""
