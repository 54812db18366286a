"""Tables of texreg's screenreg, in the form that its documentation shows."""

from __future__ import annotations

import pytest

from chaffinch.outputs.readers.files.coefficient_grid import read_drawn
from chaffinch.outputs.readers.files.printed import PrintedFit
from chaffinch.outputs.readers.files.protocol import Help, LineError

SCREEN = """
=================================
             Model 1    Model 2
---------------------------------
(Intercept)  37.29 ***  37.23 ***
             (1.88)     (1.60)
wt           -5.34 ***  -3.88 ***
             (0.56)     (0.63)
hp                      -0.03 **
                        (0.01)
---------------------------------
R^2           0.75       0.83
Adj. R^2      0.74       0.81
Num. obs.    32         32
=================================
*** p < 0.001; ** p < 0.01; * p < 0.05
"""


def test_models_between_double_lines_have_their_own_coefficients() -> None:
    pieces = read_drawn(SCREEN.splitlines())
    first, second = (piece.facts(Help()) for piece in pieces)
    assert isinstance(first, PrintedFit)
    assert isinstance(second, PrintedFit)
    assert first.coefficients == {"(Intercept)": "37.29", "wt": "-5.34"}
    assert second.coefficients == {"(Intercept)": "37.23", "wt": "-3.88", "hp": "-0.03"}
    assert (first.n, second.n, first.kind) == (32, 32, "ols")
    assert pieces[0].lines == range(2, 17)


def test_a_table_without_its_end_is_cut() -> None:
    (piece,) = read_drawn(SCREEN.splitlines()[:14])
    with pytest.raises(LineError, match="line 14: the table has no double line at its end"):
        piece.facts(Help())


def test_other_double_lines_are_none_of_its_business() -> None:
    assert read_drawn(["==========", "Results 2024", "=========="]) == []
